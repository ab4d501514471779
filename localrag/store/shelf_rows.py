"""Documents as a list of all of them shows them, and what was read in a passage, as plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from localrag.store.rows import ChunkState, DocumentRow

FindingKind = Literal["entity", "relation", "claim"]


@dataclass(frozen=True)
class ShelfRow:
    """A document with what stands beside it in a list."""

    document: DocumentRow
    """The document."""

    added_at: str
    """When it was first added, UTC, ISO 8601."""

    pages: int | None
    """Its last page; None where its format has none, or it has no passages."""

    tags: tuple[str, ...]
    """Its tags as they were typed, by name."""

    left_out: int
    """Failed passages that no run tries again by itself, since they made the engine die."""


@dataclass(frozen=True)
class PassagePlace:
    """A passage of a document without its text."""

    id: int
    """The passage."""

    start: int
    """First character in the document's text."""

    end: int
    """One past the last character."""

    heading: str
    """Headings above it; may be empty."""

    page: int | None
    """Page number from 1 where the format has pages."""

    tokens: int
    """Estimated tokens."""

    state: ChunkState
    """Whether the model has read it."""

    error: str
    """Why the last attempt failed; empty after a good one."""


@dataclass(frozen=True)
class Finding:
    """Something that was read in a passage."""

    kind: FindingKind
    """What it is."""

    id: int | None
    """The entity, relation or claim; None where a person's decision took it away."""

    entity_id: int | None
    """The entity itself, the source of the relation, or whom the claim is about, if it is there."""

    name: str
    """The entity's name; `source → target`; or whom the claim is about."""

    type: str
    """Type of the entity or claim; keywords of the relation."""

    description: str
    """What the passage says of it; may be empty."""

    detail: str
    """Status and dates of a claim, strength of a relation; may be empty."""

    spans: tuple[tuple[int, int], ...]
    """Where it stands in the passage's text, ascending; empty where it is not there word for word."""
