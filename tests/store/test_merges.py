"""Automatic merges: within documents, over all, with a person's decisions, and after deletions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.graph.names import fold
from localrag.graph.resolution import VERSION
from localrag.store import Store
from localrag.store.curation_rows import (
    Decision,
    DeleteEntity,
    EditEntity,
    KeepApart,
    MergeEntities,
    RenameEntity,
    SplitEntity,
    Where,
)
from localrag.store.merges import TABLES
from localrag.store.merges_upkeep import make_anew
from localrag.store.rows import EntityMention, Reading, RelationMention
from tests.examples import examples
from tests.store.helpers import (
    add,
    chunks_of,
    document,
    generation,
    logical_rows,
    quick_store,
    session_of,
)

PERSON, ORGANIZATION = "person", "organization"
HOLMES = "Sherlock Holmes came in. Mr. Holmes sat down."
BOTH = "Sherlock Holmes met Mycroft Holmes. Holmes smiled."


def mention(name: str, kind: str = PERSON, description: str = "") -> EntityMention:
    """A mention with a folded key."""
    return EntityMention(name, fold(name), kind, description)


def read(
    store: Store, path: str, text: str, names: Sequence[str | tuple[str, str]], pairs: Sequence[Any] = ()
) -> int:
    """A document of one passage in which these names were read; returns its id."""
    document_id = add(store, path, text)
    (chunk,) = store.chunks.of_document(document_id)
    mentions = tuple(mention(*((item,) if isinstance(item, str) else item)) for item in names)
    relations = tuple(RelationMention(fold(one), fold(other), "knows", "They met.") for one, other in pairs)
    assert store.graph.record(chunk.id, Reading(mentions, relations), generation(path))
    return document_id


def entities(store: Store) -> set[str]:
    """The names of all entities."""
    return {row.name for row in store.graph.top_entities(1000)}


def entity_of(store: Store, document_id: int, name: str) -> str:
    """The entity that a name of a document belongs to."""
    return str(
        session_of(store).value(
            "SELECT e.name FROM mentions m JOIN chunks c ON c.id = m.chunk_id "
            "JOIN entities e ON e.id = m.entity_id WHERE c.document_id = ? AND m.key = ?",
            [document_id, fold(name)],
        )
    )


def derived(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of automatic merges."""
    rows = logical_rows(store)
    return {table: rows[table] for table in TABLES}


def test_nothing_is_merged_before_it_is_asked_for(store: Store) -> None:
    read(store, "a.txt", HOLMES, ["Sherlock Holmes", "Mr. Holmes"])
    assert entities(store) == {"Sherlock Holmes", "Mr. Holmes"}
    assert all(not rows for rows in derived(store).values())
    store.merges.bring_up()
    assert entities(store) == {"Sherlock Holmes"}


def test_a_merged_name_brings_its_relations_claims_and_later_readings_along(store: Store) -> None:
    one = read(store, "a.txt", HOLMES, ["Sherlock Holmes", "Mr. Holmes", "Ada"], [("Mr. Holmes", "Ada")])
    store.merges.bring_up()
    (relation,) = store.graph.relations_of([row.id for row in store.graph.top_entities(9)], 9)
    assert {relation.source, relation.target} == {"Sherlock Holmes", "Ada"}
    two = read(store, "b.txt", "Holmes left.", ["Holmes", "Bo"], [("Holmes", "Bo")])
    assert entity_of(store, two, "Holmes") == "Sherlock Holmes"
    assert entity_of(store, one, "Holmes") == "Sherlock Holmes"
    assert [row.name for row in store.graph.find_by_keys(["holmes"])] == ["Sherlock Holmes"]


def test_a_relation_between_a_name_and_its_fuller_one_is_none_until_they_are_apart(store: Store) -> None:
    read(
        store,
        "a.txt",
        "The United Nations (UN) met.",
        [("United Nations", ORGANIZATION), ("UN", ORGANIZATION)],
        [("UN", "United Nations")],
    )
    store.merges.bring_up()
    assert entities(store) == {"United Nations"}
    assert store.graph.counts().relations == 0
    store.decisions.add(KeepApart(("un", "united nation"), ("UN", "United Nations")))
    assert entities(store) == {"United Nations", "UN"}
    assert store.graph.counts().relations == 1
    store.decisions.undo()
    assert entities(store) == {"United Nations"}


