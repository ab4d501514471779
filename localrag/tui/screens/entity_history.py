"""All decisions about entities, relations and other names, each of which can be taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from localrag.plain import plain
from localrag.tui.screens.dialogs import Confirm
from localrag.tui.screens.entity_deciding import decisions, refuse, take_back, when
from localrag.tui.screens.place import STYLES
from localrag.tui.widgets.keys import KeyLine
from localrag.tui.widgets.lines import Cell, Column, LineList, Toned

if TYPE_CHECKING:
    from localrag.curating import LogEntry
    from localrag.tui.session import Session
    from localrag.tui.words import Fault


_HELP = """
Everything that was decided about entities, relations and other names, the newest first. Decisions hold
for all that is read later, and survive that a document is deleted.

**enter** or **u** takes the decision at the cursor back; the others stay. **escape** closes the list.
"""


class _Decisions(LineList):
    """The list, explained as a part of what it stands in."""

    HELP = _HELP


class HistoryScreen(Screen[None]):
    """The log, the newest decision first."""

    CSS_PATH = STYLES / "graph.tcss"
    HELP = _HELP
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "u", "undo", "Take back", id="decisions.undo", tooltip="Take the decision at the cursor back"
        ),
        Binding("y", "copy", "Copy", id="decisions.copy", show=False, tooltip="Copy the decision"),
        Binding("escape,q,backspace", "close", "Close", id="decisions.close", tooltip="Close the list"),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._entries: list[LogEntry] = []
        self.BINDING_GROUP_TITLE = "Decisions"

    def compose(self) -> ComposeResult:
        """The list, and the decision at the cursor in full."""
        with Vertical(id="decisions") as box:
            box.border_title = Content("Decisions")
            yield _Decisions(
                [
                    Column("when", "When", 16, room=50, sorts=False),
                    Column("state", "State", 11, sorts=False),
                    Column("what", "Decision", sorts=False),
                ],
                empty="Looking.",
            )
            yield Static("", id="decision", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Read the log."""
        self.query_one(LineList).focus()
        self._read()

    def action_close(self) -> None:
        """Close."""
        if self.is_current:
            self.dismiss(None)

    def action_copy(self) -> None:
        """Copy the decision at the cursor."""
        entry = self._entry
        if entry is not None:
            self.app.copy_to_clipboard(plain(entry.sentence))
            self.notify("The decision was copied.", markup=False)

    def action_undo(self) -> None:
        """Take the decision at the cursor back."""
        entry = self._entry
        if entry is None:
            return
        if entry.undone_at:
            self.notify("This was taken back already.", markup=False)
            return

        def answered(sure: bool | None) -> None:
            if sure:
                take_back(self, self._session, entry.id, self._read)

        question = f"Take this back? The decisions before and after it stay.\n\n{plain(entry.sentence)}"
        self.app.push_screen(Confirm(question, "Take it back", "Cancel"), answered)

    @property
    def _entry(self) -> LogEntry | None:
        cursor = self.query_one(LineList).cursor
        return self._entries[cursor] if cursor < len(self._entries) else None

    @on(LineList.Opened)
    def _opened(self) -> None:
        self.action_undo()

    @on(LineList.Highlighted)
    def _highlighted(self) -> None:
        entry = self._entry
        self.query_one("#decision", Static).update(plain(entry.sentence) if entry is not None else "")

    def _read(self) -> None:
        self._session.look(self, decisions, self._show, self._failed, key="graph.decisions")

    def _show(self, entries: list[LogEntry]) -> None:
        self._entries = entries
        rows: list[list[Cell]] = [
            [
                when(entry.made_at),
                Toned("taken back", "faint") if entry.undone_at else Toned("holds", "good"),
                entry.sentence,
            ]
            for entry in entries
        ]
        lines = self.query_one(LineList)
        lines.say_empty("Nothing was decided yet. In the graph, c changes an entity and m suggests merges.")
        lines.show_rows(rows)

    def _failed(self, fault: Fault) -> None:
        refuse(self, fault)
