"""The dialog that says what goes with documents before they are deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Button, Static

from localrag.plain import plain
from localrag.tui.screens.dialogs import Dialog
from localrag.tui.words import Fault, count

if TYPE_CHECKING:
    from localrag.kb import Deleted, KnowledgeBase
    from localrag.store.report_rows import Footprint
    from localrag.store.shelf_rows import ShelfRow
    from localrag.tui.session import Session

MOST_TRIED = 300
"""Documents for which it is tried what goes with them; for more that would take long and hold up writing."""

_LISTED = 5
_STAYS = "The files themselves stay where they are."
_BACK = " Comparing folders (S) would bring back what lies in a followed folder."


class DeleteDialog(Dialog[bool]):
    """Lists the documents, counts what goes with them, and asks."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,n", "answer(False)", "Keep", id="delete.keep", tooltip="Delete nothing"),
        Binding("y", "answer(True)", "Delete", id="delete.yes", tooltip="Delete the documents"),
        Binding("left,right", "app.focus_next", show=False),
    ]

    def __init__(self, session: Session, rows: Sequence[ShelfRow]) -> None:
        super().__init__()
        self._session = session
        self._rows = rows

    def compose(self) -> ComposeResult:
        """The documents, what goes with them, and two answers."""
        with Vertical(classes="dialog", id="deleting"):
            what = count(len(self._rows), "document")
            yield Static(f"Delete {what} from the knowledge base?", classes="title", markup=False)
            with VerticalScroll(id="what-goes"):
                yield Static(_names(self._rows), markup=False)
                yield Static("Counting what goes with them …", id="gone", markup=False)
                yield Static(_STAYS + _BACK, classes="hint", markup=False)
            with Horizontal(classes="buttons"):
                yield Button("Delete", id="yes", variant="error", compact=True)
                yield Button("Keep", id="no", variant="primary", compact=True)

    def on_mount(self) -> None:
        """The careful answer is chosen; what goes is found out meanwhile."""
        self.query_one("#no").focus()
        if len(self._rows) > MOST_TRIED:
            self._say("All goes with them that no other document says.")
            return
        ids = [row.document.id for row in self._rows]

        def job(kb: KnowledgeBase) -> Deleted:
            return kb.delete_documents(ids, dry_run=True)

        def failed(fault: Fault) -> None:
            self._say(fault.text)

        self._session.look(self, job, lambda trial: self._say(gone_in_words(trial.gone)), failed)

    def _say(self, words: str) -> None:
        self.query_one("#gone", Static).update(words)

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.close_with(event.button.id == "yes")

    def action_answer(self, answer: bool) -> None:
        """Close with an answer."""
        self.close_with(answer)


def gone_in_words(gone: Footprint) -> str:
    """What goes with documents, one kind a line, without what is none."""
    kinds = (
        (gone.passages, "passage", "passages"),
        (gone.entities, "entity that nothing else speaks of", "entities that nothing else speaks of"),
        (gone.relations, "relation that nothing else speaks of", "relations that nothing else speaks of"),
        (gone.mentions, "mention", "mentions"),
        (gone.claims, "claim", "claims"),
        (gone.summaries, "summary that rested on them", "summaries that rested on them"),
        (gone.reports, "report that rested on them", "reports that rested on them"),
        (gone.answers, "kept answer", "kept answers"),
        (gone.citations, "citation whose source is gone then", "citations whose source is gone then"),
    )
    lines = [f"{number:>9,} {one if number == 1 else more}" for number, one, more in kinds if number]
    return "\n".join(("With them goes:", *lines)) if lines else "Nothing else goes with them."


def _names(rows: Sequence[ShelfRow]) -> str:
    names = [plain(row.document.path) for row in rows[:_LISTED]]
    if len(rows) > _LISTED:
        names.append(f"and {len(rows) - _LISTED:,} more")
    return "\n".join(f"  {name}" for name in names)
