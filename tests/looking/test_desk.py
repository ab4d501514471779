"""Looking through the graph: searching, mentions in context, neighbours, ways."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from localrag.errors import UsageError
from localrag.graph.names import fold
from localrag.looking import GraphDesk
from localrag.looking.walking import shortest
from localrag.store import Store
from localrag.store.report_rows import NewCommunity
from localrag.store.rows import EntityMention, Reading, RelationMention
from tests.store.helpers import add, generation, new_store

TEXTS = {
    "a.md": "Ada Quill taught Bo Renner in Veldt. It was spring.",
    "b.md": "Bo Renner later hired Cy Talbot as a clerk.",
    "c.md": "Cy Talbot married Di Umber in spring.",
    "d.md": "Ada Quill taught Bo Renner again.",
    "e.md": "Ed Voss grew pears.",
}
PAIRS = {
    "a.md": [("Ada Quill", "Bo Renner", "teaching")],
    "b.md": [("Bo Renner", "Cy Talbot", "employment")],
    "c.md": [("Cy Talbot", "Di Umber", "marriage")],
    "d.md": [("Ada Quill", "Bo Renner", "teaching")],
    "e.md": [],
}
NAMES = ("Ada Quill", "Bo Renner", "Cy Talbot", "Di Umber", "Ed Voss", "Veldt")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with new_store(tmp_path / "look.localrag") as opened:
        for path, text in TEXTS.items():
            document_id = add(opened, path, text)
            for chunk in opened.chunks.of_document(document_id):
                opened.graph.record(chunk.id, _reading(path, chunk.text), generation())
        yield opened


def mention(name: str, kind: str = "person", start: int = -1) -> EntityMention:
    return EntityMention(name, fold(name), kind, "", start, start + len(name) if start >= 0 else -1)


def _reading(path: str, text: str) -> Reading:
    found = [
        mention(name, "place" if name == "Veldt" else "person", start)
        for name in NAMES
        if (start := text.find(name)) >= 0
    ]
    ties = [
        RelationMention(fold(a), fold(b), word, f"{a} {word} {b}.", 1.0, 0, 10)
        for a, b, word in PAIRS[path]
        if a in text and b in text
    ]
    return Reading(tuple(found), tuple(ties))


def ids(store: Store) -> dict[str, int]:
    return {row.name: row.id for row in store.graph.find_by_keys(map(fold, NAMES))}


def names(store: Store, text: str, kind: str = "", order: str = "mentions") -> list[str]:
    found = GraphDesk(store).find(text, kind, order)  # type: ignore[arg-type]
    return [entry.name for entry in found.entries]


def test_entities_are_found_by_name_alias_and_type_and_sorted(store: Store) -> None:
    assert names(store, "")[:2] == ["Bo Renner", "Ada Quill"]
    assert names(store, "", order="name") == sorted(NAMES)
    assert names(store, "", order="relations")[:2] == ["Bo Renner", "Cy Talbot"]
    assert names(store, "", "PERSON", "name") == sorted(NAMES[:5])
    assert names(store, "ta") == ["Cy Talbot"]
    assert names(store, "plac") == ["Veldt"]
    assert names(store, "VELDT") == ["Veldt"]
    assert names(store, "o%_") == []
    chunk = store.graph.entity_chunks(ids(store)["Ed Voss"])[0]
    assert store.aliases.put(chunk, fold("Ed Voss"), "The Pear Man", fold("The Pear Man"))
    found = GraphDesk(store).find("pear", fresh=True)
    assert [entry.name for entry in found.entries] == ["Ed Voss"]
    assert found.called == {found.entries[0].id: "The Pear Man"}
    assert found.total == len(NAMES)
    assert GraphDesk(store).types() == [("person", 5), ("place", 1)]


def test_who_is_called_so_comes_before_who_is_called_so_in_part(store: Store) -> None:
    chunk = store.graph.entity_chunks(ids(store)["Ed Voss"])[0]
    # In more passages than the others, and only inside a word.
    said = Reading(tuple(map(mention, ("Ed", "Fred Ed", "Freda"))))
    store.graph.record(chunk, said, generation())
    assert names(store, "ed") == ["Ed", "Fred Ed", "Freda"]


def test_the_table_follows_the_content_and_may_be_behind_for_a_moment(store: Store) -> None:
    desk = GraphDesk(store)
    assert len(desk.find(fresh=True).entries) == 6
    chunk = store.graph.entity_chunks(ids(store)["Ed Voss"])[0]
    store.graph.record(chunk, Reading(), generation())
    assert len(desk.find().entries) == 6
    assert len(desk.find(fresh=True).entries) == 5


def test_mentions_are_sentences_with_the_name_marked(store: Store) -> None:
    found = GraphDesk(store).mentions(ids(store)["Ada Quill"])
    assert [item.place.document for item in found] == ["a.md", "d.md"]
    first = found[0]
    assert first.sentence == "Ada Quill taught Bo Renner in Veldt."
    assert first.sentence[slice(*first.marked)] == "Ada Quill"
    assert TEXTS["a.md"][first.place.start : first.place.end] == "Ada Quill"
    veldt = GraphDesk(store).mentions(ids(store)["Veldt"])[0]
    assert veldt.sentence[slice(*veldt.marked)] == "Veldt"
    assert GraphDesk(store).mentions(ids(store)["Ada Quill"], 1, 1)[0].place.document == "d.md"


def test_a_mention_without_a_place_is_sought_by_its_name(store: Store) -> None:
    known = ids(store)["Ed Voss"]
    chunk = store.graph.entity_chunks(known)[0]
    store.graph.record(chunk, Reading((mention("ED VOSS"), mention("Nobody"))), generation())
    found = GraphDesk(store).mentions(known)[0]
    assert found.sentence[slice(*found.marked)] == "Ed Voss"
    (nobody,) = store.graph.find_by_keys(["nobody"])
    found = GraphDesk(store).mentions(nobody.id)[0]
    assert found.sentence == "Ed Voss grew pears."
    assert found.marked == (0, 0)


def test_relations_come_with_the_passages_that_state_them(store: Store) -> None:
    (told, *_) = GraphDesk(store).relations(ids(store)["Ada Quill"])
    assert told.relation.weight == 2
    assert [place.document for place in told.places] == ["a.md", "d.md"]
    assert (told.places[0].start, told.places[0].end) == (0, 10)
    assert len(GraphDesk(store).relations(ids(store)["Ada Quill"], places=1)[0].places) == 1


def test_neighbours_are_the_strongest_and_grow(store: Store) -> None:
    known = ids(store)
    desk = GraphDesk(store)
    found = desk.neighbours(known["Bo Renner"], 1)
    assert [entry.name for entry in found.neighbours] == ["Ada Quill"]
    assert found.total == 2
    assert [row.keywords for row in found.relations] == ["teaching"]
    more = desk.neighbours(known["Bo Renner"], 5, (known["Bo Renner"], known["Ada Quill"], known["Di Umber"]))
    assert [entry.name for entry in more.neighbours] == ["Cy Talbot"]
    # With those that were there before: Cy and Di are married.
    assert {row.keywords for row in more.relations} == {"teaching", "employment", "marriage"}
    with pytest.raises(UsageError, match="not there any more"):
        desk.neighbours(999, 3)


def test_a_way_leads_over_relations_with_their_passages(store: Store) -> None:
    known = ids(store)
    (route,) = GraphDesk(store).routes(known["Di Umber"], known["Ada Quill"])
    assert [entry.name for entry in route.entities] == ["Di Umber", "Cy Talbot", "Bo Renner", "Ada Quill"]
    assert [step.forward for step in route.steps] == [False, False, False]
    assert [step.relation.places[0].document for step in route.steps] == ["c.md", "b.md", "a.md"]
    assert GraphDesk(store).routes(known["Ada Quill"], known["Ed Voss"]) == []
    assert GraphDesk(store).routes(known["Ada Quill"], known["Ada Quill"]) == []


def test_ways_are_found_from_both_ends_at_once(store: Store) -> None:
    known = ids(store)
    (way,) = shortest(store, known["Ada Quill"], known["Di Umber"])
    assert way.entities == tuple(known[name] for name in NAMES[:4])
    assert len(way.relations) == 3
    assert shortest(store, known["Ada Quill"], known["Ed Voss"]) == []
    # A second way of the same length.
    chunk = store.graph.entity_chunks(known["Ed Voss"])[0]
    pairs = [("Bo Renner", "Ed Voss"), ("Ed Voss", "Di Umber")]
    ties = tuple(RelationMention(fold(a), fold(b), "", "") for a, b in pairs)
    store.graph.record(chunk, Reading(tuple(map(mention, NAMES)), ties), generation())
    ways = shortest(store, known["Ada Quill"], known["Di Umber"])
    assert {way.entities[2] for way in ways} == {known["Cy Talbot"], known["Ed Voss"]}
    assert {(way.entities[0], way.entities[-1]) for way in ways} == {(known["Ada Quill"], known["Di Umber"])}


def test_communities_of_an_entity(store: Store) -> None:
    known = ids(store)
    members = (known["Ada Quill"], known["Bo Renner"])
    wide = NewCommunity(0, (*members, known["Cy Talbot"]))
    store.reports.put_communities([wide, NewCommunity(1, members, 0)])
    found = GraphDesk(store).communities(known["Ada Quill"])
    assert [item.level for item in found] == [1, 0]
    assert "Ada Quill" in found[0].title
    assert GraphDesk(store).communities(known["Ed Voss"]) == []


def test_ways_end_after_six_relations(store: Store) -> None:
    row = [f"Person {number}" for number in range(8)]
    chunk = store.graph.entity_chunks(ids(store)["Ed Voss"])[0]
    ties = tuple(RelationMention(fold(a), fold(b), "", "") for a, b in pairwise(row))
    store.graph.record(chunk, Reading(tuple(map(mention, row)), ties), generation())
    known = [entity.id for entity in store.graph.find_by_keys(map(fold, row))]
    (way,) = shortest(store, known[0], known[6])
    assert list(way.entities) == known[:7]
    assert shortest(store, known[0], known[7]) == []
