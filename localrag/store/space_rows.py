"""What the store tells of embedding spaces, as plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

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


class SpaceFields(Protocol):
    """What `Vectors.ensure_space` needs to know; the engine's `EmbeddingSpace` has these fields."""

    @property
    def fingerprint(self) -> str:
        """Identity of model, pooling, prefixes and limit together."""

    @property
    def model(self) -> str:
        """Name of the model."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    @property
    def pooling(self) -> str:
        """`mean`, `cls` or `last`."""

    @property
    def query_prefix(self) -> str:
        """Put before a question."""

    @property
    def passage_prefix(self) -> str:
        """Put before a searched text."""

    @property
    def limit(self) -> int:
        """Tokens after which a text is cut."""


@dataclass(frozen=True)
class SpaceRow:
    """A stored embedding space."""

    id: int
    """For the calls of `Vectors`."""

    fingerprint: str
    """Identity of model, pooling, prefixes and limit together."""

    model: str
    """Name of the model."""

    dimension: int
    """Length of a vector."""

    pooling: str
    """`mean`, `cls` or `last`."""

    query_prefix: str
    """Put before a question."""

    passage_prefix: str
    """Put before a searched text."""

    limit: int
    """Tokens after which a text is cut."""

    active: bool
    """True for the one space that questions are searched in."""


@dataclass(frozen=True)
class Hit:
    """One result of a search."""

    id: int
    """Row that was found."""

    score: float
    """Higher is better. Cosine for vectors; see `FullText.search` for full text."""
