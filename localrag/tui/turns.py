"""A question and what became of it, as plain data: what the conversation draws, copies and exports."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from localrag.plain import plain, plain_lines
from localrag.tui.words import duration, share

if TYPE_CHECKING:
    from localrag.answering.types import Answer, Citation
    from localrag.retrieval.types import Retrieved

TurnState = Literal["open", "whole", "stopped", "failed", "lost"]
"""`open` while more may come; `lost` where the program ended before the answer did."""

_REFERENCES_HEADING = re.compile(r"^#{2,4} (?:References|参考资料)[ \t]*$", re.MULTILINE)


@dataclass
class TurnRecord:
    """One question of the conversation that is shown. It is kept whether or not it is drawn."""

    number: int
    """Names it in the application: that of the question, or a negative one if it was read from the file."""

    question: str
    """As it was asked."""

    text: str = ""
    """What was written of the answer so far."""

    state: TurnState = "open"
    """How it ended."""

    stage: str = "Starting"
    """What is being done before the answer begins."""

    progress: float | None = None
    """How much of what was found the model has read, between 0 and 1; None while that is not known."""

    rewritten: str = ""
    """The question as it was searched, where it needed what was said before."""

    notes: list[str] = field(default_factory=list)
    """What a person should know of the answer, in sentences."""

    facts: str = ""
    """Mode, share of the corpus that was read, time."""

    fault: str = ""
    """Why it failed."""

    found: Retrieved | None = None
    """What was found, until the answer says what it rests on."""

    citations: tuple[Citation, ...] = ()
    """What the answer rests on."""

    gone: frozenset[int] = frozenset()
    """Places in `citations` whose text was deleted or changed since."""

    answer: Answer | None = None
    """The whole answer, if it was given now."""

    conversation: int | None = None
    """The conversation that it is stored in."""

    message: int | None = None
    """The question in that conversation, by the id of its message."""

    place: int | None = None
    """Which answer of its conversation it is, counted from 1; known of those that were read from the file."""

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self.state != "open"

    @property
    def body(self) -> str:
        """The answer without its list of references, which is shown as something to choose."""
        return without_references(self.text)

    @property
    def replaceable(self) -> bool:
        """Whether asking again may take its place, since nothing is lost by that."""
        return self.state in ("failed", "lost") or (self.state == "stopped" and not self.text)

    def end(self, answer: Answer) -> None:
        """Take the whole answer."""
        self.state, self.answer, self.text = "whole", answer, answer.answer
        self.citations, self.found = answer.citations, None
        self.rewritten = answer.rewritten
        self.conversation = answer.session if answer.session is not None else self.conversation
        for note in answer.notes:
            self.note(plain(note))
        why = answer.explanation.why if answer.explanation is not None else ""
        self.facts = facts(
            answer.mode,
            why,
            (answer.coverage.read, answer.coverage.total),
            answer.seconds.get("total", 0.0),
            answer.model,
        )

    def note(self, text: str) -> None:
        """Add a sentence, unless it is there."""
        if text and text not in self.notes:
            self.notes.append(text)

    def source(self, number: int) -> int | None:
        """Which of `citations` a mark in the answer stands for; the first of those that share the number."""
        return next((place for place, cited in enumerate(self.citations) if cited.number == number), None)

    def markdown(self) -> str:
        """Question and answer, for the clipboard or a file."""
        title = " ".join(plain(self.question).split())
        ends = {
            "stopped": "*Stopped before it was complete.*",
            "failed": "*Not answered.*",
            "lost": "*Not answered.*",
        }
        parts = [f"## {title}", plain_lines(self.text).strip(), ends.get(self.state, "")]
        return "\n\n".join(part for part in parts if part) + "\n"


def facts(mode: str, why: str, read: tuple[int, int], seconds: float, model: str) -> str:
    """How an answer came about, in one line; `why` says why the mode was chosen, if the person did not."""
    parts = [f"Mode {plain(mode)}{', chosen by auto' if why else ''}", share(*read)]
    if seconds:
        parts.append(duration(seconds))
    if model:
        parts.append(plain(model))
    return " · ".join(parts)


def without_references(text: str) -> str:
    """An answer without the list of references at its end."""
    headings = list(_REFERENCES_HEADING.finditer(text))
    return text[: headings[-1].start()].rstrip() if headings else text
