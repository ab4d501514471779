"""What an entity is connected with: its strongest neighbours, and the ways from one entity to another."""

from __future__ import annotations

import math
from collections.abc import Collection

from localrag.errors import UsageError
from localrag.looking.reading import told
from localrag.looking.types import Neighbourhood, Route, Step
from localrag.looking.walking import shortest
from localrag.retrieval.path import Way, between_two
from localrag.store.database import Store
from localrag.store.entity_list import EntityEntry
from localrag.store.graph_rows import RelationRow

MOST_ROUTES = 8
"""Most ways that are shown."""

_PLACES = 3
"""Passages that are named for a step of a way."""


def neighbourhood(store: Store, entity_id: int, limit: int, among: Collection[int] = ()) -> Neighbourhood:
    """An entity with its strongest neighbours beyond those that are there already, the `among`.

    The relations are all those with both ends among the entity, the new ones and those that were there.
    Raises `UsageError` if the entity is gone.
    """
    strength: dict[int, int] = {}
    for edge in store.narrowed.edges([entity_id]):
        other = edge.target_id if edge.source_id == entity_id else edge.source_id
        strength[other] = strength.get(other, 0) + edge.weight
    order = sorted(strength, key=lambda other: (-strength[other], other))
    new = [other for other in order if other not in among][: max(limit, 0)]
    entries = entries_of(store, [entity_id, *new])
    if not entries or entries[0].id != entity_id:
        raise UsageError("The entity is not there any more.", "Search for it under another name.")
    edges = store.browse.places.edges_among({entity_id, *new, *among})
    relations = store.graph.relations(edge.id for edge in edges)
    return Neighbourhood(entries[0], tuple(entries[1:]), tuple(relations), len(strength))


def routes(store: Store, first: int, second: int) -> list[Route]:
    """The ways from one entity to another, shortest first; of equal ones those that most passages state."""
    if first == second:
        return []
    # The first knows longer ways too, but gives up early where much is connected with much.
    found = between_two(store, first, second) or shortest(store, first, second)
    relations = {
        row.id: row
        for row in store.graph.relations(dict.fromkeys(step for way in found for step in way.relations))
    }
    found.sort(key=lambda way: (len(way.relations), -_strength(way, relations), way.relations))
    return [route for way in found[:MOST_ROUTES] if (route := _route(store, way, relations)) is not None]


def entries_of(store: Store, ids: Collection[int]) -> list[EntityEntry]:
    """Entities as lists show them, in the order of `ids`; those that are gone are left out."""
    entries = store.browse.all.some(ids)
    return [entries[entity_id] for entity_id in ids if entity_id in entries]


def _strength(way: Way, relations: dict[int, RelationRow]) -> float:
    """How firmly a way is stated: that of its steps on average, so that one weak step weighs."""
    return sum(math.log1p(relations[step].weight) for step in way.relations if step in relations)


def _route(store: Store, way: Way, relations: dict[int, RelationRow]) -> Route | None:
    """The way in full; None if something of it has gone meanwhile."""
    entities = entries_of(store, way.entities)
    if len(entities) < len(way.entities) or not all(step in relations for step in way.relations):
        return None
    steps = told(store, [relations[step] for step in way.relations], _PLACES)
    return Route(
        tuple(entities),
        tuple(
            Step(step, step.relation.source_id == here)
            for step, here in zip(steps, way.entities, strict=False)
        ),
    )
