"""The place of prompts."""

from __future__ import annotations

from collections.abc import Iterable

from textual.widget import Widget
from textual.widgets import Static

from localrag.tui.screens.place import STYLES, PlaceScreen


class PromptsScreen(PlaceScreen):
    """Being built."""

    PLACE = "prompts"
    CSS_PATH = STYLES / "prompts.tcss"

    def compose_body(self) -> Iterable[Widget]:
        """Nothing yet."""
        yield Static("Being built.")
