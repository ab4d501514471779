"""Passages over shared names before the model has read them: a walk in the graph that needs no model.

A personalised PageRank in the neighbourhood of the question. It starts at the names that the question holds
and at the best chunks of the other searches, and walks between chunks and names, each name the less the
commoner it is, three times as strongly where it is what a document is about. So a second passage is found
that the question does not name. A chunk that was read takes part with the names that the model found in it;
its names by form serve no more. The more was read, the less this search counts beside the read graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from localrag.retrieval.fusion import rrf
from localrag.retrieval.mentions import inside_longer, named_spans
from localrag.store.database import Store
from localrag.store.rows import Hit
from localrag.store.zero import edge_weight
from localrag.store.zero_rows import ZeroLink

WEIGHT = 200.0
"""How much this search counts beside the others while nothing was read; it falls with the square of what is
unread. As one vote among equal ones it would lose what it is for: the others, whose best it starts from, know
nothing of the second passage."""

MOST_NAMES = 24
"""Most names that the walk starts at."""

MOST_SEEDS = 10
"""Most chunks that it starts at."""

MOST_CHUNKS = 120
"""A name that more chunks have leads nowhere in particular."""

AROUND = 1_200
"""Most chunks of the neighbourhood."""

FOUND = 0.3
"""What the best chunk of the other searches gives, the next ones less; a name of one word that a single chunk
has gives 1."""

DAMPING = 0.85
"""Share that a step carries on; the rest starts anew."""

STEPS = 25
"""Steps of the walk."""

_WIDE = re.compile(r"[^\x00-\u02ff]")


def unread_share(store: Store) -> float:
    """The part of the chunks that the model has not read, from 0 to 1."""
    counts = store.chunks.count()
    return 1 - counts.read / counts.total if counts.total else 0.0


def by_names(
    store: Store, question: str, found: Mapping[str, Sequence[Hit]], keys: Iterable[str], limit: int
) -> list[Hit]:
    """The chunks that the walk comes by most, best first, at most `limit`.

    `found` are the rankings of chunks by other searches, `keys` those of entities that the read graph found.
    """
    names = _names(store, question, keys)
    places = store.zero.places(list(names), MOST_CHUNKS)
    seeds = {item.id: FOUND / rank for rank, item in enumerate(rrf(found)[:MOST_SEEDS], start=1)}
    near = dict.fromkeys([*seeds, *(place.chunk_id for place in places)])
    links = store.zero.links(list(near)[:AROUND], MOST_CHUNKS)
    # The rarest names first: they say most of what belongs together.
    order = {link.node_id: (link.chunks, link.node_id) for link in links}
    further = store.zero.places(list(order), MOST_CHUNKS)
    near |= dict.fromkeys(place.chunk_id for place in sorted(further, key=lambda place: order[place.node_id]))
    # A name of the question that a single chunk has ties nothing, but it is where to start.
    alone = [node for node, (_, chunks) in names.items() if chunks == 1]
    links = [
        ZeroLink(place.chunk_id, place.node_id, place.kind, 1)
        for place in store.zero.places(alone, 1, unread=True)
    ]
    links += [
        link for link in store.zero.links(list(near)[:AROUND], MOST_CHUNKS) if link.node_id not in alone
    ]
    return _Walk(links, seeds, {node: weight for node, (weight, _) in names.items()}).best(limit)


def _names(store: Store, question: str, keys: Iterable[str]) -> dict[int, tuple[float, int]]:
    """Nodes to start at with their weights, and how many chunks have each: long and rare names first."""
    spans = named_spans(question)
    nodes = store.zero.nodes(spans)
    taken = [span for node in nodes for span in spans.get(node.key, ())]
    free = [node for node in nodes if not all(inside_longer(span, taken) for span in spans.get(node.key, ()))]
    weights = {node.id: (_words(node.key) / node.chunks, node.chunks) for node in free}
    for node in store.zero.nodes(keys):
        weights.setdefault(node.id, (0.5 * _words(node.key) / node.chunks, node.chunks))
    best = sorted(weights.items(), key=lambda item: (-item[1][0], item[0]))[:MOST_NAMES]
    return {node_id: weight for node_id, weight in best if weight[1] <= MOST_CHUNKS}


def _words(key: str) -> float:
    """How long a name is; in Chinese two characters are a word."""
    wide = len(_WIDE.findall(key))
    return wide / 2 if wide else float(len(key.split()))


class _Walk:
    """A walk between some chunks and the names that tie them."""

    def __init__(
        self, links: Sequence[ZeroLink], seeds: Mapping[int, float], names: Mapping[int, float]
    ) -> None:
        chunks = {link.chunk_id for link in links} | set(seeds)
        self._chunks = sorted(chunks)
        self._nodes = sorted({link.node_id for link in links})
        row = {chunk: place for place, chunk in enumerate(self._chunks)}
        column = {node: place for place, node in enumerate(self._nodes)}
        self._rows = np.array([row[link.chunk_id] for link in links], dtype=np.int64)
        self._columns = np.array([column[link.node_id] for link in links], dtype=np.int64)
        self._weights = np.array([edge_weight(link.chunks, link.kind) for link in links], dtype=np.float64)
        self._start = np.zeros(len(self._chunks) + len(self._nodes))
        for chunk, weight in seeds.items():
            self._start[row[chunk]] += weight
        for node, weight in names.items():
            if node in column:
                self._start[len(self._chunks) + column[node]] += weight

    def best(self, limit: int) -> list[Hit]:
        """The chunks that the walk comes by most; none if there is nowhere to start."""
        total = self._start.sum()
        if total <= 0:
            return []
        scores = self._walked(self._start / total)[: len(self._chunks)]
        order = np.argsort(-scores, kind="stable")[:limit]
        return [Hit(self._chunks[place], float(scores[place])) for place in order if scores[place] > 0]

    def _walked(self, start: NDArray[np.float64]) -> NDArray[np.float64]:
        chunks, nodes = len(self._chunks), len(self._nodes)
        of_chunks = np.bincount(self._rows, self._weights, chunks)[self._rows]
        of_nodes = np.bincount(self._columns, self._weights, nodes)[self._columns]
        there = start
        for _ in range(STEPS):
            to_chunks = self._weights * there[chunks:][self._columns] / of_nodes
            to_nodes = self._weights * there[:chunks][self._rows] / of_chunks
            carried = [
                np.bincount(self._rows, to_chunks, chunks),
                np.bincount(self._columns, to_nodes, nodes),
            ]
            there = (1 - DAMPING) * start + DAMPING * np.concatenate(carried)
        return there