def test_two_of_a_name_are_told_apart_by_their_documents(store: Store) -> None:
    one = read(store, "a.txt", HOLMES, ["Sherlock Holmes", "Mr. Holmes"])
    two = read(store, "b.txt", "Mycroft Holmes came. Holmes sat.", ["Mycroft Holmes", "Holmes"])
    three = read(store, "c.txt", "Holmes came.", ["Holmes"])
    store.merges.bring_up()
    assert entity_of(store, one, "Holmes") == "Sherlock Holmes"
    assert entity_of(store, two, "Holmes") == "Mycroft Holmes"
    assert entity_of(store, three, "Holmes") == "Holmes"
    assert {(row.key, row.into) for row in store.merges.likely(9)} == {
        ("holmes", "sherlock holmes"),
        ("holmes", "mycroft holmes"),
    }
    store.documents.delete(two)
    assert entity_of(store, three, "Holmes") == "Sherlock Holmes"
    store.documents.delete(one)
    assert entity_of(store, three, "Holmes") == "Holmes"
    assert derived(store)["name_links"] == []


def test_a_document_that_comes_later_takes_a_merge_back_and_gives_it_again(store: Store) -> None:
    read(store, "a.txt", HOLMES, ["Sherlock Holmes", "Mr. Holmes"])
    alone = read(store, "c.txt", "Holmes came.", ["Holmes"])
    store.merges.bring_up()
    assert entity_of(store, alone, "Holmes") == "Sherlock Holmes"
    other = read(store, "b.txt", "Mycroft Holmes sat.", ["Mycroft Holmes"])
    store.merges.bring_up()
    assert entity_of(store, alone, "Holmes") == "Holmes"
    store.documents.delete(other)
    assert entity_of(store, alone, "Holmes") == "Sherlock Holmes"


@pytest.mark.parametrize(
    "decision",
    [
        EditEntity("holmes", "Somebody else."),
        RenameEntity("holmes", "Old Holmes", "old holmes", "Mr. Holmes"),
        SplitEntity("holmes", "mycroft", "Mycroft", Where(names=("Nobody",))),
        DeleteEntity("holmes", "Holmes"),
        MergeEntities(("holmes",), ("Holmes",), "ada", "Ada"),
    ],
    ids=lambda item: item.kind,
)
def test_what_a_person_decided_about_a_name_wins(store: Store, decision: Decision) -> None:
    document = read(store, "a.txt", HOLMES, ["Sherlock Holmes", "Mr. Holmes", "Ada"])
    store.merges.bring_up()
    before = logical_rows(store)
    store.decisions.add(decision)
    assert entity_of(store, document, "Holmes") != "Sherlock Holmes"
    assert store.check() == []
    store.decisions.undo()
    after = logical_rows(store)
    assert after | {"decisions": []} == before | {"decisions": []}


def test_a_split_of_the_entity_that_a_name_was_merged_into_holds(store: Store) -> None:
    document = read(store, "a.txt", HOLMES, ["Sherlock Holmes", "Mr. Holmes"])
    store.merges.bring_up()
    where = Where(names=("Mr. Holmes",))
    store.decisions.add(SplitEntity("sherlock holmes", "mycroft holmes", "Mycroft Holmes", where))
    assert entity_of(store, document, "Holmes") == "Mycroft Holmes"
    assert entity_of(store, document, "Sherlock Holmes") == "Sherlock Holmes"


def test_two_that_are_kept_apart_do_not_meet_in_a_third(store: Store) -> None:
    read(store, "a.txt", "John Ernest Doe. Doe. John.", ["John Ernest Doe", "Doe", "John"])
    store.merges.bring_up()
    assert entities(store) == {"John Ernest Doe"}
    store.decisions.add(KeepApart(("doe", "john"), ("Doe", "John")))
    assert entities(store) == {"John Ernest Doe", "Doe", "John"}


def test_a_person_is_not_asked_again_about_what_is_kept_apart(store: Store) -> None:
    read(store, "a.txt", BOTH, ["Sherlock Holmes", "Mycroft Holmes", "Holmes"])
    store.merges.bring_up()
    assert len(store.merges.likely(9)) == 2
    store.decisions.add(KeepApart(("holmes", "mycroft holmes"), ("Holmes", "Mycroft Holmes")))
    assert [row.into for row in store.merges.likely(9)] == ["sherlock holmes"]


