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
from localrag.tui.screens.dialogs import Dialog, T
from localrag.tui.talks import THERE_ALREADY, file_name, write_markdown

if TYPE_CHECKING:
    from localrag.kb import KnowledgeBase
    from localrag.tui.session import Session
    from localrag.tui.words import Fault


class _OneLine(Dialog[T]):
    """Asks for a line; enter and the first button use it, the second button and escape leave."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel", id="line.cancel")]

    def __init__(self, title: str, text: str, use: str, name: str) -> None:
        """`text` stands in the line, whose id is `name`; `use` is the word on the button."""
        super().__init__()
        self._title_words, self._line, self._use_word, self._line_id = title, text, use, name

    def compose(self) -> ComposeResult:
        """The line, what is wrong with it, and two buttons."""
        with Vertical(classes="dialog small") as box:
            box.border_title = Content(self._title_words)
            yield Input(self._line, restrict=TYPEABLE, compact=True, id=self._line_id)
            yield Static("", id="export-problem", markup=False)
            with Horizontal(classes="buttons"):
                yield Button(self._use_word, id="use", variant="primary", compact=True)
                yield Button("Cancel", id="cancel", compact=True)

    def on_mount(self) -> None:
        """Type at once."""
        self.query_one("#export-problem").display = False
        self.query_one(Input).focus()

    def action_cancel(self) -> None:
        """Close; nothing changes."""
        self.close_with(None)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.use(event.value)

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "use":
            self.use(self.query_one(Input).value)
        else:
            self.close_with(None)

    def use(self, typed: str) -> None:
        """Do with the line what it was asked for."""
        raise NotImplementedError


class RenameDialog(_OneLine[str]):
    """Asks for another title."""

    def __init__(self, title: str) -> None:
        super().__init__("Title of the conversation", title, "Rename", "title")

    def use(self, typed: str) -> None:
        """Close with the title, unless it is empty."""
        title = " ".join(typed.split())
        if title:
            self.close_with(title)


class ExportDialog(_OneLine[Path]):
    """Asks where to write a conversation, and writes it; the result is the file."""

    def __init__(
        self, session: Session, folder: Path, title: str, text: Callable[[KnowledgeBase], str]
    ) -> None:
        """`text` gives the Markdown, in a working thread; `folder` is where it is offered to lie."""
        path = str(folder / file_name(title))
        super().__init__("Write the conversation as Markdown", path, "Write", "export-path")
        self._session = session
        self._folder = folder
        self._text = text
        self._refused = ""

    def use(self, typed: str) -> None:
        """Write the file; what stands in the way is said, and the dialog stays."""
        typed = typed.strip()
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
