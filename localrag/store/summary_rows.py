"""What is asked of the store before a summary is written, as plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass

from localrag.store.report_rows import SummaryKind


@dataclass(frozen=True)
class Waiting:
    """An entity or a relation whose descriptions changed since they were last looked at."""

    kind: SummaryKind
    """What it is."""

    row_id: int
    """Its id."""

    weight: int
    """How much hangs together by it: chunks that mention it, and relations of an entity."""


@dataclass(frozen=True)
class Saying:
    """What one mention says."""

    chunk_id: int
    """The chunk."""

    text: str
    """The description; not empty."""

    type: str
    """The type that the entity has there; empty for relations."""

    language: str
    """The chunk's language."""


@dataclass(frozen=True)
class Said:
    """All that is said of an entity or a relation."""

    kind: SummaryKind
    """What it is."""

    row_id: int
    """Its id."""

    name: str
    """The entity's name, or that of the relation's source."""

    target: str
    """Name of the relation's target; empty for entities."""

    own: bool
    """Whether a person's words stand in place of all that was read."""

    sayings: tuple[Saying, ...]
    """What the mentions say, in the order of their chunks; those that say nothing are left out."""

    chunks: tuple[int, ...]
    """All chunks that mention it, ascending; the name comes from them too."""
