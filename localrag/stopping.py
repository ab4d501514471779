"""Waits for work that cannot be interrupted, such as a model that loads, and leaves it when told to stop.

The work runs in a thread of its own and the caller looks at `cancel` while it waits, so a stop is obeyed
within `POLL` seconds whatever the work is doing. What is left behind ends by itself: an iterator is closed
as soon as its current step is over. The threads are daemons, so none of them holds up the program's end.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, TypeVar

from localrag.errors import Cancelled

T = TypeVar("T")

POLL = 0.05
"""Seconds between two looks at `cancel`."""

_GRACE = 0.2


def wait_for(function: Callable[[], T], cancel: threading.Event | None) -> T:
    """The result of `function()`, run in a thread of its own.

    Raises what the function raises, and `Cancelled` once `cancel` is set; the function then runs to its
    end unheard.
    """
    hand = _Hand()
    try:
        return _result(hand.submit(function), cancel)
    finally:
        hand.dismiss()


def stoppable(items: Iterable[T], cancel: threading.Event | None) -> Generator[T, None, None]:
    """The same items, each produced in a thread of its own, until `cancel` is set.

    Raises `Cancelled` then. Closing the returned iterator, an error in the caller and a stop all close
    `items` in that thread.
    """
    iterator = iter(items)
    hand = _Hand()

    def step() -> tuple[T, ...]:
        for item in iterator:
            return (item,)
        return ()

    try:
        while found := _result(hand.submit(step), cancel):
            yield found[0]
    finally:
        close = getattr(iterator, "close", None)
        if close is not None:
            wait([hand.submit(close)], timeout=_GRACE)
        hand.dismiss()


def _result(future: Future[T], cancel: threading.Event | None) -> T:
    while True:
        if cancel is not None and cancel.is_set():
            raise Cancelled("Stopped.", "What was done before is kept.")
        if wait([future], timeout=POLL).done:
            return future.result()


class _Hand:
    """A thread that does what it is given, one thing after the other."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="localrag-hand", daemon=True).start()

    def submit(self, function: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()
        self._jobs.put((function, future))
        return future

    def dismiss(self) -> None:
        self._jobs.put(None)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            function, future = job
            with _Failing(future):
                future.set_result(function())


class _Failing(AbstractContextManager[None]):
    """Hands an error to the one who waits for the result."""

    def __init__(self, future: Future[Any]) -> None:
        self._future = future

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is not None:
            self._future.set_exception(error)
        return error is not None
