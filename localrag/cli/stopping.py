"""Turns ctrl-c into a clean end of long work: the first asks it to stop, the second ends the program."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FrameType

from localrag.cli import output

INTERRUPTED = 130
_SHOW_CURSOR = b"\x1b[?25h"


@dataclass
class Stop:
    """Whether and how the person asked for the end."""

    event: threading.Event = field(default_factory=threading.Event)
    """Set when the work should stop; handed to the façade as `cancel`."""

    exit_code: int = INTERRUPTED
    """130 after ctrl-c, 143 after a request to terminate."""

    @property
    def asked(self) -> bool:
        """Whether the work should stop."""
        return self.event.is_set()


@contextlib.contextmanager
def stoppable(message: str = "Stopping; what is done is kept. Ctrl-c again ends at once.") -> Iterator[Stop]:
    """Within it, the first SIGINT or SIGTERM sets the event and says `message`; the next ends the process.

    Outside the main thread, where no handler can be set, it does nothing but give the event.
    """
    stop = Stop()
    terminal = output.is_terminal(sys.stderr)

    def handle(number: int, frame: FrameType | None) -> None:
        # os.write, because a handler may interrupt a print that holds the stream's lock.
        if stop.asked:
            if terminal:
                _write(_SHOW_CURSOR)
            os._exit(stop.exit_code)
        stop.exit_code = 128 + number
        stop.event.set()
        _write(f"\n{message}\n".encode())

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _write(data: bytes) -> None:
    with contextlib.suppress(OSError):
        os.write(2, data)
