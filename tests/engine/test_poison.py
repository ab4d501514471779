"""Deaths and hangs of a real worker: who is blamed, who goes on, and what a person is told."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from localrag.engine.client import WorkerEmbedder, WorkerModel
from localrag.engine.options import EngineOptions
from localrag.engine.programs import Choice
from localrag.engine.run import Run
from localrag.engine.suspects import DEATHS, MOST_DEATHS, Flight, Suspects, Trials
from localrag.engine.types import INTERACTIVE, Event, Generation, GenerationRequest, ProgressEvent, TextEvent
from localrag.engine.watchdog import Pulse
from localrag.errors import EngineCrashed, EngineError
from tests.engine.requests import ask, endless, last, results

SEQUENCES = 6


@pytest.fixture(scope="module")
def model(random_gguf: Path) -> Iterator[WorkerModel]:
    """A worker that is taken to hang after two silent seconds."""
    worker = WorkerModel(
        random_gguf, EngineOptions(n_ctx=8192, sequences=SEQUENCES, threads=1, hang_seconds=2)
    )
    yield worker
    worker.close()


class Killer:
    """Runs requests, and signals the worker as soon as one of the poisonous ones is in its hands."""

    def __init__(self, model: WorkerModel, poison: set[int], number: signal.Signals) -> None:
        self._model = model
        self._poison = poison
        self._number = number
        self._last: int | None = None
        self.signals = 0
        """How often the worker was signalled, each time another process."""

    def run(self, requests: list[GenerationRequest]) -> dict[int, Generation]:
        """The results of all requests."""
        run = Run(self._model._worker, requests)
        over = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(run, over))
        watcher.start()
        try:
            return results(run.events())
        finally:
            over.set()
            watcher.join()

    def _watch(self, run: Run, over: threading.Event) -> None:
        while not over.wait(0.002):
            if any(flight.index in self._poison for flight in list(run._flying.values())):
                self._strike()

    def _strike(self) -> None:
        pid = self._model.pid
        if pid is not None and pid != self._last:
            self._last = pid
            self.signals += 1
            os.kill(pid, self._number)


def wanted(count: int, max_tokens: int = 400) -> list[GenerationRequest]:
    return [endless(f"text {i}", max_tokens=max_tokens, seed=i) for i in range(count)]


def test_one_poisonous_request_is_found_and_the_others_come_back(model: WorkerModel) -> None:
    killer = Killer(model, {9}, signal.SIGSEGV)
    found = killer.run(wanted(24))
    assert sorted(found) == list(range(24))
    assert {i for i, g in found.items() if g.finish != "length"} == {9}
    assert (found[9].finish, found[9].deaths) == ("error", killer.signals)
    assert "SIGSEGV" in found[9].error
    # Eight requests are in flight at a time: the first death, and one for each halving down to one.
    assert DEATHS <= killer.signals <= 4


def test_several_poisonous_requests_are_all_found(model: WorkerModel) -> None:
    found = Killer(model, {0, 5, 13}, signal.SIGABRT).run(wanted(16))
    assert {i for i, g in found.items() if g.finish != "length"} == {0, 5, 13}
    assert all("SIGABRT" in found[i].error for i in (0, 5, 13))


def test_a_kill_for_want_of_memory_says_so(model: WorkerModel) -> None:
    found = Killer(model, {0}, signal.SIGKILL).run(wanted(2))
    assert "SIGKILL (often: no memory left)" in found[0].error
    assert found[1].finish == "length"


@pytest.mark.skipif(sys.platform == "win32", reason="not here: no stop signal")
def test_a_request_that_makes_the_worker_hang_is_found_too(model: WorkerModel) -> None:
    killer = Killer(model, {3}, signal.SIGSTOP)
    began = time.monotonic()
    found = killer.run(wanted(6))
    assert {i for i, g in found.items() if g.finish != "length"} == {3}
    assert "no sign of life for 2 seconds" in found[3].error
    assert time.monotonic() - began < 10 * 2 * killer.signals


@pytest.mark.skipif(sys.platform == "win32", reason="not here: no stop signal")
def test_a_hang_from_outside_costs_no_work(model: WorkerModel) -> None:
    model.describe()
    assert model.pid is not None
    stopped = psutil.Process(model.pid)
    os.kill(stopped.pid, signal.SIGSTOP)
    assert {g.finish for g in results(model.run(wanted(10))).values()} == {"length"}
    assert not stopped.is_running()


@pytest.mark.skipif(sys.platform == "win32", reason="not here: no stop signal")
def test_a_hang_while_something_is_asked_is_noticed(model: WorkerModel) -> None:
    model.describe()
    assert model.pid is not None
    os.kill(model.pid, signal.SIGSTOP)
    assert model.count(["a word"])[0] > 0


@pytest.mark.skipif(sys.platform == "win32", reason="not here: no stop signal")
def test_a_stopped_worker_holds_nobody_up_however_much_is_sent(model: WorkerModel) -> None:
    """A pipe holds some 64 KB; whoever wrote more into it would wait for ever."""
    model.describe()
    assert model.pid is not None
    os.kill(model.pid, signal.SIGSTOP)
    run = model.run([ask("word " * 40_000, max_tokens=10)] * 3)
    assert {g.finish for g in results(run).values()} == {"error"}


def test_a_question_beside_a_poisonous_text_is_answered(model: WorkerModel) -> None:
    background = Run(model._worker, [endless("poison", max_tokens=1500)])
    events = background.events()
    answers: list[Generation] = []
    next(event for _, event in events if isinstance(event, ProgressEvent) and event.running)
    question = ask(program=Choice(("yes",)), priority=INTERACTIVE, messages=long_prompt())
    thread = threading.Thread(target=lambda: answers.append(last(model.stream(question))))
    process = model._worker.get()
    before = process.pulse.in_hand
    thread.start()
    while process.pulse.in_hand == before and thread.is_alive():
        time.sleep(0.001)
    process.kill()
    thread.join(30)
    events.close()
    assert [answer.text for answer in answers] == ["yes"]


def long_prompt() -> tuple[object, ...]:
    return ask("word " * 300).messages


def test_an_answer_that_a_person_has_begun_to_read_does_not_begin_again(model: WorkerModel) -> None:
    events = model.stream(endless(max_tokens=1900, stream=True, priority=INTERACTIVE))
    next(event for event in events if isinstance(event, TextEvent))
    assert model.pid is not None
    os.kill(model.pid, signal.SIGKILL)
    with pytest.raises(EngineCrashed, match="Ask again"):
        list(events)


def test_when_it_dies_over_everything_the_engine_is_at_fault(model: WorkerModel) -> None:
    killer = Killer(model, set(range(40)), signal.SIGKILL)
    with pytest.raises(EngineCrashed, match=r"5 texts in a row.*doctor"):
        killer.run(wanted(40))


def test_closing_the_engine_ends_what_runs(random_gguf: Path) -> None:
    worker = WorkerModel(random_gguf, EngineOptions(n_ctx=2048, sequences=1, threads=1))
    events = worker.run([endless(max_tokens=1500)])
    next(event for _, event in events if isinstance(event, ProgressEvent) and event.running)
    worker.close()
    with pytest.raises(EngineError, match="closed"):
        list(events)
    assert worker.pid is None


def test_a_worker_that_can_hear_nothing_more_is_replaced(random_gguf: Path) -> None:
    worker = WorkerModel(random_gguf, EngineOptions(n_ctx=2048, sequences=1, threads=1))
    try:
        events = worker.run([endless(max_tokens=1500)])
        next(event for _, event in events if isinstance(event, ProgressEvent) and event.running)
        before = worker.pid
        # No parent sends this; the thread that listens fails over it.
        worker._worker.get().send({"op": "cancel", "id": []})
        found = results(events)
        assert found[0].finish == "length"
        assert worker.pid != before
    finally:
        worker.close()


def flight(deaths: int, *, priority: int = 0, shown: bool = False) -> Flight:
    return Flight(0, ask(priority=priority), deaths, shown)


@pytest.mark.parametrize(
    ("it", "alone", "given_up"),
    [
        (flight(1), True, False),
        (flight(2), True, True),
        (flight(2), False, False),
        (flight(7), False, False),
        (flight(MOST_DEATHS), False, True),
        (flight(1, priority=INTERACTIVE), False, False),
        (flight(2, priority=INTERACTIVE), False, True),
        (flight(1, shown=True), False, True),
    ],
)
def test_who_is_given_up(it: Flight, alone: bool, given_up: bool) -> None:
    assert it.given_up(alone=alone) is given_up


def test_suspects_are_halved_and_what_died_last_goes_first() -> None:
    group = [Flight(i, ask()) for i in range(5)]
    suspects = Suspects()
    suspects.add(group)
    first = suspects.take()
    assert [f.index for f in first] == [0, 1, 2]
    suspects.add(first)
    taken = []
    while suspects:
        taken.append([f.index for f in suspects.take()])
    assert taken == [[0, 1], [2], [3, 4]]


def test_one_run_at_a_time_tries_its_suspects() -> None:
    trials = Trials()
    first, second = object(), object()
    assert trials.enter(first)
    assert trials.enter(first)
    assert not trials.enter(second)
    assert trials.elsewhere(second)
    assert not trials.elsewhere(first)
    trials.leave(second)
    assert trials.elsewhere(second)
    trials.leave(first)
    assert trials.enter(second)


class Clock:
    """A clock that the test turns."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def watch(pulse: Pulse, clock: Clock, seconds: int, limit: float) -> bool:
    """Look twice a second for so long."""
    late = False
    for _ in range(seconds * 2):
        clock.now += 0.5
        late = pulse.overdue(limit)
    return late


