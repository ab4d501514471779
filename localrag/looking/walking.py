"""The shortest ways between two entities in a graph of any size: sought from both ends at once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from localrag.retrieval.path import Way
from localrag.store.database import Store

MOST_STEPS = 6
"""Most relations of a way; what is further apart is connected with everything."""

_MOST_SEEN = 50_000
"""Most entities that are looked at."""

_MOST_WAYS = 200
"""Most ways that are compared."""


def shortest(store: Store, first: int, second: int) -> list[Way]:
    """The shortest ways from one entity to another, at most `_MOST_WAYS`; none if they are too far apart."""
    if first == second:
        return []
    sides = (_Side(store, first), _Side(store, second))
    while sides[0].depth + sides[1].depth < MOST_STEPS:
        side = min(sides, key=lambda one: len(one.border))
        if not side.border or len(sides[0].far) + len(sides[1].far) > _MOST_SEEN:
            return []
        side.grow()
        met = sorted(sides[0].border & sides[1].border)
        if met:
            return list(itertools.islice(_ways(*sides, met), _MOST_WAYS))
    return []


def _ways(start: _Side, goal: _Side, met: list[int]) -> Iterator[Way]:
    for middle in met:
        for (before, first), (after, second) in itertools.product(start.back(middle), goal.back(middle)):
            entities = (*reversed(before), *after[1:])
            yield Way(entities, (*reversed(first), *second), 0.0)


class _Side:
    """What is reached from one end."""

    def __init__(self, store: Store, entity_id: int) -> None:
        self._store = store
        self._steps: dict[int, list[tuple[int, int]]] = {}
        self.far = {entity_id: 0}
        """How many steps each entity is away."""
        self.border = {entity_id}
        """The entities that are furthest away."""
        self.depth = 0
        """How far away these are."""

    def grow(self) -> None:
        """Go one step further."""
        self.depth += 1
        reached: set[int] = set()
        for relation, source, target in self._store.browse.places.ends(self.border):
            for here, there in ((source, target), (target, source)):
                if here not in self.border or self.far.get(there, self.depth) != self.depth:
                    continue
                # Each is a step back from there towards the end.
                self._steps.setdefault(there, []).append((relation, here))
                reached.add(there)
        self.far |= dict.fromkeys(reached, self.depth)
        self.border = reached

    def back(self, entity_id: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """The ways from an entity back to the end: its entities and relations."""
        if self.far[entity_id] == 0:
            yield (entity_id,), ()
            return
        for relation, nearer in self._steps[entity_id]:
            for entities, relations in self.back(nearer):
                yield (entity_id, *entities), (relation, *relations)
