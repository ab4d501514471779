"""An answer with its citations, and the events by which it comes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from localrag.retrieval.types import Coverage, Retrieved

if TYPE_CHECKING:
    from localrag.answering.checking import SentenceCheck
    from localrag.answering.explaining import Explanation
    from localrag.answering.originals import OriginalState
    from localrag.answering.request import Prepared
    from localrag.answering.tables_types import TableAnswer

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

    heading: str = ""
    """Headings that the place stands under, joined by ` › `."""

    base: str = ""
    """Name of the knowledge base, where it is not the one that was asked."""

    state: OriginalState = "unknown"
    """What had become of the document's file when the question was asked."""

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
            "heading": self.heading,
            "base": self.base,
            "state": self.state,
        }


@dataclass(frozen=True)
class Step:
    """Something that a question only describes, looked up before the question itself."""

    question: str
    """What was asked to have it named."""

    answer: str = ""
    """The name; empty while it is being looked up."""

    citations: tuple[Citation, ...] = ()
    """What the answer rests on."""

    def to_json(self) -> dict[str, Any]:
        """The step for programs."""
        return {
            "question": self.question,
            "answer": self.answer,
            "documents": list(dict.fromkeys(citation.document for citation in self.citations)),
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
    """Mode that answered; `table` where a question to list, count or compare was answered from the tables."""

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
    """What was found; not all of it fits the context. None where a kept answer is given."""

    rewritten: str = ""
    """The question that was searched, where `question` is a follow-up that needed what was said before."""

    steps: tuple[Step, ...] = ()
    """What was looked up first; their sources are among the citations."""

    kept: str = ""
    """When the answer was written, if it was kept from then; UTC, ISO 8601."""

    session: int | None = None
    """The conversation that it was stored in."""

    notes: tuple[str, ...] = ()
    """What the person should know, such as a search that could not be used, in sentences."""

    table: TableAnswer | None = None
    """All rows, where the tables answered; the text may show only the first of them."""

    checks: tuple[SentenceCheck, ...] = ()
    """Each sentence held against what it cites; empty if nothing was written."""

    explanation: Explanation | None = None
    """How it came about: what was found where, what the model got to read, times."""

    def to_json(self) -> dict[str, Any]:
        """The answer for programs: the documented keys of `ask --json`, and no others."""
        return {
            "answer": self.answer,
            "abstained": self.abstained,
            "mode": self.mode,
            "model": self.model,
            "coverage": {"read": self.coverage.read, "total": self.coverage.total},
            "citations": [citation.to_json() for citation in self.citations],
            "question": self.question,
            "rewritten": self.rewritten,
            "steps": [step.to_json() for step in self.steps],
            "kept": self.kept,
            "session": self.session,
            "table": self.table.to_json() if self.table is not None else None,
            "checks": [check.to_json() for check in self.checks],
            "notes": list(self.notes),
            "seconds": {name: round(value, 3) for name, value in self.seconds.items()},
        }

    def to_markdown(self) -> str:
        """The question as a heading, then the answer."""
        title = " ".join(self.question.split())
        return f"## {title}\n\n{self.answer.strip()}\n"


@dataclass(frozen=True)
class Stored:
    """The question is stored in its conversation, whatever becomes of its answer."""

    session: int
    """The conversation."""

    message: int
    """The question in it, by the id of its message."""


@dataclass(frozen=True)
class Rewritten:
    """A follow-up question was written out; it is searched and answered in this form."""

    question: str
    """The question as it is searched."""

    asked: str
    """The question as the person put it."""


@dataclass(frozen=True)
class Kept:
    """The answer that follows was written before, from the same content, and kept."""

    created_at: str
    """When; UTC, ISO 8601."""


@dataclass(frozen=True)
class Found:
    """What was found, so that it can be shown at once."""

    retrieved: Retrieved
    """What was found."""

    final: bool = True
    """Whether the search is done and the model begins to read. False for what words and names alone have
    found while the embedding model is still loading; what all searches find follows."""


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


AskEvent = Stored | Rewritten | Kept | Step | Found | Reading | AnswerText | Answer


@dataclass(frozen=True)
class Prompted:
    """A prompt that was built and not run."""

    question: str
    """The question as the person put it."""

    retrieved: Retrieved
    """What was found; its question is the one that was searched."""

    prepared: Prepared | None
    """The call; None if no model would be asked, because nothing was found."""

    explanation: Explanation
    """What was found where, and what went into the prompt."""
