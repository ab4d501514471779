"""The box in which a question is typed: enter asks, and long questions wrap and grow the box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

from localrag.plain import plain_lines


class Question(TextArea):
    """A text box that is submitted with enter."""

    HELP = """
    Type a question and press **enter**. The answer is written from your documents alone; the numbers in it
    stand for the sources listed below it. Choose a source with **tab**, the arrows and **enter** to read
    the passage.

    **shift+enter** or **ctrl+j** starts a new line, **up** in an empty box brings the last question back,
    **escape** stops an answer.
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
        self._last = ""

    async def _on_key(self, event: events.Key) -> None:
        """Keep enter for the binding; everything else is typed."""
        if event.key == "enter":
            event.prevent_default()
        elif event.key == "up" and not self.text and self._last:
            event.stop()
            event.prevent_default()
            self.text = self._last
            self.move_cursor(self.document.end)

    async def _on_paste(self, event: events.Paste) -> None:
        """Insert what was pasted, without anything that a terminal would obey."""
        event.stop()
        event.prevent_default()
        self.replace(plain_lines(event.text), *self.selection, maintain_selection_offset=False)

    def action_submit(self) -> None:
        """Send the question out, unless there is none."""
        text = self.text.strip()
        if text:
            self.post_message(self.Asked(text))

    def action_new_line(self) -> None:
        """Begin a new line at the cursor."""
        self.insert("\n")

    def accept(self) -> None:
        """Empty the box: the question is being answered."""
        self._last = self.text.strip()
        self.clear()
