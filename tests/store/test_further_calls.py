"""A reading of several calls: each call's mentions, rejects and numbers are its own, and all go together."""

from __future__ import annotations

import contextlib

import pytest

from localrag.store import Store, salvage
from localrag.store.rows import FurtherCall, Reject
from tests.store.helpers import add_lines, entity, generation, logical_rows, reading, relation, session_of

FIRST = reading([entity("Ann"), entity("Bo")], [relation("Ann", "Bo", "knows")])
SECOND = reading([entity("Cy")], [relation("Cy", "Ann", "sees"), relation("Bo", "Cy", "hears")])
CALLS = [
    FurtherCall(generation("YES", prompt_hash="q")),
    FurtherCall(generation("second", prompt_hash="c"), SECOND, (Reject("entity", "Dee", "not there"),)),
]


def by_call(store: Store) -> list[tuple[object, ...]]:
    """Output, parsed, mentions, relation mentions and rejects of each call, in order."""
    counted = ", ".join(
        f"(SELECT count(*) FROM {table} WHERE generation_id = g.id)"
        for table in ("mentions", "relation_mentions", "rejects")
    )
    return [
        tuple(row)
        for row in session_of(store).rows(f"SELECT output, parsed, {counted} FROM generations g ORDER BY id")
    ]


def test_each_call_has_what_came_of_it(store: Store) -> None:
    (chunk_id,) = add_lines(store, "Ann and Bo and Cy")
    assert store.graph.record(chunk_id, FIRST, generation("first"), [], CALLS)
    assert by_call(store) == [("first", 3, 2, 1, 0), ("YES", 0, 0, 0, 0), ("second", 4, 1, 2, 1)]
    totals = store.journal.totals()
    assert (totals.generations, totals.parsed, totals.stored, totals.rejected) == (3, 7, 6, 1)
    assert [row.name for row in store.graph.chunk_entities(chunk_id)] == ["Ann", "Bo", "Cy"]
    assert store.graph.counts().relations == 3
    assert store.chunks.count().read == 1


def test_a_relation_to_a_name_that_no_call_before_wrote_is_rejected(store: Store) -> None:
    (chunk_id,) = add_lines(store, "Ann and Bo and Cy")
    early = FurtherCall(generation("early"), reading([], [relation("Cy", "Ann")]))
    late = FurtherCall(generation("late"), reading([entity("Cy")]))
    store.graph.record(chunk_id, FIRST, generation("first"), [], [early, late])
    assert by_call(store) == [("first", 3, 2, 1, 0), ("early", 1, 0, 0, 1), ("late", 1, 1, 0, 0)]


def test_reading_again_leaves_nothing_of_the_calls_before(store: Store) -> None:
    (chunk_id,) = add_lines(store, "Ann and Bo and Cy")
    store.graph.record(chunk_id, FIRST, generation("first"))
    before = logical_rows(store)
    store.graph.record(chunk_id, FIRST, generation("first"), [], CALLS)
    assert logical_rows(store) != before
    store.graph.record(chunk_id, FIRST, generation("first"))
    assert logical_rows(store) == before


def test_a_deleted_document_leaves_nothing_of_its_calls(store: Store) -> None:
    add_lines(store, "something else")
    before = logical_rows(store)
    (chunk_id,) = add_lines(store, "Ann and Bo and Cy")
    store.graph.record(chunk_id, FIRST, generation("first"), [Reject("entity", "x", "y")], CALLS)
    store.documents.delete(store.chunks.get(chunk_id).document_id)
    assert logical_rows(store) == before


@pytest.mark.parametrize(
    ("broken", "again"),
    [
        ("DELETE FROM mentions WHERE name = 'Cy'", 1),
        ("DELETE FROM mentions WHERE name = 'Ann'", 1),
        ("DELETE FROM generations", 1),
        ("SELECT 1", 0),
    ],
)
def test_a_passage_is_read_again_if_anything_of_any_of_its_calls_is_lost(
    store: Store, broken: str, again: int
) -> None:
    (chunk_id,) = add_lines(store, "Ann and Bo and Cy")
    store.graph.record(chunk_id, FIRST, generation("first"), [], CALLS)
    found = salvage.Salvage(lost={"mentions": 1})
    session = session_of(store)
    with contextlib.suppress(InterruptedError), session.transaction():
        session.run(broken)
        salvage._read_again(session, found)
        waiting = session.value("SELECT count(*) FROM chunks WHERE state = 'pending'")
        raise InterruptedError  # The file is whole again afterwards.
    assert (found.again, waiting) == (again, again)
