"""What is known of how an answer came about, read from the knowledge base."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from localrag.plain import plain

if TYPE_CHECKING:
    from localrag.answering.checking import SentenceCheck
    from localrag.answering.tables_types import TableAnswer
    from localrag.answering.types import Answer
    from localrag.kb import KnowledgeBase


@dataclass(frozen=True)
class Basis:
    """All that is known of how an answer came about."""

    asked: str
    """The question as it was asked."""

    rewritten: str = ""
    """The question as it was searched, if that was another one."""

    steps: tuple[tuple[str, str], ...] = ()
    """What the question only describes and was looked up first: question and answer of each."""

    mode: str = ""
    """The mode that answered."""

    coverage: tuple[int, int] | None = None
    """Chunks that had been read, and all; None if that is not known."""

    kept: str = ""
    """When the answer was written, if it was kept from then."""

    abstained: bool = False
    """Whether the documents did not hold an answer."""

    notes: tuple[str, ...] = ()
    """What the person was told."""

    checks: tuple[SentenceCheck, ...] = ()
    """Each sentence held against what it cites."""

    table: TableAnswer | None = None
    """The table that answered."""

    statements: tuple[str, ...] = ()
    """The sentences of the answer; what they share with a passage is marked in it."""

    explanation: Mapping[str, Any] = field(default_factory=dict)
    """As `KnowledgeBase.explain` gives it; empty if nothing is known."""

    unknown: str = ""
    """Why nothing is known of how it came about."""

    session: int | None = None
    """The conversation that it is stored in."""

    number: int | None = None
    """Its number among the answers of that."""


def read_basis(
    kb: KnowledgeBase, answer: Answer | None, question: str, session: int | None, number: int | None
) -> Basis:
    """Read what is known of an answer: one that was just given, or one of a conversation."""
    from localrag.answering.shared import sentences_on
    from localrag.errors import UsageError

    session = session if session is not None else answer.session if answer is not None else None
    if session is not None and number is None and answer is not None:
        number = _number_of(kb, session, answer)
    explanation = kb.explain(answer) if answer is not None else {}
    unknown = ""
    if not explanation and session is not None and number is not None:
        try:
            explanation = kb.sessions.explanation(session, number)
        except UsageError as error:
            unknown = f"{plain(error.message)} {plain(error.hint)}".strip()
    if not explanation:
        unknown = unknown or "How this answer came about was not kept."
    known = Basis(question, explanation=explanation, unknown=unknown, session=session, number=number)
    if answer is not None:
        return replace(
            known,
            asked=answer.question or question,
            rewritten=answer.rewritten,
            steps=tuple((step.question, step.answer) for step in answer.steps),
            mode=answer.mode,
            coverage=(answer.coverage.read, answer.coverage.total),
            kept=answer.kept,
            abstained=answer.abstained,
            notes=answer.notes,
            checks=answer.checks,
            table=answer.table,
            statements=sentences_on(answer.answer, 0),
        )
    return known if session is None else _of_message(kb, known, session, number)


def _of_message(kb: KnowledgeBase, known: Basis, session: int, number: int | None) -> Basis:
    """What is stored with an answer of a conversation."""
    from localrag.answering.shared import sentences_on

    message = kb.sessions.answer(session, number)
    details = message.details
    coverage = details.get("coverage") or {}
    searched = str(known.explanation.get("question", ""))
    steps = tuple((step["question"], step["answer"]) for step in known.explanation.get("steps", ()))
    return replace(
        known,
        # With steps the names that they found stand in it.
        rewritten=searched if searched != known.asked and not steps else "",
        steps=steps,
        mode=str(details.get("mode", "")),
        coverage=(int(coverage["read"]), int(coverage["total"])) if coverage else None,
        kept=str(details.get("kept") or ""),
        abstained=bool(details.get("abstained")),
        statements=sentences_on(message.text, 0),
    )


def _number_of(kb: KnowledgeBase, session: int, answer: Answer) -> int | None:
    """The number of an answer in its conversation; the last of those with the same words."""
    rows = [row for row in kb.sessions.messages(session) if row.role == "assistant"]
    same = [place for place, row in enumerate(rows, start=1) if row.text.strip() == answer.answer.strip()]
    return same[-1] if same else None
