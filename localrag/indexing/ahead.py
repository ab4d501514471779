"""What lies ahead of an index run, looked up before it begins: documents in their order, vectors, time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from localrag.engines import Engines
from localrag.indexing.estimate import Estimate
from localrag.indexing.order import MOST_CHOSEN, planned, preferred
from localrag.indexing.preference import Preference
from localrag.store.database import Store
from localrag.store.rows import WaitingChunk
from localrag.store.space_rows import VectorCounts


@dataclass(frozen=True)
class WaitingDocument:
    """A document of which chunks wait to be read."""

    document_id: int
    """The document."""

    path: str
    """Its path as it is stored."""

    chunks: int
    """Chunks that wait."""

    of: int
    """Chunks that it has."""

    tokens: int
    """Estimated tokens of the chunks that wait."""

    first: int
    """Place of its next chunk in the order of reading, from 1."""

    preferred: bool = False
    """Whether a person wants it before others."""


@dataclass(frozen=True)
class Ahead:
    """What an index run would do now."""

    estimate: Estimate
    """What reading takes."""

    documents: tuple[WaitingDocument, ...]
    """What waits, that whose next chunk comes first at the head."""

    ordered: bool
    """Whether `documents` stand in the order of reading; for very many chunks the run itself finds it."""

    missing: VectorCounts
    """Vectors that are to be made of what is there; what is found while reading comes on top."""

    embedder: bool
    """Whether an embedding model can be had. Without it no vectors are made."""

    left_out: int
    """Chunks that no run tries by itself: they failed twice, or the engine died over them."""


def look_ahead(store: Store, engines: Engines, estimate: Estimate, prefer: Preference | None = None) -> Ahead:
    """What a run would do now; nothing is changed, and no model is started."""
    ranks = (prefer or Preference()).ranks()
    rows = [row for part in store.chunks.waiting() for row in part]
    ordered = len(rows) <= MOST_CHOSEN
    rows = planned(store, prefer=ranks) if ordered else preferred(rows, ranks)
    counts = store.chunks.count()
    return Ahead(
        estimate=estimate,
        documents=_by_document(store, rows, ranks),
        ordered=ordered,
        missing=_missing(store),
        embedder=engines.has_embedder(),
        left_out=max(counts.total - counts.read - len(rows), 0),
    )


def _by_document(
    store: Store, rows: list[WaitingChunk], ranks: Mapping[int, int]
) -> tuple[WaitingDocument, ...]:
    known = {row.id: row for row in store.documents.list()}
    chunks: dict[int, int] = {}
    tokens: dict[int, int] = {}
    first: dict[int, int] = {}
    for place, row in enumerate(rows, 1):
        first.setdefault(row.document_id, place)
        chunks[row.document_id] = chunks.get(row.document_id, 0) + 1
        tokens[row.document_id] = tokens.get(row.document_id, 0) + row.tokens
    return tuple(
        WaitingDocument(
            document_id=key,
            path=known[key].path,
            chunks=chunks[key],
            of=known[key].chunks,
            tokens=tokens[key],
            first=place,
            preferred=key in ranks,
        )
        for key, place in first.items()
        if key in known  # else it was deleted between two looks
    )


def _missing(store: Store) -> VectorCounts:
    """Vectors that are to be made, in the space that is searched or, without one, in a new one."""
    active = store.vectors.active_space()
    if active is None:
        graph = store.graph.counts()
        return VectorCounts(store.chunks.count().total, graph.entities, graph.relations)
    return VectorCounts(
        store.vectors.count_missing(active.id, "chunk"),
        store.vectors.count_missing(active.id, "entity"),
        store.vectors.count_missing(active.id, "relation"),
    )
