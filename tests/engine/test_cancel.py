"""Cancel, pause and resume with a real model: how soon the engine obeys, and that it is usable afterwards.

The goal is half a second; the tests allow ten times as much, for machines that do something else beside
them, and print what they measured (`pytest -rP`).
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from localrag.catalogue.installed import find_model
from localrag.engine.client import WorkerModel
from localrag.engine.options import EngineOptions
from localrag.engine.programs import Choice, FreeText
from localrag.engine.protocol import Message as Wire
from localrag.engine.types import INTERACTIVE, Generation, GenerationRequest, Pausable, ProgressEvent
from localrag.engine.wire import request_message
from localrag.errors import Cancelled
from localrag.pausing import Pause
from tests.engine.requests import ask, endless, last, results

GOAL = 0.5
ALLOWED = 10 * GOAL
LONG = "The keeper wrote the hour of every ship that passed the island into the log of the lighthouse. " * 160
"""About 3,000 tokens."""


@pytest.fixture(scope="module")
def small() -> Iterator[WorkerModel]:
    """A real model with room for eight sequences. Its prefixes are not kept on disk, so they are read."""
    worker = WorkerModel(
        find_model("qwen2.5-coder-0.5b-instruct", "chat"),
        EngineOptions(n_ctx=12288, sequences=8, prefix_mb=0),
    )
    yield worker
    worker.close()


class Direct:
    """Requests sent to the worker without the client, so that its own answers can be timed."""

    def __init__(self, model: WorkerModel) -> None:
        self._process = model._worker.get()
        self._heard: queue.SimpleQueue[Wire] = queue.SimpleQueue()
        self._numbers: list[int] = []

    def send(self, *requests: GenerationRequest) -> None:
        """Hand over some requests."""
        for request in requests:
            number = self._process.share(self._heard)
            self._numbers.append(number)
            self._process.send(request_message(number, request))

    def wait(self, condition: Callable[[Wire], bool]) -> None:
        """Wait for the first message that fits."""
        while not condition(self._heard.get(timeout=60)):
            pass

    def cancel(self) -> tuple[float, list[Wire]]:
        """Cancel all; the seconds until the last one was answered, and the answers."""
        began = time.monotonic()
        for number in self._numbers:
            self._process.send({"op": "cancel", "id": number})
        done: list[Wire] = []
        while len(done) < len(self._numbers):
            message = self._heard.get(timeout=60)
            if message["event"] == "done":
                done.append(message)
        seconds = time.monotonic() - began
        for number in self._numbers:
            self._process.close(number)
        return seconds, done


def reading(message: Wire) -> bool:
    """Whether a prompt is being read and none is being written."""
    return bool(message["event"] == "progress" and message["phase"] == "prefill" and message["running"])


def writing(message: Wire) -> bool:
    """Whether something is being written."""
    return bool(message["event"] == "progress" and message["phase"] == "decode")


def greedy(text: str, **changes: Any) -> GenerationRequest:
    return ask(text, program=FreeText(), temperature=0.0, max_tokens=12, **changes)


def check(model: WorkerModel, name: str, seconds: float, done: list[Wire]) -> None:
    print(f"{name}: all answered {seconds:.3f} s after the cancel (goal {GOAL} s)")
    assert {message["finish"] for message in done} == {"cancelled"}
    assert seconds < ALLOWED
    counts = model.stats()
    assert (counts["jobs"], counts["waiting"], counts["prefix_users"]) == (0, 0, 0)


@pytest.mark.model
@pytest.mark.parametrize(
    ("name", "request_"),
    [
        ("while an own prompt is read", ask(LONG, max_tokens=50)),
        ("while a shared prefix is read", ask("Go on.", shared=LONG, max_tokens=50)),
    ],
)
def test_cancel_in_the_middle_of_reading(small: WorkerModel, name: str, request_: GenerationRequest) -> None:
    text = last(small.stream(greedy("Count from one to five."))).text
    direct = Direct(small)
    direct.send(request_)
    time.sleep(1.0)
    seconds, done = direct.cancel()
    check(small, name, seconds, done)
    assert done[0]["output_tokens"] == 0
    assert last(small.stream(greedy("Count from one to five."))).text == text


@pytest.mark.model
def test_a_prefix_that_was_half_read_is_read_to_its_end(small: WorkerModel) -> None:
    shared = "The harbour office is open from nine to noon. " * 120
    direct = Direct(small)
    direct.send(ask("Go on.", shared=shared))
    direct.wait(reading)
    direct.cancel()
    cut = last(small.stream(greedy(" When is it open?", shared=shared)))
    whole = last(small.stream(greedy(" When is it open?", shared=shared)))
    assert cut.finish in ("stop", "length")
    assert cut.text == whole.text
    assert cut.shared_tokens > 1000


@pytest.mark.model
def test_cancel_in_the_middle_of_writing(small: WorkerModel) -> None:
    text = last(small.stream(greedy("Name three rivers."))).text
    direct = Direct(small)
    direct.send(endless("Digits", max_tokens=900))
    direct.wait(writing)
    seconds, done = direct.cancel()
    check(small, "while one is written", seconds, done)
    assert done[0]["text"].isdigit()
    assert last(small.stream(greedy("Name three rivers."))).text == text


@pytest.mark.model
def test_cancel_of_a_whole_run(small: WorkerModel) -> None:
    direct = Direct(small)
    direct.send(*(endless(f"{LONG[:1500]} {i}", max_tokens=600) for i in range(8)))
    direct.send(*(ask(f"{LONG} {i}", max_tokens=600) for i in range(4)))
    direct.wait(writing)
    seconds, done = direct.cancel()
    check(small, "a run of twelve", seconds, done)


@pytest.mark.model
def test_closing_a_run_frees_the_engine(small: WorkerModel) -> None:
    events = small.run(endless(f"{LONG[:1500]} {i}", max_tokens=600) for i in range(30))
    next(event for _, event in events if isinstance(event, ProgressEvent) and event.phase == "decode")
    began = time.monotonic()
    events.close()
    closed = time.monotonic() - began
    answer = last(small.stream(ask("Is Paris in France? yes or no", program=Choice(("yes", "no")))))
    total = time.monotonic() - began
    print(f"closing took {closed:.3f} s, and an answer was there after {total:.3f} s")
    assert answer.text in ("yes", "no")
    assert closed < ALLOWED
    assert total < 2 * ALLOWED


@pytest.mark.model
def test_background_work_stands_still_and_goes_on(small: WorkerModel) -> None:
    events = small.run(endless(f"number {i}", max_tokens=80, seed=i) for i in range(16))
    next(event for _, event in events if isinstance(event, ProgressEvent) and event.phase == "decode")
    began = time.monotonic()
    small.pause_background()
    small.pause_background()
    while not small.stats()["paused"]:
        time.sleep(0.005)
    stood = time.monotonic() - began
    before = small.stats()
    question = last(small.stream(ask("Hello", program=Choice(("yes", "no")), priority=INTERACTIVE)))
    after = small.stats()
    print(f"it stood still after {stood:.3f} s")
    assert question.text in ("yes", "no")
    assert stood < ALLOWED
    assert before["jobs"] == after["jobs"] == 8
    time.sleep(0.3)
    assert small.stats()["steps"] == after["steps"]
    small.resume_background()
    found = results(events)
    assert {generation.finish for generation in found.values()} == {"length"}
    assert len(found) == 16


@pytest.mark.model
def test_a_long_reading_stands_still_at_once(small: WorkerModel) -> None:
    direct = Direct(small)
    direct.send(ask(LONG, max_tokens=1))
    direct.wait(reading)
    small.pause_background()
    try:
        time.sleep(1.0)
        steps = small.stats()["steps"]
        time.sleep(1.0)
        assert small.stats()["steps"] == steps
    finally:
        small.resume_background()
    seconds, _ = direct.cancel()
    assert seconds < ALLOWED


def test_a_worker_that_starts_while_paused_is_paused(random_gguf: Path) -> None:
    worker = WorkerModel(random_gguf, EngineOptions(n_ctx=2048, sequences=2, threads=1))
    try:
        worker.pause_background()
        assert worker.pid is None
        events = worker.run([endless(max_tokens=20)])
        began = time.monotonic()
        while time.monotonic() - began < 2:
            assert not isinstance(next(events)[1], Generation)
        assert worker.stats()["paused"]
        worker.resume_background()
        assert results(events)[0].finish == "length"
    finally:
        worker.close()


def test_a_worker_can_be_paused_and_a_scripted_model_need_not(model: WorkerModel) -> None:
    from localrag.engine.scripted import ScriptedModel

    assert isinstance(model, Pausable)
    assert not isinstance(ScriptedModel(), Pausable)


def test_a_pause_can_be_waited_for_and_stopped() -> None:
    import threading

    now = [0.0]
    pause = Pause(lambda: now[0])
    pause.wait()
    pause.pause()
    pause.pause()
    now[0] = 7.0
    assert pause.working_time() == 0.0
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Cancelled):
        pause.wait(cancel)
    pause.resume()
    pause.resume()
    now[0] = 9.0
    assert pause.working_time() == 2.0
    assert not pause.paused
