"""What retrieval finds for a question: plain data that the answer, the command line and the screen share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from localrag.retrieval.trace import Trace
from localrag.store.filters import Filter

MODES = ("auto", "mix", "naive", "local", "global", "hybrid", "path", "bypass", "drift", "communities")
"""Modes that can be asked for. `auto` takes one of the others by the kind of question; the last two are
answered by another one until the graph's communities can be asked."""

BYPASS = "bypass"
"""The mode in which nothing is searched and the model answers from what it knows."""

KeywordsBy = Literal["words", "model", "person", "none"]


@dataclass(frozen=True)
class Keywords:
    """What of a question is searched for by itself."""

    high: tuple[str, ...] = ()
    """Themes, and what kind of answer is wanted: relations are searched with them."""

    low: tuple[str, ...] = ()
    """Single things: entities are searched with them."""

    by: KeywordsBy = "none"
    """Who found them: `words` is the question itself without a model; `person` gave them with it."""

    @property
    def empty(self) -> bool:
        """Whether there are none."""
        return not (self.high or self.low)


NO_KEYWORDS = Keywords()
"""None were looked for."""


@dataclass(frozen=True)
class RetrievalOptions:
    """How a question is searched; what is None comes from the settings."""

    mode: str = "auto"
    """One of `MODES`."""

    filter: Filter = field(default_factory=Filter)
    """What passages, entities and relations are narrowed to."""

    keywords: Literal["auto", "model", "words"] | None = None
    """Who finds keywords: the model, the words alone, or `auto`: the model in the modes that live on them."""

    given: Keywords | None = None
    """Keywords that the person gives, in place of all others."""

    rerank: bool | None = None
    """Whether the reranker puts the best passages in order, if there is one."""

    passages: int | None = None
    """Most passages."""

    entities: int | None = None
    """Most entities."""

    relations: int | None = None
    """Most relations."""


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
    """Which searches found it, such as `fulltext`, `vector`, `keywords`, `graph`, `names`."""

    base: str = ""
    """Name of the knowledge base that it is in, where it is not the one that was asked."""


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
    """Chunks that mention it; with a filter only those that pass."""

    base: str = ""
    """Name of the knowledge base that it is in, where it is not the one that was asked."""


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
    """Chunks that state it; with a filter only those that pass."""

    base: str = ""
    """Name of the knowledge base that it is in, where it is not the one that was asked."""


@dataclass(frozen=True)
class Retrieved:
    """All that was found for a question, each list best first."""

    question: str
    """The question as it was searched."""

    mode: str
    """The mode that was used: one of `MODES`, and never `auto`."""

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

    asked: str = ""
    """The mode that was asked for; empty where it is `mode`."""

    why: str = ""
    """Why `auto` took this mode, as part of a sentence; empty where the person chose it."""

    keywords: Keywords = NO_KEYWORDS
    """What was searched for beside the question as a whole."""

    trace: Trace = field(default_factory=Trace)
    """Every candidate with its score in each search."""

    @property
    def empty(self) -> bool:
        """Whether nothing at all was found."""
        return not (self.passages or self.entities or self.relations)
