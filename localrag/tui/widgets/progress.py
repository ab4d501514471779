"""A panel that says how an index run goes, or what one would do, with buttons for what can be done now."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.message import Message
from textual.widgets import Button, Static

_NARROW, _LOW = 76, 22
"""Columns and rows below which the buttons come first."""


class Board(Static):
    """A text that is made for the width that there is."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 (as Textual calls it)
        super().__init__("", id=id, markup=False)
        self._make: Callable[[int], Text] = lambda width: Text("Looking at what is there")
        self._width = 0
        self._shown = Text()

    def show(self, make: Callable[[int], Text]) -> None:
        """Show what `make` gives for a width in cells; it is called again when the width changes."""
        self._make = make
        self._renew()

    def on_resize(self) -> None:
        """Lines fit the new width."""
        if self.content_size.width != self._width:
            self._renew()

    def _renew(self) -> None:
        self._width = self.content_size.width
        text = self._make(max(self._width, 20))
        if text != self._shown:
            self._shown = text
            self.update(text)


class RunPanel(VerticalScroll, can_focus=False):
    """The state of reading, in words and bars."""

    HELP = """
    What the model has read, and what lies ahead. **b** begins, **space** or **p** pauses and goes on,
    **s** stops: whatever was read is kept, and the next run goes on from there. Questions that are asked
    meanwhile go first.
    """

    @dataclass
    class Pressed(Message):
        """A button was pressed."""

        action: str
        """What its key would do."""

    def compose(self) -> ComposeResult:
        """The words, and the buttons below them."""
        yield Board(id="run-board")
        with Horizontal(id="run-buttons"):
            yield Button("Begin (b)", id="begin", variant="primary", compact=True)
            yield Button("Pause (space)", id="pause", compact=True)
            yield Button("Go on (space)", id="resume", variant="primary", compact=True)
            yield Button("Stop (s)", id="stop", compact=True)
            yield Button("Settings (e)", id="settings", compact=True)

    def on_resize(self) -> None:
        """Where there is little room the buttons come first: what comes last may be out of sight."""
        size = self.app.size
        buttons = self.query_one("#run-buttons")
        first = size.width < _NARROW or size.height < _LOW
        if (self.children[0] is buttons) != first:
            if first:
                self.move_child(buttons, before=self.board)
            else:
                self.move_child(buttons, after=self.board)

    @property
    def board(self) -> Board:
        """The words."""
        return self.query_one(Board)

    def offer(self, names: Iterable[str], begin: str = "Begin") -> None:
        """Which buttons are there, by name, and what the first is called."""
        shown = set(names)
        self.query_one("#run-buttons").display = bool(shown)
        for button in self.query(Button):
            button.display = button.id in shown
        self.query_one("#begin", Button).label = f"{begin} (b)"

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        action = "pause" if event.button.id == "resume" else event.button.id or ""
        self.post_message(self.Pressed(action))
