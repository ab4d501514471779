"""The place of checks."""

from __future__ import annotations

from collections.abc import Iterable

from textual.widget import Widget
from textual.widgets import Static

from localrag.tui.screens.place import STYLES, PlaceScreen


class DoctorScreen(PlaceScreen):
    """Being built."""

    PLACE = "doctor"
    CSS_PATH = STYLES / "doctor.tcss"

    def compose_body(self) -> Iterable[Widget]:
        """Nothing yet."""
        yield Static("Being built.")
