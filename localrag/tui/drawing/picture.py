"""What is drawn: an entity in the middle, those around it, and what ties them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from localrag.plain import plain

if TYPE_CHECKING:
    from localrag.looking.types import Neighbourhood
    from localrag.store.entity_list import EntityEntry
    from localrag.store.graph_rows import RelationRow

Pair = tuple[int, int]

_LABEL = 40


@dataclass(frozen=True)
class Tie:
    """All relations between two entities."""

    relations: tuple[RelationRow, ...]
    """The relations, the one that most passages state first; one or two of them."""

    @property
    def weight(self) -> int:
        """How many passages state them."""
        return sum(row.weight for row in self.relations)

    @property
    def label(self) -> str:
        """What ties them, in a few words."""
        for row in self.relations:
            words = plain(row.keywords.split(",")[0]) or plain(row.description)
            if words:
                return words if len(words) <= _LABEL else f"{words[: _LABEL - 1].rstrip()}…"
        return ""

    def goes(self, source: int) -> bool:
        """Whether one of the relations starts from an entity."""
        return any(row.source_id == source for row in self.relations)


@dataclass(frozen=True)
class Picture:
    """A tree of entities around one, with the relations among all of them. Changed by making another."""

    centre: int
    """The entity in the middle."""

    nodes: Mapping[int, EntityEntry]
    """All entities that are drawn, by id."""

    parents: Mapping[int, int]
    """From where each of them was reached; the one in the middle has none."""

    ties: Mapping[Pair, Tie] = field(default_factory=dict)
    """What ties two of them; the smaller id first."""

    totals: Mapping[int, int] = field(default_factory=dict)
    """How many neighbours an entity has in all, where that is known."""

    @classmethod
    def around(cls, found: Neighbourhood) -> Picture:
        """The picture of an entity with its neighbours."""
        nodes = {entry.id: entry for entry in (found.entity, *found.neighbours)}
        parents = {entry.id: found.entity.id for entry in found.neighbours}
        totals = {found.entity.id: found.total}
        return cls(found.entity.id, nodes, parents, _ties(found.relations), totals)

    def grown(self, found: Neighbourhood) -> Picture:
        """This picture with further neighbours of one of its entities, or itself if that is not drawn."""
        start = found.entity.id
        if start not in self.nodes:
            return self
        new = {entry.id: entry for entry in found.neighbours if entry.id not in self.nodes}
        return replace(
            self,
            nodes={**self.nodes, **new},
            parents={**self.parents, **dict.fromkeys(new, start)},
            ties={**self.ties, **_ties(found.relations)},
            totals={**self.totals, start: found.total},
        )

    def folded(self, entity_id: int) -> Picture:
        """This picture without what was reached from an entity."""
        gone = set(self._below(entity_id))
        return replace(
            self,
            nodes={key: entry for key, entry in self.nodes.items() if key not in gone},
            parents={key: parent for key, parent in self.parents.items() if key not in gone},
            ties={pair: tie for pair, tie in self.ties.items() if not gone & set(pair)},
        )

    def children(self, entity_id: int) -> list[int]:
        """What was reached from an entity, in the order in which it came."""
        return [child for child, parent in self.parents.items() if parent == entity_id]

    def tie(self, one: int, other: int) -> Tie | None:
        """What ties two entities."""
        return self.ties.get((min(one, other), max(one, other)))

    def tied(self, entity_id: int) -> list[int]:
        """The drawn entities that one is tied to, the strongest first."""
        found = [
            (tie.weight, _other(pair, entity_id)) for pair, tie in self.ties.items() if entity_id in pair
        ]
        return [other for _, other in sorted(found, key=lambda item: (-item[0], item[1]))]

    def crossing(self) -> list[Pair]:
        """The tied pairs of which neither was reached from the other, the strongest first."""
        pairs = [
            pair
            for pair in self.ties
            if self.parents.get(pair[0]) != pair[1] and self.parents.get(pair[1]) != pair[0]
        ]
        return sorted(pairs, key=lambda pair: (-self.ties[pair].weight, pair))

    def hidden(self, entity_id: int) -> int:
        """How many relations of an entity are not drawn."""
        shown = sum(len(tie.relations) for pair, tie in self.ties.items() if entity_id in pair)
        return max(0, self.nodes[entity_id].relations - shown)

    def _below(self, entity_id: int) -> Iterable[int]:
        for child in self.children(entity_id):
            yield child
            yield from self._below(child)


def _other(pair: Pair, one: int) -> int:
    return pair[1] if pair[0] == one else pair[0]


def _ties(rows: Iterable[RelationRow]) -> dict[Pair, Tie]:
    found: dict[Pair, list[RelationRow]] = {}
    for row in rows:
        pair = (min(row.source_id, row.target_id), max(row.source_id, row.target_id))
        found.setdefault(pair, []).append(row)
    return {
        pair: Tie(tuple(sorted(group, key=lambda row: (-row.weight, row.id))))
        for pair, group in found.items()
    }
