"""What could not be read, as plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FailedPassage:
    """A passage that the model could not read."""

    chunk_id: int
    """The passage."""

    document_id: int
    """Its document."""

    root: str
    """The folder that the document's path starts from."""

    path: str
    """The document's path."""

    ordinal: int
    """Place in the document, from 0."""

    attempts: int
    """How often it was tried."""

    left_out: bool
    """Whether it made the engine die, so that no run tries it again unless a person asks for it."""

    waits: bool
    """Whether the next run tries it again by itself."""

    reason: str
    """Why the last attempt failed."""


@dataclass(frozen=True)
class FailedFile:
    """A document whose file could not be read at the last try."""

    document_id: int
    """The document."""

    root: str
    """The folder that its path starts from."""

    path: str
    """Its path."""

    attempts: int
    """How often reading the file has failed since it last succeeded."""

    kept: bool
    """Whether an earlier text of it is in and stays."""

    reason: str
    """Why it failed; empty where an earlier text stays, since then the reason is that text's."""


@dataclass(frozen=True)
class Retried:
    """Failed passages that will be read again."""

    passages: int
    """Passages that wait to be read now."""

    documents: int
    """Documents that they belong to."""

    left_out: int
    """Passages of these documents that stay left out."""
