"""The bar at the top: all places, the one that is shown among them, to read and to click."""

from __future__ import annotations

from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Static

from localrag.tui.places import PLACES, place


class PlaceTab(Static):
    """The name of a place."""

    def __init__(self, name: str, title: str, *, shown: bool) -> None:
        super().__init__(title, classes="-shown" if shown else "", markup=False)
        self._place = name

    def on_click(self) -> None:
        """Go there."""
        self.post_message(PlaceBar.Chosen(self._place))


class PlaceBar(Horizontal):
    """One line. Where the terminal is narrow it names the place that is shown, and how to get to others."""

    @dataclass
    class Chosen(Message):
        """A place was clicked; an empty name asks for the menu."""

        place: str
        """Its name."""

    def __init__(self, shown: str) -> None:
        super().__init__()
        self._shown = shown

    def compose(self) -> ComposeResult:
        """A tab per place; brackets mark the one that is shown, since colours may be off."""
        for item in PLACES:
            shown = item.name == self._shown
            yield PlaceTab(item.name, f"[{item.title}]" if shown else f" {item.title} ", shown=shown)
        here = PlaceTab("", f"[{place(self._shown).title}]  ctrl+g goes to another place", shown=True)
        here.add_class("-alone")
        yield here