def test_only_silence_at_work_is_a_hang() -> None:
    clock = Clock()
    pulse = Pulse(clock)
    assert not watch(pulse, clock, 100, 10)
    pulse.begin(1, background=True)
    assert not watch(pulse, clock, 9, 10)
    pulse.beat()
    assert not watch(pulse, clock, 9, 10)
    assert watch(pulse, clock, 2, 10)
    assert not watch(pulse, clock, 100, 0)
    pulse.end(1)
    assert not watch(pulse, clock, 100, 10)


def test_paused_work_is_not_late_but_a_question_beside_it_is() -> None:
    clock = Clock()
    pulse = Pulse(clock)
    pulse.begin(1, background=True)
    pulse.pause(True)
    assert not watch(pulse, clock, 100, 10)
    pulse.begin(2, background=False)
    assert not watch(pulse, clock, 9, 10)
    assert watch(pulse, clock, 2, 10)
    pulse.end(2)
    pulse.pause(False)
    assert not watch(pulse, clock, 9, 10)
    assert watch(pulse, clock, 2, 10)


def test_time_in_which_nobody_looked_is_not_counted() -> None:
    clock = Clock()
    pulse = Pulse(clock)
    pulse.begin(1, background=False)
    clock.now += 3600
    assert not pulse.overdue(10)


