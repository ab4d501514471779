"""Reciprocal rank fusion and the threshold relative to the best."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.retrieval.fusion import RRF_K, near_best, rrf
from localrag.store.space_rows import Hit

RANKING = st.lists(st.integers(0, 20), unique=True, max_size=12).map(
    lambda ids: [Hit(found, 1.0 - rank / 100) for rank, found in enumerate(ids)]
)


def test_what_two_searches_find_beats_what_one_finds_first() -> None:
    fused = rrf({"words": [Hit(1, 9.0), Hit(2, 3.0)], "vectors": [Hit(3, 0.9), Hit(2, 0.8)]})
    assert [item.id for item in fused] == [2, 1, 3]
    assert fused[0].score == pytest.approx(2 / (RRF_K + 2))
    assert fused[0].sources == ("words", "vectors")
    assert fused[1].sources == ("words",)


def test_scores_of_the_searches_do_not_matter() -> None:
    a = rrf({"words": [Hit(1, 1e9), Hit(2, 1e-9)]})
    b = rrf({"words": [Hit(1, 0.2), Hit(2, 0.1)]})
    assert a == b


def test_weights_count() -> None:
    rankings = {"a": [Hit(1, 1.0)], "b": [Hit(2, 1.0)]}
    assert [item.id for item in rrf(rankings, {"b": 2.0})] == [2, 1]


def test_what_a_search_cannot_know_is_not_placed_behind_what_it_knows() -> None:
    rankings = {"words": [Hit(1, 9.0), Hit(2, 3.0)], "vectors": [Hit(2, 0.9)]}
    assert [item.id for item in rrf(rankings)] == [2, 1]
    fused = rrf(rankings, unknown={"vectors": {1, 99}})
    assert [item.id for item in fused] == [1, 2]
    assert fused[0].sources == ("words",)
    assert fused[0].score == pytest.approx(2 / (RRF_K + 1))


def test_nothing_found() -> None:
    assert rrf({}) == []
    assert rrf({"a": [], "b": []}) == []


@given(RANKING, RANKING)
def test_each_thing_comes_once_in_order_of_score_then_id(left: list[Hit], right: list[Hit]) -> None:
    fused = rrf({"left": left, "right": right})
    assert {item.id for item in fused} == {hit.id for hit in [*left, *right]}
    assert len({item.id for item in fused}) == len(fused)
    assert [(-item.score, item.id) for item in fused] == sorted((-item.score, item.id) for item in fused)


def test_threshold_is_relative_to_the_best() -> None:
    hits = [Hit(1, 10.0), Hit(2, 5.0), Hit(3, 4.9), Hit(4, -1.0)]
    assert [hit.id for hit in near_best(hits, 0.5)] == [1, 2]
    assert [hit.id for hit in near_best([Hit(7, 0.2), Hit(8, 0.4)], 0.5)] == [8, 7]
    assert near_best([Hit(1, -2.0)], 0.5) == []
    assert near_best([], 0.5) == []
