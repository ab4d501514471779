"""The place of entities and relations."""

from __future__ import annotations

from collections.abc import Iterable

from textual.widget import Widget
from textual.widgets import Static

from localrag.tui.screens.place import STYLES, PlaceScreen


class GraphScreen(PlaceScreen):
    """Being built."""

    PLACE = "graph"
    CSS_PATH = STYLES / "graph.tcss"

    def compose_body(self) -> Iterable[Widget]:
        """Nothing yet."""
        yield Static("Being built.")
