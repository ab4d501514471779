"""Entities and relations as they are in the file now."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EntityRow:
    """An entity: the sum of its mentions."""

    id: int
    """Never used again after the entity was deleted."""

    name: str
    """The name written in most chunks; ties go to the one that sorts first."""

    key: str
    """The folded name, unique in the file."""

    type: str
    """The type given in most chunks; ties go to the one that sorts first."""

    summary: str
    """A summary of its descriptions, or empty."""

    mentions: int
    """Number of distinct chunks that mention it."""

    descriptions: tuple[str, ...]
    """Distinct descriptions in the order of their chunks, empty ones left out."""


@dataclass(frozen=True)
class MentionRow:
    """A stored mention of an entity."""

    chunk_id: int
    """The chunk that speaks of it."""

    name: str
    """As written."""

    start: int
    """First character in the chunk's text, or -1."""

    end: int
    """One past the last character, or -1."""

    type: str
    """The type given there."""

    description: str
    """The description given there."""


@dataclass(frozen=True)
class RelationRow:
    """A directed relation: the sum of its mentions."""

    id: int
    """Never used again after the relation was deleted."""

    source_id: int
    """Entity that it starts from."""

    target_id: int
    """Entity that it goes to."""

    source: str
    """Name of the source."""

    target: str
    """Name of the target."""

    keywords: str
    """Distinct keywords of its mentions, parted by `, `."""

    description: str
    """Distinct descriptions of its mentions, parted by a blank."""

    weight: int
    """Number of distinct chunks that mention it."""


@dataclass(frozen=True)
class GraphCounts:
    """Rows of the graph."""

    entities: int
    """Entities."""

    relations: int
    """Relations, directed."""

    mentions: int
    """Mentions of entities."""

    relation_mentions: int
    """Mentions of relations."""
