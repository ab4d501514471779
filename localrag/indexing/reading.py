"""Lets the model read the chunks that are pending; each reading is one transaction."""

from __future__ import annotations

import contextlib
import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from localrag.engine.types import Generation, GenerationRequest, LanguageModel, ProgressEvent
from localrag.engines import generation_row, instructions
from localrag.errors import Cancelled, LocalragError
from localrag.extraction.extractor import TASK, Extractor
from localrag.indexing.events import ChunkFailed, ChunkRead, Progress
from localrag.indexing.pace import Pace
from localrag.indexing.patience import patiently
from localrag.pausing import Pause
from localrag.stopping import stoppable
from localrag.store.database import Store
from localrag.store.rows import ChunkRow, GenerationRow, Reading, Reject

AHEAD = 64
"""Requests that wait for a place in the engine, so that it never waits for the file."""

_MOST_FAULTS = 3
"""Chunks in a row with an error that nobody foresaw, after which the run ends with it."""


class Feed:
    """The pending chunks as requests, a few ahead of the engine.

    `refill` and `release` belong to the thread of the store; the engine's thread draws by iterating. Each
    chunk is drawn once in a run, so one that fails waits for the next run.
    """

    def __init__(
        self,
        store: Store,
        extractor: Extractor,
        pause: Pause | None = None,
        cancel: threading.Event | None = None,
    ) -> None:
        """While `pause` is on nothing is handed out; an iteration that waits for its end obeys `cancel`."""
        self._store = store
        self._extractor = extractor
        self._pause = pause or Pause()
        self._cancel = cancel
        self._ready: deque[tuple[ChunkRow, GenerationRequest]] = deque()
        self._drawn: dict[int, tuple[ChunkRow, GenerationRequest]] = {}
        self._held: set[int] = set()
        self._next = 0
        self.nameless: deque[ChunkRow] = deque()
        """Chunks that name nothing, so that the model need not be asked."""
        self.faulty: deque[tuple[ChunkRow, Exception]] = deque()
        """Chunks that no request can be made of, with the error that nobody foresaw."""

    @property
    def ready(self) -> bool:
        """Whether a request waits to be drawn."""
        return bool(self._ready)

    def refill(self) -> bool:
        """Fetch pending chunks until `AHEAD` wait; returns whether anything waits."""
        if len(self._ready) < AHEAD // 2:
            # What is held is still pending in the file, so it must be fetched too and passed over.
            rows = self._store.chunks.pending(len(self._held) + AHEAD)
            fresh = [row for row in rows if row.id not in self._held]
            # Long ones first: at the end of a run the short ones fill what the long ones leave.
            for row in sorted(fresh, key=lambda row: -row.tokens):
                self._held.add(row.id)
                self._put(row)
        return bool(self._ready or self.nameless or self.faulty)

    def _put(self, row: ChunkRow) -> None:
        try:
            request = self._extractor.request(row) if self._extractor.names(row) else None
        except LocalragError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this text's, and told with it
            self.faulty.append((row, error))
            return
        if request is None:
            self.nameless.append(row)
        else:
            self._ready.append((row, request))

    def begin(self) -> None:
        """Count drawn requests from 0 again, as each run of the engine does."""
        self._drawn.clear()
        self._next = 0

    def __iter__(self) -> Iterator[GenerationRequest]:
        while self._ready:
            self._pause.wait(self._cancel)
            pair = self._ready.popleft()
            self._drawn[self._next] = pair
            self._next += 1
            yield pair[1]

    def drawn(self, index: int) -> tuple[ChunkRow, GenerationRequest]:
        """The chunk and the request that were drawn at this place; they are forgotten."""
        return self._drawn.pop(index)

    def release(self, chunk_id: int) -> None:
        """The chunk is read and no longer pending in the file."""
        self._held.discard(chunk_id)


