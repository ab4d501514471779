"""Communities of graphs whose communities are known, and what must hold for any graph."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.graph.communities import Cluster, Division, Edge, divide, modularity, nmi


def edges_of(graph: nx.Graph) -> list[Edge]:
    place = {node: number for number, node in enumerate(graph)}
    return [(place[a], place[b], float(data.get("weight", 1))) for a, b, data in graph.edges(data=True)]


def top(clusters: list[Cluster]) -> list[tuple[int, ...]]:
    return [cluster.members for cluster in clusters if cluster.level == 0]


def labels(clusters: list[Cluster]) -> list[int]:
    return [
        label for _, label in sorted((node, k) for k, members in enumerate(top(clusters)) for node in members)
    ]


def unweighted_karate() -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(nx.karate_club_graph())
    graph.add_edges_from(nx.karate_club_graph().edges)
    return graph


@pytest.mark.parametrize("seed", range(5))
def test_small_graphs_reach_the_best_known_modularity(seed: int) -> None:
    for graph, best, number in (
        (unweighted_karate(), 0.4198, 4),
        (nx.les_miserables_graph(), 0.5667, 6),
        (nx.planted_partition_graph(4, 25, 0.4, 0.04, seed=1), 0.5159, 4),
    ):
        edges = edges_of(graph)
        found = top(divide(len(graph), edges, Division(seed=seed)))
        assert modularity(edges, found) == pytest.approx(best, abs=5e-5)
        assert len(found) == number


def test_modularity_is_that_of_networkx() -> None:
    graph = nx.les_miserables_graph()
    names = list(graph)
    found = top(divide(len(graph), edges_of(graph)))
    wanted = nx.community.modularity(graph, [{names[node] for node in members} for members in found])
    assert modularity(edges_of(graph), found) == pytest.approx(wanted)


def test_a_ring_of_cliques_falls_into_its_cliques_at_a_finer_level() -> None:
    graph = nx.ring_of_cliques(30, 5)
    found = divide(len(graph), edges_of(graph), Division(max_size=5))
    assert modularity(edges_of(graph), top(found)) > 0.886
    parents = {cluster.parent for cluster in found}
    leaves = sorted(cluster.members for place, cluster in enumerate(found) if place not in parents)
    assert leaves == [tuple(range(5 * k, 5 * k + 5)) for k in range(30)]


@pytest.mark.parametrize(("mixing", "least"), [(0.2, 0.9), (0.3, 0.8)])
def test_planted_communities_of_unequal_sizes_are_found(mixing: float, least: float) -> None:
    graph = nx.LFR_benchmark_graph(250, 3, 1.5, mixing, average_degree=10, min_community=20, seed=10)
    graph.remove_edges_from(nx.selfloop_edges(graph))
    truth = [min(graph.nodes[node]["community"]) for node in graph]
    found = divide(len(graph), edges_of(graph))
    assert len(top(found)) == len(set(truth)) == 6
    assert nmi(truth, labels(found)) > least
    planted = [[n for n, label in enumerate(truth) if label == k] for k in set(truth)]
    assert modularity(edges_of(graph), top(found)) >= modularity(edges_of(graph), planted)


def test_information_shared_by_labels() -> None:
    assert nmi([0, 0, 1, 1], [5, 5, 3, 3]) == pytest.approx(1)
    assert nmi([0, 0, 1, 1], [0, 1, 0, 1]) == 0
    assert nmi([0, 0], [1, 1]) == 1
    # Entropies ln 2 and 1.5 ln 2, information ln 2.
    assert nmi([0, 0, 1, 1], [0, 0, 1, 2]) == pytest.approx(2 / 2.5)
    with pytest.raises(ValueError, match="different"):
        nmi([0], [0, 1])


def test_a_clique_is_cut_to_size_and_a_star_is_left_whole() -> None:
    clique = divide(30, edges_of(nx.complete_graph(30)), Division(max_size=10))
    assert [len(cluster.members) for cluster in clique] == [30, 10, 10, 10]
    assert [cluster.parent for cluster in clique] == [None, 0, 0, 0]
    star = divide(31, edges_of(nx.star_graph(30)), Division(max_size=10))
    assert [len(cluster.members) for cluster in star] == [31]


def test_an_earlier_division_is_kept_where_nothing_speaks_against_it() -> None:
    graph = nx.planted_partition_graph(6, 30, 0.3, 0.02, seed=4)
    edges = edges_of(graph)
    first = divide(180, edges, Division(seed=1))
    again = divide(181, [*edges, (180, 3, 1.0)], Division(seed=99, trials=1), before=labels(first))
    (home,) = [members for members in top(again) if 180 in members]
    assert sorted([*(m for m in top(again) if 180 not in m), home[:-1]]) == sorted(top(first))


def test_nothing_and_single_nodes() -> None:
    assert divide(0, []) == []
    assert divide(2, [(0, 0, 3.0)]) == [Cluster(0, (0,), None), Cluster(0, (1,), None)]
    assert modularity([], [(0,), (1,)]) == 0


@pytest.mark.parametrize("edge", [(0, 2, 1.0), (-1, 0, 1.0), (0, 1, 0.0), (0, 1, float("nan")), (0, 1, -1.0)])
def test_an_edge_without_meaning_is_refused(edge: Edge) -> None:
    with pytest.raises(ValueError, match="edge"):
        divide(2, [edge])


@pytest.mark.parametrize("division", [Division(max_size=0), Division(trials=0), Division(resolution=0.0)])
def test_a_division_without_meaning_is_refused(division: Division) -> None:
    with pytest.raises(ValueError, match="division"):
        divide(2, [(0, 1, 1.0)], division)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[Edge]]:
    nodes = draw(st.integers(1, 40))
    place = st.integers(0, nodes - 1)
    weight = st.floats(0.01, 100)
    return nodes, draw(st.lists(st.tuples(place, place, weight), max_size=120))


@given(graphs(), st.integers(1, 12), st.integers(0, 5))
def test_every_node_is_in_one_community_of_a_level_and_each_is_connected(
    graph: tuple[int, list[Edge]], size: int, seed: int
) -> None:
    nodes, edges = graph
    found = divide(nodes, edges, Division(max_size=size, seed=seed))
    assert found == divide(nodes, edges, Division(max_size=size, seed=seed))
    assert sorted(node for members in top(found) for node in members) == list(range(nodes))
    whole = nx.Graph()
    whole.add_nodes_from(range(nodes))
    whole.add_edges_from((a, b) for a, b, _ in edges)
    children: dict[int, list[int]] = {}
    for place, cluster in enumerate(found):
        assert list(cluster.members) == sorted(set(cluster.members))
        assert nx.is_connected(whole.subgraph(cluster.members))
        if cluster.parent is not None:
            assert cluster.parent < place
            assert found[cluster.parent].level == cluster.level - 1
            children.setdefault(cluster.parent, []).extend(cluster.members)
    for place, members in children.items():
        assert tuple(sorted(members)) == found[place].members
        assert len(members) > size