def test_what_was_in_hand_at_a_death_is_remembered() -> None:
    pulse = Pulse()
    for number in range(3):
        pulse.begin(number, background=True)
    pulse.end(0)
    pulse.freeze()
    pulse.end(1)
    assert pulse.in_hand == 2


def test_events_of_a_paused_engine_say_that_it_stands(model: WorkerModel) -> None:
    events = model.run(wanted(4, max_tokens=400))
    next(event for _, event in events if isinstance(event, ProgressEvent) and event.running)
    model.pause_background()
    try:
        seen: list[Event] = []
        began = time.monotonic()
        while time.monotonic() - began < 3:
            seen.append(next(events)[1])
        assert isinstance(seen[-1], ProgressEvent)
        assert (seen[-1].phase, seen[-1].decode_rate) == ("idle", 0.0)
    finally:
        model.resume_background()
    assert {g.finish for g in results(events).values()} == {"length"}


@pytest.mark.skipif(sys.platform == "win32", reason="not here: no stop signal")
@pytest.mark.parametrize("number", ["SIGSTOP", "SIGKILL", "SIGSEGV"])
def test_vectors_come_although_their_worker_is_hit(random_embedder_gguf: Path, number: str) -> None:
    worker = WorkerEmbedder(random_embedder_gguf, EngineOptions(threads=1, hang_seconds=1), limit=64)
    try:
        before = worker.embed(["the ferry"], "passage")
        assert worker.pid is not None
        os.kill(worker.pid, getattr(signal, number))
        assert (worker.embed(["the ferry"], "passage") == before).all()
    finally:
        worker.close()


@pytest.mark.skipif(sys.platform == "win32", reason="not here: no stop signal")
def test_closing_does_not_start_the_engine_again_for_a_question_that_waits(random_gguf: Path) -> None:
    worker = WorkerModel(random_gguf, EngineOptions(n_ctx=2048, sequences=1, threads=1))
    worker.describe()
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGSTOP)
    errors: list[EngineError] = []

    def count() -> None:
        try:
            worker.count(["word"])
        except EngineError as error:
            errors.append(error)

    thread = threading.Thread(target=count)
    thread.start()
    process = worker._worker.get()
    while not process.pulse.in_hand:
        time.sleep(0.001)
    worker.close()
    thread.join(10)
    assert len(errors) == 1
    assert worker.pid is None
