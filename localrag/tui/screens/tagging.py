"""The dialog in which documents get tags and lose them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from localrag.plain import TYPEABLE
from localrag.tui.screens.dialogs import Dialog
from localrag.tui.widgets.lines import Column, LineList, Row, Toned
from localrag.tui.words import Fault, count

if TYPE_CHECKING:
    from localrag.kb import KnowledgeBase
    from localrag.store.shelf_rows import ShelfRow
    from localrag.tui.session import Session

_COLUMNS = (
    Column("has", "", 5, sorts=False),
    Column("tag", "Tag", sorts=False),
    Column("documents", "Documents", 10, right=True, sorts=False),
)
_EMPTY = "No tags yet. Type one above and press enter."


class TagsDialog(Dialog[bool]):
    """Every tag there is, with whether the chosen documents carry it; closes with whether any changed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close", id="tags.leave"),
    ]

    def __init__(self, session: Session, rows: Sequence[ShelfRow]) -> None:
        super().__init__()
        self._session = session
        self._ids = [row.document.id for row in rows]
        self._tags: list[str] = []
        self._carried: dict[str, int] = {}
        self._changed = False

    def compose(self) -> ComposeResult:
        """A line for a new tag, and those that there are."""
        with Vertical(classes="dialog", id="tagging"):
            what = count(len(self._ids), "document")
            yield Static(f"Tags of {what}", classes="title", markup=False)
            yield Input(placeholder="A tag to give", id="tag", restrict=TYPEABLE, compact=True)
            yield Static("", id="problem", markup=False)
            yield LineList(_COLUMNS, empty="Looking …", id="tags")
            hint = "enter in the list gives a tag to all of them, or takes it from all"
            yield Static(hint, classes="hint", markup=False)

    def on_mount(self) -> None:
        """The cursor stands in the line."""
        self.query_one("#problem").display = False
        self.query_one(Input).focus()
        self._renew()

    def _renew(self) -> None:
        wanted = set(self._ids)

        def job(kb: KnowledgeBase) -> list[tuple[str, int, int]]:
            found: dict[str, list[int]] = {}
            for row in kb.library.documents():
                for tag in row.tags:
                    found.setdefault(tag, []).append(row.document.id)
            return [(tag, len(ids), len(wanted & set(ids))) for tag, ids in sorted(found.items())]

        self._session.look(self, job, self._show, key="library.tags")

    def _show(self, found: list[tuple[str, int, int]]) -> None:
        self._tags = [tag for tag, _, _ in found]
        self._carried = {tag: carried for tag, _, carried in found}
        lines = self.query_one(LineList)
        lines.say_empty(_EMPTY)
        rows: list[Row] = [(self._mark(carried), tag, f"{total:,}") for tag, total, carried in found]
        lines.show_rows(rows)

    def _mark(self, carried: int) -> Toned:
        if carried == len(self._ids):
            return Toned("[x]", "good")
        return Toned("[-]" if carried else "[ ]", "")

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        tag = event.value.strip()
        if tag:
            self._change(tag, give=True)

    @on(LineList.Opened)
    def _chosen(self, event: LineList.Opened) -> None:
        event.stop()
        tag = self._tags[event.index]
        self._change(tag, give=self._carried[tag] < len(self._ids))

    def _change(self, tag: str, *, give: bool) -> None:
        ids = list(self._ids)

        def job(kb: KnowledgeBase) -> None:
            (kb.tags.add if give else kb.tags.remove)(tag, ids)

        self._session.change(self, job, lambda _: self._done(tag), self._failed)

    def _done(self, tag: str) -> None:
        self._changed = True
        box = self.query_one(Input)
        if box.value.strip() == tag:
            box.value = ""
        self._say("")
        self._renew()

    def _failed(self, fault: Fault) -> None:
        self._say(fault.text)

    def _say(self, words: str) -> None:
        problem = self.query_one("#problem", Static)
        problem.update(words)
        problem.display = bool(words)

    def action_leave(self) -> None:
        """Close."""
        self.close_with(self._changed)
