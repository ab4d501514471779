"""What retrieval finds for a question: plain data that the answer, the command line and the screen share."""

from __future__ import annotations

from dataclasses import dataclass

MODES = ("naive", "mix")
"""Modes that `retrieve` knows: chunks only, and chunks with entities and relations."""


@dataclass(frozen=True)
class Coverage:
    """How much of the corpus the model had read when the question was asked."""

    read: int
    """Chunks whose entities and relations are in the file."""

    total: int
    """Chunks in all."""

    @property
    def share(self) -> float:
        """Read part between 0 and 1; 1 where there is nothing to read."""
        return self.read / self.total if self.total else 1.0


@dataclass(frozen=True)
class Passage:
    """A stretch of a document that may answer the question."""

    chunk_id: int
    """Chunk that it comes from."""

    document_id: int
    """Document that it comes from."""

    document: str
    """Path of the document as it is stored."""

    page: int | None
    """Page, where the document has pages."""

    heading: str
    """Headings that it stands under, joined by ` › `; empty without any."""

    start: int
    """First character, counted in the document's text."""

    end: int
    """Behind its last character; `document text[start:end]` is `text`."""

    text: str
    """The text, verbatim."""

    score: float
    """Fused score; higher is better, comparable within one question only."""

    sources: tuple[str, ...]
    """Which searches found it: `fulltext`, `vector`, `graph`, `names`."""


@dataclass(frozen=True)
class EntityHit:
    """An entity that the question names or resembles."""

    id: int
    """Row of the entity."""

    name: str
    """Display name."""

    type: str
    """Most frequent type among its mentions."""

    description: str
    """What the documents say of it; may be empty."""

    score: float
    """Higher is better, comparable within one question only."""

    chunk_ids: tuple[int, ...]
    """Chunks that mention it."""


@dataclass(frozen=True)
class RelationHit:
    """A relation that touches a found entity or resembles the question."""

    id: int
    """Row of the relation."""

    source: str
    """Name of the entity it starts from."""

    target: str
    """Name of the entity it leads to."""

    keywords: str
    """Its key words, joined by commas."""

    description: str
    """What the documents say of it."""

    score: float
    """Higher is better, comparable within one question only."""

    chunk_ids: tuple[int, ...]
    """Chunks that state it."""


@dataclass(frozen=True)
class Retrieved:
    """All that was found for a question, each list best first."""

    question: str
    """The question as it was searched."""

    mode: str
    """One of `MODES`."""

    passages: tuple[Passage, ...]
    """Passages."""

    entities: tuple[EntityHit, ...]
    """Entities; none in mode `naive`."""

    relations: tuple[RelationHit, ...]
    """Relations; none in mode `naive`."""

    coverage: Coverage
    """How much of the corpus was read."""

    notes: tuple[str, ...] = ()
    """What the person should know, such as a search that could not be used."""

    @property
    def empty(self) -> bool:
        """Whether nothing at all was found."""
        return not (self.passages or self.entities or self.relations)
