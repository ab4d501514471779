"""A walk from a question through chunks and the names that they share: personalised PageRank.

It starts at the names that the question holds and at the best chunks of the searches, and goes between chunks
and names, each name the less the commoner it is, three times as strongly where it is in the title of the
chunk's document. So a second passage is found that the question does not name. In a large knowledge base it
stays in the neighbourhood of where it starts.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from localrag.store.adjacency import NameGraph, Numbers
from localrag.store.filters import Ids
from localrag.store.space_rows import Hit

MOST_SEEDS = 10
"""Most chunks that it starts at."""

AROUND = 2_500
"""Most chunks of the neighbourhood."""

FOUND = 0.3
"""What the best chunk of the searches gives, the next ones less; a name of one word that a single chunk has
gives 1."""

DAMPING = 0.85
"""Share that a step carries on; the rest starts anew."""

STEPS = 25
"""Steps of the walk."""

Weights = NDArray[np.float64]


class Walk:
    """The neighbourhood of a question in the graph, as arrays. Only allowed chunks are in it."""

    def __init__(
        self, graph: NameGraph, seeds: Sequence[int], nodes: Mapping[int, float], ids: Ids | None = None
    ) -> None:
        """`seeds` are ids of chunks, best first, `nodes` places of nodes with their weights; `ids`, if given,
        are the only chunks that may be gone through."""
        self._graph = graph
        self._seeds = seeds[:MOST_SEEDS]
        self._nodes = nodes
        self._allowed = None if ids is None else np.isin(graph.chunk_ids, ids.array)

    def scores(self) -> dict[int, float]:
        """How much the walk comes by each chunk around, by its id; empty if it starts nowhere."""
        graph = self._graph
        chunks = self._neighbourhood()
        pairs = graph.of_chunks(chunks)
        pairs = pairs[graph.ties[pairs] > 0]
        nodes, columns = np.unique(graph.nodes[pairs], return_inverse=True)
        rows = np.searchsorted(chunks, graph.rows[pairs])
        start = np.zeros(len(chunks) + len(nodes))
        place = {int(graph.chunk_ids[chunk]): index for index, chunk in enumerate(chunks)}
        outside: dict[int, float] = {}
        for rank, chunk in enumerate(self._seeds, start=1):
            if chunk in place:
                start[place[chunk]] += FOUND / rank
            else:
                # A chunk without any name is where the search found it, and leads nowhere.
                outside[chunk] = FOUND / rank
        where = {int(node): index for index, node in enumerate(nodes)}
        for node, weight in self._nodes.items():
            if node in where:
                start[len(chunks) + where[node]] += weight
        total = start.sum() + sum(outside.values())
        if total <= 0:
            return {}
        there = _walked(rows, columns, graph.ties[pairs], start / total, len(chunks))[: len(chunks)]
        found = {
            int(graph.chunk_ids[c]): float(score) for c, score in zip(chunks, there, strict=True) if score
        }
        return found | {chunk: (1 - DAMPING) * weight / total for chunk, weight in outside.items()}

    def _neighbourhood(self) -> Numbers:
        """The places of the chunks within reach, ascending: where the walk starts, and what shares names with
        that, the rarest names first."""
        graph = self._graph
        if len(graph.chunk_ids) <= AROUND:
            return self._only_allowed(np.arange(len(graph.chunk_ids)))
        starts = graph.of_nodes(np.array(sorted(self._nodes), dtype=np.int64))
        near = np.concatenate([graph.chunk_places(self._seeds), graph.rows[starts]])
        near = self._only_allowed(_distinct(near))[:AROUND]
        for _ in range(2):
            if len(near) >= AROUND:
                break
            pairs = graph.of_chunks(near)
            nodes = np.unique(graph.nodes[pairs[graph.ties[pairs] > 0]]).astype(np.int64)
            rarest = nodes[np.argsort(graph.commonness[nodes], kind="stable")]
            further = self._only_allowed(graph.rows[graph.of_nodes(rarest)].astype(np.int64))
            near = _distinct(np.concatenate([near, further]))[:AROUND]
        return np.sort(near)

    def _only_allowed(self, places: Numbers) -> Numbers:
        return places if self._allowed is None else places[self._allowed[places]]


def best(scores: Mapping[int, float], limit: int) -> list[Hit]:
    """The chunks that a walk came by most, best first."""
    order = heapq.nsmallest(limit, scores.items(), key=lambda item: (-item[1], item[0]))
    return [Hit(chunk, score) for chunk, score in order]


def _walked(rows: Numbers, columns: Numbers, weights: Weights, start: Weights, chunks: int) -> Weights:
    nodes = len(start) - chunks
    to_chunks = weights / np.bincount(columns, weights, nodes)[columns]
    to_nodes = weights / np.bincount(rows, weights, chunks)[rows]
    there = start
    for _ in range(STEPS):
        carried = [
            np.bincount(rows, to_chunks * there[chunks:][columns], chunks),
            np.bincount(columns, to_nodes * there[:chunks][rows], nodes),
        ]
        there = (1 - DAMPING) * start + DAMPING * np.concatenate(carried)
    return there


def _distinct(places: Numbers) -> Numbers:
    """Each place once, in the order of its first appearance."""
    _, first = np.unique(places, return_index=True)
    found: Numbers = places[np.sort(first)].astype(np.int64)
    return found
