"""Lets the model sum up what many passages say of one thing; each summary is one transaction.

What is most connected comes first, and only what changed since it was last looked at. All calls of a run go
through the engine together: as soon as the parts of one list are summed up, their sum stands at the head of
the queue, so that a stop loses the parts of a few lists at most.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from localrag.engine.types import Generation, GenerationRequest, LanguageModel, ProgressEvent
from localrag.engines import Engines, generation_row, instructions
from localrag.errors import Cancelled, EngineError, SourceGone
from localrag.extraction.summaries import Item, Subject, Summarizer, batches, common_type
from localrag.indexing.patience import patiently
from localrag.indexing.summary_events import (
    SummariesPlanned,
    SummaryEvent,
    SummaryFailed,
    SummaryPace,
    SummaryWritten,
)
from localrag.pausing import Pause
from localrag.prompts.personal import own_prompts
from localrag.settings import Settings
from localrag.stopping import stoppable, wait_for
from localrag.store.database import Store
from localrag.store.report_rows import SummaryKind
from localrag.store.rows import GenerationRow
from localrag.store.summary_rows import Said, Waiting

AHEAD = 32
"""Requests that wait for a place in the engine, so that it never waits for the file."""

_KINDS: tuple[SummaryKind, ...] = ("entity", "relation")
_TOGETHER = 200
"""Entities or relations that are looked at in one transaction."""

_LEAST_ROOM = 64
"""Tokens of descriptions below which a call makes no sense."""


class _Task:
    """One list of descriptions on its way to be a summary."""

    def __init__(self, said: Said, subject: Subject, items: Sequence[Item]) -> None:
        self.said = said
        self.subject = subject
        self.descriptions = len(items)
        self.items: list[Item] = list(items)
        """What is left to be summed up: descriptions, then summaries of parts of them."""
        self.parts: list[Item | None] = []
        """The items of the next level, as far as they are there."""
        self.calls: list[tuple[GenerationRequest, Generation]] = []
        self.over = False
        """Whether it was stored or given up, so that what is left of it in the queue is passed over."""

    @property
    def row(self) -> tuple[SummaryKind, int]:
        """What it is about."""
        return self.said.kind, self.said.row_id

    @property
    def last(self) -> bool:
        """Whether the call that is asked for gives the summary itself."""
        return len(self.parts) == 1

    def journalled(self, prompt: str) -> GenerationRow:
        """All calls as one: the last, with the tokens and the time of those before it added.

        They rest on the same passages and have no use without the last, so they come and go with it.
        """
        request, generation = self.calls[-1]
        row = generation_row(request, generation, prompt)
        parameters = {**json.loads(row.parameters), "calls": len(self.calls)}
        return replace(
            row,
            parameters=json.dumps(parameters),
            prompt_tokens=sum(made.prompt_tokens for _, made in self.calls),
            output_tokens=sum(made.output_tokens for _, made in self.calls),
            milliseconds=sum(made.milliseconds for _, made in self.calls),
        )


@dataclass(frozen=True)
class _Call:
    """A request in the queue or in the engine."""

    task: _Task
    """Whose it is."""

    place: int
    """Which part of the next level it gives."""

    items: tuple[Item, ...]
    """What it sums up."""

    request: GenerationRequest
    """What the model is asked."""


class _Room:
    """How much fits into a call, in tokens of the model."""

    def __init__(self, model: LanguageModel, summarizer: Summarizer, wanted: int) -> None:
        self._model = model
        self._summarizer = summarizer
        self._wanted = wanted
        self._n_ctx = model.describe().n_ctx
        self._fixed: dict[tuple[str, str], int] = {}

    def of(self, subject: Subject) -> int:
        """Tokens that the descriptions of one call may have. Raises `EngineError` if next to nothing fits."""
        key = (subject.kind, subject.language)
        if key not in self._fixed:
            request = self._summarizer.request(replace(subject, name=""), [])
            self._fixed[key] = self._model.count_prompt(request.messages)
        # The name stands in the prompt once or twice.
        taken = self._fixed[key] + 2 * self._model.count([subject.name])[0] + self._summarizer.budget
        room = min(self._wanted, self._n_ctx - taken - 8) if self._n_ctx else self._wanted
        if room < _LEAST_ROOM:
            raise EngineError(
                f"The context of the model, {self._n_ctx:,} tokens, is too small for summaries: the prompt "
                f"and its output alone take {taken:,}.",
                "Set engine.n_ctx higher, or summaries.length lower.",
            )
        return room

    def fitted(self, items: Sequence[Item], room: int) -> tuple[list[Item], list[int]]:
        """The items with their sizes in tokens, cut to half the room each, so that two always fit."""
        items = list(items)
        sizes = self._sizes(items)
        most = room // 2
        while long := [place for place, size in enumerate(sizes) if size > most]:
            for place in long:
                text = items[place].text
                kept = min(int(len(text) * most / sizes[place] * 0.95), len(text) - 1)
                items[place] = replace(items[place], text=text[: max(kept, 0)].rstrip())
            shorter = self._sizes([items[place] for place in long])
            for place, size in zip(long, shorter, strict=True):
                sizes[place] = size if items[place].text else 0
        return items, sizes

    def _sizes(self, items: Sequence[Item]) -> list[int]:
        # One more for the line break.
        return [size + 1 for size in self._model.count([item.line for item in items])]


class SummaryStage:
    """The summaries of one run."""

    def __init__(
        self,
        store: Store,
        summarizer: Summarizer,
        engines: Engines,
        input_tokens: int,
        cancel: threading.Event | None = None,
        *,
        limit: int | None = None,
    ) -> None:
        """`limit` ends the run after so many summaries; the rest waits."""
        self._store = store
        self._summarizer = summarizer
        self._engines = engines
        self._pause: Pause = engines.background
        self._input_tokens = input_tokens
        self._cancel = cancel
        self._limit = limit
        self._queue: deque[_Call] = deque()
        self._drawn: dict[int, _Call] = {}
        self._next = 0
        self._done = self._total = 0
        self.out_of_time = False
        """Whether the time ended the run."""

    def run(self, seconds: float | None = None) -> Iterator[SummaryEvent]:
        """Write what waits, for about so many seconds.

        Raises `Cancelled`, `EngineError`, and `ModelNotFound` if a model is needed and there is none.
        """
        self._until = None if seconds is None else self._pause.working_time() + seconds
        waiting, joined = self._plan()
        chosen = waiting if self._limit is None else waiting[: self._limit]
        self._total = len(chosen)
        yield SummariesPlanned(self._total, len(waiting), joined)
        if not chosen:
            return
        self._model = wait_for(lambda: self._engines.model, self._cancel)
        self._room = wait_for(lambda: _Room(self._model, self._summarizer, self._input_tokens), self._cancel)
        self._began = self._pause.working_time()
        self._ahead = deque(chosen)
        while not self.out_of_time:
            self._refill()
            if not self._queue:
                break
            yield from self._batch()

    def _plan(self) -> tuple[list[Waiting], int]:
        """What needs the model, most connected first; the rest is marked as looked at, and counted."""
        self._settle_plain()
        rows = [row for kind in _KINDS for row in self._store.summaries.waiting(kind)]
        rows.sort(key=lambda row: (-row.weight, _KINDS.index(row.kind), row.row_id))
        needed: set[tuple[str, int]] = set()
        for kind in _KINDS:
            ids = [row.row_id for row in rows if row.kind == kind]
            for start in range(0, len(ids), _TOGETHER):
                needed.update((kind, row_id) for row_id in self._needed(kind, ids[start : start + _TOGETHER]))
        found = [row for row in rows if (row.kind, row.row_id) in needed]
        return found, len(rows) - len(found)

    def _settle_plain(self) -> None:
        patiently(self._store.summaries.settle_plain, self._cancel)

    def _needed(self, kind: SummaryKind, ids: Sequence[int]) -> list[int]:
        """Those of the rows that need a summary; the others are settled in the same transaction."""
        self._obey()

        def settle() -> list[int]:
            # Within one transaction, so that nothing is settled that changes meanwhile.
            with self._store.transaction():
                said = self._store.summaries.said(kind, ids)
                needed = [row.row_id for row in said if self._summarizer.needed(row)]
                self._store.summaries.settle(kind, *(row_id for row_id in ids if row_id not in needed))
            return needed

        return patiently(settle, self._cancel)

    def _refill(self) -> None:
        """Make requests until enough wait."""
        while self._ahead and len(self._queue) < AHEAD:
            row = self._ahead.popleft()
            said = self._store.summaries.said(row.kind, [row.row_id])
            if not said or not self._summarizer.needed(said[0]):
                # It changed since it was planned; the next run looks at it again.
                self._done += 1
                continue
            task = _Task(said[0], self._summarizer.subject(said[0]), self._summarizer.items(said[0]))
            self._queue.extend(self._level(task))

    def _level(self, task: _Task) -> list[_Call]:
        """The calls that sum up what is left of a task, part by part."""
        room = self._room.of(task.subject)
        items, sizes = self._room.fitted(task.items, room)
        runs = batches(sizes, room)
        task.parts = [None] * len(runs)
        calls = []
        for place, run in enumerate(runs):
            part = tuple(items[run.start : run.stop])
            if len(part) == 1 and len(runs) > 1:
                task.parts[place] = part[0]
            else:
                calls.append(_Call(task, place, part, self._summarizer.request(task.subject, part)))
        return calls

    def _batch(self) -> Iterator[SummaryEvent]:
        """One run of the engine; it goes on as long as the queue does."""
        self._drawn.clear()
        self._next = 0
        with contextlib.closing(stoppable(self._model.run(self._feed()), self._cancel)) as events:
            for index, event in events:
                if isinstance(event, ProgressEvent):
                    yield SummaryPace(self._done, self._total, event.decode_rate, self._seconds_left())
                elif isinstance(event, Generation) and event.finish != "cancelled":
                    yield from self._finished(self._drawn.pop(index), event)
                    self._refill()
                if self._until is not None and self._pause.working_time() >= self._until:
                    self.out_of_time = True
                    return

    def _feed(self) -> Iterator[GenerationRequest]:
        """The queue as requests; drawn in the engine's thread."""
        while self._queue:
            self._pause.wait(self._cancel)
            call = self._queue.popleft()
            if call.task.over:
                continue
            self._drawn[self._next] = call
            self._next += 1
            yield call.request

    def _finished(self, call: _Call, generation: Generation) -> Iterator[SummaryEvent]:
        """A call came back: its part is there, and with the last part of a level the next level begins."""
        task = call.task
        if task.over:
            return
        if generation.finish == "error":
            yield self._failed(task, generation.failure)
            return
        text = self._summarizer.read(task.subject, call.items, generation)
        task.calls.append((call.request, generation))
        if task.last:
            yield self._store_summary(task, text)
            return
        # A part of which nothing can be used is no reason to lose the others.
        task.parts[call.place] = Item(text, common_type(call.items)) if text else call.items[0]
        if all(part is not None for part in task.parts):
            task.items = [part for part in task.parts if part is not None]
            self._queue.extendleft(reversed(self._level(task)))

    def _store_summary(self, task: _Task, text: str) -> SummaryWritten | SummaryFailed:
        task.over = True
        kind, row_id = task.row
        if not text:
            patiently(lambda: self._store.summaries.settle(kind, row_id), self._cancel)
            return self._failed(task, "What the model wrote is not in the descriptions; they stay joined.")

        def store() -> bool:
            with self._store.transaction():
                # The instructions are kept once; the descriptions are in the file anyway.
                prompt = self._store.journal.put_prompt(instructions(task.calls[-1][0]))
                if not self._store.summaries.put(
                    kind, row_id, text, task.journalled(prompt), task.said.chunks
                ):
                    raise SourceGone("It was deleted meanwhile.")
            return True

        try:
            patiently(store, self._cancel)
        except SourceGone as error:
            return self._failed(task, error.message)
        self._done += 1
        return SummaryWritten(
            kind, row_id, task.subject.name, task.descriptions, len(task.calls), self._done, self._total
        )

    def _failed(self, task: _Task, reason: str) -> SummaryFailed:
        task.over = True
        self._done += 1
        return SummaryFailed(*task.row, task.subject.name, reason, self._done, self._total)

    def _seconds_left(self) -> float | None:
        if not self._done:
            return None
        passed = self._pause.working_time() - self._began
        return passed / self._done * (self._total - self._done)

    def _obey(self) -> None:
        """Raise `Cancelled` if the run is to stop."""
        self._pause.wait(self._cancel)
        if self._cancel is not None and self._cancel.is_set():
            raise Cancelled("Stopped.", "What was done before is kept.")


def stage_of(
    store: Store,
    engines: Engines,
    settings: Settings,
    cancel: threading.Event | None = None,
    *,
    limit: int | None = None,
) -> SummaryStage:
    """The stage with the settings and prompts of a run. Raises `SettingsError` and `PromptError`."""
    return SummaryStage(
        store,
        Summarizer(settings.extraction, settings.summaries, own_prompts(settings)),
        engines,
        settings.summaries.input_tokens,
        cancel,
        limit=limit,
    )
