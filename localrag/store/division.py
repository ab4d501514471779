"""The graph as communities are divided from it: entities in the order of their keys, and weighted edges."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from localrag.store.session import Session


@dataclass(frozen=True)
class DividedGraph:
    """Entities, and what ties them."""

    entity_ids: tuple[int, ...]
    """The entity at each place, by key: their ids have no part in how they are divided."""

    edges: tuple[tuple[int, int, float], ...]
    """Two places, the smaller first, and how many chunks say that these two are related; ascending."""

    digest: str
    """Hash of the keys and edges."""

    before: tuple[int, ...]
    """For each place its stored community of level 0, -1 without one."""


class Divisions:
    """Reads the graph for a division."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def graph(self) -> DividedGraph:
        """The whole graph; both directions of a relation count as one tie, an entity's tie to itself not at
        all."""
        rows = self._session.rows("SELECT id, key FROM entities ORDER BY key")
        place = {entity_id: number for number, (entity_id, _) in enumerate(rows)}
        weights: dict[tuple[int, int], int] = {}
        for source, target, chunks in self._session.each(
            "SELECT r.source_id, r.target_id, count(DISTINCT m.chunk_id) FROM relations r "
            "JOIN relation_mentions m ON m.relation_id = r.id GROUP BY r.id"
        ):
            if source != target:
                ends = (place[source], place[target])
                pair = (min(ends), max(ends))
                weights[pair] = weights.get(pair, 0) + chunks
        edges = tuple((source, target, float(weight)) for (source, target), weight in sorted(weights.items()))
        digest = hashlib.sha256()
        for _, key in rows:
            digest.update(key.encode() + b"\0")
        for edge in edges:
            digest.update(f"{edge[0]} {edge[1]} {edge[2]:g}\n".encode())
        before: dict[int, int] = dict(
            self._session.rows(
                "SELECT m.entity_id, min(m.community_id) FROM community_members m JOIN communities c "
                "ON c.id = m.community_id WHERE c.level = 0 GROUP BY m.entity_id"
            )
        )
        ids = tuple(entity_id for entity_id, _ in rows)
        return DividedGraph(ids, edges, digest.hexdigest(), tuple(before.get(each, -1) for each in ids))
