"""Summaries in the file: which wait and in which order, what is said, and what becomes of them."""

from __future__ import annotations

import pytest

from localrag.errors import SourceGone
from localrag.store import Store
from localrag.store.curation_rows import EditEntity, MergeEntities
from localrag.store.rows import GenerationRow
from localrag.store.summary_rows import Saying
from localrag.store.upkeep import entity_text, text_hash
from tests.store.helpers import add, add_lines, entity, generation, reading, relation, session_of


def call(output: str) -> GenerationRow:
    return GenerationRow("summary", "p", "model", "{}", 1, 1, 1, "stop", output)


def said_of(store: Store, name: str, *texts: str) -> list[int]:
    """Let each text be said of the name in a chunk of its own; returns the chunks."""
    chunks = add_lines(store, *(f"{name} {text}" for text in texts))
    for chunk, text in zip(chunks, texts, strict=True):
        store.graph.record(chunk, reading([entity(name, text)]), generation())
    return chunks


def id_of(store: Store, key: str) -> int:
    return store.graph.find_by_keys([key])[0].id


def test_what_is_connected_most_comes_first(store: Store) -> None:
    said_of(store, "Twice", "One.", "Two.")
    said_of(store, "Thrice", "One.", "Two.", "Three.")
    said_of(store, "Once", "One.")
    (first, second) = add_lines(store, "hub", "hub again")
    hub = [entity("Hub", "A hub."), *(entity(f"E{number}") for number in range(4))]
    spokes = [relation("Hub", f"E{number}", "Is with.") for number in range(4)]
    store.graph.record(first, reading(hub, spokes), generation())
    store.graph.record(second, reading([entity("Hub", "Another thing.")]), generation())
    waiting = store.summaries.waiting("entity")
    names = [store.graph.entity(row.row_id).key for row in waiting]
    assert names == ["hub", "thrice", "twice"]
    assert [row.weight for row in waiting] == [6, 3, 2]
    assert store.summaries.waiting("relation") == []


def test_only_what_changed_waits(store: Store) -> None:
    said_of(store, "Ada", "Builds boats.", "Lives on the coast.")
    said_of(store, "Bo", "Bakes.", "Sings.")
    ada, bo = id_of(store, "ada"), id_of(store, "bo")
    assert store.summaries.put("entity", ada, "Ada in short.", call("Ada in short."))
    store.summaries.settle("entity", bo)
    assert store.summaries.waiting("entity") == []
    said_of(store, "Bo", "Drives a bus.")
    assert [row.row_id for row in store.summaries.waiting("entity")] == [bo]


def test_all_that_is_said_comes_with_its_chunk_type_and_language(store: Store) -> None:
    one, two = said_of(store, "Ada", "Builds boats.", "")
    (third,) = add_lines(store, "住在海边")
    store.graph.record(third, reading([entity("Ada", "住在海边。", "人物")]), generation())
    with store.transaction():
        session_of(store).run("UPDATE chunks SET language = 'zh' WHERE id = ?", [third])
    ada = id_of(store, "ada")
    (said,) = store.summaries.said("entity", [ada, 999])
    assert (said.kind, said.row_id, said.name, said.target, said.own) == ("entity", ada, "Ada", "", False)
    assert said.sayings == (
        Saying(one, "Builds boats.", "Person", "en"),
        Saying(third, "住在海边。", "人物", "zh"),
    )
    # The name comes from all of them, so a summary rests on all of them.
    assert said.chunks == (one, two, third)
    store.decisions.add(EditEntity("ada", "A person of whom much is known."))
    assert store.summaries.said("entity", [ada])[0].own


def test_a_relation_is_called_as_its_own_chunks_call_its_ends(store: Store) -> None:
    (first,) = add_lines(store, "Holmes met Watson.")
    store.graph.record(
        first,
        reading([entity("Holmes"), entity("Watson")], [relation("Holmes", "Watson", "Met.")]),
        generation(),
    )
    # Elsewhere he is mostly written otherwise, and shown so.
    for chunk in add_lines(store, "HOLMES a", "HOLMES b"):
        store.graph.record(chunk, reading([entity("HOLMES", "A detective.")]), generation())
    assert store.graph.entity(id_of(store, "holmes")).name == "HOLMES"
    (relation_id,) = [row.id for row in store.graph.relations_of([id_of(store, "holmes")], 5)]
    (said,) = store.summaries.said("relation", [relation_id])
    assert (said.name, said.target, said.chunks) == ("Holmes", "Watson", (first,))


def test_a_summary_that_lacks_a_chunk_is_kept_and_waits(store: Store) -> None:
    chunks = said_of(store, "Ada", "Builds boats.", "Lives on the coast.")
    ada = id_of(store, "ada")
    (late,) = said_of(store, "Ada", "Owns a dog.")
    assert store.summaries.put("entity", ada, "Builds boats on the coast.", call("x"), chunks)
    assert [row.row_id for row in store.summaries.waiting("entity")] == [ada]
    assert store.summaries.put("entity", ada, "All of it.", call("y"), [*chunks, late])
    assert store.summaries.waiting("entity") == []
    assert store.summaries.get("entity", ada) == "All of it."


def test_a_summary_whose_chunk_is_gone_is_not_stored(store: Store) -> None:
    chunks = said_of(store, "Ada", "Builds boats.", "Lives on the coast.")
    other = add(store, "other.txt", "Ada")
    (late,) = [chunk.id for chunk in store.chunks.of_document(other)]
    store.graph.record(late, reading([entity("Ada", "Owns a dog.")]), generation())
    store.documents.delete(other)
    ada = id_of(store, "ada")
    with pytest.raises(SourceGone):
        store.summaries.put("entity", ada, "Owns a dog.", call("x"), [*chunks, late])
    assert store.summaries.get("entity", ada) == ""
    assert store.journal.totals().generations == 2


def test_settling_takes_an_earlier_summary_back(store: Store) -> None:
    said_of(store, "Ada", "Builds boats.", "Lives on the coast.")
    ada = id_of(store, "ada")
    calls = store.journal.totals().generations
    assert store.summaries.put("entity", ada, "Ada in short.", call("Ada in short."))
    revision = store.revision()
    store.summaries.settle("entity", ada)
    assert store.summaries.get("entity", ada) == ""
    assert store.journal.totals().generations == calls
    assert store.summaries.waiting("entity") == []
    assert store.revision() > revision
    session = session_of(store)
    noted = session.value("SELECT text_hash FROM entities WHERE id = ?", [ada])
    assert noted == text_hash(entity_text(session, ada))
    assert store.check() == []


def test_what_one_description_tells_is_settled_at_once(store: Store) -> None:
    said_of(store, "Ada", "Builds boats.", "Builds boats.")
    said_of(store, "Bo", "Bakes.", "Sings.")
    store.summaries.settle_plain()
    assert store.summaries.dirty("entity") == [id_of(store, "bo")]


def test_descriptions_that_are_moved_elsewhere_take_the_summary_along(store: Store) -> None:
    said_of(store, "Ada", "Builds boats.")
    said_of(store, "Adah", "Owns a dog.")
    store.decisions.add(MergeEntities(("adah",), ("Adah",), "ada", "Ada"))
    ada = id_of(store, "ada")
    assert store.summaries.put("entity", ada, "Builds boats and owns a dog.", call("x"))
    store.decisions.undo()
    assert store.summaries.get("entity", id_of(store, "ada")) == ""
    assert store.check() == []
