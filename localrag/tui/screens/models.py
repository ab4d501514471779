"""The place of models: what is here, in use and recommended, and bringing, checking and removing it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual.widget import Widget

from localrag.tui.screens.place import STYLES, PlaceScreen
from localrag.tui.widgets.models import ModelsPane

if TYPE_CHECKING:
    from textual._path import CSSPathType


class ModelsScreen(PlaceScreen):
    """The list of models; all it can do is in the pane, which the guided start shows too."""

    PLACE = "models"
    CSS_PATH: ClassVar[CSSPathType] = [STYLES / "models.tcss", STYLES / "panes.tcss"]

    def compose_body(self) -> Iterable[Widget]:
        """The pane."""
        yield ModelsPane()

    def on_mount(self) -> None:
        """The keys of the list work at once."""
        self.pane.lines.focus()

    @property
    def pane(self) -> ModelsPane:
        """The list with all around it."""
        return self.query_one(ModelsPane)

    def renew(self) -> None:
        """Look at the models again."""
        self.pane.action_look_again()