def test_what_was_merged_is_told_with_its_evidence(store: Store) -> None:
    read(store, "a.txt", HOLMES, ["Sherlock Holmes", "Mr. Holmes"])
    read(store, "b.txt", "Mycroft Holmes came. Holmes sat.", ["Mycroft Holmes", "Holmes"])
    store.merges.bring_up()
    (entity,) = store.graph.find_by_keys(["sherlock holmes"])
    (row,) = store.merges.into(entity.id)
    assert (row.name, row.kind, row.document, row.said) == ("Mr. Holmes", "part", "a.txt", False)
    assert row.score >= 0.9


def test_taking_all_down_leaves_what_would_be_there_without_it(store: Store) -> None:
    read(store, "a.txt", HOLMES, ["Sherlock Holmes", "Mr. Holmes"])
    before = logical_rows(store)
    store.merges.bring_up()
    assert store.merges.on
    assert not store.merges.due
    assert store.merges.take_down() == 1
    assert logical_rows(store) == before
    assert not store.merges.on


def test_a_passage_that_is_read_again_leaves_nothing_of_the_first_reading(store: Store) -> None:
    document = read(store, "a.txt", HOLMES, ["Sherlock Holmes", "Mr. Holmes"])
    store.merges.bring_up()
    (chunk,) = store.chunks.of_document(document)
    store.graph.record(chunk.id, Reading((mention("Ada"),)), generation("again"))
    assert entities(store) == {"Ada"}
    rows = derived(store)
    assert rows["document_merges"] == rows["name_links"] == rows["name_merges"] == []
    assert {row[1] for row in rows["name_features"]} == {"ada"}


def test_other_rules_derive_all_anew(store: Store) -> None:
    read(store, "a.txt", HOLMES, ["Sherlock Holmes", "Mr. Holmes"])
    store.merges.bring_up()
    before = derived(store)
    with store.transaction():
        session_of(store).run("UPDATE meta SET merges_version = ?", [VERSION + 1])
        session_of(store).run("DELETE FROM name_features")
    assert store.merges.due
    store.merges.bring_up()
    assert derived(store) == before


def test_a_changed_text_takes_back_what_rested_on_the_old_one(store: Store) -> None:
    document_id = read(store, "a.txt", HOLMES, ["Sherlock Holmes", "Mr. Holmes"])
    alone = read(store, "b.txt", "Holmes came.", ["Holmes"])
    store.merges.bring_up()
    assert entity_of(store, alone, "Holmes") == "Sherlock Holmes"
    store.documents.replace(document_id, document("a.txt", "Other text."), chunks_of("Other text."))
    assert entity_of(store, alone, "Holmes") == "Holmes"
    assert {row[1] for row in derived(store)["name_features"]} == {"holmes"}


def test_a_file_that_is_joined_in_is_resolved_too(store: Store, tmp_path: Path) -> None:
    alone = read(store, "b.txt", "Holmes came.", ["Holmes"])
    store.merges.bring_up()
    with Store.create(tmp_path / "other.localrag") as other:
        read(other, "a.txt", HOLMES, ["Sherlock Holmes", "Mr. Holmes"])
        store.merge(other)
    assert entity_of(store, alone, "Holmes") == "Sherlock Holmes"
    rows = derived(store)
    make_anew(session_of(store))
    assert derived(store) == rows


def test_damaged_merges_are_told_and_derived_anew(store: Store) -> None:
    document_id = read(store, "a.txt", HOLMES, ["Sherlock Holmes", "Mr. Holmes"])
    store.merges.bring_up()
    before = logical_rows(store)
    with store.transaction():
        session_of(store).run("INSERT INTO name_features (feature, key) VALUES ('w:ghost', 'ghost')")
        session_of(store).run("UPDATE name_merges SET into_key = 'ghost'")
    problems = store.check()
    assert "1 rows of name_features are about a name that nothing mentions." in problems
    assert "1 rows of name_merges are about a name that nothing mentions." in problems
    done, lost = store.mend()
    assert "The automatic merges were derived anew." in done
    assert lost == []
    assert entity_of(store, document_id, "Holmes") == "Sherlock Holmes"
    assert logical_rows(store) == before


