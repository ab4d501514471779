"""Lets the model read the chunks that are pending; each reading is one transaction.

A chunk may take several calls, one after the other (`gleaning.py`); all chunks are in one run of the engine.
The calls of a chunk are stored together when the last has ended. So what the file says of a chunk is all or
nothing, and a chunk that is interrupted between two calls is read anew.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TypeVar

from localrag.engine.types import Generation, LanguageModel, ProgressEvent
from localrag.engines import generation_row, instructions
from localrag.errors import Cancelled, LocalragError
from localrag.extraction.extractor import TASK, Extractor
from localrag.extraction.gleaning import Call, ReadingJob, asks
from localrag.indexing import failures
from localrag.indexing.budget import Budget, Deadline, Meter
from localrag.indexing.events import ChunkFailed, ChunkRead, InHand, Link, Note, Progress
from localrag.indexing.feed import Feed
from localrag.indexing.pace import Pace
from localrag.indexing.patience import patiently
from localrag.indexing.preference import Preference
from localrag.pausing import Pause
from localrag.stopping import stoppable, wait_for
from localrag.store.database import Store
from localrag.store.rows import ChunkRow, FurtherCall, GenerationRow

T = TypeVar("T")

_MOST_FAULTS = 3
"""Chunks in a row with an error that nobody foresaw, after which the run ends with it."""

_NO_DECISIONS = (
    "The server cannot tell how likely an answer is, so it cannot be asked whether something is missing in a "
    "passage: gleaning is off in this run. Use llama-server, or set extraction.gleaning_threshold to 0: then "
    "every passage is looked through again."
)


class ReadingStage:
    """The reading of one run."""

    def __init__(
        self,
        store: Store,
        extractor: Extractor,
        model: LanguageModel,
        cancel: threading.Event | None,
        pause: Pause | None = None,
        meter: Meter | None = None,
        prefer: Preference | None = None,
    ) -> None:
        self._store = store
        self._pause = pause or Pause()
        self._meter = meter or Meter(Budget())
        self._deadline = Deadline(self._meter, cancel)
        self._feed = Feed(store, extractor, self._pause, cancel, self._meter, prefer)
        self._extractor = extractor
        self._model = model
        self._cancel = cancel
        self._faults = 0
        self._looks = 0
        self._paths: dict[int, str] = {}
        self._gleans: bool | None = None
        """Whether chunks are looked through again; None until the model was asked whether it can decide."""
        self._told = False

    def run(self, total: int, tokens: int) -> Iterator[ChunkRead | ChunkFailed | Progress | Note]:
        """Read what is pending, as far as the budget goes: about `total` chunks of `tokens` tokens together.

        Raises `Cancelled` and `EngineError`.
        """
        pace = Pace(total, tokens, self._pause.working_time)
        while self._feed.refill() and not self._meter.reason:
            while self._feed.nameless:
                self._pause.wait(self._cancel)
                if self._cancel is not None and self._cancel.is_set():
                    raise Cancelled("Stopped.", "What was done before is kept.")
                if self._meter.over():
                    return
                row = self._feed.nameless.popleft()
                yield self._guarded(row, partial(self._nameless, row))
                pace.tick(row.tokens)
            while self._feed.faulty:
                row, error = self._feed.faulty.popleft()
                yield self._unforeseen(row, error)
                pace.tick(row.tokens)
            if self._feed.ready:
                try:
                    yield from self._batch(pace)
                except Cancelled:
                    if self._deadline.cancelled or not self._meter.overdue():
                        raise
                    self._meter.drop()
                    return

    def _batch(self, pace: Pace) -> Iterator[ChunkRead | ChunkFailed | Progress | Note]:
        """One run of the engine; it goes on as long as the feed does."""
        yield from self._settle_gleaning()
        last = ProgressEvent("prefill", 0, 0, 0.0, 0.0)
        self._feed.begin()
        with contextlib.closing(stoppable(self._model.run(self._feed), self._deadline)) as events:
            for index, event in events:
                if isinstance(event, ProgressEvent):
                    last = event
                    if event.phase != "idle":
                        self._meter.work()
                    pace.rates(event.prefill_rate, event.decode_rate)
                elif isinstance(event, Generation) and event.finish != "cancelled":
                    job = self._feed.drawn(index)
                    self._meter.spend(event)
                    done = self._guarded(job.chunk, partial(self._heard, job, event))
                    if done is not None:
                        yield done
                        pace.tick(job.chunk.tokens)
                        yield from self._trouble(job)
                    self._feed.refill()
                if not isinstance(event, ProgressEvent | Generation):
                    continue
                yield self._progress(pace, last)

    def _progress(self, pace: Pace, last: ProgressEvent) -> Progress:
        """How it goes, and what the model has before it."""
        in_hand = tuple(
            InHand(
                job.chunk.id,
                self._path(job.chunk.document_id),
                job.chunk.ordinal,
                job.chunk.heading,
                job.chunk.page,
                len(job.calls),
            )
            for job in self._feed.in_hand()
        )
        spent = self._meter.spent
        return replace(
            pace.progress(last), in_hand=in_hand, spent=spent, looks=self._looks, stands=last.urgent
        )

    def _settle_gleaning(self) -> Iterator[Note]:
        """Find out whether the model can be asked for decisions, where the settings want that."""
        if self._gleans is None:
            self._gleans = True
            if asks(self._extractor.settings) and not wait_for(self._model.describe, self._cancel).decides:
                self._gleans = False
                yield Note(_NO_DECISIONS)

    def _trouble(self, job: ReadingJob) -> Iterator[Note]:
        """Tell, once in a run, that a look for more failed."""
        if job.trouble and not self._told:
            self._told = True
            yield Note(f"A passage was read, and the look for what is missing in it failed: {job.trouble}")

    def _guarded(self, row: ChunkRow, action: Callable[[], T]) -> T | ChunkFailed:
        """What `action` gives; an error that nobody foresaw is the failure of this chunk alone."""
        try:
            done = action()
        except LocalragError:
            raise
        except Exception as error:  # noqa: BLE001 - one bad chunk must not stop the others, today or ever
            return self._unforeseen(row, error)
        self._faults = 0
        return done

    def _unforeseen(self, row: ChunkRow, error: Exception) -> ChunkFailed:
        """Mark the chunk as failed. Raises the error if several chunks in a row had one: then the program is
        at fault and not the texts."""
        self._faults += 1
        if self._faults >= _MOST_FAULTS:
            raise error
        return self._failed(row, failures.unforeseen(error))

    def _nameless(self, row: ChunkRow) -> ChunkRead:
        """A chunk without a single name is read without the model."""
        skipped = GenerationRow(TASK, "", "", json.dumps({"skipped": "no names"}), 0, 0, 0, "stop", "")
        return self._record(row, lambda: [FurtherCall(skipped)])

    def _heard(self, job: ReadingJob, generation: Generation) -> ChunkRead | ChunkFailed | None:
        """Take a result; None if the chunk has another call to wait for."""
        self._looks += bool(job.calls)
        following = job.take(generation, glean=bool(self._gleans))
        if following is not None:
            self._feed.follow(job, following)
            return None
        if job.failure:
            return self._failed(job.chunk, job.failure, generation.deaths)
        return self._record(job.chunk, lambda: [self._journalled(call) for call in job.calls])

    def _journalled(self, call: Call) -> FurtherCall:
        # The instructions are kept once; the chunk's text is in the file anyway.
        told = "\n\n".join(part for part in (instructions(call.request), call.turn) if part)
        row = generation_row(call.request, call.generation, self._store.journal.put_prompt(told))
        return FurtherCall(row, call.reading, call.rejects)

    def _record(self, row: ChunkRow, journalled: Callable[[], list[FurtherCall]]) -> ChunkRead:
        """Store a reading, the calls that gave it and their prompts in one transaction."""

        def store() -> list[FurtherCall]:
            with self._store.transaction():
                calls = journalled()
                first, *further = calls
                self._store.graph.record(row.id, first.reading, first.generation, first.rejects, further)
            return calls

        calls = patiently(store, self._cancel)
        self._feed.release(row.id)
        entities = [entity for call in calls for entity in call.reading.entities]
        names = {entity.key: entity.name for entity in entities}
        links = tuple(
            Link(
                names.get(relation.source_key, relation.source_key),
                names.get(relation.target_key, relation.target_key),
                relation.description or relation.keywords,
            )
            for call in calls
            for relation in call.reading.relations
        )
        self._meter.end(row.id, len(entities) + len(links))
        return ChunkRead(
            row.id,
            self._path(row.document_id),
            row.ordinal,
            tuple(entity.name for entity in entities),
            len(links),
            sum(len(call.rejects) for call in calls),
            sum(call.generation.milliseconds for call in calls) / 1000,
            tuple(entity.type for entity in entities),
            links,
            row.document_id,
        )

    def _failed(self, row: ChunkRow, reason: str, deaths: int = 0) -> ChunkFailed:
        """Count a failed attempt; a chunk that killed the engine is not tried again by the next run."""
        if deaths:
            reason = failures.left_out(deaths, reason)
        left_out = deaths > 0
        self._meter.end(row.id)
        patiently(
            lambda: self._store.chunks.mark_failed(row.id, reason, max(deaths, 1), left_out=left_out),
            self._cancel,
        )
        path = self._path(row.document_id)
        return ChunkFailed(row.id, path, reason, row.ordinal, left_out=left_out, document_id=row.document_id)

    def _path(self, document_id: int) -> str:
        """Path of a document; empty if it was deleted meanwhile."""
        if document_id not in self._paths:
            self._paths |= {row.id: row.path for row in self._store.documents.list()}
        return self._paths.setdefault(document_id, "")
