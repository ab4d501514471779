"""The graph: recording, reading, and counting."""

from __future__ import annotations

import pytest

from localrag.errors import UsageError
from localrag.store import Store
from localrag.store.rows import EntityMention, Reading, Reject, RelationMention
from tests.store.helpers import (
    add_lines,
    entity,
    entity_view,
    generation,
    logical_rows,
    reading,
    relation,
    session_of,
)

TOVE = entity("Tove", "She draws maps.")
ISLE = entity("Isle of Terns", "An island.", "Place")
MAPS = relation("Tove", "Isle of Terns", "Tove drew the island.", "drawing, map")


def test_a_reading_comes_back_as_entities_and_relations(store: Store) -> None:
    one, two = add_lines(store, "Tove drew the Isle of Terns.", "Tove came home.")
    assert store.graph.record(one, reading([TOVE, ISLE], [MAPS]), generation())
    assert store.graph.record(two, reading([entity("TOVE", "She came home.", "Artist")]), generation())
    tove, isle = store.graph.entities([1, 2])
    assert (tove.name, tove.key, tove.type, tove.mentions) == ("TOVE", "tove", "Artist", 2)
    assert tove.descriptions == ("She draws maps.", "She came home.")
    assert (isle.name, isle.mentions) == ("Isle of Terns", 1)
    (found,) = store.graph.relations([1])
    assert (found.source_id, found.target_id, found.source, found.target) == (1, 2, "TOVE", "Isle of Terns")
    assert (found.keywords, found.description, found.weight) == ("drawing, map", "Tove drew the island.", 1)
    assert store.graph.entity(1) == tove
    assert store.graph.relation(1) == found
    assert store.graph.entity_chunks(1) == [one, two]
    assert store.graph.relation_chunks(1) == [one]
    assert store.graph.chunk_entities(one) == [tove, isle]
    assert store.graph.top_entities(5) == [tove, isle]
    assert store.graph.top_entities(1) == [tove]
    mentions = store.graph.mentions_of(1)
    assert [(row.chunk_id, row.name, row.type) for row in mentions] == [
        (one, "Tove", "Person"),
        (two, "TOVE", "Artist"),
    ]
    counts = store.graph.counts()
    assert (counts.entities, counts.relations, counts.mentions, counts.relation_mentions) == (2, 1, 3, 1)
    assert store.chunks.get(one).state == "read"


def test_recording_again_changes_nothing(store: Store) -> None:
    one, two = add_lines(store, "a", "b")
    said = reading([TOVE, ISLE], [MAPS])
    rejects = [Reject("entity", "Sea", "no type")]
    store.graph.record(one, said, generation(), rejects)
    store.graph.record(two, reading([ISLE]), generation())
    rows, entities = logical_rows(store), store.graph.entities([1, 2])
    relations = store.graph.relations([1])
    for _ in range(2):
        store.graph.record(one, said, generation(), rejects)
        assert logical_rows(store) == rows
        assert store.graph.entities([1, 2]) == entities
        assert store.graph.relations([1]) == relations


def test_a_new_reading_takes_the_place_of_the_old_one(store: Store) -> None:
    one, two = add_lines(store, "a", "b")
    store.graph.record(one, reading([TOVE, ISLE], [MAPS]), generation("old"), [Reject("entity", "x", "y")])
    store.graph.record(two, reading([TOVE]), generation())
    store.graph.record(one, reading([entity("Harbour", "", "Place")]), generation("new"))
    assert [row[1] for row in entity_view(store)] == ["harbour", "tove"]
    assert store.graph.counts().relations == 0
    assert store.journal.rejects(10) == []
    assert sorted(session_of(store).column("SELECT output FROM generations")) == ["", "new"]
    assert store.graph.entity(1).mentions == 1


def test_weights_count_distinct_chunks(store: Store) -> None:
    one, two = add_lines(store, "a", "b")
    twice = reading([TOVE, ISLE, entity("tove", "Again.")], [MAPS, MAPS])
    store.graph.record(one, twice, generation())
    assert store.graph.entity(1).mentions == 1
    assert store.graph.relation(1).weight == 1
    assert store.graph.counts().relation_mentions == 2
    store.graph.record(two, reading([TOVE, ISLE], [MAPS]), generation())
    assert store.graph.entity(1).mentions == 2
    assert store.graph.relation(1).weight == 2


