"""The order of reading: chunks that connect most first, so that an interrupted run is as useful as it can be.

What a chunk connects is known without a model, from the names that it shares with others. A name begins to
connect when a second of its chunks is read, so after each chunk those rise that share a name with it; a
document of which much was read sinks a little, so that none waits for the end of another.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from localrag.store.database import Store
from localrag.store.rows import WaitingChunk
from localrag.store.zero_rows import Incidence

MOST_CHOSEN = 20_000
"""Most chunks that are weighed against each other one by one; worse ones follow by what they have alone."""

COMMON = 50
"""A name of more chunks says little: a single chunk more of it does not connect anything."""

ALONE = 0.3
"""What a chunk connects in the whole, beside what it connects with chunks that are read already."""

LEAST_TOKENS = 40
"""A shorter chunk counts as if it were so long, since its prompt has a length too."""

FEW = 1_000
"""Of so few chunks only the names that they have are looked at, and not the whole graph."""

SPREAD = 0.25
"""How much a document sinks when a chunk of it is read."""


def reading_order(waiting: Sequence[WaitingChunk], names: Incidence) -> list[int]:
    """The ids of the chunks in `waiting`, those that connect most for their length first.

    `names` holds the names that chunks share; chunks in it that do not wait count as read. The same input
    gives the same order: of equal chunks the one that stands first in `waiting` comes first, and chunks that
    share no name with another come last.
    """
    rows = {row.id: place for place, row in enumerate(waiting)}
    nodes, of_name, counts = np.unique(names.nodes, return_inverse=True, return_counts=True)
    places = np.array([rows.get(chunk, -1) for chunk in names.chunks.tolist()], dtype=np.int64)
    weights = 1.0 / np.log(1.7 + counts)
    weights[counts > max(COMMON, len(waiting) // 20)] *= 0.2
    lengths = np.array([max(row.tokens, LEAST_TOKENS) for row in waiting], dtype=np.float64)
    open_ = places >= 0
    alone = np.bincount(places[open_], weights=weights[of_name[open_]], minlength=len(waiting)) / lengths
    ranked = np.argsort(-alone, kind="stable").tolist()
    begun = np.bincount(of_name[~open_], minlength=len(nodes)) > 0
    telling = open_ & (counts <= COMMON)[of_name]
    links = list(zip(places[telling].tolist(), of_name[telling].tolist(), strict=True))
    chooser = _Chooser(waiting, lengths.tolist(), alone.tolist(), weights.tolist(), links)
    chosen = chooser.choose(ranked[:MOST_CHOSEN], [int(name) for name in np.flatnonzero(begun)])
    return [waiting[place].id for place in (*chosen, *ranked[MOST_CHOSEN:])]


class _Chooser:
    """Chooses one chunk after the other, each the best for what was chosen before."""

    def __init__(
        self,
        waiting: Sequence[WaitingChunk],
        lengths: Sequence[float],
        alone: Sequence[float],
        weights: Sequence[float],
        links: Sequence[tuple[int, int]],
    ) -> None:
        self._documents = [row.document_id for row in waiting]
        self._lengths = lengths
        self._weights = weights
        best = max(alone, default=0.0) or 1.0
        self._alone = [ALONE * score / best for score in alone]
        self._with_read = [0.0] * len(waiting)
        self._names: dict[int, list[int]] = defaultdict(list)
        self._chunks: dict[int, list[int]] = defaultdict(list)
        for place, name in links:
            self._names[place].append(name)
            self._chunks[name].append(place)
        self._read: Counter[int] = Counter()
        self._begun: set[int] = set()
        self._heap: list[tuple[float, int, int]] = []

    def choose(self, ranked: Sequence[int], begun: Sequence[int]) -> list[int]:
        """All of `ranked`, in the order in which they are best read; `begun` are names of what was read."""
        rank = {place: number for number, place in enumerate(ranked)}
        for name in begun:
            self._begin(name, rank)
        self._heap = [(-self._score(place), rank[place], place) for place in ranked]
        heapq.heapify(self._heap)
        chosen: list[int] = []
        while self._heap:
            noted, number, place = heapq.heappop(self._heap)
            if place not in rank:
                continue
            score = self._score(place)
            if -score > noted:
                # It sank since it was noted, with its document.
                heapq.heappush(self._heap, (-score, number, place))
                continue
            del rank[place]
            chosen.append(place)
            self._read[self._documents[place]] += 1
            for name in self._names[place]:
                self._begin(name, rank)
        return chosen

    def _score(self, place: int) -> float:
        sunk = 1.0 / math.pow(1 + self._read[self._documents[place]], SPREAD)
        return sunk * (self._alone[place] + self._with_read[place])

    def _begin(self, name: int, rank: dict[int, int]) -> None:
        """A first chunk with the name is read: the others that have it rise."""
        if name in self._begun:
            return
        self._begun.add(name)
        for place in self._chunks[name]:
            if place in rank:
                self._with_read[place] += self._weights[name] / self._lengths[place]
                if self._heap:
                    heapq.heappush(self._heap, (-self._score(place), rank[place], place))


def plan(store: Store, held: Collection[int] = (), prefer: Mapping[int, int] | None = None) -> list[int]:
    """Ids of all chunks that are to be read, in the order of reading; those that failed before come last.

    Those in `held` are left out, and count as read. Chunks of the documents in `prefer` come before all
    others, by the rank that is given there; among themselves they keep their order.
    """
    return [row.id for row in planned(store, held, prefer)]


def planned(
    store: Store, held: Collection[int] = (), prefer: Mapping[int, int] | None = None
) -> list[WaitingChunk]:
    """The chunks of `plan`."""
    parts = [[row for row in rows if row.id not in held] for rows in store.chunks.waiting()]
    count = sum(map(len, parts))
    if not count:
        # Asked with every chunk at the end of a run, when reading the whole graph would take longer.
        return []
    few = [row.id for part in parts for row in part] if count <= FEW else None
    names = store.zero.incidence(of=few)
    rows = {row.id: row for part in parts for row in part}
    found = [rows[chunk_id] for part in parts if part for chunk_id in reading_order(part, names)]
    return preferred(found, prefer or {})


def preferred(rows: Iterable[WaitingChunk], prefer: Mapping[int, int]) -> list[WaitingChunk]:
    """The rows of documents that have a rank before all others, by rank; else in the order that they have."""
    return sorted(rows, key=lambda row: prefer.get(row.document_id, len(prefer)))
