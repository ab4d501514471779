"""Waiting for work that cannot be interrupted: results, errors, and a stop that does not wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from localrag.errors import Cancelled, EngineError
from localrag.stopping import stoppable, wait_for


def _set_after(event: threading.Event, seconds: float) -> None:
    threading.Timer(seconds, event.set).start()


def test_result_and_error_come_through() -> None:
    assert wait_for(lambda: 6 * 7, None) == 42

    def broken() -> None:
        raise EngineError("broken")

    with pytest.raises(EngineError, match="broken"):
        wait_for(broken, threading.Event())


@pytest.mark.alone
def test_a_stop_does_not_wait_for_the_work() -> None:
    cancel, release = threading.Event(), threading.Event()
    _set_after(cancel, 0.1)
    began = time.monotonic()
    with pytest.raises(Cancelled):
        wait_for(lambda: release.wait(20), cancel)
    assert time.monotonic() - began < 0.5
    release.set()


def test_nothing_begins_after_a_stop() -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Cancelled):
        wait_for(lambda: time.sleep(20), cancel)


def test_items_keep_their_order_and_their_end() -> None:
    assert list(stoppable(iter(range(100)), None)) == list(range(100))
    assert list(stoppable([], threading.Event())) == []
    assert list(stoppable([None, 0, ()], None)) == [None, 0, ()]


def test_items_are_produced_one_at_a_time_in_another_thread() -> None:
    made: list[tuple[int, int]] = []

    def produce() -> Iterator[int]:
        for number in range(3):
            made.append((number, threading.get_ident()))
            yield number

    items = stoppable(produce(), None)
    assert next(items) == 0
    time.sleep(0.1)
    assert [number for number, _ in made] == [0]
    assert made[0][1] != threading.get_ident()
    items.close()


def test_an_error_between_items_comes_through() -> None:
    def produce() -> Iterator[int]:
        yield 1
        raise EngineError("after one")

    items = stoppable(produce(), None)
    assert next(items) == 1
    with pytest.raises(EngineError, match="after one"):
        next(items)


@pytest.mark.alone
def test_a_stop_between_items_is_quick_and_closes_the_source() -> None:
    cancel, release, closed = threading.Event(), threading.Event(), threading.Event()

    def produce() -> Iterator[int]:
        try:
            yield 1
            release.wait(20)
            yield 2
        finally:
            closed.set()

    items = stoppable(produce(), cancel)
    assert next(items) == 1
    _set_after(cancel, 0.1)
    began = time.monotonic()
    with pytest.raises(Cancelled):
        next(items)
    assert time.monotonic() - began < 0.5
    assert not closed.is_set()  # its step is not over yet
    release.set()
    assert closed.wait(5)


def test_closing_closes_the_source() -> None:
    closed = threading.Event()

    def produce() -> Iterator[int]:
        try:
            yield from range(10)
        finally:
            closed.set()

    items = stoppable(produce(), None)
    assert next(items) == 0
    items.close()
    assert closed.is_set()
