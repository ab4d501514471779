"""The dialog in which files and folders are named that are to be added."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Checkbox, Input, Static

from localrag.plain import plain
from localrag.tui.disk import on_disk
from localrag.tui.paths import addable_all
from localrag.tui.screens.dialogs import Dialog
from localrag.tui.widgets.path_input import PathInput
from localrag.tui.words import count

if TYPE_CHECKING:
    from localrag.tui.app import LocalragApp

_HINT = (
    "Type a path, or drag files from a file manager into the terminal. Tab completes a name. Folders are "
    "followed: S finds later what has changed in them."
)
_LISTED = 4


@dataclass(frozen=True)
class AddRequest:
    """What is to be added."""

    paths: tuple[Path, ...]
    """Files and folders that exist."""

    then_index: bool
    """Whether to begin reading when they are in."""


class AddDialog(Dialog[AddRequest]):
    """Asks for paths; says what is wrong with one and stays open until it is right or the person leaves."""

    app: LocalragApp
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Cancel", id="add.leave", tooltip="Add nothing"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._paths: list[Path] = []

    def compose(self) -> ComposeResult:
        """The path, what it could go on with, a choice, and what is wrong."""
        with Vertical(classes="dialog", id="adding"):
            yield Static("Add files or folders", classes="title", markup=False)
            yield Static(_HINT, classes="hint", markup=False)
            yield Static("", id="named", markup=False)
            yield PathInput(
                self.app.files, self.app.folder, placeholder="~/notes, or report.md letters/", id="path"
            )
            yield Static("", id="offered", markup=False)
            yield Static("", id="problem", markup=False)
            yield Checkbox("Index when they are added", value=True, id="then-index", compact=True)
            with Horizontal(classes="buttons"):
                yield Button("Add", id="add", variant="primary", compact=True)
                yield Button("Another", id="another", compact=True, tooltip="Name one more before adding")
                yield Button("Cancel", id="cancel", compact=True)

    def on_mount(self) -> None:
        """The cursor stands in the path."""
        for name in ("#problem", "#offered", "#named"):
            self.query_one(name).display = False
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _changed(self) -> None:
        self._say("#problem", "")
        self._say("#offered", "")

    @on(PathInput.Offered)
    def _offered(self, event: PathInput.Offered) -> None:
        self._say("#offered", "  ".join(event.names))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._check(more=False)

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "cancel":
            self.close_with(None)
        else:
            self._check(more=event.button.id == "another")

    def _check(self, *, more: bool) -> None:
        """Look at the paths in a thread; a slow disk does not hold up the screen."""
        text, folder = self.query_one(Input).value, self.app.folder
        if self._paths and not text.strip() and not more:
            self._close()
            return
        on_disk(
            self.app,
            self,
            lambda: addable_all(text, folder),
            lambda found: self._checked(*found, more=more),
            lambda fault: self._checked([], fault.message, more=more),
        )

    def _checked(self, paths: list[Path], problem: str, *, more: bool) -> None:
        if not self.is_current:
            return
        if problem:
            self._say("#problem", plain(problem))
            self.query_one(Input).focus()
            return
        self._paths = list(dict.fromkeys((*self._paths, *paths)))
        if not more:
            self._close()
            return
        shown = [plain(str(path)) for path in self._paths]
        rest = [f"and {len(shown) - _LISTED:,} more"] if len(shown) > _LISTED else []
        self._say("#named", "\n".join((f"{count(len(shown), 'path')}:", *shown[-_LISTED:], *rest)))
        self.query_one(Input).value = ""
        self.query_one(Input).focus()

    def _close(self) -> None:
        self.close_with(AddRequest(tuple(self._paths), self.query_one(Checkbox).value))

    def _say(self, name: str, words: str) -> None:
        found = self.query_one(name, Static)
        found.update(words)
        found.display = bool(words)

    def action_leave(self) -> None:
        """Add nothing."""
        self.close_with(None)
