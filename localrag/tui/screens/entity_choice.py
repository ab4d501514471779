"""Dialogs of the graph place: one of several choices, a line to type in, an entity to search for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Input, OptionList, Static
from textual.widgets.option_list import Option

from localrag.plain import TYPEABLE, plain
from localrag.tui.screens.dialogs import Dialog
from localrag.tui.widgets.entity_finder import EntityFinder

if TYPE_CHECKING:
    from localrag.tui.session import Session


class Choice(Dialog[str]):
    """One of several choices, by cursor, by click, or by its letter where choices have one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Close", show=False),
        Binding("j", "move('down')", show=False),
        Binding("k", "move('up')", show=False),
    ]

    def __init__(
        self, title: str, options: Sequence[tuple[str, str]], *, letters: dict[str, str] | None = None
    ) -> None:
        """`options` are pairs of a result and its words; `letters` gives the result of a key."""
        super().__init__()
        self._title = plain(title)
        self._options = tuple(options)
        self._letters = letters or {}

    def compose(self) -> ComposeResult:
        """The choices in a list."""
        with Vertical(classes="dialog choice") as box:
            box.border_title = Content(self._title)
            box.border_subtitle = "enter chooses, esc closes"
            yield OptionList(*(Option(Content(words)) for _, words in self._options), compact=True)

    def on_mount(self) -> None:
        """The arrows work at once."""
        self.query_one(OptionList).focus()

    def on_key(self, event: events.Key) -> None:
        """The letter of a choice chooses it."""
        if event.key in self._letters:
            event.stop()
            self.close_with(self._letters[event.key])

    def action_move(self, way: str) -> None:
        """Move the cursor."""
        choices = self.query_one(OptionList)
        if way == "down":
            choices.action_cursor_down()
        else:
            choices.action_cursor_up()

    def action_close(self) -> None:
        """Close without a choice."""
        self.close_with(None)

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.close_with(self._options[event.option_index][0])


class LineForm(Dialog[str]):
    """A line to type in, with words of what comes of it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Close", show=False)]

    def __init__(
        self, title: str, words: str, value: str = "", yes: str = "Save", *, empty: bool = False
    ) -> None:
        """`empty` lets the line be empty."""
        super().__init__()
        self._title = plain(title)
        self._words = words
        self._value = value
        self._yes = yes
        self._empty = empty

    def compose(self) -> ComposeResult:
        """The words, the line, two buttons."""
        with Vertical(classes="dialog form") as box:
            box.border_title = Content(self._title)
            yield Static(self._words, classes="place", markup=False)
            yield Input(self._value, id="line", select_on_focus=True, restrict=TYPEABLE)
            yield Static("", id="problem", markup=False)
            with Horizontal(classes="buttons"):
                yield Button(self._yes, id="yes", variant="primary", compact=True)
                yield Button("Cancel", id="no", compact=True)

    def on_mount(self) -> None:
        """The cursor is in the line."""
        self.query_one(Input).focus()

    def action_close(self) -> None:
        """Close without a result."""
        self.close_with(None)

    @on(Input.Submitted)
    def _submitted(self) -> None:
        self._finish()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "yes":
            self._finish()
        else:
            self.close_with(None)

    def _finish(self) -> None:
        value = self.query_one(Input).value.strip()
        if not value and not self._empty:
            self.query_one("#problem", Static).update("Type something first.")
            return
        self.close_with(value)


class EntityPicker(Dialog[int]):
    """Searches for an entity; its id is the result."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close", show=False),
        Binding("slash", "search", "Search", show=False),
    ]

    def __init__(self, session: Session, title: str) -> None:
        super().__init__()
        self._session = session
        self._title = plain(title)

    def compose(self) -> ComposeResult:
        """A finder of its own."""
        with Vertical(classes="dialog picker") as box:
            box.border_title = Content(self._title)
            box.border_subtitle = "type to search, enter chooses, esc closes"
            yield EntityFinder(self._session, picks=True)

    def on_mount(self) -> None:
        """The cursor is in the box, and all are listed."""
        finder = self.query_one(EntityFinder)
        finder.lines.say_empty("No entity is called like that.")
        finder.search()
        finder.box.focus()

    def action_close(self) -> None:
        """Close without a choice."""
        self.close_with(None)

    def action_search(self) -> None:
        """Go to the box."""
        self.query_one(EntityFinder).box.focus()

    @on(EntityFinder.Opened)
    def _opened(self, event: EntityFinder.Opened) -> None:
        event.stop()
        self.close_with(event.entity_id)

    @on(EntityFinder.Highlighted)
    def _highlighted(self, event: EntityFinder.Highlighted) -> None:
        event.stop()
