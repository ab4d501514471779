"""Threads that the application owns: each does its jobs one after the other and never holds up the exit.

Textual's own thread pool is joined at the end of the process, so a job that does not come back would keep
the program from ending. These threads are daemons, are told to end, and are waited for only so long.
"""

from __future__ import annotations

import queue
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Generic, TypeVar

from localrag.errors import LocalragError
from localrag.plain import plain
from localrag.tui.words import Fault

T = TypeVar("T")
OnFault = Callable[[Fault], None]

TRACEBACK_VARIABLE = "LOCALRAG_TRACEBACK"
"""Variable that asks for the tracebacks of unforeseen errors when the application has ended."""

unexpected: list[str] = []
"""Tracebacks of errors that nobody foresaw, for whoever looks into them after the application has ended."""


_MOST_KEPT = 20


class Caught(AbstractContextManager[None]):
    """Turns whatever is raised inside it into a `Fault`, so that no thread dies without a word."""

    def __init__(self, on_fault: OnFault) -> None:
        self._on_fault = on_fault

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Report and swallow."""
        if error is None:
            return False
        if isinstance(error, LocalragError):
            fault = Fault(plain(error.message), plain(error.hint))
        else:
            del unexpected[:-_MOST_KEPT]
            unexpected.append("".join(traceback.format_exception(kind, error, trace)))
            said = plain(str(error))[:300] or "no details"
            fault = Fault(
                f"Something unexpected happened: {type(error).__name__}: {said}",
                f"What was stored before is kept. {TRACEBACK_VARIABLE}=1 shows where, for a report.",
            )
        self._on_fault(fault)
        return True


class Lane(Generic[T]):
    """One owned daemon thread with a thing of its own, such as a connection that only one thread may use.

    The thing is made by the thread before its first job and released by it at the end.
    """

    def __init__(self, name: str, acquire: Callable[[], T], release: Callable[[T], None]) -> None:
        self._name = name
        self._acquire = acquire
        self._release = release
        self._jobs: queue.SimpleQueue[tuple[Callable[[T], None], OnFault] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, job: Callable[[T], None], on_fault: OnFault) -> bool:
        """Queue a job; false if the lane is closed. `on_fault` is called in the lane's thread."""
        with self._lock:
            if self._closed:
                return False
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=f"localrag-{self._name}", daemon=True)
                self._thread.start()
            self._jobs.put((job, on_fault))
            return True

    def renew(self) -> None:
        """Let the next job have a new thing: what is held now is released after the jobs before."""
        with self._lock:
            if not self._closed and self._thread is not None:
                self._jobs.put((_renew_mark, _ignore))

    def close(self) -> None:
        """Take no more jobs, forget those that have not begun, end after the one that runs."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._jobs.put(None)

    def join(self, deadline: float) -> bool:
        """Wait for the end until `deadline` (of `time.monotonic`); whether it came."""
        thread = self._thread
        if thread is None:
            return True
        thread.join(max(0.0, deadline - time.monotonic()))
        return not thread.is_alive()

    def _run(self) -> None:
        held: list[T] = []
        while (item := self._jobs.get()) is not None:
            job, on_fault = item
            if self._closed:
                continue
            if job is _renew_mark:
                while held:
                    with Caught(_ignore):
                        self._release(held.pop())
                continue
            with Caught(on_fault):
                if not held:
                    held.append(self._acquire())
                job(held[0])
        for thing in held:
            with Caught(_ignore):
                self._release(thing)


def plain_lane(name: str) -> Lane[None]:
    """A lane that holds nothing."""
    return Lane(name, lambda: None, lambda _: None)


def in_background(action: Callable[[], object]) -> threading.Thread:
    """Run `action` in a daemon thread of its own, which has been started; what it raises is dropped."""

    def run() -> None:
        with Caught(_ignore):
            action()

    thread = threading.Thread(target=run, name="localrag-background", daemon=True)
    thread.start()
    return thread


class Pieces:
    """Joins small pieces of text so that they are passed on at most once in `seconds`."""

    def __init__(self, send: Callable[[str], None], seconds: float = 0.04) -> None:
        self._send = send
        self._seconds = seconds
        self._held: list[str] = []
        self._sent_at = 0.0

    def add(self, text: str) -> None:
        """Take a piece; pass on what is held if the last time is long enough ago."""
        self._held.append(text)
        if time.monotonic() - self._sent_at >= self._seconds:
            self.flush()

    def flush(self) -> None:
        """Pass on what is held."""
        if self._held:
            text = "".join(self._held)
            self._held.clear()
            self._sent_at = time.monotonic()
            self._send(text)


def _ignore(fault: Fault) -> None:
    """Nobody is left to tell."""


def _renew_mark(_: object) -> None:
    """Stands among the jobs where what the lane holds is to be made anew."""
