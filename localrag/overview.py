"""The state of a knowledge base in one look, as `status` and the screens show it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from localrag.retrieval.types import Coverage
from localrag.store.database import Store
from localrag.store.graph_rows import GraphCounts
from localrag.store.rows import ChunkCounts, DocumentRow, JournalTotals
from localrag.store.space_rows import SpaceProgress, VectorCounts


@dataclass(frozen=True)
class VectorStatus:
    """The vectors of a file."""

    model: str
    """Name of the embedding model that made them; empty without any."""

    dimension: int
    """Length of a vector; 0 without any."""

    chunks: int
    """Chunks that have one."""

    entities: int
    """Entities that have one."""

    relations: int
    """Relations that have one."""

    building: SpaceProgress | None = None
    """Vectors of another model that are being made to replace these; None if there are none."""


@dataclass(frozen=True)
class Status:
    """The state of a knowledge base."""

    path: Path
    """Its file."""

    documents: tuple[DocumentRow, ...]
    """All documents, by path."""

    chunks: ChunkCounts
    """Chunks by state."""

    graph: GraphCounts
    """Entities and relations."""

    vectors: VectorStatus
    """Vectors."""

    coverage: Coverage
    """How much of the text the model has read."""

    revision: int
    """Grows with every change of the content."""

    size: int
    """Bytes of the file."""

    read_only: bool
    """Whether it can only be asked."""

    journal: JournalTotals
    """What the model wrote, in sums."""


def overview(store: Store) -> Status:
    """The state of an open file. A screen asks every second, so nothing is counted that it does not show."""
    chunks = store.chunks.count()
    space = store.vectors.active_space()
    vectors = store.vectors.count_vectors(space.id) if space is not None else VectorCounts()
    return Status(
        path=store.path,
        documents=tuple(store.documents.list()),
        chunks=chunks,
        graph=store.graph.counts(),
        vectors=VectorStatus(
            model=space.model if space is not None else "",
            dimension=space.dimension if space is not None else 0,
            chunks=vectors.chunk,
            entities=vectors.entity,
            relations=vectors.relation,
            building=store.vectors.building_progress(),
        ),
        coverage=Coverage(chunks.read, chunks.total),
        revision=store.revision(),
        size=store.size(),
        read_only=store.read_only,
        journal=store.journal.totals(),
    )
