"""A walk reaches what shares names with where it starts, and never leaves what is allowed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.retrieval import walk as walk_module
from localrag.retrieval.walk import Walk, best
from localrag.store.adjacency import NameGraph
from localrag.store.filters import Ids
from localrag.store.zero_rows import FORM, TITLE


def graph_of(*pairs: tuple[int, int, int]) -> NameGraph:
    return NameGraph(np.array(pairs, dtype=np.int64).reshape(-1, 3), {})


CHAIN = graph_of((1, 10, FORM), (2, 10, FORM), (2, 20, FORM), (3, 20, FORM), (4, 30, FORM), (5, 30, FORM))
"""Chunks 1, 2 and 3 in a row, and 4 beside 5."""


def test_what_is_nearer_to_the_start_comes_first_and_what_is_not_tied_is_not_reached() -> None:
    scores = Walk(CHAIN, [1], {}).scores()
    assert [hit.id for hit in best(scores, 10)] == [1, 2, 3]
    assert sum(scores.values()) < 1.0


def test_it_starts_at_names_too() -> None:
    place = CHAIN.name_places([30])[30]
    assert set(Walk(CHAIN, [], {place: 1.0}).scores()) == {4, 5}
    assert set(Walk(CHAIN, [1], {place: 1.0}).scores()) == {1, 2, 3, 4, 5}


def test_a_title_ties_more_than_a_name_in_passing() -> None:
    graph = graph_of((1, 10, FORM), (2, 10, TITLE), (3, 10, FORM))
    scores = Walk(graph, [1], {}).scores()
    assert scores[2] > scores[3]


def test_it_goes_only_through_chunks_that_are_allowed() -> None:
    assert set(Walk(CHAIN, [1], {}, Ids([1, 3])).scores()) == {1}
    assert set(Walk(CHAIN, [1], {}, Ids([1, 2])).scores()) == {1, 2}


def test_a_chunk_without_names_stays_where_the_search_found_it() -> None:
    scores = Walk(CHAIN, [99, 1], {}).scores()
    assert scores[99] > 0
    assert 99 in {hit.id for hit in best(scores, 2)}


def test_without_a_start_there_is_nothing() -> None:
    assert Walk(CHAIN, [], {}).scores() == {}
    assert Walk(graph_of(), [], {}).scores() == {}
    assert best({}, 5) == []


@given(
    st.lists(st.tuples(st.integers(1, 30), st.integers(1, 12), st.sampled_from([FORM, TITLE])), min_size=1),
    st.sets(st.integers(1, 30)),
    st.lists(st.integers(1, 30), max_size=4, unique=True),
    st.integers(1, 40),
)
def test_whatever_the_graph_only_allowed_chunks_are_found(
    pairs: list[tuple[int, int, int]], allowed: set[int], seeds: list[int], around: int
) -> None:
    graph = graph_of(*pairs)
    seeds = [seed for seed in seeds if seed in allowed]
    nodes = {int(node): 1.0 for node in range(min(3, len(graph.commonness)))}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walk_module, "AROUND", around)
        scores = Walk(graph, seeds, nodes, Ids(allowed)).scores()
    assert set(scores) <= allowed
    assert all(0 < score <= 1 for score in scores.values())
    assert sum(scores.values()) <= 1.0 + 1e-9


def test_a_small_neighbourhood_holds_what_is_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [(chunk, name, FORM) for chunk in range(1, 200) for name in (chunk, chunk + 1)]
    graph = graph_of(*pairs)
    whole = Walk(graph, [100], {}).scores()
    monkeypatch.setattr(walk_module, "AROUND", 5)
    near = Walk(graph, [100], {}).scores()
    assert set(near) == {98, 99, 100, 101, 102}
    assert [hit.id for hit in best(near, 3)] == [hit.id for hit in best(whole, 3)]
