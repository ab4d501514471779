"""The dialog with the folders that are followed: what lies in them is found by comparing."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from localrag.plain import plain
from localrag.tui.screens.dialogs import Confirm, Dialog
from localrag.tui.shelf import local_date
from localrag.tui.widgets.lines import Column, LineList, Row

if TYPE_CHECKING:
    from localrag.kb import KnowledgeBase
    from localrag.store.followed_rows import RootRow
    from localrag.tui.app import LocalragApp
    from localrag.tui.session import Session

_COLUMNS = (
    Column("folder", "Folder", share=3, cut="start", sorts=False),
    Column("documents", "Docs", 7, right=True, sorts=False),
    Column("compared", "Compared", 10, sorts=False),
    Column("patterns", "Only, not", share=1, room=80, sorts=False),
)
_EMPTY = "No folder is followed.\nA folder is from when it is added: press a in the library."


class FoldersDialog(Dialog[None]):
    """Lists them, and follows one no more when a person wants that."""

    app: LocalragApp
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "Close", id="folders.leave"),
        Binding(
            "delete,backspace,x",
            "unfollow",
            "Follow no more",
            id="folders.unfollow",
            tooltip="Follow the folder no more; its documents stay",
        ),
    ]

    def __init__(self, session: Session, *, read_only: bool) -> None:
        super().__init__()
        self._session = session
        self._read_only = read_only
        self._roots: list[RootRow] = []

    def compose(self) -> ComposeResult:
        """The folders, and the keys."""
        with Vertical(classes="dialog wide", id="folders"):
            yield Static("Followed folders", classes="title", markup=False)
            yield LineList(_COLUMNS, empty="Looking …", id="roots")
            yield Static("x follows a folder no more, escape closes", classes="hint", markup=False)

    def on_mount(self) -> None:
        """Look for them."""
        self.query_one(LineList).focus()
        self._renew()

    def _renew(self) -> None:
        def job(kb: KnowledgeBase) -> tuple[list[RootRow], Counter[str]]:
            return kb.followed(), Counter(row.document.root for row in kb.library.documents())

        self._session.look(self, job, lambda found: self._show(*found))

    def _show(self, roots: list[RootRow], documents: Counter[str]) -> None:
        self._roots = roots
        lines = self.query_one(LineList)
        lines.say_empty(_EMPTY)
        lines.show_rows([_row(root, documents[root.path]) for root in roots])

    def action_unfollow(self) -> None:
        """Ask, and follow the folder no more."""
        at = self.query_one(LineList).cursor
        if self._read_only or at >= len(self._roots):
            return
        path = self._roots[at].path
        question = f"Follow {plain(path)} no more? Its documents stay; what comes new into it is not found."

        def answered(sure: bool | None) -> None:
            if sure:
                from pathlib import Path

                self._session.change(self, lambda kb: kb.unfollow(Path(path)), lambda _: self._renew())

        self.app.push_screen(Confirm(question, "Follow no more", "Go on following"), answered)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A file that is read only cannot be changed."""
        return None if action == "unfollow" and self._read_only else True

    def action_leave(self) -> None:
        """Close."""
        self.close_with(None)


def _row(root: RootRow, documents: int) -> Row:
    patterns = " ".join((*root.include, *(f"not {pattern}" for pattern in root.exclude)))
    compared = local_date(root.synced_at) if root.synced_at else "never"
    return (root.path, f"{documents:,}", compared, patterns or "all")
