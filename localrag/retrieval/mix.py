"""Mode `mix`: passages by words, vectors, names and the graph together, with entities and relations.

Each of them is enough alone: without vectors or without a graph, the others answer. As long as there are
chunks that the model has not read, names that chunks share by their form stand in for the graph.
"""

from __future__ import annotations

from collections.abc import Sequence

from localrag.retrieval.finding import Finding
from localrag.retrieval.fusion import Fused, as_hits, rrf
from localrag.retrieval.graph_search import (
    GRAPH_SHARE,
    by_keywords,
    found_entities,
    found_relations,
    named,
    text_of_keywords,
    touching,
)
from localrag.retrieval.passages import candidates
from localrag.retrieval.query import Query, scale_of
from localrag.retrieval.ranking import Ranking, rank_passages
from localrag.retrieval.types import EntityHit, RelationHit
from localrag.sections import RetrievalSettings
from localrag.store.database import Store
from localrag.store.space_rows import Hit

_KEYWORDS_WEIGHT = 0.5
"""How much the text of the model's keywords counts beside the ranking of the question itself."""


def mix(store: Store, query: Query, settings: RetrievalSettings) -> Finding:
    """The best chunks, entities and relations."""
    limit = candidates(settings.passages)
    near_entities, near_relations = query.nearest(store, "entity"), query.nearest(store, "relation")
    scale = scale_of(query.nearest(store, "chunk"), near_entities, near_relations)
    keywords = query.keywords
    names = named(store, query, limit)
    of_entities = {
        "name": names,
        "vector": scale.near(near_entities, GRAPH_SHARE, settings.entities),
        "keywords": by_keywords(store, query, "entity", keywords.low, settings.entities),
    }
    entities = found_entities(store, query, of_entities, settings.entities)
    of_relations = {
        "graph": touching(store, query, [hit.id for hit in names], 2 * settings.relations),
        "vector": scale.near(near_relations, GRAPH_SHARE, settings.relations),
        "keywords": by_keywords(store, query, "relation", keywords.high, settings.relations),
    }
    relations = found_relations(store, query, of_relations, settings.relations)
    ranking = rank_passages(
        store, query, entities, relations, limit=limit, ids=query.scope.chunks, scale=scale
    )
    chunks, of_chunks = _with_keywords(store, query, ranking, limit)
    return Finding(
        chunks,
        entities,
        relations,
        {"chunk": of_chunks, "entity": of_entities, "relation": of_relations},
        passing=ranking.passing,
    )


def by_question(
    store: Store,
    query: Query,
    settings: RetrievalSettings,
    entities: Sequence[EntityHit] = (),
    relations: Sequence[RelationHit] = (),
    note: str = "",
) -> Finding:
    """The chunks for the question itself, for a mode whose own way led nowhere; `note` says so."""
    limit = candidates(settings.passages)
    ranking = rank_passages(store, query, entities, relations, limit=limit, ids=query.scope.chunks)
    return Finding(
        ranking.chunks,
        tuple(entities),
        tuple(relations),
        {"chunk": ranking.rankings},
        (note,) if note else (),
        passing=ranking.passing,
    )


def _with_keywords(
    store: Store, query: Query, ranking: Ranking, limit: int
) -> tuple[tuple[Fused, ...], dict[str, Sequence[Hit]]]:
    """The ranking, joined by what holds the words of keywords that say more than the question itself."""
    rankings = dict(ranking.rankings)
    if query.keywords.by not in ("model", "person") or query.keywords.empty:
        return ranking.chunks, rankings
    every = (*query.keywords.low, *query.keywords.high)
    rankings["keywords"] = text_of_keywords(store, query, every, limit)
    order = as_hits(ranking.chunks)
    joined = rrf({"question": order, "keywords": rankings["keywords"]}, {"keywords": _KEYWORDS_WEIGHT})
    sources = {item.id: item.sources for item in ranking.chunks}
    chunks = tuple(
        Fused(
            item.id,
            item.score,
            (*sources.get(item.id, ()), *(("keywords",) if "keywords" in item.sources else ())),
        )
        for item in joined
    )
    return chunks[:limit], rankings
