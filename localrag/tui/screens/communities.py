"""The place of communities."""

from __future__ import annotations

from collections.abc import Iterable

from textual.widget import Widget
from textual.widgets import Static

from localrag.tui.screens.place import STYLES, PlaceScreen


class CommunitiesScreen(PlaceScreen):
    """Being built."""

    PLACE = "communities"
    CSS_PATH = STYLES / "communities.tcss"

    def compose_body(self) -> Iterable[Widget]:
        """Nothing yet."""
        yield Static("Being built.")
