"""Which community is which after a new division."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from localrag.store.community_matching import OVERLAP, successors

Communities = list[tuple[int, frozenset[int]]]


def test_the_pair_that_shares_most_comes_first() -> None:
    before = [(0, {1, 2, 3, 4}), (0, {5, 6})]
    assert successors(before, [(0, {1, 2, 3}), (0, {4, 5, 6}), (0, {9})]) == {0: 0, 1: 1}


def test_a_community_has_one_successor_and_too_little_is_none() -> None:
    assert successors([(0, {1, 2, 3, 4})], [(0, {1, 2}), (0, {3, 4})]) == {0: 0}
    assert successors([(0, {1, 2, 3})], [(0, {1}), (0, {2}), (0, {3})]) == {}


def test_its_own_level_comes_before_others() -> None:
    before = [(0, {1, 2}), (1, {1, 2})]
    assert successors(before, [(1, {1, 2}), (0, {1, 2})]) == {0: 1, 1: 0}
    assert successors([(0, {1, 2})], [(1, {1, 2})]) == {0: 0}


communities = st.lists(st.tuples(st.integers(0, 2), st.frozensets(st.integers(0, 9), min_size=1)), max_size=8)


@given(communities, communities)
def test_each_is_used_once_and_shares_enough(before: Communities, after: Communities) -> None:
    found = successors(before, after)
    assert len(set(found.values())) == len(found)
    for new, old in found.items():
        one, other = after[new][1], before[old][1]
        assert len(one & other) / len(one | other) >= OVERLAP


@given(communities)
def test_the_same_division_is_its_own_successor(same: Communities) -> None:
    found = successors(same, same)
    assert all(same[new] == same[old] for new, old in found.items())
    assert len(found) == len(same)
