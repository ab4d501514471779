"""The prompt of the last question stays in the cache: what begins alike is read once, and room comes back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.engine.client import WorkerModel
from localrag.engine.options import EngineOptions
from localrag.engine.recent import LEAST, Recent
from localrag.engine.template import RenderedPrompt
from localrag.engine.types import INTERACTIVE, Message, Piece
from tests.engine.requests import ask, endless, last, results
from tests.examples import examples

CONTEXT = "The bridge of Halden was repaired by Marta Lind in the spring of the year of the flood. " * 6


@pytest.fixture
def worker(random_gguf: Path) -> Iterator[WorkerModel]:
    model = WorkerModel(random_gguf, EngineOptions(n_ctx=2048, sequences=2, threads=1, prefix_mb=0))
    yield model
    model.close()


def chat(text: str) -> tuple[Message, ...]:
    return (Message("user", (Piece("Rules. ", True), Piece(text))),)


def question(text: str, **changes: Any) -> Any:
    return ask(text, shared="Rules. ", priority=INTERACTIVE, temperature=0.0, **changes)


def test_an_answer_reads_only_what_the_decision_before_it_did_not(worker: WorkerModel) -> None:
    alone = last(worker.stream(question(CONTEXT)))
    last(worker.stream(question("something else")))
    decision = worker.decide(chat(CONTEXT + "Yes or no?"), ["yes", "no"])
    before = worker.stats()["prompt_tokens_reused"]
    after = last(worker.stream(question(CONTEXT)))
    assert after.prompt_tokens - after.shared_tokens <= 16
    assert worker.stats()["prompt_tokens_reused"] - before > 100
    assert after.text == alone.text
    assert after.prompt_hash == alone.prompt_hash
    # And the other way round: what was left by an answer serves a decision.
    again = worker.decide(chat(CONTEXT + "Yes or no?"), ["yes", "no"])
    assert again.probabilities == pytest.approx(decision.probabilities, abs=0.02)


def test_background_work_leaves_nothing_and_takes_what_is_held(worker: WorkerModel) -> None:
    list(worker.run([ask(CONTEXT, shared="Rules. ")]))
    first = last(worker.stream(question(CONTEXT)))
    assert first.shared_tokens < 20
    # So much that the held prompt has to go.
    found = results(worker.run([endless(f"{CONTEXT} {n}", max_tokens=800) for n in range(2)]))
    assert [g.finish for g in found.values()] == ["length", "length"]
    assert last(worker.stream(question(CONTEXT))).shared_tokens < 20
    stats = worker.stats()
    assert (stats["free_sequences"], stats["prefix_users"], stats["jobs"]) == (3, 0, 0)


def test_a_prompt_that_fills_the_context_is_reused_and_then_makes_room(worker: WorkerModel) -> None:
    text = CONTEXT * 3
    size = worker.count([text])[0]
    assert size > 900
    room = worker.describe().n_ctx - size - 60
    worker.decide(chat(text + "Yes or no?"), ["yes", "no"])
    answer = last(worker.stream(question(text, max_tokens=room, program=endless(max_tokens=1).program)))
    assert answer.finish == "length"
    assert answer.shared_tokens > size - 10
    other = last(worker.stream(question("Other. " + text, max_tokens=room)))
    assert other.finish in ("stop", "length")
    assert other.shared_tokens < 20


class Cells:
    """A cache that only remembers how long its sequences are."""

    def __init__(self) -> None:
        self.kept: dict[int, int] = {}

    def remove(self, sequence: int, start: int = 0, end: int = -1) -> bool:
        self.kept[sequence] = start
        return True


def job(prompt: RenderedPrompt, sequence: int = -1) -> Any:
    return SimpleNamespace(
        request=SimpleNamespace(prompt=prompt),
        sequence=sequence,
        past=-1,
        reused=0,
        prompt_left=list(prompt.own),
    )


tokens = st.lists(st.integers(0, 1), max_size=60).map(lambda tail: (7,) * LEAST + tuple(tail))


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.integers(0, 1), max_size=3).map(tuple), tokens, tokens)
def test_what_is_reused_and_what_is_read_make_the_prompt(
    shared: tuple[int, ...], first: tuple[int, ...], second: tuple[int, ...]
) -> None:
    cells = Cells()
    recent = Recent(cells)
    before = RenderedPrompt(shared, first)
    recent.take(job(before, sequence=5))
    assert (recent.cells, cells.kept[5]) == (len(shared) + len(first), len(shared) + len(first))
    wanted = RenderedPrompt(shared, second)
    if not recent.begins(wanted):
        assert first[:LEAST] != second[:LEAST] or len(second) <= LEAST
        assert recent.drop() == 5
        assert cells.kept[5] == 0
    else:
        asked = job(wanted)
        recent.give(asked)
        whole, held = (*shared, *second), (*shared, *first)
        assert asked.sequence == 5
        assert asked.past == asked.reused == cells.kept[5] < len(whole)
        assert held[: asked.past] == whole[: asked.past]
        assert [*whole[: asked.past], *asked.prompt_left] == list(whole)
    assert (recent.cells, recent.drop()) == (0, None)
