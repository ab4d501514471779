"""Owned threads: order, faults, ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from localrag.errors import DiskFull
from localrag.tui import work
from localrag.tui.words import Fault
from localrag.tui.work import Caught, Lane, Pieces, plain_lane


def test_jobs_run_in_order_on_one_daemon_thread_with_their_own_thing() -> None:
    seen: list[tuple[int, threading.Thread]] = []
    released: list[threading.Thread] = []
    lane = Lane("test", threading.current_thread, released.append)
    done = threading.Event()

    def job(number: int) -> Callable[[threading.Thread], None]:
        return lambda thing: seen.append((number, thing))

    for number in range(3):
        lane.submit(job(number), lambda fault: None)
    lane.submit(lambda thing: done.set(), lambda fault: None)
    assert done.wait(2)
    lane.close()
    assert lane.join(time.monotonic() + 2)
    assert [number for number, _ in seen] == [0, 1, 2]
    assert len({thing for _, thing in seen}) == 1
    assert seen[0][1].daemon
    assert released == [seen[0][1]]
    assert not lane.submit(lambda thing: None, lambda fault: None)


def test_a_fault_is_told_and_the_lane_lives_on() -> None:
    faults: list[Fault] = []
    lane = plain_lane("test")
    done = threading.Event()

    def full(_: None) -> None:
        raise DiskFull("The disk is full.", "Make\x1b[31m room.")

    def broken(_: None) -> None:
        raise ZeroDivisionError("by\x07 nought")

    work.unexpected.clear()
    lane.submit(full, faults.append)
    lane.submit(broken, faults.append)
    lane.submit(lambda _: done.set(), faults.append)
    assert done.wait(2)
    assert faults[0] == Fault("The disk is full.", "Make room.")
    assert "ZeroDivisionError: by nought" in faults[1].message
    assert len(work.unexpected) == 1
    work.unexpected.clear()
    lane.close()


@pytest.mark.alone
def test_closing_forgets_what_has_not_begun_and_waits_only_so_long() -> None:
    lane = plain_lane("test")
    begun, go_on = threading.Event(), threading.Event()
    late: list[int] = []

    def slow(_: None) -> None:
        begun.set()
        go_on.wait(5)

    lane.submit(slow, lambda fault: None)
    lane.submit(lambda _: late.append(1), lambda fault: None)
    assert begun.wait(2)
    lane.close()
    started = time.monotonic()
    assert not lane.join(started + 0.05)
    assert time.monotonic() - started < 1
    go_on.set()
    assert lane.join(time.monotonic() + 2)
    assert late == []


def test_a_thing_that_cannot_be_had_is_a_fault_each_time() -> None:
    tries: list[int] = []
    faults: list[Fault] = []

    def acquire() -> None:
        tries.append(1)
        raise DiskFull("No room.")

    lane = Lane("test", acquire, lambda _: None)
    done = threading.Event()
    lane.submit(lambda _: None, faults.append)
    lane.submit(lambda _: None, lambda fault: done.set())
    assert done.wait(2)
    assert len(tries) == 2
    assert faults == [Fault("No room.")]
    lane.close()


def test_pieces_are_joined_and_none_is_lost() -> None:
    sent: list[str] = []
    pieces = Pieces(sent.append, seconds=60)
    for text in ("a", "b", "c"):
        pieces.add(text)
    pieces.flush()
    pieces.flush()
    assert sent == ["a", "bc"]


def test_caught_lets_good_work_pass() -> None:
    faults: list[Fault] = []
    with Caught(faults.append):
        pass
    assert faults == []
