"""Mode `hybrid`: `local` and `global` together, the best of both in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from localrag.retrieval.finding import Finding
from localrag.retrieval.fusion import Fused, as_hits, rrf
from localrag.retrieval.global_ import global_
from localrag.retrieval.local import local
from localrag.retrieval.query import Query
from localrag.retrieval.trace import KINDS, Kind
from localrag.retrieval.types import EntityHit, RelationHit
from localrag.sections import RetrievalSettings
from localrag.store.database import Store
from localrag.store.space_rows import Hit

T = TypeVar("T", EntityHit, RelationHit)


def hybrid(store: Store, query: Query, settings: RetrievalSettings) -> Finding:
    """Entities with their relations, relations with their ends, and the passages of both."""
    near, wide = local(store, query, settings), global_(store, query, settings)
    if not near.relations and not near.entities:
        return replace(wide, notes=_notes(near, wide))
    if not wide.relations:
        return replace(near, notes=_notes(near, wide))
    sources = {item.id: item.sources for item in (*wide.chunks, *near.chunks)}
    joined = rrf({"local": as_hits(near.chunks), "global": as_hits(wide.chunks)})
    return Finding(
        chunks=tuple(Fused(item.id, item.score, sources[item.id]) for item in joined),
        entities=_joined(near.entities, wide.entities, settings.entities),
        relations=_joined(near.relations, wide.relations, settings.relations),
        rankings={kind: _rankings(kind, near, wide) for kind in KINDS},
    )


def _notes(near: Finding, wide: Finding) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*near.notes, *wide.notes)))


def _joined(first: Sequence[T], second: Sequence[T], limit: int) -> tuple[T, ...]:
    """What either level found, by reciprocal rank."""
    items: dict[int, T] = {}
    for level in (second, first):
        items.update({item.id: item for item in level})
    order = rrf(
        {"local": [Hit(i.id, i.score) for i in first], "global": [Hit(i.id, i.score) for i in second]}
    )
    result: list[T] = []
    for item in order[:limit]:
        result.append(replace(items[item.id], score=item.score))
    return tuple(result)


def _rankings(kind: Kind, near: Finding, wide: Finding) -> Mapping[str, Sequence[Hit]]:
    """The rankings of both levels; where one name stands for two, each says of which level it is."""
    ours, theirs = near.rankings.get(kind, {}), wide.rankings.get(kind, {})
    both = {name for name in ours.keys() & theirs.keys() if list(ours[name]) != list(theirs[name])}
    result: dict[str, Sequence[Hit]] = {}
    for level, rankings in (("local", ours), ("global", theirs)):
        for name, hits in rankings.items():
            result[f"{level} {name}" if name in both else name] = hits
    return result
