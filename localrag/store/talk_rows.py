"""Conversations and kept answers, as plain frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Role = Literal["user", "assistant"]
MessageState = Literal["whole", "stopped", "failed"]
CitationKind = Literal["document", "entity", "relation"]


@dataclass(frozen=True)
class SessionRow:
    """A conversation."""

    id: int
    """Never used again after it was deleted."""

    title: str
    """A name for people."""

    created_at: str
    """UTC, ISO 8601."""

    changed_at: str
    """When a message was added or the title changed; UTC, ISO 8601."""

    messages: int
    """Number of messages."""


@dataclass(frozen=True)
class NewCitation:
    """What a message rests on; the answer's citations have these fields."""

    number: int
    """Its mark in the text, such as 2 for [2]."""

    label: str
    """How the list of references names it."""

    kind: CitationKind
    """What is cited."""

    document: str
    """Path of the document; empty if no place is known, then no text is kept either."""

    page: int | None
    """Page, where the document has pages."""

    start: int
    """First character in the document's text."""

    end: int
    """One past the last character."""

    text: str
    """The document's text at that place."""

    chunk_id: int | None = None
    """The chunk that holds the place; found by path and place if it is not given."""


@dataclass(frozen=True)
class CitationRow:
    """A stored citation."""

    id: int
    """Never used again after it was deleted."""

    number: int
    """Its mark in the text."""

    label: str
    """How the list of references names it; empty for an entity or a relation whose source is gone."""

    kind: CitationKind
    """What is cited."""

    document_id: int | None
    """The document; None if the source is gone."""

    chunk_id: int | None
    """The chunk; None if the source is gone."""

    document: str
    """Path of the document, kept when the document is gone; empty if it never had a place."""

    page: int | None
    """Page, where the document has pages."""

    start: int
    """First character in the document's text as it is now."""

    end: int
    """One past the last character."""

    text: str
    """The document's text at that place; empty if the source is gone."""

    gone: bool
    """Whether the source was deleted, or changed so that the text is not there any more."""


@dataclass(frozen=True)
class MessageRow:
    """One turn of a conversation."""

    id: int
    """Never used again after it was deleted."""

    session_id: int
    """The conversation."""

    role: Role
    """Who said it."""

    state: MessageState
    """`stopped` and `failed` messages hold what was written until then."""

    created_at: str
    """UTC, ISO 8601."""

    details: Mapping[str, Any]
    """Of an answer mode, model, coverage, seconds; of a question how it was searched, and its options."""

    text: str
    """What was said."""

    citations: tuple[CitationRow, ...] = ()
    """What it rests on, by number."""


@dataclass(frozen=True)
class AnswerRow:
    """A kept answer."""

    key: str
    """Hash of all that the answer depends on beside the content."""

    revision: int
    """Revision of the content that it was given from."""

    created_at: str
    """UTC, ISO 8601."""

    question: str
    """As it was asked."""

    answer: str
    """JSON, as it was put."""