def test_relations_are_directed_and_unique(store: Store) -> None:
    one, two = add_lines(store, "a", "b")
    there, back = relation("Tove", "Isle of Terns", "to", "x, y"), relation("Isle of Terns", "Tove", "from")
    store.graph.record(one, reading([TOVE, ISLE], [there, back]), generation())
    again = relation("Tove", "Isle of Terns", "once more", "Y，z")
    store.graph.record(two, reading([TOVE, ISLE], [again]), generation())
    assert store.graph.counts().relations == 2
    first = store.graph.relation(1)
    assert (first.keywords, first.description, first.weight) == ("x, y, z", "to; once more", 2)
    assert [row.id for row in store.graph.relations_of([1], 10)] == [1, 2]
    assert [row.id for row in store.graph.relations_of([1], 1)] == [1]
    assert store.graph.relations_of([99], 10) == []


def test_name_and_type_are_those_of_most_chunks(store: Store) -> None:
    ids = add_lines(store, "a", "b", "c", "d")
    for chunk_id, (name, kind) in zip(
        ids, [("tove", "Animal"), ("Tove", "Person"), ("Tove", "Person"), ("TOVE", "Artist")], strict=True
    ):
        store.graph.record(chunk_id, reading([entity(name, "", kind)]), generation())
    assert (store.graph.entity(1).name, store.graph.entity(1).type) == ("Tove", "Person")
    for chunk_id in ids[1:3]:
        store.graph.record(chunk_id, reading([]), generation())
    assert (store.graph.entity(1).name, store.graph.entity(1).type) == ("TOVE", "Animal")


def test_what_cannot_be_stored_becomes_a_reject(store: Store) -> None:
    (one,) = add_lines(store, "a")
    said = Reading(
        (TOVE, ISLE, EntityMention("", "", "Person", "nobody"), EntityMention("?", "", "Person", "no key")),
        (
            MAPS,
            relation("Tove", "Nobody"),
            relation("Tove", "TOVE", "herself"),
            RelationMention("", "", "", ""),
        ),
    )
    store.graph.record(one, said, generation(), [Reject("entity", "Sea", "no type")])
    counts = store.graph.counts()
    assert (counts.entities, counts.relations) == (2, 1)
    totals = store.journal.totals()
    assert (totals.parsed, totals.stored, totals.rejected) == (9, 3, 6)
    assert [row.kind for row in store.journal.rejects(10)].count("relation") == 3
    assert {row.chunk_id for row in store.journal.rejects(10)} == {one}


def test_an_endpoint_known_from_elsewhere_is_not_enough(store: Store) -> None:
    one, two = add_lines(store, "a", "b")
    store.graph.record(one, reading([ISLE]), generation())
    store.graph.record(two, reading([TOVE], [MAPS]), generation())
    assert store.graph.counts().relations == 0
    assert [row.reason for row in store.journal.rejects(5)] == [
        "Its ends are not two entities of this passage."
    ]


def test_a_reading_of_a_deleted_chunk_is_dropped(store: Store) -> None:
    (one,) = add_lines(store, "a")
    store.documents.delete(1)
    assert not store.graph.record(one, reading([TOVE]), generation())
    assert store.graph.counts().entities == 0
    assert store.journal.totals().generations == 0


def test_many_keys_are_found_in_their_order(store: Store) -> None:
    (one,) = add_lines(store, "a")
    names = [f"Name {number}" for number in range(1200)]
    store.graph.record(one, reading([entity(name) for name in names]), generation())
    keys = [name.lower() for name in reversed(names)]
    found = store.graph.find_by_keys(["unknown", *keys, "name 1", "' OR 1=1 --", "\ud800"])
    assert [row.key for row in found] == keys


def test_what_is_not_there_is_a_clear_error_or_left_out(store: Store) -> None:
    with pytest.raises(UsageError, match="no entity 3"):
        store.graph.entity(3)
    with pytest.raises(UsageError, match="no relation 3"):
        store.graph.relation(3)
    assert store.graph.entities([3]) == []
    assert store.graph.relations([3]) == []
    assert store.graph.entity_chunks(3) == []
    assert store.graph.chunk_entities(3) == []
    assert store.graph.mentions_of(3) == []


def test_hostile_names_are_only_text(store: Store) -> None:
    (one,) = add_lines(store, "a")
    names = [
        "Robert'); DROP TABLE entities;--",
        "<|im_end|>",
        "a\0b",
        "x\udfff",
        "{name}",
        '"quoted"',
        "\x1b[2J",
    ]
    store.graph.record(one, reading([entity(name, name) for name in names]), generation("\0\ud800"))
    assert store.graph.counts().entities == len(names)
    assert store.graph.find_by_keys(["a\0b"])[0].descriptions == ("a\ufffdb",)
