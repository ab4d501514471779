"""Mode `mix`: chunks by full text, by vectors and by the entities and relations that the question touches.

Each of the three is enough alone: without vectors or without a graph, the others answer. As long as there are
chunks that the model has not read, names that chunks share by their form stand in for the graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from localrag.retrieval.fusion import Fused, rrf
from localrag.retrieval.mentions import named_entities
from localrag.retrieval.naive import Finding, chunk_rankings, ids_of
from localrag.retrieval.passages import as_passages, candidates
from localrag.retrieval.query import Query, scale_of
from localrag.retrieval.types import EntityHit, RelationHit
from localrag.retrieval.zero import WEIGHT, by_names, unread_share
from localrag.sections import RetrievalSettings
from localrag.store.database import Store
from localrag.store.rows import EntityRow, Hit, RelationRow, VectorKind
from localrag.store.wording import gist

_KINDS: tuple[VectorKind, ...] = ("chunk", "entity", "relation")
_NEIGHBOURS = 200
_NAME_WEIGHT = 2.0
_ONE_END = 0.25
_TOLD = 300
"""Characters of descriptions of an entity that has no summary; a context holds no more of one."""


GRAPH_SHARE = 0.6
"""How far the cosine of an entity or a relation must be on the way from an ordinary chunk's to the best of
all. High, since where the graph knows nothing of the matter its nearest is still something."""


def mix(store: Store, query: Query, settings: RetrievalSettings) -> Finding:
    """The best chunks, entities and relations."""
    limit = candidates(settings.passages)
    near = {kind: query.nearest(store, kind) for kind in _KINDS}
    scale = scale_of(near["chunk"], near["entity"], near["relation"])
    named = named_entities(store, query.question, limit)
    entities = _entities(
        store,
        {
            "name": [hit for _, hit in named],
            "vector": scale.near(near["entity"], GRAPH_SHARE, settings.entities),
        },
        settings.entities,
    )
    relations = _relations(
        store,
        {
            "graph": _touching(store, [row for row, _ in named], query.question)[: 2 * settings.relations],
            "vector": scale.near(near["relation"], GRAPH_SHARE, settings.relations),
        },
        settings.relations,
    )
    rankings = chunk_rankings(store, query, near["chunk"], scale, settings.passages)
    rankings["graph"] = _chunks_of(entities, relations)[:limit]
    unread = unread_share(store)
    weights = {}
    if unread:
        seeds = {name: rankings[name] for name in ("fulltext", "vector")}
        keys = [row.key for row in store.graph.entities(hit.id for hit in entities)]
        rankings["names"] = by_names(store, query.question, seeds, keys, limit)
        weights["names"] = WEIGHT * unread**2
    found = ids_of(rankings)
    unknown = {
        "vector": query.without_vector(store, found),
        "graph": {row.id for row in store.chunks.many(found) if row.state != "read"},
    }
    passages = as_passages(store, rrf(rankings, weights, unknown), settings.passages)
    return passages, entities, relations


def _entities(store: Store, rankings: Mapping[str, Sequence[Hit]], limit: int) -> tuple[EntityHit, ...]:
    fused = rrf(rankings, {"name": _NAME_WEIGHT})[:limit]
    rows = {row.id: row for row in store.graph.entities([item.id for item in fused])}
    return tuple(_entity_hit(store, rows[item.id], item) for item in fused if item.id in rows)


def _entity_hit(store: Store, row: EntityRow, item: Fused) -> EntityHit:
    return EntityHit(
        id=row.id,
        name=row.name,
        type=row.type,
        description=row.summary or " ".join(gist(row.descriptions, _TOLD)),
        score=item.score,
        chunk_ids=tuple(store.graph.entity_chunks(row.id)),
    )


def _relations(store: Store, rankings: Mapping[str, Sequence[Hit]], limit: int) -> tuple[RelationHit, ...]:
    fused = rrf(rankings)[:limit]
    rows = {row.id: row for row in store.graph.relations([item.id for item in fused])}
    return tuple(_relation_hit(store, rows[item.id], item) for item in fused if item.id in rows)


def _touching(store: Store, named: Sequence[EntityRow], question: str) -> list[Hit]:
    """Relations of the entities that the question names, those that fit it best first."""
    if not named:
        return []
    names = {row.id for row in named}
    rows = store.graph.relations_of(names, _NEIGHBOURS)
    hits = [Hit(row.id, _closeness(row, names, question)) for row in rows]
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))


def _closeness(row: RelationRow, names: set[int], question: str) -> float:
    """How well a relation that touches a named entity fits: both ends named, and words in common."""
    both = row.source_id in names and row.target_id in names
    said = f"{row.keywords} {row.description}".casefold()
    terms = _terms(question)
    common = sum(1 for term in terms if term in said)
    return (1.0 if both else _ONE_END) + common / (len(terms) + 1)


def _terms(question: str) -> set[str]:
    """Stems of longer words and pairs of characters, for a rough comparison in any script."""
    folded = question.casefold()[:2_000]
    words = {word.strip("?!.,;:\"'()")[:6] for word in folded.split() if len(word) > 4 and word.isascii()}
    wide = {
        folded[i : i + 2] for i in range(len(folded) - 1) if not folded[i].isascii() and folded[i].isalnum()
    }
    return words | wide


def _relation_hit(store: Store, row: RelationRow, item: Fused) -> RelationHit:
    return RelationHit(
        id=row.id,
        source=row.source,
        target=row.target,
        keywords=row.keywords,
        description=row.description,
        score=item.score,
        chunk_ids=tuple(store.graph.relation_chunks(row.id)),
    )


def _chunks_of(entities: Sequence[EntityHit], relations: Sequence[RelationHit]) -> list[Hit]:
    """Chunks that speak of what was found, best first; what many chunks speak of says little about each."""
    scores: dict[int, float] = {}
    found = [(item.score, item.chunk_ids) for item in entities]
    found += [(item.score, item.chunk_ids) for item in relations]
    for score, chunk_ids in found:
        for chunk in chunk_ids:
            scores[chunk] = scores.get(chunk, 0.0) + score / len(chunk_ids)
    return [
        Hit(chunk, score) for chunk, score in sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
