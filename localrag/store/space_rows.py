"""What the store tells of embedding spaces, as plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass

from localrag.store.rows import VectorKind


@dataclass(frozen=True)
class VectorCounts:
    """Rows by kind."""

    chunk: int = 0
    """Chunks."""

    entity: int = 0
    """Entities."""

    relation: int = 0
    """Relations."""

    @property
    def total(self) -> int:
        """All together."""
        return self.chunk + self.entity + self.relation

    def of(self, kind: VectorKind) -> int:
        """Those of one kind."""
        return {"chunk": self.chunk, "entity": self.entity, "relation": self.relation}[kind]


@dataclass(frozen=True)
class SpaceProgress:
    """How far the vectors of another model are."""

    model: str
    """Name of the new model."""

    done: int
    """Vectors made so far; some may have to be made again, because their text changed."""

    total: int
    """Chunks, entities and relations together."""
