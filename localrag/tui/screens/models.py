"""The place of models."""

from __future__ import annotations

from collections.abc import Iterable

from textual.widget import Widget
from textual.widgets import Static

from localrag.tui.screens.place import STYLES, PlaceScreen


class ModelsScreen(PlaceScreen):
    """Being built."""

    PLACE = "models"
    CSS_PATH = STYLES / "models.tcss"

    def compose_body(self) -> Iterable[Widget]:
        """Nothing yet."""
        yield Static("Being built.")
