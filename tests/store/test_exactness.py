"""Deleting a document leaves what would be there without it, in every table."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from localrag.store import Store
from localrag.store.rows import Reject
from tests.examples import examples
from tests.store.helpers import (
    add,
    chunks_of,
    document,
    embed_missing,
    entity,
    entity_view,
    generation,
    logical_rows,
    quick_store,
    reading,
    relation,
    session_of,
)
from tests.store.worlds import World, live, message_key, worlds

Rows = dict[str, list[tuple[Any, ...]]]


def check_world(world: World) -> None:
    """index(A + B), delete B, renew what is pending equals index(A), in all rows but ids and times."""
    with quick_store() as store:
        live(store, world, embed_missing)
        both, seen, totals = logical_rows(store), entity_view(store), store.journal.totals()
        assert store.check() == []
        assert totals.parsed == totals.stored + totals.rejected
    lost = {message_key(item) for item in world.questions if not world.survives(item)}
    assert_only_said(both, lost)
    with quick_store() as store:
        live(store, world.without(), embed_missing)
        alone = logical_rows(store)
        assert differences(alone, without_messages(both, lost)) == {}
        assert entity_view(store) == seen
        assert store.journal.totals() == totals


def assert_only_said(rows: Rows, lost: set[str]) -> None:
    """Of messages whose sources went nothing is left but what was said, and that the source is gone."""
    said = {row[-1]: row for row in rows["messages"]}
    assert all(said[key][1] is None for key in lost if key in said)
    for message, _number, label, kind, document_id, chunk, path, *_place, gone, text in rows["citations"]:
        if message.partition(":")[2] not in lost:
            assert gone == 0
            assert all((text, chunk, document_id))
        elif gone:
            assert (document_id, chunk, text, bool(label)) == (None, None, "", kind == "document")
            assert path


def without_messages(rows: Rows, lost: set[str]) -> Rows:
    """The rows without messages with these texts and their citations."""
    kept = dict(rows)
    kept["messages"] = [row for row in rows["messages"] if row[-1] not in lost]
    kept["citations"] = [row for row in rows["citations"] if row[0].partition(":")[2] not in lost]
    # A conversation of which no message is left is not there in the other file.
    if not kept["messages"]:
        kept["sessions"] = []
    return kept


def differences(one: Rows, other: Rows) -> dict[str, tuple[list[Any], list[Any]]]:
    """Tables in which two files differ, with the rows that only one of them has."""
    assert one.keys() == other.keys()
    return {
        table: (
            [row for row in one[table] if row not in other[table]],
            [row for row in other[table] if row not in one[table]],
        )
        for table in one
        if one[table] != other[table]
    }


@settings(max_examples=examples(40), deadline=None)
@given(worlds())
def test_deleting_is_as_if_it_had_never_been_added(world: World) -> None:
    check_world(world)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=1000, deadline=None)
@given(worlds())
def test_deleting_is_as_if_it_had_never_been_added_in_many_worlds(world: World) -> None:
    check_world(world)


def test_deleting_keeps_the_ids_of_what_stays(store: Store) -> None:
    one, two = add(store, "a.txt", "a"), add(store, "b.txt", "b")
    for document_id in (one, two):
        (chunk,) = store.chunks.of_document(document_id)
        said = reading([entity("Ada"), entity("Bruno")], [relation("Ada", "Bruno")])
        store.graph.record(chunk.id, said, generation())
    store.documents.delete(one)
    assert [row.mentions for row in store.graph.entities([1, 2])] == [1, 1]
    assert store.graph.relation(1).weight == 1


def test_a_summary_goes_with_a_source_but_stays_when_one_is_added(store: Store) -> None:
    ids = [add(store, f"{name}.txt", name) for name in ("a", "b")]
    chunks = [store.chunks.of_document(document_id)[0].id for document_id in ids]
    store.graph.record(chunks[0], reading([entity("Ada", "One.")]), generation())
    session = session_of(store)
    with store.transaction():
        session.run("UPDATE entities SET summary = 'All of it.', dirty = 0")
    store.graph.record(chunks[1], reading([entity("Ada", "Two.")]), generation())
    assert store.graph.entity(1).summary == "All of it."
    assert session.value("SELECT dirty FROM entities") == 1
    store.documents.delete(ids[1])
    assert store.graph.entity(1).summary == ""


def test_replacing_a_document_removes_what_the_old_text_said(store: Store) -> None:
    document_id = add(store, "a.txt", "old text")
    (chunk,) = store.chunks.of_document(document_id)
    store.graph.record(chunk.id, reading([entity("Ada")]), generation(), [Reject("entity", "x", "y")])
    embed_missing(store)
    store.documents.replace(document_id, document("a.txt", "new text"), chunks_of("new text"))
    counts = store.info().counts
    for table in ("entities", "mentions", "generations", "rejects", "chunk_vectors", "entity_vectors"):
        assert counts[table] == 0
    assert store.documents.get(document_id).status == "waiting"
