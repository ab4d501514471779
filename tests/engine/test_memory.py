"""Memory stays flat over thousands of generations, and what they used comes back."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from localrag.engine.client import WorkerModel
from localrag.engine.options import EngineOptions
from localrag.engine.programs import (
    Choice,
    CitedText,
    Field,
    FreeText,
    Grammar,
    JsonSchema,
    Program,
    Record,
    Records,
)
from localrag.engine.types import Generation, GenerationRequest, Message, Piece
from tests.engine.requests import results

SEQUENCES = 8
GENERATIONS = 2000
WARM_UP = 3000
"""Until then the caches of compiled grammars, which have an end, fill up."""

GROWTH_MB = 4.0
"""Allowed growth of resident memory over all generations. A leak of only 3 KB each would be 6 MB."""

NAMES = ("Mira Holt", "Sele", "harbour office", "lighthouse", "R. Dane", "ferry", "海蓝镇", "灯塔", "林舟")


def programs(number: int) -> Program:
    """One of every kind in turn, each a little different from the last of its kind."""
    names = tuple(f"{name} {number % 37}" for name in NAMES)
    described = Field("description", "text", max_chars=30 + number % 20)
    kinds: tuple[Program, ...] = (
        Records(
            (
                Record(
                    "entity", (Field("name", "new", names), Field("type", "choice", ("a", "b")), described), 3
                ),
                Record("relationship", (Field("source", "used"), Field("target", "used"), described), 2),
            )
        ),
        CitedText(sources=1 + number % 9),
        JsonSchema(
            {
                "type": "object",
                "properties": {
                    f"key{number % 11}": {"type": "string", "maxLength": 20},
                    "score": {"type": "integer", "minimum": 0, "maximum": 10},
                },
                "required": [f"key{number % 11}", "score"],
                "additionalProperties": False,
            }
        ),
        Choice(("yes", "no", f"number {number % 23}")),
        FreeText(max_chars=40),
        Grammar(f"start: A B\nA: /[a-z]{{1,{10 + number % 13}}}/\nB: /[0-9]{{3}}/"),
    )
    return kinds[number % len(kinds)]


def requests(numbers: Iterator[int], count: int) -> list[GenerationRequest]:
    """The next requests: changing prefixes, lengths, programs and seeds."""
    return [
        GenerationRequest(
            "test",
            (
                Message("system", (Piece(f"Rules of kind {number % 7}. " * 6, True),)),
                Message("user", (Piece(f"text {number} " * (1 + number % 9)),)),
            ),
            programs(number),
            max_tokens=40 + number % 50,
            temperature=1.3,
            seed=number,
            stream=number % 5 == 0,
        )
        for number in itertools.islice(numbers, count)
    ]


def cancelled(model: WorkerModel, numbers: Iterator[int]) -> None:
    """Begin some work and leave it when the first piece of it is done."""
    events = model.run(requests(numbers, 20))
    next(event for _, event in events if isinstance(event, Generation))
    events.close()


def settled(model: WorkerModel) -> dict[str, int]:
    """The counts once nothing runs; no more jobs and matchers exist than one last step may still name."""
    deadline = time.monotonic() + 20
    while (counts := model.stats())["jobs"] or counts["waiting"]:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert counts["alive_job"] <= SEQUENCES
    assert counts["alive_matcher"] <= SEQUENCES
    return {name: counts[name] for name in ("free_sequences", "prefix_users")}


def resident(model: WorkerModel) -> float:
    """Resident memory of the worker in MiB."""
    assert model.pid is not None
    rss: int = psutil.Process(model.pid).memory_info().rss
    return rss / 2**20


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_memory_is_flat_over_two_thousand_generations(random_gguf: Path) -> None:
    worker = WorkerModel(random_gguf, EngineOptions(n_ctx=8192, sequences=SEQUENCES, threads=1))
    try:
        numbers = itertools.count()
        worker.describe()
        start = settled(worker)
        results(worker.run(requests(numbers, WARM_UP)))
        for _ in range(5):
            cancelled(worker, numbers)
        process = worker._worker.get()
        pid, warm = worker.pid, resident(worker)
        finishes: Counter[str] = Counter()
        track = []
        for _ in range(GENERATIONS // 200):
            found = results(worker.run(requests(numbers, 200)))
            finishes += Counter(generation.finish for generation in found.values())
            cancelled(worker, numbers)
            track.append(round(resident(worker) - warm, 1))
        print(
            f"resident {warm:.1f} MiB after {WARM_UP}; growth after every 200: {track} MiB; {dict(finishes)}"
        )
        assert finishes.total() == GENERATIONS
        assert not finishes["error"]
        assert worker.pid == pid
        assert track[-1] < GROWTH_MB
        # Nothing is held any more: sequences, prefixes, jobs, matchers; nor does the parent wait for any.
        assert settled(worker) == start
        assert process.pulse.in_hand == 0
        assert not process._queues
    finally:
        worker.close()


def test_what_a_few_generations_used_comes_back(random_gguf: Path) -> None:
    worker = WorkerModel(random_gguf, EngineOptions(n_ctx=8192, sequences=SEQUENCES, threads=1))
    try:
        numbers = itertools.count()
        worker.describe()
        start = settled(worker)
        assert len(results(worker.run(requests(numbers, 60)))) == 60
        cancelled(worker, numbers)
        assert settled(worker) == start
        assert start["free_sequences"] == SEQUENCES + 1
    finally:
        worker.close()
