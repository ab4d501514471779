"""The documents of the knowledge base in a table, with counts by state, a search box and details."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input, Static

from localrag.plain import TYPEABLE
from localrag.tui.shelf import COLUMNS, ORDERS, STATES, Arranged, View, cells, details
from localrag.tui.widgets.lines import LineList, fitted

if TYPE_CHECKING:
    from localrag.store.shelf_rows import ShelfRow

EMPTY = "No documents yet.\nPress a to add files or folders."
OPENING = "Opening the knowledge base"
NONE_FOUND = "No document is like that.\nEscape shows all again."


class DocumentList(LineList):
    """The table itself."""

    HELP = """
    Every document with its state: **waiting** to be read, **reading**, **indexed**, **failed**, **skipped**.
    **Read** counts the chunks that the model has read: a chunk is a passage of a few hundred words. Below
    the table stands the whole path of the document at the cursor, and the reason where something failed.

    **enter** opens a document, **space** chooses several for what the keys below do. **/** searches in paths,
    titles and tags, **f** shows one state after the other, **s** orders by another column and **v** turns
    the order round; a click on a heading does both.
    """


class StateChip(Static):
    """How many documents are in a state; a click shows only those."""

    def __init__(self, state: str) -> None:
        super().__init__("", markup=False)
        self.state = state

    def show(self, number: int, *, chosen: bool) -> None:
        """Brackets tell which one is chosen, since colours may be off."""
        words = f"{(self.state or 'all').capitalize()} {number:,}"
        self.display = bool(number) or chosen or not self.state
        self.update(f"[{words}]" if chosen else f" {words} ")
        self.set_class(chosen, "-chosen")
        self.set_class(self.state == "failed" and number > 0, "-bad")

    def on_click(self) -> None:
        """Show only these."""
        self.post_message(DocumentsPane.StateAsked(self.state))


class SearchInput(Input):
    """Where one types what the documents are to hold; the arrows and enter lead to the table."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,enter", "screen.to_list", "To the list", show=False),
        Binding("escape", "screen.clear_search", "Show all", show=False),
    ]


class DocumentsPane(Vertical):
    """Counts, search box, table and details. What is shown is decided by whoever listens to it."""

    @dataclass
    class Asked(Message):
        """Other documents are to be shown, or in another order."""

        view: View
        """Which, and how."""

    @dataclass
    class StateAsked(Message):
        """A state was clicked."""

        state: str
        """The state; empty for all."""

    def __init__(self) -> None:
        super().__init__(id="shelf")
        self.view = View()
        self.shown: Sequence[ShelfRow] = ()

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        with Horizontal(id="document-states"):
            for state in ("", *STATES):
                yield StateChip(state)
        yield SearchInput(
            placeholder="Search paths, titles and tags", id="shelf-search", restrict=TYPEABLE, compact=True
        )
        yield DocumentList(COLUMNS, multiple=True, empty=OPENING, id="shelf-table")
        yield Static("", id="shelf-details", markup=False)

    def on_mount(self) -> None:
        """The order that is taken at first."""
        self.table.order(self.view.order)

    @property
    def table(self) -> DocumentList:
        """The table."""
        return self.query_one(DocumentList)

    @property
    def search(self) -> SearchInput:
        """The search box."""
        return self.query_one(SearchInput)

    @property
    def chosen(self) -> list[ShelfRow]:
        """The documents that an action is about."""
        return [self.shown[index] for index in self.table.chosen if index < len(self.shown)]

    @property
    def current(self) -> ShelfRow | None:
        """The document at the cursor."""
        at = self.table.cursor
        return self.shown[at] if at < len(self.shown) else None

    def show(self, arranged: Arranged) -> None:
        """Show documents; cursor and marks stay with theirs."""
        shown = self.shown = arranged.rows
        for chip in self.query(StateChip):
            chip.show(arranged.counts[chip.state], chosen=chip.state == self.view.state)
        self.table.say_empty(NONE_FOUND if arranged.counts[""] else EMPTY)
        self.table.show(len(shown), lambda at: cells(shown[at]), key=lambda at: shown[at].document.id)
        self._show_details()

    def change(self, **what: str) -> None:
        """Show what another view shows."""
        self._ask(replace(self.view, **what))  # type: ignore[arg-type]

    def order_by_next(self) -> None:
        """Order by the next column."""
        at = ORDERS.index(self.view.order)
        self._ask(self.view.ordered_by(ORDERS[(at + 1) % len(ORDERS)]))

    def turn_round(self) -> None:
        """The last first."""
        self._ask(self.view.ordered_by(self.view.order))

    def next_state(self) -> None:
        """Only documents of the next state of which there are some, in the end all again."""
        there = [chip.state for chip in self.query(StateChip) if chip.display]
        self.change(state=there[(there.index(self.view.state) + 1) % len(there)])

    def _ask(self, view: View) -> None:
        if view != self.view:
            self.view = view
            self.table.order(view.order, descending=view.descending)
            self.post_message(self.Asked(view))

    @on(Input.Changed, "#shelf-search")
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.change(text=event.value)

    @on(StateAsked)
    def _state_clicked(self, event: DocumentsPane.StateAsked) -> None:
        event.stop()
        self.change(state=event.state)

    @on(LineList.SortAsked)
    def _heading_clicked(self, event: LineList.SortAsked) -> None:
        event.stop()
        self._ask(self.view.ordered_by(event.column))

    @on(LineList.Highlighted)
    def _highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
        self._show_details()

    @on(LineList.Marked)
    def _marked(self, event: LineList.Marked) -> None:
        event.stop()
        self._show_details()

    def on_resize(self, event: events.Resize) -> None:
        """Where rows are few, the table has them."""
        self.query_one("#shelf-details").display = event.size.height >= 12

    def _show_details(self) -> None:
        marked, row = self.table.marks, self.current
        place = self.query_one("#shelf-details", Static)
        path, state, facts = details(row).split("\n") if row is not None else ("", "", "")
        # The name stands at the end of a path.
        path = fitted(path, max(8, self.size.width - 2), cut="start")
        state = f"{marked:,} chosen (escape: none) │ {state}" if marked else state
        place.update("\n".join((path, state, facts)))
