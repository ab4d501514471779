"""A question made ready for searching: its vector if there can be one, and a note if there cannot."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localrag.engine.types import Embedder
from localrag.errors import Cancelled, EngineError, ModelError
from localrag.store.database import Store
from localrag.store.rows import Hit, VectorKind

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

    notes: tuple[str, ...] = ()
    """Why there is no vector, for people."""

    def nearest(self, store: Store, kind: VectorKind) -> list[Hit]:
        """The `SAMPLE` rows of a kind whose vectors are nearest, best first; none without a vector."""
        if self.vector is None:
            return []
        return store.vectors.search(self.space_id, kind, self.vector, SAMPLE)

    def without_vector(self, store: Store, chunk_ids: Collection[int]) -> set[int]:
        """Which of the chunks have no vector yet; none if vectors are not searched at all."""
        if self.vector is None or not chunk_ids:
            return set()
        hits = store.vectors.search(self.space_id, "chunk", self.vector, len(chunk_ids), chunk_ids)
        return set(chunk_ids) - {hit.id for hit in hits}


def make_query(store: Store, embedder: Embedder | None, question: str) -> Query:
    """The query for a question.

    The embedder is started only if the file has vectors. Whatever keeps it from working becomes a note, so
    that full text and the graph still answer; only `Cancelled` is raised.
    """
    space = store.vectors.active_space()
    if space is None:
        return _without_vector(question, "there are no vectors yet")
    if embedder is None:
        return _without_vector(question, "no embedding model is in use")
    try:
        used = embedder.space
        if used.fingerprint != space.fingerprint:
            reason = (
                f"the vectors were made by {space.model}, which is not here, and the model in use is "
                f"{used.model}; localrag reembed makes new vectors"
            )
            return _without_vector(question, reason)
        vector = embedder.embed([question], "query")[0]
    except Cancelled:
        raise
    except (EngineError, ModelError) as error:
        return _without_vector(question, f"the embedding model cannot be used ({error.message.rstrip('.')})")
    return Query(question, vector, space.id)


def _without_vector(question: str, reason: str) -> Query:
    return Query(question, notes=(f"Only words and names were searched: {reason}.",))
