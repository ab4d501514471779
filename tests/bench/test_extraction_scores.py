"""Scores against values worked out by hand."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.bench.extraction_data import GoldSet, load_set
from localrag.bench.extraction_figures import f1, figures, further
from localrag.bench.extraction_scores import (
    Cost,
    FoundEntity,
    FoundItem,
    FoundRelation,
    Share,
    Tally,
    match,
    tally,
)
from tests.bench.sets import HARBOUR, MILL, TEA, write_set


def entity(name: str, type_: str = "", *others: str) -> FoundEntity:
    return FoundEntity(name.casefold(), frozenset((name, *others)), type_)


def relation(source: str, target: str, type_: str = "") -> FoundRelation:
    return FoundRelation(source.casefold(), target.casefold(), type_)


@pytest.fixture
def harbour(tmp_path: Path) -> GoldSet:
    return load_set(write_set(tmp_path, "own", [HARBOUR, MILL]), "own", "S")


@pytest.fixture
def tea(tmp_path: Path) -> GoldSet:
    return load_set(write_set(tmp_path, "tea", [TEA]), "tea", "S")


FOUND = FoundItem(
    "h1",
    (
        entity("ADA LUND", "PER"),
        entity("Lund", "ORG"),
        entity("Harbour Bridge", "THING"),
        entity("the Tarn", "ORG"),
        entity("repaired", "THING"),
        entity("Atlantis", "LOC"),
    ),
    (
        relation("Lund", "the Tarn", "lives in"),
        relation("the Tarn", "Lund", "works for"),
        relation("Harbour Bridge", "ADA LUND", "lives in"),
    ),
    Cost(calls=2, invented=1, orphans=1, prompt_tokens=30, shared_tokens=100, output_tokens=20),
)


def test_a_passage_by_hand(harbour: GoldSet) -> None:
    counts = tally(harbour.items[0], FOUND)
    # ADA LUND and Lund are both Ada Lund; the company is missed; two names are not marked.
    assert counts.right == Share(4, 6)
    assert counts.found == Share(3, 4)
    assert counts.typed_right == Share(2, 6)
    assert counts.typed_found == Share(2, 4)
    # Whichever way, Lund and Tarn are one pair; the bridge and Ada Lund are not related.
    assert counts.pairs == Share(1, 2)
    assert counts.joined == Share(1, 2)
    assert counts.relations_right == Share(1, 3)
    assert counts.relations_found == Share(1, 2)
    # Two nodes for Ada Lund, one each for the bridge and Tarn.
    assert counts.nodes == Share(4, 3)
    assert counts.golds == Share(4, 4)
    # Atlantis is not in the text; one more was written and left out.
    assert counts.invented == Share(2, 7)
    assert counts.orphans == Share(1, 4)


def test_the_figures_of_a_passage(harbour: GoldSet) -> None:
    counts = tally(harbour.items[0], FOUND)
    told = figures(harbour, counts, 1, 3.0, schema=True)
    assert told.entity_p == 0.6667
    assert told.entity_r == 0.75
    assert told.entity_f1 == pytest.approx(2 * (4 / 6) * 0.75 / (4 / 6 + 0.75), abs=1e-4)
    assert told.typed_f1 == pytest.approx(0.4)
    assert told.pair_recall == 0.5
    assert told.relation_f1 == pytest.approx(0.4)
    assert told.nodes_per_gold == 1.3333
    assert (told.seconds_per_passage, told.tokens_per_passage) == (3.0, 50.0)
    more = further(harbour, counts, 1, 5.0, schema=True)
    assert (more.pair_precision, more.gold_per_node) == (0.5, 1.0)
    assert (more.relation_p, more.relation_r, more.cpu_seconds_per_passage) == (0.3333, 0.5, 5.0)


def test_without_the_sets_types_nothing_is_told_of_them(harbour: GoldSet) -> None:
    told = figures(harbour, tally(harbour.items[0], FOUND), 1, 3.0, schema=False)
    assert (told.typed_f1, told.relation_f1) == (None, None)
    assert told.entity_f1 is not None


def test_where_only_pairs_are_marked_there_is_recall_alone(tea: GoldSet) -> None:
    found = FoundItem("t1", (entity("青石 集团"), entity("收购")), ())
    told = figures(tea, tally(tea.items[0], found), 1, 1.0, schema=True)
    assert told.entity_r == 0.5
    assert told.pair_recall == 0.0
    assert (told.entity_p, told.entity_f1, told.typed_f1, told.relation_f1) == (None, None, None, None)
    assert told.nodes_per_gold is None


def test_merged_names_are_one_node(harbour: GoldSet) -> None:
    item = harbour.items[0]
    right = [frozenset(("ada lund", "lund")), frozenset(("harbour bridge",)), frozenset(("the tarn",))]
    counts = tally(item, FOUND, right)
    assert (counts.nodes, counts.golds) == (Share(3, 3), Share(3, 3))
    wrong = [
        frozenset(("ada lund", "the tarn", "repaired")),
        frozenset(("lund",)),
        frozenset(("harbour bridge",)),
    ]
    counts = tally(item, FOUND, wrong)
    # The first node is Ada Lund and Tarn; Ada Lund has two nodes.
    assert (counts.nodes, counts.golds) == (Share(4, 3), Share(4, 3))


def test_direction_and_type_count_for_relations_alone(harbour: GoldSet) -> None:
    entities = (entity("Ada Lund", "PER"), entity("Merrow Bridge Company", "ORG"))
    backwards = FoundItem("h1", entities, (relation("Merrow Bridge Company", "Ada Lund", "works for"),))
    counts = tally(harbour.items[0], backwards)
    assert counts.pairs == Share(1, 2)
    assert counts.relations_found == Share(0, 2)
    other = FoundItem("h1", entities, (relation("Ada Lund", "Merrow Bridge Company", "lives in"),))
    assert tally(harbour.items[0], other).relations_found == Share(0, 2)
    right = FoundItem("h1", entities, (relation("Ada Lund", "Merrow Bridge Company", "works for"),) * 2)
    counts = tally(harbour.items[0], right)
    # Written twice it counts once.
    assert (counts.relations_found, counts.relations_right) == (Share(1, 2), Share(1, 1))


def test_an_end_that_was_only_assumed_is_an_orphan(harbour: GoldSet) -> None:
    found = FoundItem(
        "h1",
        (entity("Ada Lund"), entity("Tarn")),
        (relation("Ada Lund", "Tarn"), relation("Ada Lund", "nowhere")),
        assumed=frozenset(("tarn",)),
    )
    assert tally(harbour.items[0], found).orphans == Share(2, 2)


def test_nothing_extracted_is_zero_and_healthy(harbour: GoldSet) -> None:
    told = figures(harbour, tally(harbour.items[0], FoundItem("h1")), 1, 1.0, schema=True)
    assert (told.entity_r, told.entity_f1, told.pair_recall, told.relation_f1) == (0.0, 0.0, 0.0, 0.0)
    assert told.entity_p is None
    assert (told.invented_share, told.unusable_share, told.orphan_share, told.runaway_share) == (0, 0, 0, 0)


def test_counts_are_summed_before_they_are_divided(tmp_path: Path) -> None:
    gold = load_set(write_set(tmp_path, "both", [HARBOUR, MILL]), "both", "M")
    one = tally(gold.items[0], FoundItem("h1", (entity("Tarn"),)))
    other = tally(gold.items[1], FoundItem("h2", (entity("Piet Koster"), entity("Old Mill"))))
    told = figures(gold, one + other, 2, 4.0, schema=False)
    assert told.entity_r == 0.5
    assert told.seconds_per_passage == 2.0


def test_hits_and_misses_are_named(harbour: GoldSet) -> None:
    found = match(harbour.items[0], FOUND)
    assert found.hits == ("Ada Lund", "the Harbour Bridge", "Tarn")
    assert found.missed == ("Merrow Bridge Company",)
    assert found.wrong == ("repaired", "Atlantis")


def test_f1() -> None:
    assert f1(Share(1, 2), Share(1, 2)) == 0.5
    assert f1(Share(0, 2), Share(0, 2)) == 0.0
    assert f1(Share(), Share(0, 2)) == 0.0
    assert f1(Share(), Share()) is None


NAMES = st.sampled_from(["Ada Lund", "Lund", "LUND", "Tarn", "the Harbour Bridge", "Merrow", "repaired", "x"])


@settings(deadline=None)
@given(st.lists(NAMES, unique_by=str.casefold), st.lists(st.tuples(NAMES, NAMES), max_size=6))
def test_no_share_leaves_its_bounds_and_nothing_marked_scores_one(
    names: list[str], ends: list[tuple[str, str]]
) -> None:
    gold = _gold()
    found = FoundItem("h1", tuple(map(entity, names)), tuple(relation(*pair) for pair in ends))
    counts = tally(gold.items[0], found)
    for share in (counts.right, counts.found, counts.pairs, counts.joined, counts.invented, counts.orphans):
        assert 0 <= share.hits <= share.total
    assert counts.nodes.hits >= counts.nodes.total
    assert counts.golds.hits >= counts.golds.total
    assert counts + Tally() == counts
    marked = [entity.name for entity in gold.items[0].entities]
    complete = FoundItem("h1", tuple(FoundEntity(name, frozenset((name,))) for name in marked))
    told = figures(gold, tally(gold.items[0], complete), 1, 1.0, schema=False)
    assert (told.entity_p, told.entity_r, told.entity_f1) == (1.0, 1.0, 1.0)


@cache
def _gold() -> GoldSet:
    with tempfile.TemporaryDirectory() as folder:
        return load_set(write_set(Path(folder), "own", [HARBOUR]), "own", "S")
