"""Measures how fast chunks are read and how long the rest will take."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from localrag.engine.types import ProgressEvent
from localrag.indexing.events import Progress

WRITTEN = 350
"""Tokens that a model writes for a chunk, until it is known."""

LEAST_LEFT = 0.1
"""Share of a first estimate that is always left, since nothing has ended yet."""

_WINDOW = 48


class Pace:
    """The rate over the last chunks; before the first ended, what the engine's rates let expect.

    What is left is measured in tokens of text and not in chunks, since chunks are not read in the order of
    their lengths. Chunks that are read in one batch end in bursts, so the window spans several batches; while
    nothing ends, the clock goes on and the estimate grows with it.
    """

    def __init__(self, total: int, tokens: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        """For `total` chunks that have `tokens` tokens together."""
        self._total = total
        self._tokens = tokens
        self._clock = clock
        self._ends: deque[tuple[float, float]] = deque([(clock(), 0.0)], maxlen=_WINDOW + 1)
        self._read = 0.0
        self._prefill_rate = 0.0
        self._decode_rate = 0.0
        self.done = 0
        """Chunks that ended."""

    @property
    def total(self) -> int:
        """Chunks in all; never less than those that ended."""
        return max(self._total, self.done)

    def tick(self, tokens: int | None = None) -> None:
        """A chunk with so many tokens ended; an ordinary one if they are not given."""
        self.done += 1
        self._read += self._ordinary if tokens is None else tokens
        self._ends.append((self._clock(), self._read))

    def rates(self, prefill: float, decode: float) -> None:
        """The engine's tokens per second, read and written. 0 says nothing, since it does one at a time."""
        self._prefill_rate = prefill or self._prefill_rate
        self._decode_rate = decode or self._decode_rate

    @property
    def per_minute(self) -> float:
        """Chunks a minute; 0 until one ended."""
        seconds = self._clock() - self._ends[0][0]
        return 60 * (len(self._ends) - 1) / seconds if self.done and seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Seconds for the rest at this rate; None until the model has begun to write."""
        seconds = self._clock() - self._ends[0][0]
        if self.done and seconds > 0:
            rate = (self._read - self._ends[0][1]) / seconds
            if rate > 0:
                return max((self._tokens or self._total) - self._read, 0.0) / rate
        if not (self._prefill_rate and self._decode_rate):
            return None
        expected = self._tokens / self._prefill_rate + self._total * WRITTEN / self._decode_rate
        return max(expected - (self._clock() - self._ends[0][0]), LEAST_LEFT * expected)

    def progress(self, last: ProgressEvent) -> Progress:
        """How it goes now, to tell a person; `last` is what the engine told last."""
        return Progress(
            read=self.done,
            total=self.total,
            prefill_rate=last.prefill_rate,
            decode_rate=last.decode_rate,
            chunks_per_minute=self.per_minute,
            seconds_left=self.seconds_left,
        )

    @property
    def _ordinary(self) -> float:
        """Tokens of an ordinary chunk; 1 where nothing is known of them, which counts chunks."""
        return self._tokens / self._total if self._tokens and self._total else 1.0
