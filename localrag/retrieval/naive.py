"""Mode `naive`: chunks by full text and by vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from localrag.retrieval.fusion import near_best, rrf
from localrag.retrieval.passages import as_passages, candidates
from localrag.retrieval.query import Query, Scale, scale_of
from localrag.retrieval.types import EntityHit, Passage, RelationHit
from localrag.sections import RetrievalSettings
from localrag.store.database import Store
from localrag.store.rows import Hit

Finding = tuple[tuple[Passage, ...], tuple[EntityHit, ...], tuple[RelationHit, ...]]
"""Passages, entities and relations, each best first."""

WORDS_SHARE = 0.2
"""Least share of the best full-text score."""


CHUNK_SHARE = 0.5
"""How far a chunk's cosine must be on the way from an ordinary one to the best. Low, since a second passage
that an answer needs is often far from the question."""


def naive(store: Store, query: Query, settings: RetrievalSettings) -> Finding:
    """The best chunks, no entities and no relations."""
    near = query.nearest(store, "chunk")
    rankings = chunk_rankings(store, query, near, scale_of(near), settings.passages)
    unknown = {"vector": query.without_vector(store, ids_of(rankings))}
    return as_passages(store, rrf(rankings, unknown=unknown), settings.passages), (), ()


def chunk_rankings(
    store: Store, query: Query, near: Sequence[Hit], scale: Scale, passages: int
) -> dict[str, list[Hit]]:
    """The two rankings of chunks that every mode begins with; either may be empty."""
    limit = candidates(passages)
    return {
        "fulltext": near_best(store.fulltext.search(query.question, limit), WORDS_SHARE),
        "vector": scale.near(near, CHUNK_SHARE, limit),
    }


def ids_of(rankings: Mapping[str, Sequence[Hit]]) -> set[int]:
    """All that the rankings hold."""
    return {hit.id for hits in rankings.values() for hit in hits}
