"""Mode `local`: the entities of a question, what touches them, and the passages that speak of these.

Entities come from names in the question, from its specific keywords, and from the passages in which these
words stand. Where the model has read nothing of the matter, names by form take the graph's place, and where
there are none either, words and vectors answer; both is said.
"""

from __future__ import annotations

from collections.abc import Sequence

from localrag.retrieval.finding import Finding
from localrag.retrieval.fusion import Fused, as_hits, rrf
from localrag.retrieval.graph_search import (
    GRAPH_SHARE,
    by_keywords,
    chunks_of,
    found_entities,
    found_relations,
    named,
    stated_in,
    text_of_keywords,
    touching,
)
from localrag.retrieval.mix import by_question
from localrag.retrieval.passages import candidates
from localrag.retrieval.query import Query, scale_of
from localrag.retrieval.ranking import rank_passages
from localrag.retrieval.types import EntityHit, RelationHit
from localrag.retrieval.zero import unread_share
from localrag.sections import RetrievalSettings
from localrag.store.database import Store
from localrag.store.space_rows import Hit

QUESTION_WEIGHT = 2.0
"""How much a passage's place for the question itself counts beside what the graph and the keywords say."""


def local(store: Store, query: Query, settings: RetrievalSettings) -> Finding:
    """The entities of the question, their relations, and the passages of both."""
    limit = candidates(settings.passages)
    text = text_of_keywords(store, query, query.keywords.low, limit)
    of_entities = entity_rankings(store, query, text, settings.entities)
    entities = found_entities(store, query, of_entities, settings.entities)
    if not entities:
        return by_question(store, query, settings, note=nothing_found(store, "entity"))
    ids = [entity.id for entity in entities]
    of_relations = {"graph": touching(store, query, ids, 2 * settings.relations)}
    near = query.nearest(store, "relation", [hit.id for hit in of_relations["graph"]])
    of_relations["vector"] = near[: settings.relations]
    relations = found_relations(store, query, of_relations, settings.relations)
    chunks, of_chunks = passages_of(store, query, settings, entities, relations, text)
    return Finding(
        chunks,
        entities,
        relations,
        {"chunk": of_chunks, "entity": of_entities, "relation": of_relations},
    )


def entity_rankings(store: Store, query: Query, text: Sequence[Hit], limit: int) -> dict[str, Sequence[Hit]]:
    """Entities by name, by vectors of the specific keywords or of the question, and by where the words stand.

    The last serves only where the others find nothing: what stands in a passage need not be its matter.
    """
    names = named(store, query, limit)
    rankings: dict[str, Sequence[Hit]] = {
        "name": names,
        "keywords": by_keywords(store, query, "entity", query.keywords.low, limit),
    }
    near = query.nearest(store, "entity")
    scale = scale_of(query.nearest(store, "chunk"), near)
    rankings["vector"] = scale.near(near, GRAPH_SHARE, limit)
    if not any(rankings.values()):
        rankings["text"] = stated_in(store, query, "entity", text, limit)
    return rankings


def passages_of(
    store: Store,
    query: Query,
    settings: RetrievalSettings,
    entities: Sequence[EntityHit],
    relations: Sequence[RelationHit],
    text: Sequence[Hit],
) -> tuple[tuple[Fused, ...], dict[str, Sequence[Hit]]]:
    """The passages that speak of what was found, those that fit the question best first.

    `text` are chunks with the words of keywords. What fits the question by all searches takes part, whether
    the graph knows it or not: what the model has not read, or overlooked, is in no graph.
    """
    limit = candidates(settings.passages)
    ranking = rank_passages(store, query, entities, relations, limit=limit, ids=query.scope.chunks)
    rankings: dict[str, Sequence[Hit]] = {
        "question": as_hits(ranking.chunks[: ranking.passing]),
        "graph": chunks_of(entities, relations, limit),
        "keywords": text,
    }
    fused = rrf(rankings, {"question": QUESTION_WEIGHT})
    return tuple(fused), {**ranking.rankings, **rankings}


def nothing_found(store: Store, kind: str) -> str:
    """What to tell where the read graph holds nothing for a question."""
    unread = unread_share(store)
    if unread == 1:
        return "The model has read nothing yet: names by form, words and vectors found the passages."
    what = f"No {kind} of the graph fits the question"
    if unread:
        what += ", and a part of the texts is still unread"
    return f"{what}: names, words and vectors found the passages."
