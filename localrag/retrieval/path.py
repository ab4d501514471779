"""Mode `path`: how the things of a question are connected, over relations or over passages that share names.

Between two named entities the shortest ways are sought in the read graph, up to `MOST_HOPS` relations long;
of equal ones those come first whose relations fit the question. From a single entity the ways lead outwards,
two relations far. Where the graph that was read connects nothing, names that passages share do.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from localrag.retrieval.finding import Finding
from localrag.retrieval.fusion import Fused, as_hits, rrf
from localrag.retrieval.graph_search import (
    closeness,
    entity_hits,
    named,
    relation_hits,
    relation_rows,
)
from localrag.retrieval.mentions import named_spans
from localrag.retrieval.mix import by_question
from localrag.retrieval.passages import candidates
from localrag.retrieval.query import Query
from localrag.retrieval.shared_names import between
from localrag.retrieval.types import RelationHit
from localrag.sections import RetrievalSettings
from localrag.store.database import Store
from localrag.store.narrowed import Edge
from localrag.store.space_rows import Hit

MOST_HOPS = 4
"""Most relations of a way between two entities."""

OUTWARD = 2
"""Relations of a way from a single entity."""

MOST_WAYS = 4
"""Most ways that are shown for a pair."""

MOST_ENDS = 4
"""Most entities of a question between which ways are sought."""

_WIDTH = 40
"""Relations of an entity that are followed, those that fit the question and the heaviest first."""

_AROUND = 400
"""Most entities that are looked at for a pair."""

_PATH_WEIGHT = 2.0
"""How much it counts that a passage lies on a way, beside its place for the question itself."""


@dataclass(frozen=True)
class Way:
    """Relations that lead from one entity to another."""

    entities: tuple[int, ...]
    """The entities in their order, ends included."""

    relations: tuple[int, ...]
    """The relation of each step."""

    fit: float
    """How well the relations fit the question, on average."""


def path(store: Store, query: Query, settings: RetrievalSettings) -> Finding:
    """The ways between the entities of the question and the passages that state them."""
    names = _in_order(store, query, named(store, query, candidates(settings.passages))[:MOST_ENDS])
    ways = _Roads(store, query).ways([hit.id for hit in names])
    if ways:
        return _along(store, query, settings, names, ways)
    chunks = between(store, query)
    if chunks:
        return _over_passages(store, query, settings, chunks)
    note = "The question names nothing that is connected; mode mix answered."
    if len(names) > 1:
        note = "What the question names is not connected, as far as is known; mode mix answered."
    return replace(by_question(store, query, settings, note=note), mode="mix")


def between_two(store: Store, first: int, second: int) -> list[Way]:
    """The shortest ways between two entities, and those longer by one; no question ranks them."""
    return _Roads(store, Query("")).ways([first, second])


def _in_order(store: Store, query: Query, names: Sequence[Hit]) -> list[Hit]:
    """The entities in the order in which the question names them, as far as it does."""
    spans = named_spans(query.question)
    place: dict[int, int] = {}
    for key, row in store.graph.find_named(spans):
        place[row.id] = min(place.get(row.id, len(query.question)), spans[key][0][0])
    return sorted(names, key=lambda hit: place.get(hit.id, len(query.question)))


class _Roads:
    """The neighbourhood of some entities, read as far as it is needed."""

    def __init__(self, store: Store, query: Query) -> None:
        self._store = store
        self._query = query
        self._edges: dict[int, list[Edge]] = {}
        self._fit: dict[int, float] = {}

    def ways(self, ends: Sequence[int]) -> list[Way]:
        """The ways between every two of the entities, or outwards from a single one, the best first."""
        if len(ends) == 1:
            return self._outward(ends[0])
        found: dict[tuple[int, ...], Way] = {}
        for first, second in itertools.combinations(ends, 2):
            for way in self._between(first, second):
                found.setdefault(way.relations, way)
        return sorted(found.values(), key=_order)

    def _between(self, start: int, goal: int) -> list[Way]:
        """The shortest ways, and those that are one relation longer."""
        distance = self._distances(goal, start)
        if start not in distance:
            return []
        ways: list[Way] = []
        for longest in (distance[start], distance[start] + 1):
            if longest <= MOST_HOPS and len(ways) < MOST_WAYS:
                found = itertools.islice(self._walks((start,), (), goal, longest, distance), 200)
                ways = sorted((self._way(*walk) for walk in found), key=_order)[:MOST_WAYS]
        return ways

    def _distances(self, goal: int, start: int) -> dict[int, int]:
        """How far entities are from the goal, up to and one step behind the start."""
        distance = {goal: 0}
        border = [goal]
        for hops in range(1, MOST_HOPS + 1):
            self._read(border)
            border = sorted(
                {other for entity in border for _, other in self._steps(entity) if other not in distance}
            )
            distance |= dict.fromkeys(border, hops)
            if start in distance or not border or len(distance) > _AROUND:
                break
        self._read([start])
        return distance

    def _walks(
        self,
        entities: tuple[int, ...],
        relations: tuple[int, ...],
        goal: int,
        left: int,
        far: Mapping[int, int],
    ) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        here = entities[-1]
        if here == goal:
            yield entities, relations
            return
        for relation, other in self._steps(here):
            if other not in entities and far.get(other, MOST_HOPS) < left:
                yield from self._walks((*entities, other), (*relations, relation), goal, left - 1, far)

    def _outward(self, start: int) -> list[Way]:
        """Ways of two relations, and of one where nothing leads on; those that fit the question first."""
        self._read([start])
        first = self._steps(start)
        self._read(other for _, other in first)
        ways = [
            self._way((start, middle, end), (one, two))
            for one, middle in first
            for two, end in self._steps(middle)
            if end not in (start, middle)
        ]
        going_on = {way.entities[1] for way in ways}
        ways += [self._way((start, end), (one,)) for one, end in first if end not in going_on]
        return sorted(ways, key=lambda way: (-way.fit, way.relations))[: 2 * MOST_WAYS]

    def _way(self, entities: tuple[int, ...], relations: tuple[int, ...]) -> Way:
        return Way(entities, relations, sum(self._fit[relation] for relation in relations) / len(relations))

    def _steps(self, entity: int) -> list[tuple[int, int]]:
        """The relations that are followed from an entity, each with where it leads; only where they were
        read."""
        return [
            (edge.id, edge.target_id if edge.source_id == entity else edge.source_id)
            for edge in self._edges.get(entity, ())
        ]

    def _read(self, entities: Iterable[int]) -> None:
        wanted = [entity for entity in dict.fromkeys(entities) if entity not in self._edges]
        scope = self._query.scope
        edges = [
            edge
            for edge in self._store.narrowed.edges(wanted, scope.relations)
            if scope.allows("entity", edge.source_id) and scope.allows("entity", edge.target_id)
        ]
        rows = relation_rows(self._store, scope, [edge.id for edge in edges if edge.id not in self._fit])
        for row in rows:
            self._fit[row.id] = closeness(row, (), self._query.question)
        for entity in wanted:
            own = [edge for edge in edges if entity in (edge.source_id, edge.target_id)]
            own.sort(key=lambda edge: (-self._fit.get(edge.id, 0.0) - math.log1p(edge.weight), edge.id))
            self._edges[entity] = [edge for edge in own if edge.id in self._fit][:_WIDTH]


def _order(way: Way) -> tuple[int, float, tuple[int, ...]]:
    return len(way.relations), -way.fit, way.relations


def _along(
    store: Store, query: Query, settings: RetrievalSettings, names: Sequence[Hit], ways: Sequence[Way]
) -> Finding:
    """What stands along the ways: their relations and entities in order, and the passages that state them."""
    relations = _first_places(way.relations for way in ways)
    entities = _first_places(way.entities for way in ways)
    of_entities = {"name": names, "path": entities}
    hits = relation_hits(store, query.scope, rrf({"path": relations}))
    steps = [hit for hit in hits if hit.chunk_ids]
    question = by_question(store, query, settings)
    of_chunks = {**question.rankings.get("chunk", {}), "path": _passages(steps, question)}
    order = _passing(question)
    fused = rrf({"path": of_chunks["path"], "question": order}, {"path": _PATH_WEIGHT})
    return Finding(
        chunks=_named(fused, question),
        entities=entity_hits(
            store, query.scope, rrf({"path": entities})[: max(settings.entities, len(ways[0].entities))]
        ),
        relations=hits[: max(settings.relations, len(ways[0].relations))],
        rankings={"chunk": of_chunks, "entity": of_entities, "relation": {"path": relations}},
    )


def _passages(steps: Sequence[RelationHit], question: Finding) -> list[Hit]:
    """For each relation of the ways the passage that states it and fits the question best."""
    place = {item.id: rank for rank, item in enumerate(question.chunks)}
    last = len(place)
    found: dict[int, float] = {}
    for rank, step in enumerate(steps, start=1):
        best = min(step.chunk_ids, key=lambda chunk: (place.get(chunk, last), chunk))
        found.setdefault(best, 1 / rank)
    return [Hit(chunk, score) for chunk, score in found.items()]


def _over_passages(store: Store, query: Query, settings: RetrievalSettings, chunks: Sequence[Hit]) -> Finding:
    """The passages of a way over names that they share, beside those for the question itself."""
    question = by_question(store, query, settings)
    order = _passing(question)
    fused = rrf({"path": chunks, "question": order}, {"path": _PATH_WEIGHT})
    note = "No relation that was read connects what the question names; passages that share names do."
    return Finding(
        chunks=_named(fused, question),
        rankings={"chunk": {**question.rankings.get("chunk", {}), "path": chunks}},
        notes=(note,),
    )


def _passing(question: Finding) -> list[Hit]:
    """The chunks for the question itself that are good enough to be read."""
    return as_hits(question.chunks[: question.passing])


def _named(fused: Sequence[Fused], question: Finding) -> tuple[Fused, ...]:
    """The fused chunks with the searches that found them, in place of the word `question`."""
    known = {item.id: item.sources for item in question.chunks}
    return tuple(
        Fused(
            item.id,
            item.score,
            (*known.get(item.id, ()), *(("path",) if "path" in item.sources else ())),
        )
        for item in fused
    )


def _first_places(lists: Iterable[Sequence[int]]) -> list[Hit]:
    """Every id once, in the order in which the lists name them first."""
    ids = dict.fromkeys(itertools.chain.from_iterable(lists))
    return [Hit(found, 1 / rank) for rank, found in enumerate(ids, start=1)]
