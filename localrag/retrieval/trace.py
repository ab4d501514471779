"""What a retrieval looked at: every candidate with its place in each search, and what each step took.

It holds ids and numbers and no text of a document, so it may be kept; what its ids lead to goes when its
document goes.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from localrag.store.space_rows import Hit

Kind = Literal["chunk", "entity", "relation"]
KINDS: tuple[Kind, ...] = ("chunk", "entity", "relation")

MOST = 200
"""Most candidates of a kind that are kept, the best ones."""


@dataclass(frozen=True)
class Place:
    """Where a search put a candidate."""

    rank: int
    """From 1."""

    score: float
    """As the search gives it; comparable within this search only."""


@dataclass(frozen=True)
class Candidate:
    """A chunk, an entity or a relation that at least one search found."""

    id: int
    """Its row."""

    places: Mapping[str, Place]
    """Its place in each search that found it, by the search's name: `fulltext`, `vector`, `keywords`, `name`,
    `graph`, `names`, `walk`, `path`, `rerank`."""

    chosen: int
    """Its place in the result, from 1; 0 if it is not in it."""

    base: str = ""
    """Name of the knowledge base, where it is not the one that was asked."""

    def to_json(self) -> dict[str, Any]:
        """The candidate for programs."""
        data: dict[str, Any] = {
            "id": self.id,
            "chosen": self.chosen,
            "places": {name: [place.rank, place.score] for name, place in self.places.items()},
        }
        return {**data, "base": self.base} if self.base else data


@dataclass(frozen=True)
class Trace:
    """All candidates of a retrieval."""

    candidates: Mapping[Kind, tuple[Candidate, ...]] = field(default_factory=dict)
    """For each kind, those in the result first, then by their best place in any search."""

    milliseconds: Mapping[str, float] = field(default_factory=dict, compare=False)
    """What each step took: `query` (the question's vector), `keywords`, `search`, `rerank`, `total`."""

    def to_json(self) -> dict[str, Any]:
        """The trace for programs and for keeping."""
        return {
            "candidates": {
                kind: [item.to_json() for item in items] for kind, items in self.candidates.items()
            },
            "milliseconds": {name: round(value, 2) for name, value in self.milliseconds.items()},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Trace:
        """Undo `to_json`."""
        return cls(
            {
                kind: tuple(
                    Candidate(
                        item["id"],
                        {name: Place(rank, score) for name, (rank, score) in item["places"].items()},
                        item["chosen"],
                        item.get("base", ""),
                    )
                    for item in data["candidates"].get(kind, ())
                )
                for kind in KINDS
            },
            dict(data["milliseconds"]),
        )

    def of_base(self, name: str) -> Trace:
        """The same, with every candidate marked as one of this knowledge base."""
        return replace(
            self,
            candidates={
                kind: tuple(replace(item, base=name) for item in items)
                for kind, items in self.candidates.items()
            },
        )


class Tracer:
    """Gathers a trace while a question is searched."""

    def __init__(self) -> None:
        self._places: dict[Kind, dict[int, dict[str, Place]]] = {kind: {} for kind in KINDS}
        self._began = time.perf_counter()
        self._steps: dict[str, float] = {}

    def add(self, kind: Kind, rankings: Mapping[str, Sequence[Hit]]) -> None:
        """Note rankings, each best first, by the name of their search."""
        known = self._places[kind]
        for name, hits in rankings.items():
            for rank, hit in enumerate(hits, start=1):
                known.setdefault(hit.id, {}).setdefault(name, Place(rank, hit.score))

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Take the time of a step; a name that comes again adds up."""
        began = time.perf_counter()
        try:
            yield
        finally:
            spent = 1000 * (time.perf_counter() - began)
            self._steps[name] = self._steps.get(name, 0.0) + spent

    def trace(self, chosen: Mapping[Kind, Collection[int]]) -> Trace:
        """What was gathered; `chosen` are the ids in the result, best first."""
        total = 1000 * (time.perf_counter() - self._began)
        return Trace(
            {kind: self._candidates(kind, tuple(chosen.get(kind, ()))) for kind in KINDS},
            {**self._steps, "total": total},
        )

    def _candidates(self, kind: Kind, chosen: Sequence[int]) -> tuple[Candidate, ...]:
        taken = {found: place for place, found in enumerate(chosen, start=1)}
        known = {**{found: {} for found in chosen}, **self._places[kind]}
        items = [Candidate(found, places, taken.get(found, 0)) for found, places in known.items()]
        return tuple(sorted(items, key=_order)[:MOST])


def _order(item: Candidate) -> tuple[int, int, int]:
    best = min((place.rank for place in item.places.values()), default=0)
    return item.chosen or MOST + 1, best, item.id
