"""The loop with a model: kept prefixes, questions that pass background work, room that is made for them."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from localrag.engine.batching import Shape
from localrag.engine.client import WorkerModel
from localrag.engine.job import JobRequest
from localrag.engine.llama import Context, Model
from localrag.engine.matching import Vocabulary
from localrag.engine.options import EngineOptions
from localrag.engine.programs import FreeText, Grammar
from localrag.engine.scheduler import PREFIXES, Scheduler
from localrag.engine.template import RenderedPrompt
from localrag.engine.types import INTERACTIVE, Generation
from tests.engine.requests import ask, endless, last, results

RULES = "Follow these rules with care and write nothing else. " * 12


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOCALRAG_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "prefixes"


def once(path: Path, *, prefix_mb: int = 512) -> tuple[Generation, int]:
    """One answer of a fresh worker, and how many prefix tokens came from disk."""
    worker = WorkerModel(path, EngineOptions(n_ctx=4096, sequences=1, threads=1, prefix_mb=prefix_mb))
    try:
        return last(worker.stream(ask("go on", shared=RULES, seed=3))), worker.stats()["prefix_tokens_loaded"]
    finally:
        worker.close()


def test_a_new_process_takes_the_fixed_part_from_disk_and_writes_the_same(
    random_gguf: Path, cache: Path
) -> None:
    cold, loaded = once(random_gguf)
    assert loaded == 0
    assert len(list(cache.glob("*.kv"))) == 1
    warm, loaded = once(random_gguf)
    assert loaded == warm.shared_tokens > 48
    assert warm.text == cold.text


def test_a_damaged_file_is_read_again_and_written_anew(random_gguf: Path, cache: Path) -> None:
    cold, _ = once(random_gguf)
    (path,) = cache.glob("*.kv")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    again, loaded = once(random_gguf)
    assert loaded == 0
    assert again.text == cold.text
    assert once(random_gguf)[1] > 0


def test_another_cache_type_does_not_use_it(random_gguf: Path, cache: Path) -> None:
    once(random_gguf)
    worker = WorkerModel(random_gguf, EngineOptions(n_ctx=4096, sequences=1, threads=1, kv_type="f32"))
    try:
        last(worker.stream(ask("go on", shared=RULES, seed=3)))
        assert worker.stats()["prefix_tokens_loaded"] == 0
    finally:
        worker.close()


def test_nothing_is_kept_where_it_is_switched_off(random_gguf: Path, cache: Path) -> None:
    once(random_gguf, prefix_mb=0)
    assert not cache.exists()


def test_a_question_goes_before_the_background_and_takes_room_from_it(random_gguf: Path) -> None:
    worker = WorkerModel(random_gguf, EngineOptions(n_ctx=2048, sequences=4, threads=1, prefix_mb=0))
    finished: list[str] = []
    found: dict[int, Generation] = {}

    def background() -> None:
        requests = [endless(f"text {i}", max_tokens=380) for i in range(4)]
        found.update(results(worker.run(requests)))
        finished.append("background")

    try:
        worker.describe()
        thread = threading.Thread(target=background)
        thread.start()
        while worker.stats()["jobs"] < 3:
            pass
        # Larger than what is free beside the background: some of that has to give way.
        answer = last(worker.stream(endless("question", max_tokens=1200, priority=INTERACTIVE)))
        finished.append("question")
        thread.join(120)
        stats = worker.stats()
    finally:
        worker.close()
    assert answer.output_tokens >= 1200
    assert finished == ["question", "background"]
    assert [g.finish for g in found.values()] == ["length"] * 4
    assert (stats["jobs"], stats["waiting"], stats["free_sequences"]) == (0, 0, 5)
    assert stats["prefix_users"] == 0


class Flag:
    """An abort flag that remembers whether it is set."""

    def __init__(self) -> None:
        self.raised = False

    def set(self) -> None:
        self.raised = True

    def clear(self) -> None:
        self.raised = False


class Still:
    """A context that computes nothing."""

    n_ctx = 4096

    def __init__(self) -> None:
        self.abort = Flag()

    def remove(self, sequence: int, start: int = 0) -> bool:
        return True


def question(number: int) -> JobRequest:
    prompt = RenderedPrompt((1, 2), (3, 4))
    return JobRequest(number, prompt, FreeText(), 10, 0.0, 0, INTERACTIVE, stream=False)


def test_a_question_stops_background_work_even_right_after_another_one_was_stopped() -> None:
    context = Still()
    sent: list[dict[str, Any]] = []

    def stopped() -> bool:
        return context.abort.raised

    parts: Any = (None, context, None)
    loop = Scheduler(*parts, sequences=2, shape=Shape(256, 32), emit=sent.append)
    loop.submit(question(1))
    assert stopped()
    assert loop._take_orders()
    # The second of two questions has nothing to stop.
    loop.submit(question(2))
    assert not stopped()
    loop.cancel(1)
    loop.cancel(2)
    assert loop._take_orders()
    assert [message["finish"] for message in sent] == ["cancelled", "cancelled"]
    assert not stopped()
    # Now a background step could be running.
    loop.submit(question(3))
    assert stopped()


def test_who_hears_of_an_end_finds_its_last_step_in_the_sums(random_gguf: Path) -> None:
    model = Model(random_gguf)
    vocabulary = Vocabulary(model)
    context = Context(model, n_ctx=512, sequences=PREFIXES + 3, threads=1, batch=128)
    told: list[tuple[int, int]] = []
    over = threading.Event()

    def emit(message: dict[str, Any]) -> None:
        if message["event"] == "done":
            told.append((loop.spent.read, loop.spent.written))
            if len(told) == 2:
                over.set()

    loop = Scheduler(model, context, vocabulary, sequences=2, shape=Shape(128, 48), emit=emit)
    prompt = RenderedPrompt((), tuple(vocabulary.encode("say some digits")))
    for number, length in enumerate((1, 9)):
        loop.submit(
            JobRequest(number, prompt, Grammar("start: /[0-9]{400,}/"), length, 1.0, 0, 0, stream=False)
        )
    thread = threading.Thread(target=loop.run, daemon=True)
    thread.start()
    try:
        assert over.wait(20)
    finally:
        loop.stop()
        thread.join(10)
        context.close()
    # One token is chosen from the prompt's scores; the second job reads back eight of its nine.
    assert told == [(2 * len(prompt.own), 0), (2 * len(prompt.own), 8)]
