"""What a run will take is said before it begins, from the best measure that there is."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from localrag.engine.scripted import ScriptedEmbedder
from localrag.engine.tuned import Tuning, WriteRate
from localrag.engines import Engines
from localrag.extraction.claims import ClaimReader
from localrag.extraction.extractor import QUESTION, TASK, Extractor
from localrag.indexing import Started, costs
from localrag.indexing.estimate import Estimate, Estimator
from localrag.kb import KnowledgeBase
from localrag.settings import Settings
from localrag.store import Store
from localrag.store.rows import EntityMention, GenerationRow, Reading
from tests.conftest import reader
from tests.indexing.helpers import run
from tests.store.helpers import add_lines, session_of

TUNING = Tuning("tiny", sequences=4, read_rate=200.0, write_rate=50.0)


def estimate(
    store: Store,
    profile: str,
    fingerprint: str,
    measured: Tuning | None,
    *,
    gleaning: str = "off",
    claims: bool = False,
    types: bool = True,
) -> Estimate:
    """What is to be read in a file takes by a profile."""
    settings = replace(Settings().extraction, profile=profile, gleaning=gleaning)
    settings = settings if types else replace(settings, entity_types=())
    reader = ClaimReader(Settings().claims, settings) if claims else None
    return Estimator(store, Extractor(settings), reader, fingerprint, measured).estimate()


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
    read, written = costs.READING["lightrag"].tokens(2, tokens)
    # The instructions, which all calls share, are read once.
    assert 400 < found.prompt_tokens - read < 1000
    assert found.written_tokens == round(written)
    reading = (read / 200 + written / 50) / costs.EFFICIENCY["lightrag"]
    assert found.seconds_a_token == pytest.approx(reading / tokens)
    assert found.cost_of_a_token == pytest.approx((read + written) / tokens)
    assert found.seconds == pytest.approx(reading + (found.prompt_tokens - read) / 200, abs=0.01)
    assert found.basis == "machine"


def test_each_profile_has_an_estimate_of_its_own(store: Store) -> None:
    add_lines(store, *(f"Nora Vik wrote entry {number} of the log." for number in range(20)))
    quick, slow = (estimate(store, profile, "m", TUNING) for profile in ("compact", "lightrag"))
    assert quick.written_tokens < slow.written_tokens
    assert quick.seconds is not None
    assert slow.seconds is not None
    assert slow.seconds > 2 * quick.seconds


def test_second_looks_and_claims_are_in_it(store: Store) -> None:
    add_lines(store, "Nora Vik wrote the log.", "Olga Ness read it.")
    plain = estimate(store, "compact", "m", TUNING)
    gleaned = estimate(store, "compact", "m", TUNING, gleaning="once")
    claimed = estimate(store, "compact", "m", TUNING, claims=True)
    assert (plain.calls, plain.claim_chunks) == (2, 0)
    assert gleaned.calls > plain.calls
    assert gleaned.prompt_tokens > plain.prompt_tokens
    # Those of what was read before are read too.
    before = len(store.claim_search.unread("never"))
    assert (claimed.calls, claimed.claim_chunks) == (2 + 2 + before, 2 + before)
    assert claimed.written_tokens > plain.written_tokens + 100
    assert plain.seconds is not None
    for other in (gleaned, claimed):
        assert other.seconds is not None
        assert other.seconds > plain.seconds
    assert estimate(store, "compact", "m", TUNING, types=False).written_tokens > plain.written_tokens
    # The pace of reading is that of reading alone.
    assert claimed.seconds_a_token == plain.seconds_a_token


def test_claims_of_what_is_read_are_estimated_when_nothing_else_is_left(store: Store) -> None:
    (chunk,) = add_lines(store, "Nora Vik wrote the log.")
    mention = EntityMention("Nora Vik", "nora vik", "person", "")
    store.graph.record(
        chunk, Reading(entities=(mention,)), GenerationRow(TASK, "", "", "{}", 0, 0, 0, "stop", "")
    )
    assert estimate(store, "compact", "m", TUNING).seconds is None
    found = estimate(store, "compact", "m", TUNING, claims=True)
    unread = store.claim_search.unread("never")
    assert chunk in unread
    assert (found.chunks, found.claim_chunks, found.calls) == (0, len(unread), len(unread))
    assert found.basis == "machine"
    assert found.seconds is not None


def test_few_texts_are_written_more_slowly(store: Store) -> None:
    rates = (WriteRate(1, 128, 2, "f16", 30.0, 10.0), WriteRate(4, 128, 2, "f16", 80.0, 50.0))
    measured = replace(TUNING, writes=rates)
    assert costs.seconds(measured, 1, 0, 100, 1.0) == pytest.approx(10.0)
    assert costs.seconds(measured, 9, 0, 100, 1.0) == pytest.approx(2.0)


@pytest.mark.parametrize("measured", [None, Tuning("tiny", failed="it died")])
def test_without_a_measurement_the_time_is_unknown(store: Store, measured: Tuning | None) -> None:
    add_lines(store, "Nora Vik wrote the log.")
    found = estimate(store, "graphrag", "m", measured)
    assert (found.seconds, found.basis, found.seconds_a_token) == (None, "unknown", None)
    read, written = costs.READING["graphrag"].tokens(1, found.chunk_tokens)
    assert found.cost_of_a_token == pytest.approx((read + written) / found.chunk_tokens)


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


def test_readings_of_another_kind_say_nothing(store: Store) -> None:
    read_lines(store, 10)
    add_lines(store, "Nora Vik wrote entry 99 of the log.")
    with store.transaction():
        session_of(store).run(
            "UPDATE generations SET parameters = json_set(parameters, '$.program', 'records')"
        )
    assert estimate(store, "lightrag", "m", TUNING).basis == "readings"
    assert estimate(store, "compact", "m", TUNING).basis == "machine"
    assert estimate(store, "lightrag", "m", TUNING, gleaning="once").basis == "machine"
    with store.transaction():
        session_of(store).run(
            "INSERT INTO generations (chunk_id, task, prompt_hash, model, parameters, prompt_tokens, "
            "output_tokens, milliseconds, finish, output, created_at) SELECT chunk_id, ?, prompt_hash, "
            "model, parameters, prompt_tokens, 0, milliseconds, finish, output, created_at FROM generations",
            [QUESTION],
        )
    found = estimate(store, "lightrag", "m", TUNING, gleaning="once")
    assert (found.basis, found.calls) == ("readings", 2)
    assert estimate(store, "lightrag", "m", TUNING).basis == "machine"


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
        found, chunks=0, chunk_tokens=0, calls=0, prompt_tokens=0, written_tokens=0, cost_of_a_token=None
    )
