"""The place of the documents: all of them in a table, and what can be done with the chosen ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Button, ProgressBar, Static

from localrag.plain import plain
from localrag.tui import library_work as work
from localrag.tui import messages
from localrag.tui.screens.place import STYLES, PlaceScreen
from localrag.tui.shelf import Arranged, View, arrange
from localrag.tui.widgets.documents import DocumentsPane
from localrag.tui.widgets.lines import LineList
from localrag.tui.words import Fault, count

if TYPE_CHECKING:
    from localrag.kb import KnowledgeBase, Status
    from localrag.store.shelf_rows import ShelfRow
    from localrag.tui.screens.add import AddRequest
    from localrag.tui.screens.comparing import SyncRequest

READ_ONLY = "This file can only be read: documents can be looked at, not added, changed or deleted."
_WRITES = frozenset(("add", "compare", "delete", "retry", "retry_all", "tags", "index", "prefer"))
_MANY = 5_000
_STILL_SECONDS = 0.15


class AdditionLine(Horizontal):
    """How far an addition is, and a way to stop it; seen while one goes on."""

    def compose(self) -> ComposeResult:
        """The file, a bar, and a button."""
        yield Static("", id="addition-words", markup=False)
        yield ProgressBar(id="addition-bar", show_eta=False)
        yield Button("Stop (c)", id="addition-stop", compact=True)

    def show(self, words: str, done: int, total: int) -> None:
        """Say how far it is."""
        self.query_one("#addition-words", Static).update(words)
        self.query_one(ProgressBar).update(total=total or None, progress=done)


class LibraryScreen(PlaceScreen):
    """All documents in a table."""

    PLACE = "library"
    CSS_PATH = STYLES / "library.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "add", "Add", id="library.add", tooltip="Add files and folders"),
        Binding(
            "S",
            "compare",
            "Sync",
            id="library.compare",
            tooltip="Find what has changed in followed folders",
        ),
        Binding("x,delete,backspace", "delete", "Delete", id="library.delete", tooltip="Delete the chosen"),
        Binding("r", "retry", "Retry", id="library.retry", tooltip="Try again what failed in the chosen"),
        Binding(
            "R", "retry_all", "Retry all", show=False, id="library.retry_all", tooltip="In all documents"
        ),
        Binding("t", "tags", "Tags", id="library.tags", tooltip="Give the chosen tags, or take them away"),
        Binding("i", "index", "Index", id="library.index", tooltip="Let the model read, the chosen first"),
        Binding(
            "p",
            "prefer",
            "First",
            show=False,
            id="library.prefer",
            tooltip="Let the chosen be read before others",
        ),
        Binding("slash", "search", "Search", id="library.search", tooltip="Search paths, titles and tags"),
        Binding(
            "f",
            "next_state",
            "State",
            show=False,
            id="library.state",
            tooltip="Show one state after the other",
        ),
        Binding("s", "order", "Order", show=False, id="library.order", tooltip="Order by the next column"),
        Binding("v", "turn", "Turn", show=False, id="library.turn", tooltip="Turn the order round"),
        Binding("F", "folders", "Folders", show=False, id="library.folders", tooltip="The followed folders"),
        Binding("y", "copy", "Copy", show=False, id="library.copy", tooltip="Copy the paths of the chosen"),
        Binding("c", "stop_adding", "Stop", show=False, id="library.stop", tooltip="Stop adding files"),
        Binding(
            "escape", "show_all", "Show all", show=False, id="library.all", tooltip="Drop search and state"
        ),
    ]

    def compose_body(self) -> Iterable[Widget]:
        """What cannot be done, how far an addition is, and the table."""
        yield Static(READ_ONLY, id="read-only", markup=False)
        yield AdditionLine(id="addition")
        yield DocumentsPane()

    def on_mount(self) -> None:
        """Nothing is added yet."""
        self._all: Sequence[ShelfRow] | None = None
        self._reading = self._again = False
        self._seen: object = None
        self._waits: Timer | None = None
        self._read_only = False
        self.query_one("#read-only").display = False
        self.query_one("#addition").display = False
        self.pane.table.focus()

    @property
    def pane(self) -> DocumentsPane:
        """Table and search box."""
        return self.query_one(DocumentsPane)

    # Reading what is shown

    def renew(self) -> None:
        """Read the documents anew."""
        if self._reading:
            self._again = True
            return
        self._reading = True
        view = self.pane.view

        def job(kb: KnowledgeBase) -> tuple[Sequence[ShelfRow], Arranged]:
            rows = kb.library.documents()
            return rows, arrange(rows, view)

        self.session.look(self, job, lambda found: self._take(view, *found), self._failed)

    def _take(self, view: View, rows: Sequence[ShelfRow], arranged: Arranged) -> None:
        self._reading = False
        self._all = rows
        if view == self.pane.view:
            self.pane.show(arranged)
        else:
            self._arrange()
        if self._again:
            self._again = False
            self.renew()

    def _failed(self, fault: Fault) -> None:
        self._reading = False
        self.app.show_fault(fault)

    @on(DocumentsPane.Asked)
    def _arrange(self) -> None:
        """Show what another view shows, of the documents that were read before."""
        if self._waits is not None:
            self._waits.stop()
        # While a person types, only what stands still for a moment is looked for among many.
        many = len(self._all or ()) > _MANY
        self._waits = self.set_timer(_STILL_SECONDS, self._arrange_now) if many else None
        if not many:
            self._arrange_now()

    def _arrange_now(self) -> None:
        rows, view = self._all, self.pane.view
        if rows is not None:
            key = "library.arrange"
            self.session.look(self, lambda kb: arrange(rows, view), self.pane.show, key=key)

    def show_status(self, status: Status) -> None:
        """Read anew while something is added or read."""
        seen = (status.revision, status.chunks, len(status.documents))
        changed, self._seen = seen != self._seen, seen
        if self._read_only != status.read_only:
            self._read_only = status.read_only
            self.query_one("#read-only").display = status.read_only
            self.refresh_bindings()
        if changed and self.is_current and self._all is not None:
            self.renew()

    @on(messages.AddProgress)
    def _adding(self, message: messages.AddProgress) -> None:
        line = self.query_one(AdditionLine)
        line.display = True
        number = f" ({message.done:,} of {message.total:,})" if message.total else ""
        line.show(f"{message.verb}{number}: {message.name}", message.done, message.total)

    @on(messages.AddEnded)
    def _added(self) -> None:
        self.query_one(AdditionLine).display = self.session.additions.active

    # What can be done

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A file that is read only cannot be changed; stopping needs something to stop."""
        if action in _WRITES and getattr(self, "_read_only", False):
            return None
        if action == "stop_adding":
            return self.session.additions.active
        return True

    def action_add(self) -> None:
        """Ask for paths and add them."""
        from localrag.tui.screens.add import AddDialog

        self.app.push_screen(AddDialog(), self._add)

    def _add(self, request: AddRequest | None) -> None:
        if request is not None:
            self.session.additions.add(*request.paths, then_index=request.then_index)

    def action_stop_adding(self) -> None:
        """Stop after the file in hand."""
        self.session.additions.stop()
        self.notify("Stopping after the file in hand. What is in stays.", markup=False)

    @on(Button.Pressed, "#addition-stop")
    def _stop_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.action_stop_adding()

    def action_compare(self) -> None:
        """Compare with the folders, show what would be done, and do it when it is wanted."""
        from localrag.tui.screens.comparing import SyncDialog

        self.app.push_screen(SyncDialog(self.session), self._sync)

    def _sync(self, request: SyncRequest | None) -> None:
        if request is not None:
            work.sync(self.session, request)

    def action_folders(self) -> None:
        """Show the followed folders."""
        from localrag.tui.screens.folders import FoldersDialog

        self.app.push_screen(FoldersDialog(self.session, read_only=self._read_only))

    def action_delete(self) -> None:
        """Say what goes with the chosen documents, and delete them when it is wanted."""
        from localrag.tui.screens.deleting import DeleteDialog

        rows = self.pane.chosen
        if not rows:
            self._none_chosen()
            return

        def answered(sure: bool | None) -> None:
            if sure:
                self.pane.table.action_unmark()
                work.delete(self, rows)

        self.app.push_screen(DeleteDialog(self.session, rows), answered)

    def action_tags(self) -> None:
        """Show the tags of the chosen documents."""
        from localrag.tui.screens.tagging import TagsDialog

        if rows := self.pane.chosen:
            self.app.push_screen(TagsDialog(self.session, rows))
        else:
            self._none_chosen()

    def action_retry(self) -> None:
        """Try again what failed in the chosen documents."""
        work.retry(self, [row for row in self.pane.chosen if work.has_failed(row)])

    def action_retry_all(self) -> None:
        """Try again all that failed."""
        work.retry(self, [row for row in self._all or () if work.has_failed(row)])

    def action_index(self) -> None:
        """Let the model read; documents that were marked come first."""
        if self.pane.table.marks:
            work.prefer(self.session, self.pane.chosen)
        if self.session.index_run.active:
            self.notify("An index run goes on already. See Index (f4).", markup=False)
        else:
            self.session.index_run.begin()
            self.notify("Indexing has begun. Index (f4) shows how far it is.", markup=False)

    def action_prefer(self) -> None:
        """Let the chosen documents be read before all others."""
        rows = [row for row in self.pane.chosen if work.waits(row)]
        if not rows:
            self.notify("Nothing waits to be read in what is chosen.", markup=False)
            return
        work.prefer(self.session, rows)
        then = "" if self.session.index_run.active else " Press i to begin."
        self.notify(f"{count(len(rows), 'document')} will be read first.{then}", markup=False)

    def action_copy(self) -> None:
        """Copy the whole paths of the chosen documents."""
        if rows := self.pane.chosen:
            paths = (f"{row.document.root.rstrip('/')}/{row.document.path}" for row in rows)
            self.app.copy_to_clipboard("\n".join(map(plain, paths)))
            self.notify(f"{count(len(rows), 'path')} copied.", markup=False)

    def _none_chosen(self) -> None:
        self.notify("There is no document to do this with.", markup=False)

    # Finding

    def action_search(self) -> None:
        """Go to the search box."""
        self.pane.search.focus()

    def action_to_list(self) -> None:
        """Go to the table."""
        self.pane.table.focus()

    def action_clear_search(self) -> None:
        """Search for nothing, and go to the table."""
        self.pane.search.value = ""
        self.pane.table.focus()

    def action_show_all(self) -> None:
        """Show all documents again."""
        self.pane.search.value = ""
        self.pane.change(text="", state="")
        self.pane.table.focus()

    def action_next_state(self) -> None:
        """Show documents of one state after the other."""
        self.pane.next_state()

    def action_order(self) -> None:
        """Order by the next column."""
        self.pane.order_by_next()

    def action_turn(self) -> None:
        """Turn the order round."""
        self.pane.turn_round()

    @on(LineList.Opened, "#shelf-table")
    def _open_document(self, event: LineList.Opened) -> None:
        from localrag.tui.screens.document import DocumentScreen

        row = self.pane.shown[event.index]
        self.app.push_screen(DocumentScreen(self.session, row.document.id))
