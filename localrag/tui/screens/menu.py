"""The menu of places: each is chosen by its letter, with the arrows, or with the mouse."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from localrag.tui.places import PLACES
from localrag.tui.screens.dialogs import Dialog


class PlacesMenu(Dialog[str]):
    """Closes with the name of a place."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+g", "leave", "Back", id="menu.leave"),
        Binding("j", "move(1)", show=False),
        Binding("k", "move(-1)", show=False),
    ]

    def compose(self) -> ComposeResult:
        """One line per place."""
        with Vertical(classes="dialog places") as box:
            box.border_title = "Go to"
            yield OptionList(
                *(
                    Option(Content(f"{item.letter}  {item.title:<12} {item.about}"), item.name)
                    for item in PLACES
                )
            )

    def on_key(self, event: events.Key) -> None:
        """A letter chooses."""
        for item in PLACES:
            if event.key == item.letter:
                event.stop()
                self.close_with(item.name)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.close_with(event.option_id)

    def action_move(self, lines: int) -> None:
        """Go up or down."""
        menu = self.query_one(OptionList)
        if lines > 0:
            menu.action_cursor_down()
        else:
            menu.action_cursor_up()

    def action_leave(self) -> None:
        """Stay here."""
        self.close_with(None)
