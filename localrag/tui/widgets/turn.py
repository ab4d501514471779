"""One question with its answer, as it is drawn; what it says lies in its `TurnRecord`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Button, Markdown, Static
from textual.widgets.markdown import MarkdownStream

from localrag.plain import plain, plain_lines
from localrag.tui.turns import TurnRecord
from localrag.tui.widgets.answer_text import AnswerText, source_of
from localrag.tui.widgets.cited import CitationList, FoundList

if TYPE_CHECKING:
    from localrag.answering.types import Answer
    from localrag.retrieval.types import Retrieved
    from localrag.tui.words import Fault

Wanted = Literal["edit", "again", "explain", "export"]
Step = Literal["previous", "next", "first", "last"]

_BAR = 20
"""Cells of the bar that says how much was read."""

_ENDS = {
    "stopped": ("Stopped. The answer is not complete.", "Stopped before an answer."),
    "failed": ("It failed here. The answer is not complete.", "Not answered."),
    "lost": ("The answer is not complete.", "It was not answered."),
}


class Turn(Vertical, can_focus=True):
    """A question and what became of it."""

    HELP = """
    A question with its answer. **j** and **k** go from one to the next, **enter** goes to its sources, and a
    digit, or a click on a number in the answer, opens that source.

    **e** puts the question into the box again, **r** asks it once more, **y** copies the answer and **Y** the
    question, **i** explains what the answer rests on, **x** writes the conversation into a file. **escape**
    goes back to the question box.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "step('next')", "Next", show=False, id="turn.next", tooltip="Go to the next question"),
        Binding(
            "k",
            "step('previous')",
            "Previous",
            show=False,
            id="turn.previous",
            tooltip="Go to the question before",
        ),
        Binding(
            "g", "step('first')", "First", show=False, id="turn.first", tooltip="Go to the first question"
        ),
        Binding("G", "step('last')", "Last", show=False, id="turn.last", tooltip="Go to the last question"),
        Binding(
            "enter",
            "sources",
            "Sources",
            show=False,
            id="turn.sources",
            tooltip="Go to the sources of the answer",
        ),
        Binding("e", "want('edit')", "Edit", id="turn.edit", tooltip="Change the question and ask again"),
        Binding("r", "want('again')", "Again", id="turn.again", tooltip="Ask the question once more"),
        Binding("y,c", "copy", "Copy", id="turn.copy", tooltip="Copy the answer"),
        Binding(
            "Y",
            "copy_question",
            "Copy question",
            show=False,
            id="turn.copy-question",
            tooltip="Copy the question",
        ),
        Binding(
            "i", "want('explain')", "Explain", id="turn.explain", tooltip="Explain what the answer rests on"
        ),
        Binding(
            "x",
            "want('export')",
            "Export",
            show=False,
            id="turn.export",
            tooltip="Write the conversation into a file",
        ),
        *(Binding(str(number), f"source({number})", show=False) for number in range(1, 10)),
    ]

    @dataclass
    class Asks(Message):
        """A person wants something of a turn."""

        turn: Turn
        """The turn."""

        wanted: Wanted
        """What is to be done."""

    @dataclass
    class Stepped(Message):
        """A person wants to go to another turn."""

        turn: Turn
        """The turn that they are at."""

        step: Step
        """Where to."""

    @dataclass
    class SourceChosen(Message):
        """A source of the answer is to be opened."""

        turn: Turn
        """The turn."""

        place: int
        """Which of its citations."""

    def __init__(self, record: TurnRecord) -> None:
        super().__init__(classes="turn")
        self.record = record
        self._stream: MarkdownStream | None = None

    def compose(self) -> ComposeResult:
        """Question, stage, answer, sources and notes; what is empty is not shown."""
        record = self.record
        yield Static(plain_lines(record.question), classes="asked", markup=False)
        yield Static("", classes="rewritten", markup=False)
        yield Static("", classes="stage", markup=False)
        yield AnswerText(plain_lines(record.body))
        yield Static("", classes="notes", markup=False)
        yield Static("", classes="facts", markup=False)
        with Horizontal(classes="after-fault"):
            yield Static("", classes="fault", markup=False)
            yield Button("Ask again", classes="again", compact=True)

    async def on_mount(self) -> None:
        """Show how far it is."""
        self._show()
        await self._show_sources()

    @property
    def number(self) -> int:
        """That of the record."""
        return self.record.number

    @property
    def question(self) -> str:
        """As it was asked."""
        return self.record.question

    @property
    def text(self) -> str:
        """What was written of the answer so far."""
        return self.record.text

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self.record.ended

    # What becomes of it

    def show_stage(self, words: str, progress: float | None = None) -> None:
        """Say what is being done before the answer begins."""
        if not self.ended and not self.text:
            self.record.stage, self.record.progress = words, progress
            self._show()

    def show_rewritten(self, question: str) -> None:
        """Show the question as it is searched."""
        self.record.rewritten = question
        self._show()

    async def show_found(self, found: Retrieved) -> None:
        """Show what was found, as something to choose."""
        if not self.ended:
            self.record.found = found
            await self._show_sources()

    def add_note(self, text: str) -> None:
        """Add a line below the answer."""
        self.record.note(text)
        self._show()

    async def write(self, text: str) -> None:
        """Append a piece of the answer."""
        if self.ended:
            return
        if self._stream is None:
            self._stream = Markdown.get_stream(self.query_one(AnswerText))
            self._show_stage(shown=False)
        self.record.text += text
        await self._stream.write(plain_lines(text))

    async def complete(self, answer: Answer) -> None:
        """Show the whole answer and its sources."""
        if self.record.state in ("open", "stopped"):
            self.record.end(answer)
            await self._end()

    async def stop(self) -> None:
        """Keep what was written and say that it was stopped."""
        if not self.ended:
            self.record.state = "stopped"
            await self._end()

    async def fail(self, fault: Fault) -> None:
        """Keep what was written and say what went wrong."""
        if not self.ended:
            self.record.state, self.record.fault = "failed", fault.text
            await self._end()

    async def _end(self) -> None:
        if self._stream is not None:
            await self._stream.stop()
        # Drawn once more as a whole: pieces parsed one by one can leave a block half done.
        await self.query_one(AnswerText).update(plain_lines(self.record.body))
        self._show()
        await self._show_sources()
        self.refresh_bindings()

    # What is drawn

    def _show(self) -> None:
        """Draw all but the answer and its sources."""
        record = self.record
        self._say(".rewritten", f"Asked as: {plain(record.rewritten)}" if record.rewritten else "")
        self._show_stage(shown=not record.ended and not record.text)
        ends = _ENDS.get(record.state)
        notes = list(record.notes)
        if ends is not None and record.state == "stopped":
            notes.append(ends[0] if record.text else ends[1])
        self._say(".notes", "\n".join(notes))
        self._say(".facts", record.facts)
        failed = record.state in ("failed", "lost")
        self.query_one(".after-fault").display = failed
        if failed and ends is not None:
            self._say(".fault", f"{ends[0] if record.text else ends[1]} {record.fault}".strip())

    def _show_stage(self, *, shown: bool) -> None:
        record = self.record
        self._say(".stage", f"{_bar(record.progress)}{record.stage}" if shown else "")

    def _say(self, selector: str, words: str) -> None:
        line = self.query_one(selector, Static)
        line.update(words)
        line.display = bool(words)

    async def _show_sources(self) -> None:
        """The list of sources, or before there is one that of what was found."""
        record, lists = self.record, self.query(FoundList)
        below = self.query_one(".notes")
        if record.citations or record.state == "whole":
            had_focus = any(found.has_focus for found in lists)
            await lists.remove()
            if record.citations and not self.query(CitationList):
                await self.mount(CitationList(record.citations, record.gone), before=below)
            if had_focus:
                self.action_sources()
        elif record.found is not None and not record.found.empty:
            if lists:
                lists.first().show(record.found)
            else:
                await self.mount(FoundList(record.found), before=below)

    # Keys and clicks

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what can be done now."""
        if action == "sources":
            return bool(self.query("CitationList, FoundList"))
        if action in ("copy",):
            return bool(self.text)
        if parameters in (("again",), ("edit",)):
            return self.ended
        if parameters == ("explain",):
            return self.record.state == "whole"
        return True

    def action_step(self, step: Step) -> None:
        """Go to another turn."""
        self.post_message(self.Stepped(self, step))

    def action_want(self, wanted: Wanted) -> None:
        """Ask for something that the screen does."""
        self.post_message(self.Asks(self, wanted))

    def action_sources(self) -> None:
        """Go to the sources."""
        for found in self.query("CitationList, FoundList"):
            found.focus()

    def action_copy(self) -> None:
        """Copy the answer with its list of references."""
        self.app.copy_to_clipboard(plain_lines(self.text))
        self.notify("The answer was copied.")

    def action_copy_question(self) -> None:
        """Copy the question."""
        self.app.copy_to_clipboard(plain_lines(self.question))
        self.notify("The question was copied.")

    def action_source(self, number: int) -> None:
        """Open the source that a mark in the answer names."""
        place = self.record.source(number)
        if place is not None:
            self.post_message(self.SourceChosen(self, place))
        elif not self.ended:
            self.notify("The sources are known once the answer is complete.")
        else:
            self.notify(f"The answer has no source {number}.", severity="warning")

    @on(Markdown.LinkClicked)
    def _mark_clicked(self, event: Markdown.LinkClicked) -> None:
        event.stop()
        number = source_of(event.href)
        if number is not None:
            self.action_source(number)

    @on(CitationList.Opened)
    def _citation_opened(self, event: CitationList.Opened) -> None:
        event.stop()
        self.post_message(self.SourceChosen(self, event.place))

    @on(Button.Pressed, ".again")
    def _again_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.action_want("again")


def _bar(share: float | None) -> str:
    """How much is done, drawn with characters."""
    if share is None:
        return ""
    done = max(0, min(_BAR, round(_BAR * share)))
    return f"{'━' * done}{'┄' * (_BAR - done)} "
