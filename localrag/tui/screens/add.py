"""The dialog in which a file or a folder is named that is to be added."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Checkbox, Input, Static

from localrag.plain import TYPEABLE, plain
from localrag.tui.messages import PathChecked, send
from localrag.tui.paths import addable
from localrag.tui.screens.dialogs import Dialog
from localrag.tui.words import Fault
from localrag.tui.work import Lane


@dataclass(frozen=True)
class AddRequest:
    """What is to be added."""

    path: Path
    """A file or a folder that exists."""

    then_index: bool
    """Whether to begin reading when it is in."""


class AddDialog(Dialog[AddRequest]):
    """Asks for a path; says what is wrong with it and stays open until it is right or the person leaves."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Cancel", id="add.leave")]

    def __init__(self, files: Lane[None], folder: Path) -> None:
        super().__init__()
        self._files = files
        self._folder = folder

    def compose(self) -> ComposeResult:
        """The path, a choice, and what is wrong."""
        with Vertical(classes="dialog"):
            yield Static("Add a file or a folder", classes="title", markup=False)
            yield Input(placeholder="~/notes or report.md", id="path", restrict=TYPEABLE, compact=True)
            yield Static("", id="problem", markup=False)
            yield Checkbox("Index when it is added", value=True, id="then-index", compact=True)
            with Horizontal(classes="buttons"):
                yield Button("Add", id="add", variant="primary", compact=True)
                yield Button("Cancel", id="cancel", compact=True)

    def on_mount(self) -> None:
        """The cursor stands in the path."""
        self.query_one("#problem").display = False
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _changed(self) -> None:
        self.query_one("#problem").display = False

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._check()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "add":
            self._check()
        else:
            self.close_with(None)

    def _check(self) -> None:
        """Look at the path in a thread; a slow disk does not hold up the screen."""
        text = self.query_one(Input).value

        def job(_: None) -> None:
            path, problem = addable(text, self._folder)
            send(self, PathChecked(path, problem))

        def on_fault(fault: Fault) -> None:
            send(self, PathChecked(None, fault.message))

        self._files.submit(job, on_fault)

    @on(PathChecked)
    def _checked(self, message: PathChecked) -> None:
        message.stop()
        if not self.is_current:
            return
        if message.path is not None:
            self.close_with(AddRequest(message.path, self.query_one(Checkbox).value))
            return
        problem = self.query_one("#problem", Static)
        problem.update(plain(message.problem))
        problem.display = True
        self.query_one(Input).focus()

    def action_leave(self) -> None:
        """Add nothing."""
        self.close_with(None)
