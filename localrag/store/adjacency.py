"""The graph of chunks and names held in memory, for walks that follow a question through it.

Chunks have names that were found by form, and, once the model has read them, the entities that it found. A
name and an entity that was mentioned under it are one node. Nothing here is stored: it is read anew when the
content has changed, so what was deleted is not in it.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from localrag.store.session import Session, listed
from localrag.store.zero_rows import TITLE

COMMON = 120
"""A name that more chunks have leads nowhere in particular."""

READ = 16
"""The model found it in the chunk; beside the kinds in zero_rows.py."""

Numbers = NDArray[np.int64]

_TITLE_TIE = 3.0
_IN = "IN (SELECT value FROM json_each(?))"


@dataclass(frozen=True)
class Spot:
    """Where a chunk's text has a node."""

    chunk_id: int
    """The chunk."""

    node: int
    """The node's place."""

    start: int
    """First character."""

    end: int
    """Behind the last one."""


class NameGraph:
    """Pairs of a chunk and a node, readable from both sides. Chunks and nodes are places in sorted arrays."""

    def __init__(self, pairs: Numbers, entity_of: dict[int, int]) -> None:
        """`pairs` has rows of chunk id, node id and kind. The node id of a name is its row, that of an entity
        its row with a minus; `entity_of` tells for a name whether it is an entity's node."""
        self._entity_of = entity_of
        if entity_of and len(pairs):
            names = np.array(sorted(entity_of), dtype=np.int64)
            entities = np.array([entity_of[name] for name in names.tolist()], dtype=np.int64)
            place = np.minimum(np.searchsorted(names, pairs[:, 1]), len(names) - 1)
            pairs[:, 1] = np.where(names[place] == pairs[:, 1], entities[place], pairs[:, 1])
        self.chunk_ids, chunks = np.unique(pairs[:, 0], return_inverse=True)
        self._node_ids, nodes = np.unique(pairs[:, 1], return_inverse=True)
        # One pair may come from two names of one entity: its kinds are joined.
        pair, first = np.unique(chunks * max(1, len(self._node_ids)) + nodes, return_inverse=True)
        kinds = np.zeros(len(pair), dtype=np.int64)
        np.bitwise_or.at(kinds, first, pairs[:, 2])
        self.rows: NDArray[np.int32] = (pair // max(1, len(self._node_ids))).astype(np.int32)
        """The chunk of each pair, ascending."""
        self.nodes: NDArray[np.int32] = (pair % max(1, len(self._node_ids))).astype(np.int32)
        """The node of each pair."""
        self.kinds: NDArray[np.int8] = kinds.astype(np.int8)
        """What marks the node in the chunk."""
        self.commonness: Numbers = np.bincount(self.nodes, minlength=len(self._node_ids))
        """How many chunks have each node."""
        self._row_starts = np.searchsorted(self.rows, np.arange(len(self.chunk_ids) + 1))
        self._by_node = np.argsort(self.nodes, kind="stable")
        self._node_starts = np.searchsorted(self.nodes[self._by_node], np.arange(len(self._node_ids) + 1))

    def __len__(self) -> int:
        """Number of pairs."""
        return len(self.rows)

    @cached_property
    def titled(self) -> NDArray[np.bool_]:
        """Which nodes are in a document's title."""
        found = np.zeros(len(self._node_ids), dtype=bool)
        found[self.nodes[(self.kinds & TITLE) != 0]] = True
        return found

    @cached_property
    def ties(self) -> NDArray[np.float64]:
        """How strongly each pair ties its chunk to others: the less, the commoner the node is, three times as
        much where it is in the title of the chunk's document, and not at all where it is too common."""
        common = self.commonness[self.nodes]
        titled = (self.kinds & TITLE) != 0
        weights = np.where(titled, _TITLE_TIE, 1.0) / np.log(1.7 + common)
        weights[(common > COMMON) | ((common < 2) & ~titled)] = 0.0
        return np.asarray(weights)

    def chunk_places(self, ids: Collection[int]) -> Numbers:
        """The places of these chunks, in their order; those without any node are left out."""
        return _places(self.chunk_ids, ids)

    def name_places(self, name_ids: Iterable[int]) -> dict[int, int]:
        """The node's place for each of these names that are in the graph."""
        return self._found({name: self._entity_of.get(name, name) for name in name_ids})

    def entity_places(self, entity_ids: Iterable[int]) -> dict[int, int]:
        """The node's place for each of these entities that are in the graph."""
        return self._found({entity: -entity for entity in entity_ids})

    def of_chunks(self, places: Numbers) -> Numbers:
        """The pairs of these chunks."""
        return _ranges(self._row_starts[places], self._row_starts[places + 1])

    def of_nodes(self, places: Numbers) -> Numbers:
        """The pairs of these nodes, node by node."""
        return self._by_node[_ranges(self._node_starts[places], self._node_starts[places + 1])]

    def _found(self, wanted: dict[int, int]) -> dict[int, int]:
        keys = list(wanted)
        ids = np.array([wanted[key] for key in keys], dtype=np.int64)
        if not len(ids) or not len(self._node_ids):
            return {}
        places = np.minimum(np.searchsorted(self._node_ids, ids), len(self._node_ids) - 1)
        there = self._node_ids[places] == ids
        return {key: int(place) for key, place, ok in zip(keys, places, there, strict=True) if ok}


class Adjacency:
    """Reads the graph, and keeps it while the content stays as it is."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._kept: tuple[int, NameGraph] | None = None

    def graph(self) -> NameGraph:
        """The graph as it is now."""
        revision = int(self._session.value("SELECT revision FROM meta"))
        if self._session.changing or self._session.in_transaction:
            # What it would hold may be undone.
            return self._read()
        if self._kept is None or self._kept[0] != revision:
            self._kept = revision, self._read()
        return self._kept[1]

    def spots(self, graph: NameGraph, chunk_ids: Collection[int]) -> list[Spot]:
        """Where nodes stand in the texts of some chunks, by chunk and place."""
        ids = listed(chunk_ids)
        names = self._session.rows(
            f"SELECT chunk_id, name_id, char_start, char_end FROM zero_places WHERE chunk_id {_IN} "
            "AND char_start >= 0",
            [ids],
        )
        entities = self._session.rows(
            f"SELECT chunk_id, entity_id, char_start, char_end FROM mentions WHERE chunk_id {_IN} "
            "AND entity_id IS NOT NULL",
            [ids],
        )
        of_name = graph.name_places({row[1] for row in names})
        of_entity = graph.entity_places({row[1] for row in entities})
        found = {(row[0], of_name[row[1]], row[2], row[3]) for row in names if row[1] in of_name}
        found |= {(row[0], of_entity[row[1]], row[2], row[3]) for row in entities if row[1] in of_entity}
        return [Spot(*item) for item in sorted(found, key=lambda item: (item[0], item[2], item[1]))]

    def _read(self) -> NameGraph:
        session = self._session
        places = session.each("SELECT chunk_id, name_id, kind FROM zero_places")
        mentions = session.each(
            f"SELECT DISTINCT chunk_id, -entity_id, {READ} FROM mentions WHERE entity_id IS NOT NULL"
        )
        flat = itertools.chain.from_iterable(itertools.chain(places, mentions))
        pairs = np.fromiter(flat, dtype=np.int64).reshape(-1, 3)
        # A key under which several entities were read says of none of them what a passage means by it.
        same = session.rows(
            "SELECT z.id, -min(m.entity_id) FROM zero_names z JOIN mentions m ON m.key = z.key "
            "GROUP BY z.id HAVING count(DISTINCT m.entity_id) = 1"
        )
        # A person said of these that there is no such thing.
        deleted = session.column(
            "SELECT z.id FROM zero_names z JOIN mentions m ON m.key = z.key GROUP BY z.id "
            "HAVING count(m.entity_id) = 0"
        )
        return NameGraph(pairs[~np.isin(pairs[:, 1], deleted)], dict(same))


def _places(sorted_ids: Numbers, ids: Collection[int]) -> Numbers:
    wanted = np.fromiter(ids, dtype=np.int64, count=len(ids))
    if not len(sorted_ids):
        return wanted[:0]
    places = np.minimum(np.searchsorted(sorted_ids, wanted), len(sorted_ids) - 1)
    found: Numbers = places[sorted_ids[places] == wanted]
    return found


def _ranges(starts: Numbers, ends: Numbers) -> Numbers:
    """The numbers of all ranges, one range after the other."""
    lengths = ends - starts
    if not len(lengths) or not lengths.sum():
        return np.zeros(0, dtype=np.int64)
    before = np.cumsum(lengths) - lengths
    found: Numbers = np.arange(lengths.sum()) - np.repeat(before - starts, lengths)
    return found
