"""The graph without a model: what chunks share, computed from what is there, and gone with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.store import Store
from localrag.store.followed_rows import Place
from localrag.store.zero import edge_weight
from localrag.store.zero_rows import FORM, HEADING, TITLE, WORDS, ZeroName
from tests.examples import examples
from tests.store.helpers import (
    add,
    chunks_of,
    document,
    entity,
    generation,
    logical_rows,
    name_words,
    quick_store,
    reading,
    session_of,
)

RULES = 1


def named(
    store: Store, path: str, lines: Sequence[Sequence[str]], kind: int = FORM, title: str = ""
) -> list[int]:
    """Add a document with these names in each of its lines; returns the ids of its chunks."""
    document_id = add(store, path, "\n".join(" ".join(names) or "-" for names in lines))
    chunks = [chunk.id for chunk in store.chunks.of_document(document_id)]
    inside = {
        chunk: [ZeroName(name, kind, 0, 1) for name in dict.fromkeys(names)]
        for chunk, names in zip(chunks, lines, strict=True)
    }
    above = {chunk: [ZeroName(title, TITLE)] if title else [] for chunk in chunks}
    assert store.zero.put(document_id, RULES, inside, above)
    return chunks


def test_a_name_counts_if_two_chunks_have_it_or_its_form_marks_it(store: Store) -> None:
    named(store, "a.txt", [["ada", "harbour"]], kind=WORDS)
    assert store.zero.nodes(["ada", "harbour", "nobody"]) == []
    named(store, "b.txt", [["ada"]], kind=WORDS)
    named(store, "c.txt", [["bruno"]])
    named(store, "d.txt", [["x"]], kind=WORDS, title="mill")
    found = store.zero.nodes(["ada", "bruno", "harbour", "mill"])
    assert [(node.key, node.chunks) for node in found] == [("ada", 2), ("bruno", 1), ("mill", 1)]
    counts = store.zero.counts()
    assert (counts.names, counts.nodes, counts.places, counts.waiting) == (5, 3, 6, 0)


def test_rare_names_lead_to_chunks_before_common_ones(store: Store) -> None:
    one = named(store, "a.txt", [["ada", "rare"], ["ada"], ["ada"]])
    two = named(store, "b.txt", [["rare"]], title="rare")
    hits = store.zero.chunks_for(["ada", "rare"], 10)
    assert [hit.id for hit in hits] == [two[0], one[0], one[1], one[2]]
    assert hits[0].score == pytest.approx(edge_weight(2, TITLE))
    assert hits[1].score == pytest.approx(edge_weight(2, FORM) + edge_weight(3, FORM))
    assert [hit.id for hit in store.zero.chunks_for(["ada"], 1)] == [one[0]]


def test_neighbours_are_names_of_the_same_chunks(store: Store) -> None:
    named(store, "a.txt", [["ada", "bruno"], ["ada", "bruno", "orla"], ["orla"], ["orla", "mill"]])
    (ada,) = store.zero.nodes(["ada"])
    found = store.zero.neighbours(ada.id, 10)
    assert [node.key for node, _ in found] == ["bruno", "orla"]
    assert found[0][1] == pytest.approx(2 * edge_weight(2, FORM))
    assert store.zero.neighbours(ada.id, 1) == found[:1]


def test_a_read_chunk_is_left_by_what_the_model_found_in_it(store: Store) -> None:
    first, second, third = named(store, "a.txt", [["ada", "orla"], ["ada"], ["orla"]])
    by_form = {(link.chunk_id, link.chunks) for link in store.zero.links([first], 10)}
    assert by_form == {(first, 2)}
    assert len(store.zero.links([first], 10)) == 2
    store.graph.record(first, reading([entity("Orla")]), generation())
    (link,) = store.zero.links([first], 10)
    assert (link.kind, link.node_id) == (0, store.zero.nodes(["orla"])[0].id)
    places = store.zero.places([link.node_id], 10, unread=True)
    assert [place.chunk_id for place in places] == [third]
    assert {place.chunk_id for place in store.zero.places([link.node_id], 10)} == {first, third}
    assert second not in {place.chunk_id for place in places}


def test_names_too_common_lead_nowhere(store: Store) -> None:
    chunks = named(store, "a.txt", [["ada"]] * 5)
    assert store.zero.links(chunks, 4) == []
    assert len(store.zero.links(chunks, 5)) == 5


def test_the_whole_graph_comes_as_arrays(store: Store) -> None:
    chunks = named(store, "a.txt", [["ada", "once"], ["ada", "orla"], ["orla"]])
    found = store.zero.incidence()
    assert found.chunks.tolist() == [chunks[0], chunks[1], chunks[1], chunks[2]]
    assert found.chunks.dtype == np.int64
    assert found.left_out == 0
    near = store.zero.incidence(of=[chunks[2]])
    assert near.chunks.tolist() == [chunks[1], chunks[2]]
    assert store.zero.incidence(of=[]).chunks.tolist() == []
    few = store.zero.incidence(3)
    assert (few.chunks.tolist(), few.left_out) == (found.chunks.tolist()[:3], 1)
    store.graph.record(chunks[1], reading([]), generation())
    assert store.zero.incidence(unread=True).chunks.tolist() == []
    with quick_store() as empty:
        assert empty.zero.incidence().chunks.tolist() == []


def test_putting_again_replaces_what_was_there(store: Store) -> None:
    document_id = add(store, "a.txt", "Ada\nBruno")
    one, two = (chunk.id for chunk in store.chunks.of_document(document_id))
    ada, bruno = ZeroName("ada", FORM, 0, 3), ZeroName("bruno", FORM, 0, 5)
    title = ZeroName("ada", TITLE)
    store.zero.put(document_id, RULES, {one: [ada], two: [bruno]}, {one: [title], two: [title]})
    assert kinds(store) == {(one, "ada", FORM | TITLE), (two, "bruno", FORM), (two, "ada", TITLE)}
    heading = ZeroName("bruno", HEADING)
    store.zero.put(document_id, RULES, {}, {one: [heading], two: []})
    assert kinds(store) == {(one, "ada", FORM), (one, "bruno", HEADING), (two, "bruno", FORM)}
    store.zero.put(document_id, RULES, {one: [], two: []}, {one: [], two: []})
    assert kinds(store) == set()
    assert logical_rows(store)["zero_names"] == []


def test_names_of_chunks_that_are_gone_are_not_stored(store: Store) -> None:
    document_id = add(store, "a.txt", "Ada")
    (chunk,) = store.chunks.of_document(document_id)
    store.documents.replace(document_id, document("a.txt", "Bruno"), chunks_of("Bruno"))
    assert not store.zero.put(document_id, RULES, {chunk.id: [ZeroName("ada", FORM)]}, {chunk.id: []})
    assert store.zero.counts().places == 0
    assert store.zero.due(RULES) == [document_id]


def test_what_changes_a_documents_names_makes_it_due(store: Store) -> None:
    document_id = add(store, "a.txt", "Ada\nBruno")
    assert store.zero.due(RULES) == [document_id]
    name_words(store, document_id)
    assert store.zero.due(RULES) == []
    assert store.zero.due(RULES + 1) == [document_id]
    one, _ = (chunk.id for chunk in store.chunks.of_document(document_id))
    store.documents.replace(document_id, document("a.txt", "Ada\nOrla"), chunks_of("Ada\nOrla"))
    assert store.zero.due(RULES) == [document_id]
    assert store.zero.named(document_id, RULES) == {one}
    assert store.zero.named(document_id, RULES + 1) == set()
    name_words(store, document_id)
    store.documents.arrange({document_id: [Place("library", "b.txt", 1, 1.0)]}, {document_id: "b"})
    assert store.zero.due(RULES) == [document_id]
    assert store.zero.counts().waiting == 1


def test_a_chunk_that_stays_keeps_its_names_and_one_that_goes_leaves_none(store: Store) -> None:
    document_id = add(store, "a.txt", "Ada\nBruno")
    name_words(store, document_id)
    store.documents.replace(document_id, document("a.txt", "Ada\nOrla"), chunks_of("Ada\nOrla"))
    keys = [key for (key,) in logical_rows(store)["zero_names"]]
    assert keys == ["a.txt", "ada"]
    name_words(store, document_id)
    with quick_store() as fresh:
        name_words(fresh, add(fresh, "a.txt", "Ada\nOrla"))
        rows = logical_rows(fresh)
        for table in ("zero_names", "zero_places", "zero_documents"):
            assert logical_rows(store)[table] == rows[table]


words = st.lists(st.sampled_from(("ada", "bruno", "orla", "图书馆", "ora-01555", "mill")), max_size=4)


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(st.lists(words, min_size=1, max_size=3), min_size=1, max_size=5), st.sets(st.integers(0, 4)))
def test_the_graph_after_a_deletion_is_that_of_what_is_left(
    documents: list[list[list[str]]], gone: set[int]
) -> None:
    with quick_store() as both, quick_store() as alone:
        ids = []
        for number, lines in enumerate(documents):
            named(both, f"{number}.txt", lines)
            ids.append(both.documents.by_path("library", f"{number}.txt"))
            if number not in gone:
                named(alone, f"{number}.txt", lines)
        for number in gone:
            if number < len(ids) and (row := ids[number]) is not None:
                both.documents.delete(row.id)
        assert logical_rows(both) == logical_rows(alone)
        assert both.check() == []


def test_merging_brings_the_names_along(store: Store, tmp_path: Path) -> None:
    named(store, "a.txt", [["ada", "orla"]])
    with Store.create(tmp_path / "other.localrag") as other:
        named(other, "b.txt", [["ada"], ["bruno"]], title="orla")
        unnamed = add(other, "c.txt", "Nothing was found here yet.")
        store.merge(other)
    (ada,) = store.zero.nodes(["ada"])
    assert ada.chunks == 2
    assert store.check() == []
    paths = [store.documents.get(document_id).path for document_id in store.zero.due(RULES)]
    assert paths == ["c.txt"]
    assert unnamed


def test_mending_drops_a_damaged_graph_so_that_it_is_made_anew(store: Store) -> None:
    (chunk,) = named(store, "a.txt", [["ada"]])
    assert store.check() == []
    with store.transaction():
        session_of(store).run("UPDATE zero_places SET char_start = 5, char_end = 900")
        session_of(store).run("INSERT INTO zero_names (key) VALUES ('ghost')")
    assert store.check() == [
        "1 names of the graph without a model are in no passage.",
        "1 names of the graph without a model lie outside of their passage's text.",
    ]
    done, lost = store.mend()
    assert any("graph without a model" in text for text in done)
    assert lost == []
    assert store.check() == []
    assert store.zero.due(RULES) == [store.chunks.get(chunk).document_id]


def test_a_healthy_graph_is_left_alone_by_mending(store: Store) -> None:
    named(store, "a.txt", [["ada"]])
    before = logical_rows(store)["zero_places"]
    store.mend()
    assert logical_rows(store)["zero_places"] == before != []


def test_hostile_names_are_stored_as_they_are(store: Store) -> None:
    names = ["'); DROP TABLE chunks; --", "a\0b", "\ud800", "%_", "[1, 2]"]
    named(store, "a.txt", [names])
    found = store.zero.nodes(names)
    assert sorted(node.key for node in found) == sorted(
        ["'); DROP TABLE chunks; --", "a\ufffdb", "\ufffd", "%_", "[1, 2]"]
    )
    assert store.check() == []


def kinds(store: Store) -> set[tuple[int, str, int]]:
    return set(
        session_of(store).rows("SELECT chunk_id, key, kind FROM zero_places JOIN zero_names ON id = name_id")
    )


def test_a_long_document_is_replaced_without_touching_what_stays(store: Store) -> None:
    lines = [f"Name{number}" for number in range(50)]
    document_id = add(store, "a.txt", "\n".join(lines))
    name_words(store, document_id)
    before = kinds(store)
    new = document("a.txt", "\n".join([*lines, "More"]))
    store.documents.replace(document_id, replace(new, title="a.txt"), chunks_of(new.text))
    assert kinds(store) == before
