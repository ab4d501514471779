"""An answer with its citations, and the events by which it comes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from localrag.retrieval.types import Coverage, Retrieved

CitationKind = Literal["document", "entity", "relation"]


@dataclass(frozen=True)
class Citation:
    """One thing of the context that the answer rests on."""

    number: int
    """Its mark in the answer, such as 2 for [2], and its place in the list of references. Citations of
    one document share a number, since the list names each document once."""

    label: str
    """How the list names it: `[DC] file`, `[KG] name` or `[KG] name - name`."""

    kind: CitationKind
    """What is cited. For an entity or a relation, the span is of a passage that mentions it."""

    document: str
    """Path of the document as it is stored; empty if no place in a document is known."""

    page: int | None
    """Page, where the document has pages."""

    start: int
    """First character in the document's text."""

    end: int
    """Behind its last character; checked: `document text[start:end]` is `text`."""

    text: str
    """The text at that place, as the model saw it."""

    def to_json(self) -> dict[str, Any]:
        """The citation for programs."""
        return {
            "label": self.label,
            "kind": self.kind,
            "document": self.document,
            "page": self.page,
            "start": self.start,
            "end": self.end,
            "text": self.text,
        }


@dataclass(frozen=True)
class Answer:
    """The answer to a question; the last event of a stream."""

    question: str
    """The question as it was asked, control characters removed."""

    answer: str
    """Markdown: the body and its list of references; the same text that the stream gave in pieces."""

    abstained: bool
    """Whether the knowledge base did not hold an answer."""

    mode: str
    """Mode that answered."""

    model: str
    """Name of the model that wrote it; empty if none was asked, because nothing was found."""

    coverage: Coverage
    """How much of the corpus had been read."""

    citations: tuple[Citation, ...]
    """What the answer rests on, in the order of the list of references."""

    language: str
    """Language of the question, such as `en` or `zh`."""

    seconds: Mapping[str, float] = field(default_factory=dict)
    """Wall time: `retrieval`, `first_text` (until the first word), `total`."""

    retrieved: Retrieved | None = None
    """What was found; not all of it fits the context."""

    def to_json(self) -> dict[str, Any]:
        """The answer for programs: the documented keys of `ask --json`, and no others."""
        return {
            "answer": self.answer,
            "abstained": self.abstained,
            "mode": self.mode,
            "model": self.model,
            "coverage": {"read": self.coverage.read, "total": self.coverage.total},
            "citations": [citation.to_json() for citation in self.citations],
        }

    def to_markdown(self) -> str:
        """The question as a heading, then the answer."""
        title = " ".join(self.question.split())
        return f"## {title}\n\n{self.answer.strip()}\n"


@dataclass(frozen=True)
class Found:
    """Retrieval is done; the model begins to read."""

    retrieved: Retrieved
    """What was found."""


@dataclass(frozen=True)
class Reading:
    """The model reads the prompt; sent a few times a second."""

    done: int
    """Prompt tokens read."""

    total: int
    """Prompt tokens in all."""

    rate: float
    """Tokens read per second; 0 while unknown."""


@dataclass(frozen=True)
class AnswerText:
    """A piece of the answer."""

    text: str
    """Text to append; all pieces joined are `Answer.answer`."""


AskEvent = Found | Reading | AnswerText | Answer
