"""Mode `naive`: chunks by full text and by vectors, without a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from localrag.retrieval.finding import Finding
from localrag.retrieval.fusion import near_best, rrf
from localrag.retrieval.graph_search import text_of_keywords
from localrag.retrieval.passages import candidates
from localrag.retrieval.query import Query, Scale, scale_of
from localrag.retrieval.ranking import CHUNK_SHARE, WORDS_SHARE
from localrag.sections import RetrievalSettings
from localrag.store.database import Store
from localrag.store.space_rows import Hit


def naive(store: Store, query: Query, settings: RetrievalSettings) -> Finding:
    """The best chunks, no entities and no relations."""
    near = query.nearest(store, "chunk")
    rankings = chunk_rankings(store, query, near, scale_of(near), settings.passages)
    if query.keywords.by in ("model", "person"):
        every = (*query.keywords.low, *query.keywords.high)
        rankings["keywords"] = text_of_keywords(store, query, every, candidates(settings.passages))
    unknown = {"vector": query.without_vector(store, ids_of(rankings))}
    return Finding(tuple(rrf(rankings, unknown=unknown)), rankings={"chunk": rankings})


def chunk_rankings(
    store: Store, query: Query, near: Sequence[Hit], scale: Scale, passages: int
) -> dict[str, Sequence[Hit]]:
    """Chunks by the question's words and by its vector; either may be empty. `near` are the nearest ones."""
    limit = candidates(passages)
    return {
        "fulltext": near_best(store.fulltext.search(query.question, limit, query.scope.chunks), WORDS_SHARE),
        "vector": scale.near(near, CHUNK_SHARE, limit),
    }


def ids_of(rankings: Mapping[str, Sequence[Hit]]) -> set[int]:
    """All that the rankings hold."""
    return {hit.id for hits in rankings.values() for hit in hits}