class ReadingStage:
    """The reading of one run."""

    def __init__(
        self,
        store: Store,
        extractor: Extractor,
        model: LanguageModel,
        cancel: threading.Event | None,
        pause: Pause | None = None,
    ) -> None:
        self._store = store
        self._pause = pause or Pause()
        self._feed = Feed(store, extractor, self._pause, cancel)
        self._extractor = extractor
        self._model = model
        self._cancel = cancel
        self._faults = 0
        self._paths: dict[int, str] = {}

    def run(self, total: int, tokens: int) -> Iterator[ChunkRead | ChunkFailed | Progress]:
        """Read what is pending: about `total` chunks with `tokens` tokens together.

        Raises `Cancelled` and `EngineError`.
        """
        pace = Pace(total, tokens, self._pause.working_time)
        while self._feed.refill():
            while self._feed.nameless:
                self._pause.wait(self._cancel)
                if self._cancel is not None and self._cancel.is_set():
                    raise Cancelled("Stopped.", "What was done before is kept.")
                row = self._feed.nameless.popleft()
                yield self._guarded(row, partial(self._nameless, row))
                pace.tick()
            while self._feed.faulty:
                yield self._unforeseen(*self._feed.faulty.popleft())
                pace.tick()
            if self._feed.ready:
                yield from self._batch(pace)

    def _batch(self, pace: Pace) -> Iterator[ChunkRead | ChunkFailed | Progress]:
        """One run of the engine; it goes on as long as the feed does."""
        last = ProgressEvent("prefill", 0, 0, 0.0, 0.0)
        self._feed.begin()
        with contextlib.closing(stoppable(self._model.run(self._feed), self._cancel)) as events:
            for index, event in events:
                if isinstance(event, ProgressEvent):
                    last = event
                    pace.rates(event.prefill_rate, event.decode_rate)
                elif isinstance(event, Generation) and event.finish != "cancelled":
                    row, request = self._feed.drawn(index)
                    yield self._guarded(row, partial(self._finished, row, request, event))
                    pace.tick()
                    self._feed.refill()
                else:
                    continue
                yield Progress(
                    read=pace.done,
                    total=pace.total,
                    prefill_rate=last.prefill_rate,
                    decode_rate=last.decode_rate,
                    chunks_per_minute=pace.per_minute,
                    seconds_left=pace.seconds_left,
                )

    def _guarded(
        self, row: ChunkRow, action: Callable[[], ChunkRead | ChunkFailed]
    ) -> ChunkRead | ChunkFailed:
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
        return self._failed(row, f"An error that nobody foresaw: {type(error).__name__}: {error}")

    def _nameless(self, row: ChunkRow) -> ChunkRead:
        """A chunk without a single name is read without the model."""
        skipped = GenerationRow(TASK, "", "", json.dumps({"skipped": "no names"}), 0, 0, 0, "stop", "")
        return self._record(row, Reading(), lambda: skipped, [])

    def _finished(
        self, row: ChunkRow, request: GenerationRequest, generation: Generation
    ) -> ChunkRead | ChunkFailed:
        if generation.finish == "error":
            return self._failed(row, generation.error or "The engine gave no reason.", generation.deaths)
        if not generation.text.strip():
            return self._failed(row, "The model wrote nothing.")
        reading, rejects = self._extractor.read(row, generation)
        if generation.finish == "length" and not reading.entities:
            return self._failed(row, f"The model wrote nothing usable in {generation.output_tokens} tokens.")

        def journalled() -> GenerationRow:
            # The instructions are kept once; the chunk's text is in the file anyway.
            return generation_row(request, generation, self._store.journal.put_prompt(instructions(request)))

        return self._record(row, reading, journalled, rejects)

    def _record(
        self,
        row: ChunkRow,
        reading: Reading,
        journalled: Callable[[], GenerationRow],
        rejects: Sequence[Reject],
    ) -> ChunkRead:
        """Store a reading, the call that gave it and the prompt of that in one transaction."""

        def store() -> GenerationRow:
            with self._store.transaction():
                generation = journalled()
                self._store.graph.record(row.id, reading, generation, rejects)
            return generation

        generation = patiently(store, self._cancel)
        self._feed.release(row.id)
        names = tuple(entity.name for entity in reading.entities)
        seconds = generation.milliseconds / 1000
        path = self._path(row.document_id)
        return ChunkRead(row.id, path, row.ordinal, names, len(reading.relations), len(rejects), seconds)

    def _failed(self, row: ChunkRow, reason: str, deaths: int = 0) -> ChunkFailed:
        """Count a failed attempt; a chunk that killed the engine is not tried again by the next run."""
        if deaths:
            reason = f"It made the engine fail {deaths} times and is left out. {reason}"
        left_out = deaths > 0
        patiently(
            lambda: self._store.chunks.mark_failed(row.id, reason, max(deaths, 1), left_out=left_out),
            self._cancel,
        )
        path = self._path(row.document_id)
        return ChunkFailed(row.id, path, reason, row.ordinal, left_out=left_out)

    def _path(self, document_id: int) -> str:
        """Path of a document; empty if it was deleted meanwhile."""
        if document_id not in self._paths:
            self._paths |= {row.id: row.path for row in self._store.documents.list()}
        return self._paths.setdefault(document_id, "")
