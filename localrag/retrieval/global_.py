"""Mode `global`: relations that fit the themes of a question, what they join, and the passages that state it.

Relations come from the general keywords, each searched for by itself, and from the passages in which these
words stand. This is the level of relations; reports about communities answer the rest once there are any.
"""

from __future__ import annotations

from collections.abc import Sequence

from localrag.retrieval.finding import Finding
from localrag.retrieval.fusion import rrf
from localrag.retrieval.graph_search import (
    GRAPH_SHARE,
    by_keywords,
    entity_hits,
    found_relations,
    stated_in,
    text_of_keywords,
)
from localrag.retrieval.local import nothing_found, passages_of
from localrag.retrieval.mix import by_question
from localrag.retrieval.passages import candidates
from localrag.retrieval.query import Query, scale_of
from localrag.retrieval.types import EntityHit, RelationHit
from localrag.sections import RetrievalSettings
from localrag.store.database import Store
from localrag.store.space_rows import Hit


def global_(store: Store, query: Query, settings: RetrievalSettings) -> Finding:
    """The relations that fit the question, their ends, and the passages of both."""
    limit = candidates(settings.passages)
    text = text_of_keywords(store, query, query.keywords.high, limit)
    text = text or store.fulltext.search(query.question, limit, query.scope.chunks)
    of_relations = relation_rankings(store, query, text, settings.relations)
    relations = found_relations(store, query, of_relations, settings.relations)
    if not relations:
        return by_question(store, query, settings, note=nothing_found(store, "relation"))
    ends = ends_of(store, relations)
    entities = ends_as_entities(store, query, ends, settings.entities)
    chunks, of_chunks = passages_of(store, query, settings, (), relations, text)
    return Finding(
        chunks,
        entities,
        relations,
        {"chunk": of_chunks, "entity": {"ends": ends}, "relation": of_relations},
    )


def relation_rankings(
    store: Store, query: Query, text: Sequence[Hit], limit: int
) -> dict[str, Sequence[Hit]]:
    """Relations by vectors of the general keywords and of the question, and by where the words stand."""
    near = query.nearest(store, "relation")
    scale = scale_of(query.nearest(store, "chunk"), near)
    return {
        "keywords": by_keywords(store, query, "relation", query.keywords.high, limit),
        "vector": scale.near(near, GRAPH_SHARE, limit),
        "text": stated_in(store, query, "relation", text, limit),
    }


def ends_of(store: Store, relations: Sequence[RelationHit]) -> list[Hit]:
    """The entities that relations join, in the order in which they come."""
    rows = store.graph.relations([relation.id for relation in relations])
    scores = {relation.id: relation.score for relation in relations}
    found: dict[int, float] = {}
    for row in rows:
        for end in (row.source_id, row.target_id):
            found.setdefault(end, scores[row.id])
    return [Hit(entity, score) for entity, score in found.items()]


def ends_as_entities(store: Store, query: Query, ends: Sequence[Hit], limit: int) -> tuple[EntityHit, ...]:
    """The first of these entities with what is told of them."""
    allowed = [hit for hit in ends if query.scope.allows("entity", hit.id)]
    return entity_hits(store, query.scope, rrf({"ends": allowed})[:limit])
