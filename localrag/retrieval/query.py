"""A question made ready for searching: its vector if there can be one, and a note if there cannot."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from localrag.engine.types import Embedder
from localrag.errors import Cancelled, EngineError, ModelError
from localrag.retrieval.ordinary import ordinary_question
from localrag.retrieval.scope import EVERYTHING, Scope
from localrag.retrieval.types import NO_KEYWORDS, Keywords
from localrag.store.database import Store
from localrag.store.rows import VectorKind
from localrag.store.space_rows import Hit

LEAST_COSINE = 0.2
"""Below it two texts have nothing in common, whatever the model."""

SAMPLE = 200
"""Rows looked at to learn what an ordinary cosine is."""

_FEW = 8


@dataclass(frozen=True)
class Scale:
    """The range of cosines of one question.

    Models differ in the cosine of texts that have nothing in common, from 0 to .8, so a threshold lies
    between an ordinary row of this file and the best one.
    """

    ordinary: float
    """Cosine of a row that has little to do with the question."""

    best: float
    """The highest cosine."""

    def near(self, hits: Sequence[Hit], share: float, limit: int) -> list[Hit]:
        """The first hits that lie at least `share` of the way from ordinary to best."""
        least = max(LEAST_COSINE, self.ordinary + share * (self.best - self.ordinary))
        return [hit for hit in hits[:limit] if hit.score >= least]


def scale_of(chunks: Sequence[Hit], *others: Sequence[Hit]) -> Scale:
    """The scale of a question from its nearest chunks and whatever else was found, each best first."""
    best = max((hits[0].score for hits in (chunks, *others) if hits), default=0.0)
    # The last of a few may be as good as the first.
    return Scale(chunks[-1].score if len(chunks) >= _FEW else 0.0, best)


@dataclass(frozen=True)
class Query:
    """What the modes search with."""

    question: str
    """The question."""

    vector: NDArray[np.float32] | None = None
    """Its unit vector, of shape (dimension,); None if vectors cannot be searched."""

    space_id: int = 0
    """The space that the vector belongs to."""

    ordinary: NDArray[np.float32] | None = None
    """The mean vector of ordinary questions in that space; None without a vector."""

    notes: tuple[str, ...] = ()
    """Why there is no vector, for people."""

    scope: Scope = EVERYTHING
    """The rows that may be found."""

    keywords: Keywords = NO_KEYWORDS
    """What is searched for beside the question as a whole."""

    named: tuple[Hit, ...] | None = None
    """The entities that the question names, best first; None if they were not looked up yet."""

    vectors: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    """Unit vectors of keywords; none where they are not searched by vectors."""

    _found: dict[VectorKind, list[Hit]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def nearest(self, store: Store, kind: VectorKind, ids: Collection[int] | None = None) -> list[Hit]:
        """The `SAMPLE` rows of a kind whose vectors are nearest, best first; none without a vector.

        Only rows in the scope count, and with `ids` only these of them.
        """
        allowed = self.scope.of(kind)
        if ids is not None and ids is not allowed:
            return self._near(store, kind, self.vector, ids)
        # Several parts of a search ask for the same.
        if kind not in self._found:
            self._found[kind] = self._near(store, kind, self.vector, None)
        return list(self._found[kind])

    def nearest_to(self, store: Store, kind: VectorKind, keyword: str) -> list[Hit]:
        """The same for one of the keywords."""
        return self._near(store, kind, self.vectors.get(keyword), None)

    def _near(
        self, store: Store, kind: VectorKind, vector: NDArray[np.float32] | None, ids: Collection[int] | None
    ) -> list[Hit]:
        if vector is None:
            return []
        allowed: Collection[int] | None = self.scope.of(kind)
        if ids is not None and allowed is not None:
            ids = [row_id for row_id in ids if row_id in allowed]
        return store.vectors.search(self.space_id, kind, vector, SAMPLE, allowed if ids is None else ids)

    def without_vector(self, store: Store, chunk_ids: Collection[int]) -> set[int]:
        """Which of the chunks have no vector yet; none if vectors are not searched at all."""
        if self.vector is None or not chunk_ids:
            return set()
        hits = store.vectors.search(self.space_id, "chunk", self.vector, len(chunk_ids), chunk_ids)
        return set(chunk_ids) - {hit.id for hit in hits}


def make_query(
    store: Store,
    embedder: Embedder | None,
    question: str,
    *,
    scope: Scope = EVERYTHING,
    keywords: Keywords = NO_KEYWORDS,
    embedded: Sequence[str] = (),
) -> Query:
    """The query for a question; `embedded` are keywords that are searched by vectors too.

    The embedder is started only if the file has vectors. Whatever keeps it from working becomes a note, so
    that full text and the graph still answer; only `Cancelled` is raised.
    """
    bare = Query(question, scope=scope, keywords=keywords)
    space = store.vectors.active_space()
    if space is None:
        return _without_vector(bare, "there are no vectors yet")
    if embedder is None:
        return _without_vector(bare, "no embedding model is in use")
    wanted = [text for text in dict.fromkeys(embedded) if text.strip()]
    try:
        used = embedder.space
        if used.fingerprint != space.fingerprint:
            reason = (
                f"the vectors were made by {space.model}, which is not here, and the model in use is "
                f"{used.model}; localrag reembed makes new vectors"
            )
            return _without_vector(bare, reason)
        vector, *others = embedder.embed([question, *wanted], "query")
        ordinary = ordinary_question(embedder)
    except Cancelled:
        raise
    except (EngineError, ModelError) as error:
        return _without_vector(bare, f"the embedding model cannot be used ({error.message.rstrip('.')})")
    vectors = dict(zip(wanted, others, strict=True))
    return replace(bare, vector=vector, space_id=space.id, ordinary=ordinary, vectors=vectors)


def _without_vector(query: Query, reason: str) -> Query:
    return replace(query, notes=(f"Only words and names were searched: {reason}.",))
