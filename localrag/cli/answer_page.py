"""An answer as it appears: what is found at once, how far the reading is, the text, what it rests on."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from localrag.cli import output
from localrag.cli.question import shortened
from localrag.plain import PlainStream, plain

if TYPE_CHECKING:
    from rich.status import Status

    from localrag.answering.explaining import Explanation
    from localrag.answering.types import Answer, AskEvent, Citation, Step
    from localrag.retrieval.types import Retrieved

BEST = 3
"""Passages that are shown while the model reads."""

_NAMES = 8
_MARGIN = 6
_HEADINGS = re.compile(r"\A(?:\s*#[^\n]*\n)+(?=.)", re.DOTALL)


class AnswerPage:
    """Writes the answer to stdout piece by piece; before it, on a terminal, what was found and a line about
    the reading."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._clean = PlainStream()
        self._last = "\n"
        self._status: Status | None = None
        self._found_lines: set[str] = set()
        if not quiet and output.is_terminal(sys.stderr) and output.is_terminal(sys.stdout):
            self._status = output.stderr_console().status("Looking through the texts")

    def __enter__(self) -> Self:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_status()
        if not self._quiet:
            self._put(self._clean.finish())
            self._put("" if self._last == "\n" else "\n")

    def show(self, event: AskEvent) -> Answer | None:
        """Show one event; returns the answer when it is the last."""
        from localrag.answering.types import Answer, AnswerText, Found, Kept, Reading, Rewritten, Step

        if isinstance(event, Answer):
            return event
        if isinstance(event, AnswerText):
            if not self._quiet:
                self._end_status()
                self._put(self._clean.feed(event.text))
        elif isinstance(event, Rewritten):
            self._say(f"Asked as: {event.question}")
        elif isinstance(event, Step):
            self._step(event)
        elif isinstance(event, Kept):
            self._say(f"Kept answer of {_moment(event.created_at)}; --fresh writes it anew.")
        elif isinstance(event, Found):
            self._found(event.retrieved, final=event.final)
        elif isinstance(event, Reading) and event.total:
            rate = f", {event.rate:.0f} tokens a second" if event.rate else ""
            self._update(f"The model is reading: {100 * event.done // event.total} %{rate}")
        return None

    def _step(self, step: Step) -> None:
        """What is looked up first, and what came of it."""
        if step.answer:
            self._say(f"Looked up: {step.question} {step.answer}")
        else:
            self._update(f"Looking up first: {step.question}")

    def _found(self, found: Retrieved, *, final: bool) -> None:
        """The best passages and the entities, on a terminal, while the model reads them; nothing twice."""
        if self._status is not None:
            width = max(40, self._status.console.width - _MARGIN)
            for line in found_lines(found, width):
                if line not in self._found_lines:
                    self._found_lines.add(line)
                    self._say(line)
        count = output.number(len(found.passages), "passage")
        self._update(f"Found {count}; {'the model is reading' if final else 'looking further'}")

    def _say(self, text: str) -> None:
        """A line of talk; above the moving line if there is one."""
        if self._status is None:
            output.say(text)
            return
        from rich.text import Text

        self._status.console.print(Text(plain(text), style="dim", overflow="ellipsis", no_wrap=True))

    def _put(self, text: str) -> None:
        if text:
            output.put(text, end="")
            self._last = text[-1]

    def _update(self, text: str) -> None:
        if self._status is not None:
            self._status.update(text)

    def _end_status(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


def found_lines(found: Retrieved, width: int) -> list[str]:
    """The best passages, each with its place and first words, then the names that were found."""
    lines = []
    for passage in found.passages[:BEST]:
        base = f"{passage.base}: " if passage.base else ""
        heading = f" › {passage.heading}" if passage.heading else ""
        head = shortened(f"{base}{passage.document}{heading}", max(20, width // 2))
        words = _HEADINGS.sub("", passage.text)
        lines.append(f"· {head}: {shortened(words, max(20, width - len(head) - 4))}")
    if found.entities:
        names = ", ".join(entity.name for entity in found.entities[:_NAMES])
        lines.append(shortened(f"· Names: {names}", width))
    return lines


def put_sources(citations: Iterable[Citation]) -> None:
    """Write every cited place with its text to stdout."""
    for citation in citations:
        place = f"characters {citation.start}-{citation.end}"
        if citation.page is not None:
            place = f"page {citation.page}, {place}"
        if citation.kind != "document":
            place = f"{citation.document}, {place}"
        output.put(f"\n[{citation.number}] {plain(citation.label)}: {plain(place)}")
        output.put_text("\n".join(f"    {line}".rstrip() for line in citation.text.splitlines()))


def mode_sentence(found: Retrieved | Explanation) -> str:
    """Which mode searched, and why it was not the one that was asked for."""
    asked = f" ({found.asked}{': ' + found.why if found.why else ''})" if found.asked else ""
    return f"Mode: {found.mode}{asked}."


def tell_notes_of(answer: Answer) -> None:
    """Say what the person should know of an answer, and how much the model had read."""
    from localrag.cli.ask import coverage_sentence

    if answer.explanation is not None:
        output.say(mode_sentence(answer.explanation))
    for note in answer.notes:
        output.say(note)
    if answer.session is not None:
        output.say(f"Conversation {answer.session}; go on with: localrag ask --continue")
    coverage = coverage_sentence(answer.coverage)
    if coverage:
        output.say(coverage)


def _moment(text: str) -> str:
    """A stored time as this machine's."""
    from datetime import datetime

    return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M")
