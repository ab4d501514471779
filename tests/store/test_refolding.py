"""Other rules for folding names: all keys of a file follow, and what became one name is one entity."""

from __future__ import annotations

from pathlib import Path

import pytest

from localrag.graph.names import VERSION, fold
from localrag.store import Store
from localrag.store.curation_rows import AddAlias, EditEntity, MergeEntities, MergeRelations, RenameEntity
from localrag.store.report_rows import NewClaim
from localrag.store.rows import EntityMention, Reading, RelationMention
from tests.store.helpers import add_lines, generation, logical_rows, session_of
from tests.store.test_merges import derived

OLD = ("mr holmes", "holmes", "dr watson", "李明先生")
"""Keys as rules without titles make them."""


def read(store: Store, *, refold: bool) -> None:
    """Read names with their keys as older rules made them, or as the present ones do."""

    def key(text: str) -> str:
        return fold(text) if refold else text

    chunks = add_lines(store, "Mr. Holmes and Dr. Watson", "Holmes and 李明先生")
    for chunk, names in zip(chunks, (("Mr. Holmes", "Dr. Watson"), ("Holmes", "李明先生")), strict=True):
        keys = [key(name.lower().replace(".", "")) for name in names]
        mentions = tuple(
            EntityMention(name, item, "person", "") for name, item in zip(names, keys, strict=True)
        )
        pair = RelationMention(keys[0], keys[1], "knows", f"{names[0]} knows {names[1]}.")
        store.graph.record(chunk, Reading(mentions, (pair,)), generation(names[0]))
        claim = NewClaim(keys[0], "deed", "TRUE", "It was done.", ((0, 5),), keys[1])
        store.claims.record(chunk, [claim], type(generation())(**{**vars(generation()), "task": "claims"}))
        store.aliases.put(chunk, keys[0], "The detective", "detective")
    store.decisions.add(EditEntity(key("mr holmes"), "A detective."))
    store.decisions.add(RenameEntity(key("dr watson"), "John Watson", "john watson", "Dr. Watson"))
    store.decisions.add(AddAlias(key("李明先生"), "old li", "Old Li", "李明先生"))


def age(store: Store) -> None:
    """Say that the names were folded by older rules."""
    with store.transaction():
        session_of(store).run("UPDATE meta SET names_version = ?", [VERSION - 1])


def test_a_file_of_older_rules_is_as_if_read_by_the_present_ones(path: Path, tmp_path: Path) -> None:
    with Store.create(path) as store:
        read(store, refold=False)
        assert {row.key for row in store.graph.top_entities(9)} == set(OLD)
        age(store)
    with Store.open(path) as store:
        assert {row.key for row in store.graph.top_entities(9)} == {"holmes", "watson", "李明"}
        assert store.check() == []
        found = logical_rows(store)
    with Store.create(tmp_path / "fresh.localrag") as fresh:
        read(fresh, refold=True)
        wanted = logical_rows(fresh)
    for table in found:
        assert found[table] == wanted[table], table


def test_a_file_that_is_only_read_stays_as_it_is(path: Path) -> None:
    with Store.create(path) as store:
        read(store, refold=False)
        age(store)
    with Store.open(path, read_only=True) as store:
        assert {row.key for row in store.graph.top_entities(9)} == set(OLD)


def test_nothing_is_written_where_the_rules_are_the_same(store: Store, path: Path) -> None:
    read(store, refold=True)
    before = store.revision()
    with Store.open(path) as other:
        assert other.revision() == before


@pytest.mark.parametrize(
    "decision",
    [
        MergeEntities(("mr holmes",), ("Mr. Holmes",), "holmes", "Holmes"),
        AddAlias("holmes", "mr holmes", "Mr. Holmes", "Holmes"),
        MergeRelations((("mr holmes", "dr watson"),), ("holmes", "dr watson")),
    ],
    ids=lambda item: item.kind,
)
def test_a_decision_that_two_names_are_one_is_done_with(
    path: Path, decision: MergeEntities | AddAlias | MergeRelations
) -> None:
    with Store.create(path) as store:
        read(store, refold=False)
        store.decisions.add(decision)
        age(store)
    with Store.open(path) as store:
        assert decision.kind not in {row.decision.kind for row in store.decisions.list()[3:]}
        assert "holmes" in {row.key for row in store.graph.top_entities(9)}
        assert store.check() == []


def test_a_merge_of_several_keeps_the_others(path: Path) -> None:
    with Store.create(path) as store:
        read(store, refold=False)
        store.decisions.add(
            MergeEntities(("mr holmes", "dr watson"), ("Mr. Holmes", "Dr. Watson"), "holmes", "Holmes")
        )
        age(store)
    with Store.open(path) as store:
        *_, row = store.decisions.list()
        assert row.decision == MergeEntities(("watson",), ("Dr. Watson",), "holmes", "Holmes")
        assert {row.key for row in store.graph.top_entities(9)} == {"holmes", "李明"}
        assert store.check() == []


def test_automatic_merges_are_derived_anew(path: Path) -> None:
    with Store.create(path) as store:
        read(store, refold=False)
        store.merges.bring_up()
        assert derived(store)["name_features"]
        age(store)
    with Store.open(path) as store:
        assert {row[1] for row in derived(store)["name_features"]} == {"holmes", "watson", "李明"}
        assert store.check() == []
