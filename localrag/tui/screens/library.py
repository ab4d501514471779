"""The place of the documents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.widget import Widget

from localrag.plain import plain_lines
from localrag.tui.screens.dialogs import Reader
from localrag.tui.screens.place import STYLES, PlaceScreen
from localrag.tui.widgets.documents import DocumentsPane

if TYPE_CHECKING:
    from localrag.kb import Status
    from localrag.tui.screens.add import AddRequest


class LibraryScreen(PlaceScreen):
    """All documents in a table."""

    PLACE = "library"
    CSS_PATH = STYLES / "library.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "add", "Add", id="library.add", tooltip="Add a file or a folder"),
    ]

    def compose_body(self) -> Iterable[Widget]:
        """The table."""
        yield DocumentsPane()

    def show_status(self, status: Status) -> None:
        """Show the documents."""
        self.query_one(DocumentsPane).show(status.documents)

    def action_add(self) -> None:
        """Ask for a path and add it."""
        from localrag.tui.screens.add import AddDialog

        self.app.push_screen(AddDialog(self.app.files, self.app.folder), self._add)

    def _add(self, request: AddRequest | None) -> None:
        if request is not None:
            self.session.additions.add(request.path, then_index=request.then_index)

    @on(DocumentsPane.Chosen)
    def _open_document(self, event: DocumentsPane.Chosen) -> None:
        def show(text: str) -> None:
            self.app.push_screen(Reader(event.title, "", plain_lines(text)))

        self.session.look(self, lambda kb: kb.document_text(event.document_id), show, key="library.text")
