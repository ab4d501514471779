"""The chunks that wait to be read, as requests for the engine: a few ahead of it, in the order of reading."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator

from localrag.engine.types import GenerationRequest
from localrag.errors import LocalragError
from localrag.extraction.extractor import Extractor
from localrag.extraction.gleaning import ReadingJob
from localrag.indexing.budget import Budget, Meter
from localrag.indexing.order import planned, preferred
from localrag.indexing.preference import Preference
from localrag.pausing import Pause
from localrag.store.database import Store
from localrag.store.rows import ChunkRow, WaitingChunk

AHEAD = 64
"""Requests that wait for a place in the engine, so that it never waits for the file."""


class Feed:
    """The pending chunks as requests, a few ahead of the engine.

    `refill`, `follow` and `release` belong to the thread of the store; the engine's thread draws by
    iterating. Each chunk is begun once in a run, so one that fails waits for the next run. When nothing is
    ready an iteration stops for the moment only: an engine that draws again later gets what came meanwhile.
    """

    def __init__(
        self,
        store: Store,
        extractor: Extractor,
        pause: Pause | None = None,
        cancel: threading.Event | None = None,
        meter: Meter | None = None,
        prefer: Preference | None = None,
    ) -> None:
        """While `pause` is on nothing is handed out; an iteration that waits for its end obeys `cancel`.

        What does not fit in the budget of `meter` is not handed out either. `prefer` may change at any time:
        what is not in the engine yet is put in order anew at the next `refill`.
        """
        self._store = store
        self._extractor = extractor
        self._pause = pause or Pause()
        self._cancel = cancel
        self._meter = meter or Meter(Budget())
        self._prefer = prefer or Preference()
        self._ordered_by = self._prefer.documents
        self._lock = threading.Lock()
        self._ready: deque[tuple[ReadingJob, GenerationRequest]] = deque()
        self._drawn: dict[int, ReadingJob] = {}
        self._next = 0
        self._held: set[int] = set()
        self._planned: deque[WaitingChunk] = deque()
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
        if self._prefer.documents != self._ordered_by:
            self._order_anew()
        if len(self._ready) < AHEAD // 2:
            ranks = self._prefer.ranks()
            if not self._planned:
                # Also what came in since the last plan. What is held is still pending in the file.
                self._planned.extend(planned(self._store, self._held, ranks))
            wanted = [self._planned.popleft().id for _ in range(min(AHEAD, len(self._planned)))]
            rows = self._store.chunks.many(wanted)
            # Long ones first: at the end of a run the short ones fill what the long ones leave.
            for row in sorted(rows, key=lambda row: (ranks.get(row.document_id, len(ranks)), -row.tokens)):
                self._held.add(row.id)
                self._put(row)
        return bool(self._ready or self.nameless or self.faulty)

    def _order_anew(self) -> None:
        """Put what was not begun in the order that a person wants now."""
        self._ordered_by = self._prefer.documents
        ranks = self._prefer.ranks()
        with self._lock:
            fresh = [job.chunk for job, _ in self._ready if not job.calls]
            self._ready = deque(item for item in self._ready if item[0].calls)
        rows = [WaitingChunk(row.id, row.document_id, row.tokens) for row in fresh]
        self._held.difference_update(row.id for row in rows)
        rows += self._planned
        known = {row.id for row in rows} | self._held
        # A document that came in since the last plan may be just the one that is wanted.
        rows += [
            row
            for part in self._store.chunks.waiting()
            for row in part
            if row.document_id in ranks and row.id not in known
        ]
        self._planned = deque(preferred(rows, ranks))

    def _put(self, row: ChunkRow) -> None:
        try:
            job = ReadingJob(self._extractor, row)
            request = job.request()
        except LocalragError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this text's, and told with it
            self.faulty.append((row, error))
            return
        if request is None:
            self.nameless.append(row)
        else:
            with self._lock:
                self._ready.append((job, request))

    def follow(self, job: ReadingJob, request: GenerationRequest) -> None:
        """The next call of a chunk that was begun; it is drawn before any other."""
        with self._lock:
            self._ready.appendleft((job, request))

    def begin(self) -> None:
        """Count drawn requests from 0 again, as each run of the engine does."""
        with self._lock:
            self._drawn.clear()
            self._next = 0

    def __iter__(self) -> Iterator[GenerationRequest]:
        return self

    def __next__(self) -> GenerationRequest:
        if not self._ready:
            raise StopIteration
        self._pause.wait(self._cancel)
        # The thread of the store may put another one at the head meanwhile, or take all away.
        with self._lock:
            if not self._ready:
                raise StopIteration
            job, request = self._ready[0]
            if not self._meter.begin(job.chunk.id, job.chunk.tokens):
                raise StopIteration
            self._ready.popleft()
            self._drawn[self._next] = job
            self._next += 1
        return request

    def drawn(self, index: int) -> ReadingJob:
        """The chunk whose call was drawn at this place; the place is forgotten."""
        with self._lock:
            return self._drawn.pop(index)

    def in_hand(self) -> Iterable[ReadingJob]:
        """What the engine has, in the order in which it was drawn."""
        with self._lock:
            return tuple(self._drawn.values())

    def release(self, chunk_id: int) -> None:
        """The chunk is read and no longer pending in the file."""
        self._held.discard(chunk_id)
