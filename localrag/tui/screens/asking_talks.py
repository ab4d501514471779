"""Small dialogs about a conversation: another title for it, and a file to write it to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Input, Static

from localrag.plain import TYPEABLE
from localrag.tui.screens.dialogs import Dialog
from localrag.tui.talks import THERE_ALREADY, file_name, write_markdown

if TYPE_CHECKING:
    from localrag.kb import KnowledgeBase
    from localrag.tui.session import Session
    from localrag.tui.words import Fault


class RenameDialog(Dialog[str]):
    """Asks for another title."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel", id="rename.cancel")]

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title

    def compose(self) -> ComposeResult:
        """A line to type in."""
        with Vertical(classes="dialog small") as box:
            box.border_title = "Title of the conversation"
            yield Input(self._title, restrict=TYPEABLE, compact=True, id="title")
            with Horizontal(classes="buttons"):
                yield Button("Rename", id="use", variant="primary", compact=True)
                yield Button("Cancel", id="cancel", compact=True)

    def on_mount(self) -> None:
        """Type at once."""
        self.query_one(Input).focus()

    def action_cancel(self) -> None:
        """Close; nothing changes."""
        self.close_with(None)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._use()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "use":
            self._use()
        else:
            self.close_with(None)

    def _use(self) -> None:
        title = " ".join(self.query_one(Input).value.split())
        if title:
            self.close_with(title)


class ExportDialog(Dialog[Path]):
    """Asks where to write a conversation, and writes it; the result is the file."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel", id="export.cancel")]

    def __init__(
        self, session: Session, folder: Path, title: str, text: Callable[[KnowledgeBase], str]
    ) -> None:
        """`text` gives the Markdown, in a working thread; `folder` is where it is offered to lie."""
        super().__init__()
        self._session = session
        self._title = title
        self._folder = folder
        self._text = text
        self._refused = ""

    def compose(self) -> ComposeResult:
        """A line for the path."""
        with Vertical(classes="dialog small") as box:
            box.border_title = Content("Write the conversation as Markdown")
            yield Input(
                str(self._folder / file_name(self._title)), restrict=TYPEABLE, compact=True, id="export-path"
            )
            yield Static("", id="export-problem", markup=False)
            with Horizontal(classes="buttons"):
                yield Button("Write", id="use", variant="primary", compact=True)
                yield Button("Cancel", id="cancel", compact=True)

    def on_mount(self) -> None:
        """The path can be changed at once."""
        self.query_one("#export-problem").display = False
        self.query_one(Input).focus()

    def action_cancel(self) -> None:
        """Close; nothing is written."""
        self.close_with(None)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._write()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "use":
            self._write()
        else:
            self.close_with(None)

    def _write(self) -> None:
        typed = self.query_one(Input).value.strip()
        if not typed:
            return
        folder, text, replace = self._folder, self._text, typed == self._refused

        def job(kb: KnowledgeBase) -> Path:
            path = folder / Path(typed).expanduser()
            return write_markdown(path, text(kb), replace=replace)

        self._session.look(self, job, self.close_with, lambda fault: self._refuse(typed, fault))

    def _refuse(self, typed: str, fault: Fault) -> None:
        self._refused = typed if fault.hint == THERE_ALREADY else ""
        problem = self.query_one("#export-problem", Static)
        problem.update(fault.text)
        problem.display = True
