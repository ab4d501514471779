"""Puts the best chunks in the order of a model that reads question and chunk together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from localrag.errors import Cancelled, EngineError, ModelError
from localrag.retrieval.fusion import Fused, as_hits, rrf
from localrag.store.database import Store
from localrag.store.space_rows import Hit

READ = 20
"""Most chunks that are read again: each costs as much as embedding it."""

WEIGHT = 2.0
"""How much the reranker counts beside the order before: it sees one chunk at a time, and knows nothing of a
second one that an answer needs."""


class Reranking(Protocol):
    """A model that says how well texts answer a question."""

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """A number for each text, in their order; higher is better."""

    def close(self) -> None:
        """Stop it. May be called twice."""


def reranked(
    store: Store, question: str, chunks: Sequence[Fused], model: Callable[[], Reranking]
) -> tuple[list[Fused], list[Hit], str]:
    """The chunks in their new order, the reranker's own order, and why it could not be used, if so.

    A model that fails leaves the order as it was, which is told; only `Cancelled` is raised.
    """
    first = list(chunks[:READ])
    if len(first) < 2:
        return list(chunks), [], ""
    texts = {row.id: row.text for row in store.chunks.many(item.id for item in first)}
    read = [item for item in first if texts.get(item.id, "").strip()]
    try:
        scores = model().scores(question, [texts[item.id] for item in read])
    except Cancelled:
        raise
    except (EngineError, ModelError) as error:
        return list(chunks), [], f"The reranker cannot be used ({error.message.rstrip('.')})."
    hits = [Hit(item.id, score) for item, score in zip(read, scores, strict=True)]
    hits.sort(key=lambda hit: (-hit.score, hit.id))
    before = as_hits(first)
    joined = rrf({"before": before, "rerank": hits}, {"rerank": WEIGHT})
    sources = {item.id: item.sources for item in first}
    order = [Fused(item.id, item.score, (*sources[item.id], "rerank")) for item in joined]
    return [*order, *chunks[READ:]], hits, ""
