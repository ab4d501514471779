"""Tells a worker that hangs from one that has nothing to do or works at something long.

A worker gives a sign of life after every step of its model. It hangs if there is work that it should be
doing and no sign came for longer than any step takes. Only time during which somebody looked counts: a
laptop that slept, or a caller that was busy elsewhere, is no hang.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

DEFAULT_SECONDS = 180
"""Silence after which a worker is taken to hang. The longest honest step is one of 512 prompt tokens by a
large model on a slow machine, about a minute and a half at 6 tokens a second."""

_LOOK_SECONDS = 1.0
"""Most that one look can add to the silence."""


class Pulse:
    """The work that a worker has in hand and the silence since its last sign of life. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._work: dict[int, bool] = {}
        self._paused = False
        self._silence = 0.0
        self._looked = clock()
        self._frozen: int | None = None

    def begin(self, number: int, *, background: bool) -> None:
        """Work was handed over; background work stands still while it is paused."""
        with self._lock:
            idle = not self._expected()
            self._work[number] = background
            if idle:
                self._start()

    def end(self, number: int) -> None:
        """It is done or given up."""
        with self._lock:
            self._work.pop(number, None)

    def pause(self, paused: bool) -> None:
        """Background work stands still, or goes on."""
        with self._lock:
            self._paused = paused
            self._start()

    def beat(self) -> None:
        """A sign of life came."""
        with self._lock:
            self._start()

    def freeze(self) -> None:
        """The worker is dead: keep how much it had in hand."""
        with self._lock:
            if self._frozen is None:
                self._frozen = len(self._work)

    @property
    def in_hand(self) -> int:
        """Pieces of work now, or when the worker died."""
        with self._lock:
            return len(self._work) if self._frozen is None else self._frozen

    def overdue(self, limit: float) -> bool:
        """Look once: whether it has been silent for `limit` seconds though it has work; 0 is never."""
        with self._lock:
            now = self._clock()
            passed, self._looked = now - self._looked, now
            if not self._expected():
                return False
            self._silence += min(passed, _LOOK_SECONDS)
            return 0 < limit < self._silence

    def _expected(self) -> bool:
        """Whether there is work that should be going on."""
        return any(not (background and self._paused) for background in self._work.values())

    def _start(self) -> None:
        self._silence = 0.0
        self._looked = self._clock()
