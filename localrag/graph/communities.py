"""Communities of a weighted graph: hierarchical Leiden in which no node and no component is lost.

The method is that of Traag, Waltman and van Eck, "From Louvain to Leiden: guaranteeing well-connected
communities" (Scientific Reports 9, 2019), by graspologic-native. What is too large is divided again within
itself, as Microsoft GraphRAG does it. Whatever a division gives, every community is connected: a part that is
not is taken apart.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

Edge = tuple[int, int, float]
Neighbours = Mapping[int, Mapping[int, float]]

_RANDOMNESS = 0.001
_ITERATIONS = 3
"""Whole cycles of a run; with one, one run in five ends below the best modularity of small graphs."""
_SHARPER = (1.0, 1.5, 2.25)
"""Resolutions at which a community is divided that is too large, until it falls apart."""


@dataclass(frozen=True)
class Division:
    """How a graph is divided."""

    max_size: int = 10
    """Nodes above which a community is divided again, as far as it falls into connected parts."""

    seed: int = 1
    """The same seed, graph and order of nodes give the same communities."""

    trials: int = 3
    """Independent runs, of which the one with the highest modularity counts."""

    resolution: float = 1.0
    """Higher values give more and smaller communities at the coarsest level."""


@dataclass(frozen=True)
class Cluster:
    """One community."""

    level: int
    """0 is the coarsest."""

    members: tuple[int, ...]
    """Places of its nodes, ascending."""

    parent: int | None
    """Place, in the list of all communities, of the one that was divided into this and others."""


def divide(
    nodes: int, edges: Iterable[Edge], division: Division | None = None, before: Sequence[int] = ()
) -> list[Cluster]:
    """Divide a graph into communities, level by level; parents come before their parts.

    `nodes` are the places 0 to `nodes` - 1; `edges` join two of them with a weight above 0, parallel ones add
    up, loops do not count. At level 0 every node is in exactly one community, a node without edges in one of
    its own. `before` gives, for each node, its community in an earlier division of level 0, or -1: the search
    starts there, so that what did not change mostly stays. Raises `ValueError` for a place or weight without
    meaning.
    """
    chosen = division or Division()
    if chosen.max_size < 1 or chosen.trials < 1 or not 0 < chosen.resolution < math.inf:
        raise ValueError("a division needs a size, a number of trials and a resolution above 0")
    graph = _graph(nodes, edges)
    found: list[Cluster] = []
    parts = _parts(graph, sorted(graph), chosen, chosen.resolution, before)
    waiting: deque[tuple[int, list[int], int | None]] = deque((0, part, None) for part in parts)
    while waiting:
        level, part, parent = waiting.popleft()
        found.append(Cluster(level, tuple(part), parent))
        if len(part) > chosen.max_size:
            place = len(found) - 1
            waiting.extend((level + 1, smaller, place) for smaller in _smaller(graph, part, chosen))
    return found


def weight_of(edges: Iterable[Edge]) -> float:
    """The sum of all weights, loops left out."""
    return sum(weight for source, target, weight in edges if source != target)


def modularity(edges: Sequence[Edge], communities: Sequence[Sequence[int]], resolution: float = 1.0) -> float:
    """Modularity of a division (Newman and Girvan 2004), between -0.5 and 1; 0 without edges."""
    of = {node: place for place, members in enumerate(communities) for node in members}
    total = weight_of(edges)
    if not total:
        return 0.0
    inside = [0.0] * len(communities)
    degree = [0.0] * len(communities)
    for source, target, weight in edges:
        if source == target:
            continue
        degree[of[source]] += weight
        degree[of[target]] += weight
        inside[of[source]] += weight if of[source] == of[target] else 0.0
    return sum(
        within / total - resolution * (ends / (2 * total)) ** 2
        for within, ends in zip(inside, degree, strict=True)
    )


def nmi(first: Sequence[int], second: Sequence[int]) -> float:
    """Normalised mutual information of two labellings of the same nodes, 0 to 1 (arithmetic mean).

    Two labellings that both put all nodes together are the same: 1.
    """
    if len(first) != len(second):
        raise ValueError("labels of different nodes")
    count = len(first)
    joint: dict[tuple[int, int], int] = {}
    left: dict[int, int] = {}
    right: dict[int, int] = {}
    for one, other in zip(first, second, strict=True):
        joint[one, other] = joint.get((one, other), 0) + 1
        left[one] = left.get(one, 0) + 1
        right[other] = right.get(other, 0) + 1
    shared = sum(
        number / count * math.log(number * count / (left[one] * right[other]))
        for (one, other), number in joint.items()
    )
    entropy = sum(
        -number / count * math.log(number / count) for side in (left, right) for number in side.values()
    )
    return 1.0 if entropy == 0 else max(0.0, 2 * shared / entropy)


def _graph(nodes: int, edges: Iterable[Edge]) -> dict[int, dict[int, float]]:
    graph: dict[int, dict[int, float]] = {node: {} for node in range(nodes)}
    for source, target, weight in edges:
        if not (0 <= source < nodes and 0 <= target < nodes):
            raise ValueError(f"an edge between {source} and {target} in a graph of {nodes} nodes")
        if not 0 < weight < math.inf:
            raise ValueError(f"an edge of weight {weight}")
        if source != target:
            graph[source][target] = graph[source].get(target, 0.0) + weight
            graph[target][source] = graph[target].get(source, 0.0) + weight
    return graph


def _parts(
    graph: Neighbours, nodes: Sequence[int], division: Division, resolution: float, before: Sequence[int] = ()
) -> list[list[int]]:
    """The communities among some nodes, each connected, in the order of their first nodes."""
    within = set(nodes)
    edges = [
        (str(source), str(target), weight)
        for source in nodes
        for target, weight in sorted(graph[source].items())
        if source < target and target in within
    ]
    labels: dict[str, int] = {}
    if edges:
        from graspologic_native import leiden

        tied = {name for edge in edges for name in edge[:2]}
        _, labels = leiden(
            edges,
            starting_communities=_start(sorted(map(int, tied)), before) if before else None,
            resolution=resolution,
            randomness=_RANDOMNESS,
            iterations=_ITERATIONS,
            use_modularity=True,
            seed=division.seed,
            trials=division.trials,
        )
    grouped: dict[int, list[int]] = {}
    for node in nodes:
        # A node without edges has a label of its own, below 0.
        grouped.setdefault(labels.get(str(node), -1 - node), []).append(node)
    return sorted(part for group in grouped.values() for part in components(graph, group))


def _start(nodes: Sequence[int], before: Sequence[int]) -> dict[str, int]:
    """Labels from 0 on: those of the earlier division, and new ones for what was not in it."""
    numbers: dict[int, int] = {}
    labels = {}
    for node in nodes:
        label = before[node] if node < len(before) and before[node] >= 0 else -1 - node
        labels[str(node)] = numbers.setdefault(label, len(numbers))
    return labels


def components(graph: Neighbours, nodes: Sequence[int]) -> list[list[int]]:
    """The connected parts among some nodes, each ascending."""
    left = set(nodes)
    found = []
    for node in sorted(left):
        if node in left:
            found.append(sorted(_reached(graph, node, left)))
            left.difference_update(found[-1])
    return found


def _reached(graph: Neighbours, start: int, within: set[int], most: int | None = None) -> list[int]:
    """Nodes that can be reached inside `within`, nearest first and heavy edges first, at most so many."""
    reached: list[int] = []
    seen = {start}
    queue = deque([start])
    while queue and (most is None or len(reached) < most):
        node = queue.popleft()
        reached.append(node)
        for other, _ in sorted(graph[node].items(), key=lambda item: (-item[1], item[0])):
            if other in within and other not in seen:
                seen.add(other)
                queue.append(other)
    return reached


def _smaller(graph: Neighbours, part: Sequence[int], division: Division) -> list[list[int]]:
    """The parts of a community that is too large; none if it does not fall apart."""
    for sharper in _SHARPER:
        parts = _parts(graph, part, division, division.resolution * sharper)
        if 1 < len(parts) <= len(part) // 2:
            return parts
    return _carved(graph, part, division.max_size)


def _carved(graph: Neighbours, part: Sequence[int], size: int) -> list[list[int]]:
    """A community without parts of its own, as a clique is, cut into connected pieces of a size.

    None where that would leave mostly single nodes, as in a star.
    """
    left = set(part)
    pieces = []
    while left:
        # From the least connected node on, so that what remains stays together.
        start = min(left, key=lambda node: (sum(other in left for other in graph[node]), node))
        pieces.append(sorted(_reached(graph, start, left, size)))
        left.difference_update(pieces[-1])
    return sorted(pieces) if 1 < len(pieces) <= len(part) // 2 else []
