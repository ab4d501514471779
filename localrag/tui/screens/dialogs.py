"""Small dialogs: a question with two answers, and a text to read."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from localrag.plain import plain, plain_lines

T = TypeVar("T")


class Dialog(ModalScreen[T | None]):
    """A dialog that closes once, however fast the keys come; a click beside it closes it without a result."""

    def close_with(self, result: T | None) -> None:
        """Close, unless that has happened: a second time would close what lies below."""
        if self.is_current:
            self.dismiss(result)

    def on_click(self, event: events.Click) -> None:
        """A click beside the dialog closes it."""
        if event.widget is self:
            self.close_with(None)


class Confirm(Dialog[bool]):
    """A question that is answered with yes or no; everything but yes is no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes", show=False),
        Binding("n,escape", "answer(False)", "No", show=False),
        Binding("left,right,up,down", "app.focus_next", show=False),
    ]

    def __init__(self, question: str, yes: str, no: str) -> None:
        super().__init__()
        self._question = question
        self._yes = yes
        self._no = no

    def compose(self) -> ComposeResult:
        """The question and two buttons."""
        with Vertical(classes="dialog small"):
            yield Static(self._question, markup=False)
            with Horizontal(classes="buttons"):
                yield Button(self._yes, id="yes", compact=True)
                yield Button(self._no, id="no", variant="primary", compact=True)

    def on_mount(self) -> None:
        """The careful answer is chosen."""
        self.query_one("#no").focus()

    def action_answer(self, answer: bool) -> None:
        """Close with an answer."""
        self.close_with(answer)

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.close_with(event.button.id == "yes")


class Reader(Dialog[None]):
    """A text with a title; scrolls, copies, and closes with escape, enter, q or a click beside it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q", "close", "Close", id="reader.close"),
        Binding("y,c", "copy", "Copy", id="reader.copy"),
        Binding("j", "scroll(1)", show=False),
        Binding("k", "scroll(-1)", show=False),
        Binding("g", "top", show=False),
        Binding("G", "bottom", show=False),
    ]

    def __init__(self, title: str, place: str, text: str) -> None:
        super().__init__()
        self._title = plain(title)
        self._place = plain(place)
        self._text = plain_lines(text)

    def compose(self) -> ComposeResult:
        """Title and keys in the border, place and text inside."""
        with VerticalScroll(classes="dialog reader") as box:
            box.border_title = Content(self._title)
            box.border_subtitle = "esc closes, y copies"
            if self._place:
                yield Static(self._place, classes="place", markup=False)
            yield Static(self._text or "(no text)", markup=False)

    def on_mount(self) -> None:
        """The arrows scroll at once."""
        self.query_one(VerticalScroll).focus()

    def action_close(self) -> None:
        """Close."""
        self.close_with(None)

    def action_copy(self) -> None:
        """Copy the whole text."""
        self.app.copy_to_clipboard(self._text)
        self.notify("The text was copied.")

    def action_scroll(self, lines: int) -> None:
        """Scroll by some lines."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)

    def action_top(self) -> None:
        """Go to the beginning."""
        self.query_one(VerticalScroll).scroll_home(animate=False)

    def action_bottom(self) -> None:
        """Go to the end."""
        self.query_one(VerticalScroll).scroll_end(animate=False)
