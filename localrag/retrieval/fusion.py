"""Joins rankings whose scores cannot be compared into one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from localrag.store.space_rows import Hit

RRF_K = 60
"""Constant of reciprocal rank fusion: how little the first places count more than the next."""


@dataclass(frozen=True)
class Fused:
    """A thing that at least one search found."""

    id: int
    """Its row."""

    score: float
    """Sum of weight / (k + rank) over the searches."""

    sources: tuple[str, ...]
    """The searches that found it, in the order in which they were given."""


def rrf(
    rankings: Mapping[str, Sequence[Hit]],
    weights: Mapping[str, float] | None = None,
    unknown: Mapping[str, Collection[int]] | None = None,
    k: int = RRF_K,
) -> list[Fused]:
    """Reciprocal rank fusion of rankings, each best first, by the name of their search.

    A search without a weight has weight 1. `unknown` names things that a search cannot know yet, such as
    chunks without a vector: it counts as agreeing with the best rank that such a thing has elsewhere, so that
    what is new is not placed behind what is known better. The result is best first; things of equal score
    come in the order of their ids, so that it is the same every time.
    """
    scores: dict[int, float] = {}
    ranks: dict[int, int] = {}
    sources: dict[int, list[str]] = {}
    for name, hits in rankings.items():
        for rank, hit in enumerate(hits, start=1):
            scores[hit.id] = scores.get(hit.id, 0.0) + _vote(weights, name, rank, k)
            ranks[hit.id] = min(rank, ranks.get(hit.id, rank))
            sources.setdefault(hit.id, []).append(name)
    for name, ids in (unknown or {}).items():
        for found in ranks.keys() & set(ids):
            scores[found] += _vote(weights, name, ranks[found], k)
    order = sorted(scores, key=lambda found: (-scores[found], found))
    return [Fused(found, scores[found], tuple(sources[found])) for found in order]


def _vote(weights: Mapping[str, float] | None, name: str, rank: int, k: int) -> float:
    return (weights or {}).get(name, 1.0) / (k + rank)


def as_hits(fused: Iterable[Fused]) -> list[Hit]:
    """What was joined, as a ranking that can be joined again."""
    return [Hit(item.id, item.score) for item in fused]


def near_best(hits: Sequence[Hit], share: float) -> list[Hit]:
    """The hits, best first, whose score is at least `share` of the best; none if the best is not above 0."""
    best = max((hit.score for hit in hits), default=0.0)
    if best <= 0:
        return []
    return sorted((hit for hit in hits if hit.score >= share * best), key=lambda hit: (-hit.score, hit.id))
