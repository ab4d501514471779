"""The documents of the knowledge base, each with its state, and how far an index run is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import DataTable, ProgressBar, Static

from localrag.plain import plain
from localrag.tui.words import IndexState, count, document_state

if TYPE_CHECKING:
    from localrag.store.rows import DocumentRow

_STATE_WIDTH = 7
_WHY_WIDTH = 24
_SPACE_OF_A_COLUMN = 2
_WIDE = 70
_COUNT_TITLE = "Read"
_STYLES = {"indexed": "green", "failed": "bold red", "reading": "cyan", "skipped": "dim", "waiting": ""}
EMPTY = "No documents yet.\n\nPress f3 to add a file or a folder."


class DocumentTable(DataTable[Text]):
    """The table itself, with the keys that lists have."""

    HELP = """
    Every document with its state: **waiting** to be read, **reading**, **indexed**, **failed** or
    **skipped**. The last column counts the chunks that the model has read. Below the table stands the whole
    path, and the reason where something failed.

    **enter** shows a document's text, **f3** adds a file or a folder, **f5** starts and stops indexing.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter",
            "select_cursor",
            "Read",
            key_display="enter",
            id="documents.open",
            tooltip="Show the document's text",
        ),
        Binding("j", "cursor_down", "Down", show=False),
        Binding("k", "cursor_up", "Up", show=False),
        Binding("g", "scroll_top", "First", show=False),
        Binding("G", "scroll_bottom", "Last", show=False),
    ]


class DocumentsPane(Vertical):
    """Table, details of the chosen document, and progress of an index run."""

    @dataclass
    class Chosen(Message):
        """A document is to be shown."""

        document_id: int
        """Its id."""

        title: str
        """Its path, harmless to show."""

    def __init__(self) -> None:
        super().__init__(id="documents")
        self._rows: dict[str, DocumentRow] = {}
        self._layout: tuple[int, int, bool] = (0, 0, False)

    def compose(self) -> ComposeResult:
        """The table and what stands below it."""
        yield DocumentTable(cursor_type="row", zebra_stripes=False, id="document-table")
        yield Static("Opening the knowledge base", id="no-documents", markup=False)
        yield Static("", id="document-details", markup=False)
        yield ProgressBar(id="index-bar", show_eta=False, show_percentage=True)

    def on_mount(self) -> None:
        """Start without documents."""
        self.border_title = "Documents"
        self.query_one(ProgressBar).display = False
        self.set_class(True, "-empty")

    @property
    def table(self) -> DocumentTable:
        """The table."""
        return self.query_one(DocumentTable)

    def show(self, documents: Sequence[DocumentRow]) -> None:
        """Show the documents; only what changed is drawn anew."""
        rows = {str(row.id): row for row in documents}
        self.border_title = f"Documents ({len(rows):,})"
        self.query_one("#no-documents", Static).update(EMPTY)
        self.set_class(not rows, "-empty")
        same_order = list(rows) == list(self._rows)
        before, self._rows = self._rows, rows
        if not same_order or not self.table.columns or self._layout != self._fit():
            self._rebuild()
        else:
            for key, row in rows.items():
                if before[key] != row:
                    self._update_row(key, row)
        self._show_details()

    def show_progress(self, state: IndexState | None) -> None:
        """Move the bar; None hides it."""
        bar = self.query_one(ProgressBar)
        bar.display = state is not None
        if state is not None:
            bar.update(total=state.total or None, progress=state.read)

    def on_resize(self, event: events.Resize) -> None:
        """Fit the columns to the new width."""
        if self.table.columns and self._layout != self._fit():
            self._rebuild()

    @on(DataTable.RowHighlighted)
    def _highlighted(self) -> None:
        self._show_details()

    @on(DataTable.RowSelected)
    def _selected(self, event: DataTable.RowSelected) -> None:
        event.stop()
        row = self._rows.get(event.row_key.value or "")
        if row is not None:
            self.post_message(self.Chosen(row.id, plain(row.path)))

    def _fit(self) -> tuple[int, int, bool]:
        """Width of the name and of the count, and whether there is room for the reason."""
        inside = self.size.width
        wide = inside >= _WIDE
        counts = max((len(_count(row)) for row in self._rows.values()), default=0)
        counts = max(counts, len(_COUNT_TITLE))
        taken = _STATE_WIDTH + counts + 3 * _SPACE_OF_A_COLUMN
        if wide:
            taken += _WHY_WIDTH + _SPACE_OF_A_COLUMN
        return max(8, inside - taken), counts, wide

    def _rebuild(self) -> None:
        """Fill the table anew, the cursor on the same document."""
        table = self.table
        chosen = self._chosen_key()
        self._layout = self._fit()
        name_width, count_width, wide = self._layout
        table.clear(columns=True)
        table.add_column("Document", key="name", width=name_width)
        table.add_column("State", key="state", width=_STATE_WIDTH)
        table.add_column(Text(_COUNT_TITLE.rjust(count_width)), key="chunks", width=count_width)
        if wide:
            table.add_column("Why", key="why", width=_WHY_WIDTH)
        for key, row in self._rows.items():
            table.add_row(*self._cells(row), key=key)
        if chosen in self._rows:
            table.move_cursor(row=table.get_row_index(chosen))

    def _update_row(self, key: str, row: DocumentRow) -> None:
        columns = ("name", "state", "chunks", "why") if self._layout[2] else ("name", "state", "chunks")
        for column, cell in zip(columns, self._cells(row), strict=True):
            self.table.update_cell(key, column, cell)

    def _cells(self, row: DocumentRow) -> list[Text]:
        """The cells of a row as text that is never read as markup."""
        state = document_state(row.status, row.read, row.failed, row.chunks)
        cells = [
            _line(_short(plain(row.path), self._layout[0])),
            _line(state, _STYLES.get(state, "")),
            _line(_count(row).rjust(self._layout[1])),
        ]
        return [*cells, _line(plain(row.reason))] if self._layout[2] else cells

    def _chosen_key(self) -> str:
        table = self.table
        if not table.row_count:
            return ""
        return table.coordinate_to_cell_key(table.cursor_coordinate).row_key.value or ""

    def _show_details(self) -> None:
        """The whole path and reason of the chosen document, below the table."""
        details = self.query_one("#document-details", Static)
        row = self._rows.get(self._chosen_key())
        details.set_class(row is None, "-none")
        if row is not None:
            details.update(describe(row))


def describe(row: DocumentRow) -> str:
    """A document's whole path, state and reason."""
    state = document_state(row.status, row.read, row.failed, row.chunks)
    words = [f"{state}: {plain(row.reason)}" if row.reason else state]
    if row.chunks:
        words.append(f"{row.read:,} of {count(row.chunks, 'chunk')} read")
    if row.failed:
        words.append(f"{row.failed:,} failed")
    return f"{plain(row.path)}\n{', '.join(words)}"


def _count(row: DocumentRow) -> str:
    return f"{row.read}/{row.chunks}" if row.chunks else "–"


def _line(text: str, style: str = "") -> Text:
    return Text(text, style=style, no_wrap=True, overflow="ellipsis")


def _short(path: str, width: int) -> str:
    """The end of a path, where its name stands, if the whole does not fit."""
    if Text(path).cell_len <= width:
        return path
    name = path.rsplit("/", 1)[-1]
    return name if Text(name).cell_len >= width - 2 else f"…/{name}"
