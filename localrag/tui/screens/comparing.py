"""The dialog that compares the knowledge base with its folders, shows what would be done, and does it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Checkbox, Static

from localrag.plain import plain
from localrag.tui.screens.dialogs import Dialog
from localrag.tui.syncing import as_rows, changes, in_words
from localrag.tui.widgets.lines import Column, LineList
from localrag.tui.words import Fault

if TYPE_CHECKING:
    from localrag.kb import SyncReport
    from localrag.tui.session import Session

_COLUMNS = (
    Column("what", "What", 8, sorts=False),
    Column("path", "Document", share=3, cut="start", sorts=False),
    Column("why", "Why", share=2, room=64, sorts=False),
)


@dataclass(frozen=True)
class SyncRequest:
    """What a person wants to be done."""

    delete: bool
    """Whether documents whose files are gone are deleted."""

    then_index: bool
    """Whether to begin reading when it is done."""


class SyncDialog(Dialog[SyncRequest]):
    """Compares at once, changes nothing until it is told to."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Cancel", id="sync.leave", tooltip="Change nothing"),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._comparing = True

    def compose(self) -> ComposeResult:
        """What was found, what would be done with each, and choices."""
        with Vertical(classes="dialog wide", id="syncing"):
            yield Static("Compare with the followed folders", classes="title", markup=False)
            yield Static("Looking for what is new, changed and gone …", id="found", markup=False)
            yield LineList(_COLUMNS, id="changes")
            yield Checkbox("Delete documents whose files are gone", value=True, id="delete", compact=True)
            yield Checkbox("Index what is new", value=True, id="then-index", compact=True)
            with Horizontal(classes="buttons"):
                yield Button("Do it", id="do", variant="primary", compact=True, disabled=True)
                yield Button("Cancel", id="cancel", compact=True)

    def on_mount(self) -> None:
        """Begin to compare."""
        for name in ("#changes", "#delete", "#then-index"):
            self.query_one(name).display = False
        self.query_one("#cancel").focus()
        self._session.additions.compare(self, self._show, self._failed)

    def _show(self, report: SyncReport) -> None:
        self._comparing = False
        self._say("\n".join((in_words(report), *map(plain, report.notes))))
        rows = as_rows(report)
        self.query_one(LineList).show_rows(rows)
        self.query_one("#changes").display = bool(rows)
        self.query_one("#delete").display = bool(report.deleted)
        self.query_one("#then-index").display = bool(report.added or report.changed)
        if changes(report):
            self.query_one("#do", Button).disabled = False
            self.query_one("#do").focus()

    def _failed(self, fault: Fault) -> None:
        self._comparing = False
        self._say(fault.text)

    def _say(self, words: str) -> None:
        self.query_one("#found", Static).update(words)

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id != "do":
            self.action_leave()
            return
        choices = [self.query_one(name, Checkbox).value for name in ("#delete", "#then-index")]
        self.close_with(SyncRequest(*choices))

    def action_leave(self) -> None:
        """Change nothing; a comparison that goes on is stopped."""
        if self._comparing:
            self._session.additions.stop()
        self.close_with(None)
