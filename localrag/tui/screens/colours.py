"""The choice of colours: each is shown while one moves over it, and kept with enter."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from localrag.tui.preferences import change_setting
from localrag.tui.screens.dialogs import Dialog
from localrag.tui.themes import looks, without_colours
from localrag.tui.widgets.lines import Column, LineList

if TYPE_CHECKING:
    from localrag.tui.app import LocalragApp

NO_COLOURS = "No colours are shown, since the variable NO_COLOR asks for none; light and dark still differ."


class ColoursDialog(Dialog[None]):
    """Closes with enter, which keeps the colours, or with escape, which brings back those from before."""

    app: LocalragApp
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "escape,q", "leave", "Back", id="colours.leave", tooltip="Go back to the colours from before"
        ),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._before = ""
        self._looks = looks(self.app)

    def compose(self) -> ComposeResult:
        """One line for each choice."""
        with Vertical(classes="dialog", id="colours") as box:
            box.border_title = "Colours"
            box.border_subtitle = "enter keeps, esc goes back"
            if without_colours(self.app):
                yield Static(NO_COLOURS, classes="place", markup=False)
            yield LineList(
                [Column("title", "Colours", 26), Column("about", "")], header=False, id="colour-list"
            )

    def on_mount(self) -> None:
        """The cursor stands on the colours that are shown."""
        self._before = self.app.theme
        names = [look.name for look in self._looks]
        cursor = names.index(self._before) if self._before in names else 0
        lines = self.query_one(LineList)
        lines.styles.height = len(names)
        lines.show_rows([(look.title, look.about) for look in self._looks], cursor=cursor)
        lines.focus()

    @on(LineList.Highlighted)
    def _preview(self, event: LineList.Highlighted) -> None:
        event.stop()
        if self.is_current and event.index >= 0:
            self.app.theme = self._looks[event.index].name

    @on(LineList.Opened)
    def _keep(self, event: LineList.Opened) -> None:
        event.stop()
        name = self._looks[event.index].name
        self.app.theme = name
        change_setting(self.app, self.app, "tui.theme", name, lambda _: None)
        self.close_with(None)

    def action_leave(self) -> None:
        """Bring back the colours from before."""
        self.app.theme = self._before
        self.close_with(None)
