"""The place of reading."""

from __future__ import annotations

from collections.abc import Iterable

from textual.widget import Widget
from textual.widgets import Static

from localrag.tui.screens.place import STYLES, PlaceScreen


class IndexScreen(PlaceScreen):
    """Being built."""

    PLACE = "index"
    CSS_PATH = STYLES / "index.tcss"

    def compose_body(self) -> Iterable[Widget]:
        """Nothing yet."""
        yield Static("Being built.")
