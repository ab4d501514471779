"""How long a server is waited for, and how a call that waits is ended from another thread."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from localrag.errors import Cancelled


@dataclass(frozen=True)
class Patience:
    """How long a server is waited for, in seconds."""

    connect: float = 10.0
    """For a connection."""

    first: float = 600.0
    """Of silence before the first token, or before the answer of a call that does not stream."""

    between: float = 60.0
    """Of silence between two tokens."""

    retries: int = 5
    """How often a call is made again that found no server or a busy one."""


class Stop:
    """Ends calls from another thread, whatever they wait for."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._event.is_set()

    def stop(self) -> None:
        """End the calls that hold this; they raise `Cancelled`."""
        self._event.set()
        with self._lock:
            for held in self._sockets:
                with contextlib.suppress(OSError):
                    held.shutdown(socket.SHUT_RDWR)

    def check(self) -> None:
        """Raises `Cancelled` after `stop`."""
        if self._event.is_set():
            raise Cancelled("Stopped.", "What was done before is kept.")

    def pause(self, seconds: float) -> None:
        """Wait, unless stopped. Raises `Cancelled`."""
        self._event.wait(seconds)
        self.check()

    @contextlib.contextmanager
    def holds(self, held: socket.socket) -> Iterator[None]:
        """While this lasts, `stop` shuts the socket down."""
        with self._lock:
            self._sockets.add(held)
        try:
            self.check()
            yield
        finally:
            with self._lock:
                self._sockets.discard(held)
