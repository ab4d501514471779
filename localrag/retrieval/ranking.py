"""Ranks the passages for a question from all that is known: words, vectors, names, and the graph.

Full text, vectors and the read graph find the first chunks; a walk over shared names finds what belongs to
them; and what speaks for each candidate is weighed together. The weights were fitted on open questions of
many kinds, in English and Chinese, and are the same for every knowledge base; docs/measurements.md says how.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from localrag.retrieval.fusion import Fused, near_best, rrf
from localrag.retrieval.graph_search import chunks_of
from localrag.retrieval.query import Query, Scale, scale_of
from localrag.retrieval.question_terms import QuestionTerms
from localrag.retrieval.signals import FIRST, Scene, Signals, as_matrix
from localrag.retrieval.starts import starts_of
from localrag.retrieval.types import EntityHit, RelationHit
from localrag.retrieval.walk import Walk, best
from localrag.store.database import Store
from localrag.store.filters import Ids
from localrag.store.space_rows import Hit

WORDS_SHARE = 0.2
"""Least share of the best full-text score for a chunk that a walk may start at."""

CHUNK_SHARE = 0.5
"""How far a chunk's cosine must be on the way from an ordinary one to the best for the same. Low, since a
second passage that an answer needs is often far from the question."""

WEIGHTS = Signals(
    walk=0.78,
    vector=3.12,
    unsettled=0.99,
    subject=4.08,
    described=4.79,
    about=-1.53,
    asked=1.7,
    lookalike=-3.43,
    adds=4.33,
)
"""What each signal counts."""

LEAST_SHARE = 0.006
"""A passage whose odds are a smaller share of the best one's is not passed on. Small, since a first passage
that the question names is far ahead of the second one, which holds the answer."""

_LEAST = 1e-6
_WALKED = 50
_SEARCHED = 30


@dataclass(frozen=True)
class Ranking:
    """Passages in the order in which they probably answer a question."""

    chunks: tuple[Fused, ...]
    """All that were found, best first; the score is the odds beside the best one, from 1 down, and `sources`
    are the rankings that hold each."""

    passing: int
    """How many of the first are good enough, beside the best one, to be read."""

    rankings: Mapping[str, Sequence[Hit]]
    """What each search found: `fulltext`, `vector`, `graph`, `walk`, each best first; for the trace."""

    signals: Mapping[int, Signals]
    """What spoke for each chunk, by its id."""


def rank_passages(
    store: Store,
    query: Query,
    entities: Sequence[EntityHit] = (),
    relations: Sequence[RelationHit] = (),
    *,
    limit: int,
    ids: Ids | None = None,
    scale: Scale | None = None,
) -> Ranking:
    """The best chunks for a question, at most `limit`.

    `entities` and `relations` are those that were found in the read graph. `ids`, if given, are the only
    chunks that may be found or gone through. `scale` is the question's, if it was worked out with more than
    chunks.
    """
    near = query.nearest(store, "chunk", ids)
    scale = scale or scale_of(near)
    words = store.fulltext.search(query.question, max(limit, _SEARCHED), ids)
    rankings: dict[str, Sequence[Hit]] = {
        "fulltext": near_best(words, WORDS_SHARE),
        "vector": scale.near(near, CHUNK_SHARE, max(limit, _SEARCHED)),
        "graph": [hit for hit in chunks_of(entities, relations) if ids is None or hit.id in ids][:limit],
    }
    signals = _signals(store, query, entities, rankings, (words, near), ids)
    scores = as_matrix(signals.values()) @ as_matrix([WEIGHTS])[0]
    odds = np.exp(scores - scores.max(initial=-np.inf)).tolist()
    order = sorted(zip(signals, odds, strict=True), key=lambda item: (-item[1], item[0]))[:limit]
    sources: dict[int, list[str]] = {chunk: [] for chunk in signals}
    for name, hits in rankings.items():
        for hit in hits:
            if hit.id in sources:
                sources[hit.id].append(name)
    chunks = tuple(Fused(chunk, score, tuple(sources[chunk])) for chunk, score in order)
    passing = sum(1 for item in chunks if item.score >= LEAST_SHARE)
    return Ranking(chunks, passing, rankings, signals)


def _signals(
    store: Store,
    query: Query,
    entities: Sequence[EntityHit],
    rankings: dict[str, Sequence[Hit]],
    searched: tuple[Sequence[Hit], Sequence[Hit]],
    ids: Ids | None,
) -> dict[int, Signals]:
    """What speaks for each candidate; adds the ranking of the walk to the others."""
    graph = store.zero.adjacency.graph()
    terms = QuestionTerms(store, query.question, len(graph.chunk_ids))
    words, near = searched
    keys = [row.key for row in store.graph.entities(hit.id for hit in entities)]
    starts = starts_of(store, graph, query.question, terms, keys)
    seeds = [item.id for item in rrf(rankings, unknown=_unknown(store, query, rankings, near))]
    walked = Walk(graph, seeds, starts.nodes, ids).scores()
    rankings["walk"] = best(walked, _WALKED)
    found = dict.fromkeys(
        hit.id for hits in (*rankings.values(), words[:_SEARCHED], near[:_SEARCHED]) for hit in hits
    )
    rows = [row for row in store.chunks.many(found) if row.text.strip()]
    there = {row.id for row in rows}
    first = [hit.id for hit in rankings["walk"][:FIRST]]
    scene = Scene(graph, terms, starts, walked, rows, first, store.zero.adjacency.spots(graph, first))
    by_vector = _by_vector(store, query, there)
    # A chunk without a vector yet counts as its words do, so that what is new is not placed behind.
    by_words = {hit.id: hit.score / words[0].score for hit in words}
    shares = {chunk: by_vector.get(chunk, by_words.get(chunk, 0.0)) for chunk in sorted(there)}
    return {chunk: scene.signals(chunk, share) for chunk, share in shares.items()}


def _unknown(
    store: Store, query: Query, rankings: Mapping[str, Sequence[Hit]], near: Sequence[Hit]
) -> dict[str, set[int]]:
    """What vectors and the read graph cannot know yet: it is not placed behind what they know.

    `near` are chunks that surely have a vector.
    """
    found = {hit.id for hits in rankings.values() for hit in hits}
    unknown: dict[str, set[int]] = {}
    if rankings["vector"]:
        unknown["vector"] = query.without_vector(store, found - {hit.id for hit in near})
    if rankings["graph"]:
        unknown["graph"] = {row.id for row in store.chunks.many(found) if row.state != "read"}
    return unknown


def _by_vector(store: Store, query: Query, chunks: Collection[int]) -> dict[int, float]:
    """The cosine of each chunk that has a vector, beside the best one; what all questions and all chunks have
    in common is taken off before."""
    middle = None if query.vector is None else store.vectors.middle(query.space_id, "chunk")
    if query.vector is None or query.ordinary is None or middle is None:
        return {}
    ids, vectors = store.vectors.stored(query.space_id, "chunk", chunks)
    bare = vectors - middle
    cosines = bare @ (query.vector - query.ordinary) / np.maximum(np.linalg.norm(bare, axis=1), _LEAST)
    shares = np.clip(cosines / max(cosines.max(initial=0.0), _LEAST), 0.0, 1.0)
    return dict(zip(ids.tolist(), shares.tolist(), strict=True))