NAMES = (
    ("Sherlock Holmes", PERSON),
    ("Mycroft Holmes", PERSON),
    ("Holmes", PERSON),
    ("Sherlock", PERSON),
    ("Mr. S. Holmes", PERSON),
    ("United Nations", ORGANIZATION),
    ("UN", ORGANIZATION),
    ("UN", "place"),
    ("University of Nowhere", ORGANIZATION),
    ("阿里巴巴", ORGANIZATION),
    ("阿里巴巴集团", ORGANIZATION),
    ("Alibaba", ORGANIZATION),
)
DECISIONS: tuple[Decision, ...] = (
    KeepApart(("holmes", "sherlock holmes"), ("Holmes", "Sherlock Holmes")),
    MergeEntities(("holmes",), ("Holmes",), "mycroft holmes", "Mycroft Holmes"),
    EditEntity("un", "Own words."),
)


@st.composite
def _documents(draw: st.DrawFn) -> list[tuple[str, tuple[tuple[str, str], ...], tuple[int, int]]]:
    found = []
    for _ in range(draw(st.integers(1, 4))):
        names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True))
        join = draw(st.sampled_from((" and ", " (", ", also known as ", "（")))
        close = "）" if join == "（" else ")"
        text = join.join(name for name, _ in names) + close + ". " + ", ".join(name for name, _ in names)
        pair = (draw(st.integers(0, len(names) - 1)), draw(st.integers(0, len(names) - 1)))
        found.append((text, tuple(names), pair))
    return found


def _put(store: Store, number: int, plan: tuple[str, tuple[tuple[str, str], ...], tuple[int, int]]) -> int:
    text, names, (one, other) = plan
    pairs = [(names[one][0], names[other][0])] if fold(names[one][0]) != fold(names[other][0]) else []
    return read(store, f"{number}.txt", text, names, pairs)


def check_function_of_content(
    plans: list[Any], order: list[int], gone: set[int], made: list[Decision], each: bool
) -> None:
    """Derived bit by bit, with deletions and returns between, the rows are those derived from scratch, and
    those of a file that never held anything else."""
    with quick_store() as store:
        ids = {}
        for number in order:
            ids[number] = _put(store, number, plans[number])
            if each:
                store.merges.bring_up()
        store.merges.bring_up()
        for number in gone:
            store.documents.delete(ids[number])
        for number in sorted(gone):
            ids[number] = _put(store, number, plans[number])
        for decision in made:
            store.decisions.add(decision)
        store.merges.bring_up()
        for number in gone:
            store.documents.delete(ids[number])
        rows = logical_rows(store)
        assert store.check() == []
        make_anew(session_of(store))
        assert derived(store) == {table: rows[table] for table in TABLES}
        assert logical_rows(store)["mentions"] == rows["mentions"]
    with quick_store() as store:
        for decision in made:
            store.decisions.add(decision)
        for number in range(len(plans)):
            if number not in gone:
                _put(store, number, plans[number])
        store.merges.bring_up()
        alone = logical_rows(store)
        for table in (*TABLES, "mentions", "entities", "relations", "relation_mentions", "entity_aliases"):
            assert rows[table] == alone[table], table


@settings(max_examples=examples(8), deadline=None)
@given(
    _documents(),
    st.randoms(use_true_random=False),
    st.lists(st.sampled_from(DECISIONS), max_size=2),
    st.booleans(),
)
def test_merges_are_a_function_of_what_is_there(
    plans: list[Any], dice: Any, made: list[Decision], each: bool
) -> None:
    order = list(range(len(plans)))
    gone = {number for number in order if dice.random() < 0.4}
    dice.shuffle(order)
    check_function_of_content(plans, order, gone, made, each)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=400, deadline=None)
@given(
    _documents(),
    st.randoms(use_true_random=False),
    st.lists(st.sampled_from(DECISIONS), max_size=2),
    st.booleans(),
)
def test_merges_are_a_function_of_what_is_there_in_many_files(
    plans: list[Any], dice: Any, made: list[Decision], each: bool
) -> None:
    order = list(range(len(plans)))
    gone = {number for number in order if dice.random() < 0.4}
    dice.shuffle(order)
    check_function_of_content(plans, order, gone, made, each)
