"""Questions and answers: the answer as it is written, then the sources that it cites."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from markdown_it import MarkdownIt
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Markdown, OptionList, Static
from textual.widgets.markdown import MarkdownStream
from textual.widgets.option_list import Option

from localrag.plain import plain, plain_lines
from localrag.tui.words import Fault, duration, share

if TYPE_CHECKING:
    from localrag.answering.types import Answer, Citation

MOST_TURNS = 50
"""Turns that stay on the screen; older ones are taken away."""

_REFERENCES_HEADING = re.compile(r"^#{2,4} (?:References|参考资料)[ \t]*$", re.MULTILINE)


def harmless_markdown() -> MarkdownIt:
    """A parser under which a model's text can make emphasis, lists, tables and code, and nothing to click.

    Links and pictures are shown as they were written, so their address can be seen; HTML is text.
    """
    parser = MarkdownIt("gfm-like", {"html": False, "linkify": False})
    return parser.disable(
        ["link", "image", "autolink", "linkify", "reference", "html_block", "html_inline"], ignoreInvalid=True
    )


def without_references(text: str) -> str:
    """An answer without the list of references at its end, which stands below it as something to choose."""
    headings = list(_REFERENCES_HEADING.finditer(text))
    return text[: headings[-1].start()].rstrip() if headings else text


class CitationList(OptionList):
    """The sources of one answer."""

    HELP = """
    What the answer rests on; the numbers are those in the answer. **enter** shows the passage, **y** copies
    it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter", "select", "Read", key_display="enter", id="sources.open", tooltip="Show the passage"
        ),
        Binding("y,c", "copy", "Copy", id="sources.copy", show=False, tooltip="Copy the passage"),
        Binding("j", "cursor_down", "Down", show=False),
        Binding("k", "cursor_up", "Up", show=False),
        Binding("g", "first", "First", show=False),
        Binding("G", "last", "Last", show=False),
    ]

    @dataclass
    class Opened(Message):
        """A source is to be shown."""

        citation: Citation
        """The source."""

    def __init__(self, citations: Sequence[Citation]) -> None:
        super().__init__(*(Option(citation_line(item)) for item in citations), classes="citations")
        self._citations = list(citations)
        self.border_title = "Sources"

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Opened(self._citations[event.option_index]))

    def action_copy(self) -> None:
        """Copy the passage of the chosen source."""
        if self.highlighted is not None:
            self.app.copy_to_clipboard(plain_lines(self._citations[self.highlighted].text))
            self.notify("The passage was copied.")


def citation_line(citation: Citation) -> Content:
    """A source in one line: its number, label, and where it stands."""
    label = plain(citation.label)
    document = plain(citation.document)
    line = f"{citation.number}  {label}"
    if document and document not in label:
        line += f" · {document}"
    if citation.page is not None:
        line += f" · page {citation.page}"
    return Content(line)


class Turn(Vertical):
    """A question and what became of it. Keeps the text of the answer itself, apart from what is drawn."""

    def __init__(self, number: int, question: str) -> None:
        super().__init__(classes="turn")
        self.number = number
        self.question = question
        self.text = ""
        """What was written of the answer so far."""
        self.ended = False
        """Whether nothing more will come, because it is complete, was stopped or failed."""
        self._stream: MarkdownStream | None = None
        self._notes: list[str] = []

    def on_mount(self) -> None:
        """No notes yet."""
        self.query_one(".notes").display = False
        self.query_one(".fault").display = False

    def compose(self) -> ComposeResult:
        """Question, stage, answer and notes; the sources come when the answer is complete."""
        yield Static(plain_lines(self.question), classes="asked", markup=False)
        yield Static("Starting", classes="stage", markup=False)
        yield Markdown(classes="answer", parser_factory=harmless_markdown, open_links=False)
        yield Static("", classes="notes", markup=False)
        yield Static("", classes="fault", markup=False)

    def show_stage(self, words: str) -> None:
        """Say what is being done before the answer begins."""
        if not self.ended and not self.text:
            self.query_one(".stage", Static).update(words)

    def add_note(self, text: str) -> None:
        """Add a line below the answer."""
        self._notes.append(text)
        notes = self.query_one(".notes", Static)
        notes.update("\n".join(self._notes))
        notes.display = True

    async def write(self, text: str) -> None:
        """Append a piece of the answer."""
        if self.ended:
            return
        if self._stream is None:
            self.query_one(".stage", Static).display = False
            self._stream = Markdown.get_stream(self.query_one(Markdown))
        self.text += text
        await self._stream.write(plain_lines(text))

    async def complete(self, answer: Answer) -> None:
        """Show the whole answer and its sources."""
        if self.ended:
            return
        await self._end(answer.answer)
        total = answer.seconds.get("total", 0.0)
        facts = [f"Mode {plain(answer.mode)}", share(answer.coverage.read, answer.coverage.total)]
        if total:
            facts.append(duration(total))
        self.add_note(" · ".join(facts))
        if answer.citations:
            await self.mount(CitationList(answer.citations), before=self.query_one(".notes"))

    async def stop(self) -> None:
        """Keep what was written and say that it was stopped."""
        if not self.ended:
            await self._end(self.text)
            self.add_note(
                "Stopped. The answer is not complete." if self.text else "Stopped before an answer."
            )

    async def fail(self, fault: Fault) -> None:
        """Keep what was written and say what went wrong."""
        if not self.ended:
            await self._end(self.text)
            words = self.query_one(".fault", Static)
            words.update(f"Not answered. {fault.text}")
            words.display = True

    async def _end(self, text: str) -> None:
        self.ended = True
        self.text = text
        self.query_one(".stage", Static).display = False
        if self._stream is not None:
            await self._stream.stop()
        # Drawn once more as a whole: pieces parsed one by one can leave a block half done.
        await self.query_one(Markdown).update(plain_lines(without_references(text)))


class Conversation(VerticalScroll):
    """All turns, the newest at the bottom and in view."""

    HELP = """
    Scroll with the arrows, page up and page down. **tab** goes to the sources of an answer. **ctrl+n**
    begins anew.
    """

    def __init__(self) -> None:
        super().__init__(id="conversation")

    def compose(self) -> ComposeResult:
        """Words of welcome until the first question."""
        yield Static("", id="welcome", markup=False)

    def on_mount(self) -> None:
        """Follow what is written."""
        self.watch(self, "virtual_size", self._changed)

    def on_resize(self) -> None:
        """The space has changed, if not the contents."""
        self._changed()

    def _changed(self) -> None:
        self.call_after_refresh(self.follow)

    def follow(self) -> None:
        """Keep the newest text in view once there is more than fits; whoever scrolls up stays there."""
        overflows = self.max_scroll_y > 0
        if overflows != self.is_anchored:
            self.anchor(overflows)
            if not overflows:
                self.scroll_home(animate=False)

    def welcome(self, words: str) -> None:
        """Say what can be done; shown while there is no question."""
        self.query_one("#welcome", Static).update(words)

    async def begin(self, number: int, question: str) -> Turn:
        """Show a new question."""
        self.query_one("#welcome").display = False
        turns = list(self.query(Turn))
        for old in turns[: max(0, len(turns) - MOST_TURNS + 1)]:
            await old.remove()
        turn = Turn(number, question)
        await self.mount(turn)
        self.anchor(self.max_scroll_y > 0)
        return turn

    def turn(self, number: int) -> Turn | None:
        """The turn with a number, if it is still there."""
        return next((turn for turn in self.query(Turn) if turn.number == number), None)

    async def clear(self) -> None:
        """Begin anew."""
        await self.query(Turn).remove()
        self.query_one("#welcome").display = True
