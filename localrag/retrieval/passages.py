"""Makes passages of the chunks that were found."""

from __future__ import annotations

from collections.abc import Sequence

from localrag.errors import UsageError
from localrag.retrieval.fusion import Fused
from localrag.retrieval.types import Passage
from localrag.store.database import Store

LEAST_SHARE = 0.3
"""A chunk whose fused score is a smaller share of the best one's is not shown."""


def candidates(passages: int) -> int:
    """How many chunks each search is asked for when `passages` are wanted."""
    return max(30, 6 * passages)


def as_passages(
    store: Store, fused: Sequence[Fused], limit: int, least: float = LEAST_SHARE
) -> tuple[Passage, ...]:
    """The first chunks of a fused ranking with their documents; those that are gone meanwhile left out.

    `least` is the share of the best score below which a chunk is not shown.
    """
    best = fused[0].score if fused else 0.0
    kept = [item for item in fused[:limit] if item.score >= least * best]
    chunks = {row.id: row for row in store.chunks.many([item.id for item in kept])}
    paths = {row.document_id: path_of(store, row.document_id) for row in chunks.values()}
    passages = []
    for item in kept:
        row = chunks.get(item.id)
        path = paths[row.document_id] if row is not None else None
        if row is None or path is None:
            continue
        passages.append(
            Passage(
                chunk_id=row.id,
                document_id=row.document_id,
                document=path,
                page=row.page,
                heading=row.heading,
                start=row.start,
                end=row.end,
                text=row.text,
                score=item.score,
                sources=item.sources,
            )
        )
    return tuple(passages)


def path_of(store: Store, document_id: int) -> str | None:
    """Path of a document as it is stored; None if it was deleted meanwhile."""
    try:
        return store.documents.get(document_id).path
    except UsageError:
        return None
