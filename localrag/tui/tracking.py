"""Turns the events of an index run into what is shown of it; belongs to the thread of the run."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from localrag.plain import plain
from localrag.tui.run_state import STAGES, Failed, Found, FoundKind, Hand, RunState, Stage, StageState

if TYPE_CHECKING:
    from localrag.indexing import ChunkRead, IndexEvent, IndexReport, Progress
    from localrag.indexing.events import InHand

MOST_FOUND = 500
"""The last things found that are kept to be looked at; all are in the file."""

MOST_FAILED = 500
"""The same for passages that could not be read."""

MOST_NOTES = 100
"""The same for notes."""

_HANDS = 8


class Tracker:
    """Keeps what a run has told. `state` is plain data, safe to hand to another thread."""

    def __init__(
        self, *, claims: bool = False, summaries: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`claims` and `summaries` say whether such stages will come, as the settings have it."""
        left_out = {key for key, comes in (("claims", claims), ("summaries", summaries)) if not comes}
        self._stages = {key: Stage(key) for key in STAGES if key not in left_out}
        self._found: deque[Found] = deque(maxlen=MOST_FOUND)
        self._failed: deque[Failed] = deque(maxlen=MOST_FAILED)
        self._notes: deque[str] = deque(maxlen=MOST_NOTES)
        self._counts: dict[FoundKind, int] = {}
        self._number = 0
        self._failures = 0
        self._reading = "reading"
        self._now = RunState(began=clock())

    @property
    def state(self) -> RunState:
        """What is to be shown now."""
        return replace(
            self._now,
            stages=tuple(self._stages.values()),
            found=tuple(reversed(self._found)),
            counts=dict(self._counts),
            failed=tuple(reversed(self._failed)),
            failures=self._failures,
            notes=tuple(self._notes),
        )

    def doing(self, words: str) -> None:
        """Say what is done before the first stage begins."""
        self._now = replace(self._now, doing=plain(words))

    def take(self, event: IndexEvent) -> IndexReport | None:
        """Note what an event says; returns the report if it is the last one."""
        from localrag import indexing

        if isinstance(event, indexing.Progress):
            self._progress(event)
        elif isinstance(event, indexing.ChunkRead):
            self._chunk_read(event)
        elif isinstance(event, indexing.Embedded):
            self._step(event.what, event.done, event.total)
        elif isinstance(event, indexing.ChunkFailed):
            self._fail(
                Failed(
                    event.document,
                    event.document_id,
                    event.reason,
                    event.ordinal,
                    event.chunk_id,
                    event.left_out,
                )
            )
        elif isinstance(event, indexing.Started):
            self._started(event.chunks_to_embed, event.chunks_to_read)
        elif isinstance(event, indexing.Note):
            self.note(event.text)
        elif isinstance(event, indexing.Finished):
            self._finished(event.report)
            return event.report
        else:
            self._take_further(event)
        return None

    def _take_further(self, event: IndexEvent) -> None:
        """Claims and summaries, which come only where the settings want them."""
        from localrag import indexing
        from localrag.indexing import summary_events as summing

        if isinstance(event, indexing.ClaimsStarted):
            self._reading = "claims"
            self._step("claims", 0, event.chunks)
        elif isinstance(event, indexing.ClaimsRead):
            for words in event.said:
                self._find("claim", words, document=event.document, document_id=event.document_id)
        elif isinstance(event, indexing.ClaimsFailed):
            reason = f"Its claims: {event.reason}"
            self._fail(Failed(event.document, 0, reason, event.ordinal, event.chunk_id, event.left_out))
        elif isinstance(event, summing.SummariesPlanned):
            self._step("summaries", 0, event.total)
        elif isinstance(event, summing.SummaryPace):
            self._step("summaries", event.done, event.total)
            self._now = replace(
                self._now, write_rate=event.decode_rate, seconds_left=event.seconds_left, hands=()
            )
        elif isinstance(event, summing.SummaryWritten):
            self._step("summaries", event.done, event.total)
            self._find("summary", event.name, words=f"of {event.descriptions} descriptions")
        elif isinstance(event, summing.SummaryFailed):
            self._step("summaries", event.done, event.total)
            self._fail(Failed(event.name, 0, f"No summary: {event.reason}"))

    def note(self, words: str) -> None:
        """Keep a note."""
        self._notes.append(plain(words))

    # What an event means.

    def _started(self, embed: int, read: int) -> None:
        self._now = replace(self._now, doing="Starting the model")
        self._set("chunks", total=embed, state="ahead" if embed else "off")
        self._set("reading", total=read, state="ahead" if read else "off")

    def _progress(self, event: Progress) -> None:
        self._step(self._reading, event.read, event.total)
        if self._reading == "reading" and event.looks:
            self._set("reading", note=f"{event.looks:,} second looks")
        self._now = replace(
            self._now,
            hands=tuple(hand(item) for item in event.in_hand[:_HANDS]),
            in_hand=len(event.in_hand),
            read_rate=0.0 if event.stands else event.prefill_rate,
            write_rate=0.0 if event.stands else event.decode_rate,
            per_minute=event.chunks_per_minute,
            seconds_left=event.seconds_left,
            tokens=event.spent or self._now.tokens,
            stands=event.stands,
        )

    def _chunk_read(self, event: ChunkRead) -> None:
        stage = self._stages["reading"]
        self._step("reading", stage.done + 1, max(stage.total, stage.done + 1))
        types = event.types or ("",) * len(event.entities)
        for name, kind in zip(event.entities, types, strict=True):
            self._find("entity", name, words=kind, document=event.document, document_id=event.document_id)
        for link in event.links:
            self._find(
                "relation",
                link.source,
                other=link.target,
                words=link.words,
                document=event.document,
                document_id=event.document_id,
            )

    def _finished(self, report: IndexReport) -> None:
        ended: dict[StageState, StageState] = {"now": "done", "ahead": "off"}
        if not report.cancelled and not report.reason:
            for key, stage in self._stages.items():
                self._stages[key] = replace(stage, state=ended.get(stage.state, stage.state))
        self._now = replace(
            self._now, doing="", hands=(), tokens=report.tokens, seconds_left=None, stands=False
        )

    def _step(self, key: str, done: int, total: int) -> None:
        """A stage goes on; those before it are over."""
        if self._stages.get(key, Stage(key)).state != "now":
            for other, stage in self._stages.items():
                if stage.state == "now":
                    self._stages[other] = replace(stage, state="done")
            self._now = replace(
                self._now, doing="", hands=(), read_rate=0.0, write_rate=0.0, seconds_left=None, stands=False
            )
        self._set(key, done=done, total=total, state="now")

    def _set(self, key: str, **values: object) -> None:
        self._stages[key] = replace(self._stages.get(key, Stage(key)), **values)  # type: ignore[arg-type]

    def _find(
        self,
        kind: FoundKind,
        name: str,
        *,
        other: str = "",
        words: str = "",
        document: str = "",
        document_id: int = 0,
    ) -> None:
        self._number += 1
        self._counts[kind] = self._counts.get(kind, 0) + 1
        self._found.append(
            Found(self._number, kind, plain(name), plain(other), plain(words), plain(document), document_id)
        )

    def _fail(self, failed: Failed) -> None:
        self._failures += 1
        self._failed.append(replace(failed, document=plain(failed.document), reason=plain(failed.reason)))


def hand(item: InHand) -> Hand:
    """What the model has before it, in words."""
    parts = [f"page {item.page}"] if item.page is not None else []
    parts.append(plain(item.heading) if item.heading else f"part {item.ordinal + 1}")
    return Hand(plain(item.document), ", ".join(parts), item.looks > 0)
