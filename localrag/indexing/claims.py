"""Lets the model read the claims of chunks whose entities are read; each chunk is one transaction."""

from __future__ import annotations

import contextlib
import json
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace

from localrag.engine.types import Generation, GenerationRequest, LanguageModel, ProgressEvent
from localrag.engines import generation_row, instructions
from localrag.errors import LocalragError
from localrag.extraction.claims import ClaimReader, ClaimReading
from localrag.indexing import failures
from localrag.indexing.budget import Budget, Meter
from localrag.indexing.claim_events import ClaimsFailed, ClaimsRead
from localrag.indexing.events import InHand, Progress
from localrag.indexing.pace import Pace
from localrag.indexing.patience import patiently
from localrag.pausing import Pause
from localrag.stopping import stoppable
from localrag.store.database import Store
from localrag.store.report_rows import ClaimName
from localrag.store.rows import ChunkRow, GenerationRow, Reject

AHEAD = 64
"""Requests that wait for a place in the engine."""

_Item = tuple[ChunkRow, tuple[ClaimName, ...], GenerationRequest]


class ClaimStage:
    """The reading of claims of one run."""

    def __init__(
        self,
        store: Store,
        reader: ClaimReader,
        model: LanguageModel,
        cancel: threading.Event | None = None,
        pause: Pause | None = None,
        meter: Meter | None = None,
    ) -> None:
        """`cancel` stops it; while `pause` is on, nothing is handed to the model, and nothing that does not
        fit into the budget of `meter`."""
        self._store = store
        self._reader = reader
        self._model = model
        self._cancel = cancel
        self._pause = pause or Pause()
        self._meter = meter or Meter(Budget())
        self._waiting: deque[int] = deque()
        self._ready: deque[_Item] = deque()
        self._silent: deque[ChunkRow] = deque()
        """Chunks in which nobody was read whom claims can be about."""
        self._faulty: deque[tuple[ChunkRow, Exception]] = deque()
        """Chunks that no request can be made of, with the error that nobody foresaw."""
        self._drawn: dict[int, _Item] = {}
        self._next = 0
        self._paths: dict[int, str] = {}

    def run(self, chunk_ids: Sequence[int]) -> Iterator[ClaimsRead | ClaimsFailed | Progress]:
        """Read the claims of these chunks, the result of each stored when its event comes.

        Chunks that are gone by then are passed over. It ends when all are read or the budget is used up.
        Raises `Cancelled` and `EngineError`; what was stored is kept.
        """
        self._waiting.extend(chunk_ids)
        pace = Pace(len(chunk_ids), 0, self._pause.working_time)
        while self._refill() and not self._meter.reason:
            while self._silent:
                self._pause.wait(self._cancel)
                row = self._silent.popleft()
                skipped = json.dumps({"skipped": "no subjects"} | self._reader.asked)
                call = GenerationRow(self._reader.task, "", "", skipped, 0, 0, 0, "stop", "")
                yield from self._stored(row, ClaimReading((), ()), call, "")
                pace.tick()
            while self._faulty:
                yield self._unforeseen(*self._faulty.popleft())
                pace.tick()
            if self._ready:
                yield from self._batch(pace)

    def _refill(self) -> bool:
        """Make requests until `AHEAD` wait; returns whether there is anything to do."""
        if len(self._ready) < AHEAD // 2:
            while self._waiting and len(self._ready) + len(self._silent) < AHEAD:
                self._put(self._waiting.popleft())
        return bool(self._ready or self._silent or self._faulty)

    def _put(self, chunk_id: int) -> None:
        rows = self._store.chunks.many([chunk_id])
        if not rows:
            return
        names = tuple(self._store.claim_search.names(chunk_id))
        if not self._reader.subjects(names):
            self._silent.append(rows[0])
            return
        try:
            self._ready.append((rows[0], names, self._reader.request(rows[0], names)))
        except LocalragError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this text's, and told with it
            self._faulty.append((rows[0], error))

    def __iter__(self) -> Iterator[GenerationRequest]:
        """The requests as the engine draws them, in its own thread."""
        while self._ready:
            self._pause.wait(self._cancel)
            if not self._meter.begin(self._ready[0][0].id, self._ready[0][0].tokens):
                return
            item = self._ready.popleft()
            self._drawn[self._next] = item
            self._next += 1
            yield item[2]

    def _batch(self, pace: Pace) -> Iterator[ClaimsRead | ClaimsFailed | Progress]:
        """One run of the engine; it goes on as long as requests come."""
        last = ProgressEvent("prefill", 0, 0, 0.0, 0.0)
        self._drawn.clear()
        self._next = 0
        with contextlib.closing(stoppable(self._model.run(self), self._cancel)) as events:
            for index, event in events:
                if isinstance(event, ProgressEvent):
                    last = event
                    if event.phase != "idle":
                        self._meter.work()
                    pace.rates(event.prefill_rate, event.decode_rate)
                elif isinstance(event, Generation) and event.finish != "cancelled":
                    self._meter.spend(event)
                    row, names, request = self._drawn.pop(index)
                    yield from self._finished(row, names, request, event)
                    self._meter.end(row.id)
                    pace.tick()
                    self._refill()
                else:
                    continue
                if self._meter.overdue():
                    self._meter.drop()
                    return
                yield self._progress(pace, last)

    def _progress(self, pace: Pace, last: ProgressEvent) -> Progress:
        """How it goes, and what the model has before it."""
        in_hand = tuple(
            InHand(row.id, self._path(row.document_id), row.ordinal, row.heading, row.page)
            for row, _, _ in list(self._drawn.values())
        )
        return replace(pace.progress(last), in_hand=in_hand, spent=self._meter.spent, stands=last.urgent)

    def _finished(
        self,
        row: ChunkRow,
        names: tuple[ClaimName, ...],
        request: GenerationRequest,
        generation: Generation,
    ) -> Iterator[ClaimsRead | ClaimsFailed]:
        if generation.finish == "error":
            yield self._failed(row, request, generation)
            return
        try:
            reading = self._reader.read(row, names, generation)
        except LocalragError:
            raise
        except Exception as error:  # noqa: BLE001 - one bad chunk must not stop the others
            yield self._unforeseen(row, error)
            return
        call = self._call(request, generation)
        yield from self._stored(row, reading, call, instructions(request))

    def _call(self, request: GenerationRequest, generation: Generation) -> GenerationRow:
        row = generation_row(request, generation, "")
        return replace(row, parameters=json.dumps(json.loads(row.parameters) | self._reader.asked))

    def _stored(
        self, row: ChunkRow, reading: ClaimReading, call: GenerationRow, prompt: str
    ) -> Iterator[ClaimsRead]:
        """Store claims, their call and its prompt in one transaction; no event if the chunk is gone."""

        def store() -> int | None:
            with self._store.transaction():
                if not self._store.chunks.many([row.id]):
                    return None
                kept = replace(call, prompt_hash=self._store.journal.put_prompt(prompt)) if prompt else call
                self._store.claims.record(row.id, reading.claims, kept, reading.rejects)
                return self._store.claim_search.stored(row.id, call.task)

        stored = patiently(store, self._cancel)
        if stored is None:
            return
        yield ClaimsRead(
            chunk_id=row.id,
            document=self._path(row.document_id),
            ordinal=row.ordinal,
            claims=stored,
            rejects=len(reading.claims) + len(reading.rejects) - stored,
            swapped=reading.swapped,
            undated=reading.undated,
            seconds=call.milliseconds / 1000,
            said=tuple(claim.description for claim in reading.claims),
            document_id=row.document_id,
        )

    def _failed(self, row: ChunkRow, request: GenerationRequest, generation: Generation) -> ClaimsFailed:
        """A call without a result. One over which the engine died is noted as read, so that it comes last."""
        reason = failures.reason_of(generation)
        if not generation.deaths:
            return self._failure(row, reason)
        reading = ClaimReading((), (Reject("generation", "", reason),))
        for _ in self._stored(row, reading, self._call(request, generation), instructions(request)):
            pass
        return self._failure(row, reason, left_out=True)

    def _unforeseen(self, row: ChunkRow, error: Exception) -> ClaimsFailed:
        return self._failure(row, failures.unforeseen(error))

    def _failure(self, row: ChunkRow, reason: str, *, left_out: bool = False) -> ClaimsFailed:
        path = self._path(row.document_id)
        return ClaimsFailed(row.id, path, row.ordinal, reason, left_out)

    def _path(self, document_id: int) -> str:
        """Path of a document; empty if it was deleted meanwhile."""
        if document_id not in self._paths:
            self._paths |= {row.id: row.path for row in self._store.documents.list()}
        return self._paths.setdefault(document_id, "")
