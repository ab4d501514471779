"""A switch that lets background work stand still and go on, from any thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from localrag.errors import Cancelled

_POLL = 0.05


class Pause:
    """Whether background work stands still. Safe for several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._going = threading.Event()
        self._going.set()
        self._since = 0.0
        self._stood = 0.0

    @property
    def paused(self) -> bool:
        """Whether it stands still now."""
        return not self._going.is_set()

    def pause(self) -> None:
        """Stand still. Twice is as good as once."""
        with self._lock:
            if not self.paused:
                self._since = self._clock()
                self._going.clear()

    def resume(self) -> None:
        """Go on."""
        with self._lock:
            if self.paused:
                self._stood += self._clock() - self._since
                self._going.set()

    def wait(self, cancel: threading.Event | None = None) -> None:
        """Wait while it stands still. Raises `Cancelled` once `cancel` is set."""
        while not self._going.wait(_POLL):
            if cancel is not None and cancel.is_set():
                raise Cancelled("Stopped.", "What was done before is kept.")

    def working_time(self) -> float:
        """A clock in seconds that stands still too, for estimates of the time left."""
        with self._lock:
            return (self._since if self.paused else self._clock()) - self._stood
