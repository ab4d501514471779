"""Searches the read graph: entities and relations by names, by vectors and by what stands in passages.

Whatever is told of them is what the allowed chunks say (see scope.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from localrag.retrieval.fusion import Fused, as_hits, rrf
from localrag.retrieval.mentions import named_entities
from localrag.retrieval.query import Query, scale_of
from localrag.retrieval.scope import Scope
from localrag.retrieval.types import EntityHit, RelationHit
from localrag.store.database import Store
from localrag.store.graph_rows import EntityRow, RelationRow
from localrag.store.rows import VectorKind
from localrag.store.space_rows import Hit
from localrag.store.wording import gist

GRAPH_SHARE = 0.6
"""How far the cosine of an entity or a relation must be on the way from an ordinary chunk's to the best of
all. High, since where the graph knows nothing of the matter its nearest is still something."""

NAME_WEIGHT = 2.0
"""How much a name in the question counts beside a near vector."""

TEXT_CHUNKS = 8
"""Chunks by words of a keyword whose entities and relations are looked at."""

_NEIGHBOURS = 200
_ONE_END = 0.25
_TOLD = 300
"""Characters of descriptions of an entity that has no summary; a context holds no more of one."""


def named(store: Store, query: Query, limit: int) -> list[Hit]:
    """The entities that the question, or one of its specific keywords, names; best first."""
    if query.named is not None and query.keywords.by not in ("model", "person"):
        # Words of the question itself name nothing more.
        return list(query.named[:limit])
    text = "\n".join([query.question, *query.keywords.low])
    return [hit for _, hit in named_entities(store, text, limit, query.scope.entities)]


def by_keywords(
    store: Store, query: Query, kind: VectorKind, keywords: Sequence[str], limit: int
) -> list[Hit]:
    """The rows of a kind that are near to the keywords, each keyword searched for by itself."""
    rankings: dict[str, Sequence[Hit]] = {}
    for keyword in keywords:
        near = query.nearest_to(store, kind, keyword)
        rankings[keyword] = scale_of(near).near(near, GRAPH_SHARE, limit)
    return as_hits(rrf(rankings)[:limit])


def text_of_keywords(store: Store, query: Query, keywords: Sequence[str], limit: int) -> list[Hit]:
    """The chunks that hold the words of the keywords, each keyword searched for by itself."""
    rankings = {
        keyword: store.fulltext.search(keyword, limit, query.scope.chunks)
        for keyword in dict.fromkeys(keywords)
    }
    return as_hits(rrf(rankings)[:limit])


def stated_in(store: Store, query: Query, kind: VectorKind, chunks: Sequence[Hit], limit: int) -> list[Hit]:
    """The entities or relations that good chunks mention, those first that the best ones and many mention."""
    place = {hit.id: rank for rank, hit in enumerate(chunks[:TEXT_CHUNKS], start=1)}
    scores: dict[int, float] = {}
    for chunk_id, row_id in store.narrowed.stated_in(kind, place):
        if query.scope.allows(kind, row_id):
            scores[row_id] = scores.get(row_id, 0.0) + 1 / place[chunk_id]
    return _best(scores, limit)


def touching(store: Store, query: Query, entity_ids: Collection[int], limit: int) -> list[Hit]:
    """Relations of the entities, those that fit the question best first."""
    if not entity_ids:
        return []
    edges = store.narrowed.edges(entity_ids, query.scope.relations)[:_NEIGHBOURS]
    ends = set(entity_ids)
    rows = relation_rows(store, query.scope, [edge.id for edge in edges])
    return _best({row.id: closeness(row, ends, query.question) for row in rows}, limit)


def closeness(row: RelationRow, names: Collection[int], question: str) -> float:
    """How well a relation that touches one of the entities fits: both ends named, and words in common."""
    both = row.source_id in names and row.target_id in names
    said = f"{row.keywords} {row.description}".casefold()
    terms = _terms(question)
    common = sum(1 for term in terms if term in said)
    return (1.0 if both else _ONE_END) + common / (len(terms) + 1)


def chunks_of(
    entities: Sequence[EntityHit], relations: Sequence[RelationHit], limit: int | None = None
) -> list[Hit]:
    """Chunks that speak of what was found, best first; what many chunks speak of says little about each."""
    scores: dict[int, float] = {}
    found: list[EntityHit | RelationHit] = [*entities, *relations]
    for item in found:
        for chunk in item.chunk_ids:
            scores[chunk] = scores.get(chunk, 0.0) + item.score / len(item.chunk_ids)
    return _best(scores, limit)


def entity_rows(store: Store, scope: Scope, ids: Iterable[int]) -> list[EntityRow]:
    """Entities as the allowed chunks tell them, in the order of `ids`; others are left out."""
    wanted = [row_id for row_id in ids if scope.allows("entity", row_id)]
    if scope.chunks is None:
        return store.graph.entities(wanted)
    return store.narrowed.entities(wanted, scope.chunks)


def relation_rows(store: Store, scope: Scope, ids: Iterable[int]) -> list[RelationRow]:
    """Relations as the allowed chunks tell them, in the order of `ids`; others are left out."""
    wanted = [row_id for row_id in ids if scope.allows("relation", row_id)]
    if scope.chunks is None:
        return store.graph.relations(wanted)
    return store.narrowed.relations(wanted, scope.chunks)


def entity_hits(store: Store, scope: Scope, found: Sequence[Fused]) -> tuple[EntityHit, ...]:
    """Entities with what is told of them, in their order; those that are gone meanwhile left out."""
    scores = {item.id: item.score for item in found}
    rows = entity_rows(store, scope, scores)
    chunks = store.narrowed.chunks_of("entity", [row.id for row in rows], scope.chunks)
    return tuple(
        EntityHit(
            id=row.id,
            name=row.name,
            type=row.type,
            description=row.summary or " ".join(gist(row.descriptions, _TOLD)),
            score=scores[row.id],
            chunk_ids=chunks[row.id],
        )
        for row in rows
    )


def relation_hits(store: Store, scope: Scope, found: Sequence[Fused]) -> tuple[RelationHit, ...]:
    """Relations with what is told of them, in their order; those that are gone meanwhile left out."""
    scores = {item.id: item.score for item in found}
    rows = relation_rows(store, scope, scores)
    chunks = store.narrowed.chunks_of("relation", [row.id for row in rows], scope.chunks)
    return tuple(
        RelationHit(
            id=row.id,
            source=row.source,
            target=row.target,
            keywords=row.keywords,
            description=row.description,
            score=scores[row.id],
            chunk_ids=chunks[row.id],
        )
        for row in rows
    )


def found_entities(
    store: Store, query: Query, rankings: Mapping[str, Sequence[Hit]], limit: int
) -> tuple[EntityHit, ...]:
    """The best entities of several searches; a name in the question counts most."""
    return entity_hits(store, query.scope, rrf(rankings, {"name": NAME_WEIGHT})[:limit])


def found_relations(
    store: Store, query: Query, rankings: Mapping[str, Sequence[Hit]], limit: int
) -> tuple[RelationHit, ...]:
    """The best relations of several searches."""
    return relation_hits(store, query.scope, rrf(rankings)[:limit])


def _terms(question: str) -> set[str]:
    """Stems of longer words and pairs of characters, for a rough comparison in any script."""
    folded = question.casefold()[:2_000]
    words = {word.strip("?!.,;:\"'()")[:6] for word in folded.split() if len(word) > 4 and word.isascii()}
    wide = {
        folded[i : i + 2] for i in range(len(folded) - 1) if not folded[i].isascii() and folded[i].isalnum()
    }
    return words | wide


def _best(scores: Mapping[int, float], limit: int | None) -> list[Hit]:
    order = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    return [Hit(row_id, score) for row_id, score in order[:limit]]
