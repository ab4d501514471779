"""The dialog in which a model file is named that a person brought."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Input, Static

from localrag.plain import plain
from localrag.tui.messages import PathChecked, send
from localrag.tui.paths import addable
from localrag.tui.screens.dialogs import Dialog
from localrag.tui.widgets.path_input import PathInput
from localrag.tui.words import Fault
from localrag.tui.work import Lane

ABOUT = """\
On a machine with a network, get a GGUF file of an instruct model, put it on a stick, and name it here. It \
is looked into and copied; a truncated file, or one that is no model for text, is refused with the reason."""


class ModelFileDialog(Dialog[Path]):
    """Asks for a GGUF file; stays open until the path is right or the person leaves."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Cancel", id="model_file.leave")]

    def __init__(self, files: Lane[None], folder: Path) -> None:
        super().__init__()
        self._files = files
        self._folder = folder

    def compose(self) -> ComposeResult:
        """What it is for, the path, and what is wrong with it."""
        with Vertical(classes="dialog"):
            yield Static("Add a model file", classes="title", markup=False)
            yield Static(ABOUT, classes="place", markup=False)
            yield PathInput(
                self._files,
                self._folder,
                fits=lambda path: path.suffix.lower() == ".gguf",
                placeholder="/media/stick/model.gguf",
                id="path",
            )
            yield Static("", id="problem", markup=False)
            with Horizontal(classes="buttons"):
                yield Button("Add", id="add", variant="primary", compact=True)
                yield Button("Cancel", id="cancel", compact=True)

    def on_mount(self) -> None:
        """The cursor stands in the path."""
        self._say("")
        self.query_one(Input).focus()

    def _say(self, words: str) -> None:
        problem = self.query_one("#problem", Static)
        problem.update(plain(words))
        problem.display = bool(words)

    @on(Input.Changed)
    def _changed(self) -> None:
        self._say("")

    @on(PathInput.Offered)
    def _offered(self, event: PathInput.Offered) -> None:
        event.stop()
        self._say("  ".join(event.names))

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
        """Look at the path in a thread; a slow stick does not hold up the screen."""
        text = self.query_one(Input).value

        def job(_: None) -> None:
            path, problem = addable(text, self._folder)
            if path is not None and not path.is_file():
                path, problem = None, f"{path} is a folder. Name the file in it."
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
            self.close_with(message.path)
            return
        self._say(message.problem)
        self.query_one(Input).focus()

    def action_leave(self) -> None:
        """Add nothing."""
        self.close_with(None)
