"""The place of settings."""

from __future__ import annotations

from collections.abc import Iterable

from textual.widget import Widget
from textual.widgets import Static

from localrag.tui.screens.place import STYLES, PlaceScreen


class SettingsScreen(PlaceScreen):
    """Being built."""

    PLACE = "settings"
    CSS_PATH = STYLES / "settings.tcss"

    def compose_body(self) -> Iterable[Widget]:
        """Nothing yet."""
        yield Static("Being built.")
