"""The box in which a question is typed: enter asks, and long questions wrap and grow the box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

from localrag.answering.question import LONGEST
from localrag.plain import plain_lines

_NOTE_SECONDS = 12.0


class Question(TextArea):
    """A text box that is submitted with enter."""

    HELP = """
    Type a question and press **enter**. The answer is written from your documents alone; the numbers in it
    stand for the sources listed below it. Choose a source with **tab**, the arrows and **enter** to read
    the passage.

    **shift+enter** or **ctrl+j** starts a new line, **up** in an empty box brings earlier questions back,
    **escape** stops an answer, **ctrl+r** asks the last question again, **ctrl+o** chooses how questions are
    asked. **ctrl+up** goes to the last answer, where **e** edits, **y** copies and **i** explains.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Ask", key_display="enter", id="question.ask", tooltip="Ask the question"),
        Binding(
            "shift+enter,ctrl+j",
            "new_line",
            "New line",
            id="question.new-line",
            show=False,
            tooltip="Start a new line in the question",
        ),
    ]

    @dataclass
    class Asked(Message):
        """A question was submitted."""

        text: str
        """What was typed, without blanks around it."""

    def __init__(self) -> None:
        super().__init__(
            id="question",
            compact=True,
            show_line_numbers=False,
            highlight_cursor_line=False,
            tab_behavior="focus",
            placeholder="Ask a question about your documents",
        )
        self._asked: list[str] = []
        self._at = 0
        """Which of them the box holds; as many as there are if it holds something else."""

    async def _on_key(self, event: events.Key) -> None:
        """Keep enter for the binding; up and down go through earlier questions; everything else is typed."""
        if event.key == "enter":
            event.prevent_default()
        elif event.key in ("up", "down") and self._walk(-1 if event.key == "up" else 1):
            event.stop()
            event.prevent_default()

    def _walk(self, step: int) -> bool:
        """Go to another question that was asked, unless the box holds something else than one of them."""
        held = self._asked[self._at] if self._at < len(self._asked) else ""
        wanted = self._at + step
        if self.text != held or not 0 <= wanted <= len(self._asked) or not self._asked:
            return False
        self._at = wanted
        self._fill(self._asked[wanted] if wanted < len(self._asked) else "")
        return True

    async def _on_paste(self, event: events.Paste) -> None:
        """Insert what was pasted, without anything that a terminal would obey, unless it is too long."""
        event.stop()
        event.prevent_default()
        size = len(self.text) - len(self.selected_text) + len(event.text)
        if size > LONGEST:
            self._too_long(size, "Nothing was pasted.")
            return
        self.replace(plain_lines(event.text), *self.selection, maintain_selection_offset=False)

    def _too_long(self, size: int, done: str) -> None:
        self.notify(
            f"That would be {size:,} characters, and a question has at most {LONGEST:,}. {done} "
            "Save a long text as a file and add it in the library (f3), then ask about it.",
            title="Too long",
            severity="warning",
            timeout=_NOTE_SECONDS,
            markup=False,
        )

    def action_submit(self) -> None:
        """Send the question out, unless there is none."""
        text = self.text.strip()
        if len(text) > LONGEST:
            self._too_long(len(text), "Nothing was asked.")
        elif text:
            self.post_message(self.Asked(text))

    def action_new_line(self) -> None:
        """Begin a new line at the cursor."""
        self.insert("\n")

    def accept(self) -> None:
        """Empty the box: the question is being answered."""
        text = self.text.strip()
        if text and self._asked[-1:] != [text]:
            self._asked.append(text)
        self._at = len(self._asked)
        self.clear()

    def put(self, text: str) -> None:
        """Put a question into the box, to be changed."""
        self._fill(text)
        self.focus()

    def _fill(self, text: str) -> None:
        self.text = text
        self.move_cursor(self.document.end)
