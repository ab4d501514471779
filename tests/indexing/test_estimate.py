"""What a run will take is said before it begins, from the best measure that there is."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from localrag.engine.scripted import ScriptedEmbedder
from localrag.engine.tuned import Tuning
from localrag.engines import Engines
from localrag.extraction.extractor import TASK
from localrag.indexing import Started
from localrag.indexing.estimate import EFFICIENCY, FRAME, WRITTEN, estimate
from localrag.kb import KnowledgeBase
from localrag.settings import Settings
from localrag.store import Store
from localrag.store.rows import GenerationRow, Reading
from tests.conftest import reader
from tests.indexing.helpers import run
from tests.store.helpers import add_lines, session_of

TUNING = Tuning("tiny", sequences=4, read_rate=200.0, write_rate=50.0)


def read_lines(store: Store, count: int, *, seconds: int = 10, model: str = "m") -> int:
    """Read chunks, each in a call that took 10 s and ended so many seconds behind the one before.

    Returns how many tokens they have.
    """
    parameters = json.dumps({"shared_tokens": 420, "weighed_tokens": 20})
    made = GenerationRow(TASK, "p", model, parameters, 500, 60, 10_000, "stop", "")
    tokens = 0
    for number in range(count):
        (chunk,) = add_lines(store, f"Nora Vik wrote entry {number} of the log.")
        tokens += store.chunks.get(chunk).tokens
        store.graph.record(chunk, Reading(), made)
        with store.transaction():
            session_of(store).run(
                "UPDATE generations SET created_at = datetime(1700000000 + ?, 'unixepoch') "
                "WHERE chunk_id = ?",
                [seconds * number, chunk],
            )
    return tokens


def test_an_unread_file_is_judged_by_what_was_measured_of_the_machine(store: Store) -> None:
    add_lines(store, "Nora Vik wrote the log.", "Olga Ness read it.")
    tokens = sum(row.tokens for row in store.chunks.pending())
    found = estimate(store, "lightrag", "m", TUNING)
    assert (found.chunks, found.calls, found.chunk_tokens) == (2, 2, tokens)
    assert found.prompt_tokens == tokens + 2 * FRAME
    assert found.written_tokens == round(tokens * WRITTEN["lightrag"])
    expected = (found.prompt_tokens / 200 + found.written_tokens / 50) / EFFICIENCY
    assert found.seconds == pytest.approx(expected)
    assert found.basis == "machine"


@pytest.mark.parametrize("measured", [None, Tuning("tiny", failed="it died")])
def test_without_a_measurement_the_time_is_unknown(store: Store, measured: Tuning | None) -> None:
    add_lines(store, "Nora Vik wrote the log.")
    found = estimate(store, "graphrag", "m", measured)
    assert (found.seconds, found.basis, found.seconds_a_token) == (None, "unknown", None)
    assert found.cost_of_a_token == pytest.approx(found.tokens / found.chunk_tokens)


def test_readings_of_the_same_model_say_it_best(store: Store) -> None:
    read = read_lines(store, 10, seconds=2)
    waiting = add_lines(store, *(f"Nora Vik wrote entry {number} of the log." for number in range(10, 30)))
    found = estimate(store, "lightrag", "m", TUNING)
    assert found.basis == "readings"
    assert (found.chunks, found.calls) == (len(waiting), 20)
    share = found.chunk_tokens / read
    assert found.prompt_tokens == round(share * 10 * 100)
    assert found.written_tokens == round(share * 10 * 60)
    # The first call took 10 s; the others ended 2 s apart, since they ran side by side.
    assert found.seconds == pytest.approx(share * (10 + 9 * 2))
    assert estimate(store, "lightrag", "another", TUNING).basis == "machine"
    assert estimate(store, "lightrag", "", TUNING).basis == "readings"


def test_nights_between_runs_do_not_count(store: Store) -> None:
    read = read_lines(store, 8, seconds=40_000)
    add_lines(store, "Nora Vik wrote entry 99 of the log.")
    found = estimate(store, "lightrag", "m", None)
    share = found.chunk_tokens / read
    assert found.seconds == pytest.approx(share * 80)


def test_a_few_readings_say_nothing_yet(store: Store) -> None:
    read_lines(store, 3)
    add_lines(store, "Nora Vik wrote entry 99 of the log.")
    assert estimate(store, "lightrag", "m", None).basis == "unknown"


def test_damaged_rows_of_the_journal_break_nothing(store: Store) -> None:
    read_lines(store, 9)
    with store.transaction():
        session_of(store).run("UPDATE generations SET parameters = '{broken', created_at = 'yesterday'")
    add_lines(store, "Nora Vik wrote entry 99 of the log.")
    found = estimate(store, "lightrag", "m", None)
    assert found.seconds is not None
    assert found.prompt_tokens > 0


def test_a_run_tells_it_first_and_asking_for_it_does_nothing(waiting: KnowledgeBase) -> None:
    model = reader()
    engines = Engines(Settings(), model, ScriptedEmbedder())
    with KnowledgeBase.open(waiting.path, engines=engines) as opened:
        before = opened.status()
        found = opened.estimate()
        assert opened.status() == before
    assert (found.chunks, found.basis) == (4, "unknown")
    assert model.calls == []
    events = run(waiting)
    assert isinstance(events[0], Started)
    assert events[0].estimate == found
    assert waiting.estimate() == replace(
        found, chunks=0, chunk_tokens=0, calls=0, prompt_tokens=0, written_tokens=0
    )
