"""The list of entities with its search box, its order and its type."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input, Static

from localrag.plain import TYPEABLE, plain
from localrag.tui.widgets.lines import Cell, Column, LineList, Toned

if TYPE_CHECKING:
    from localrag.looking import Found
    from localrag.looking.types import Order
    from localrag.store.entity_list import EntityEntry
    from localrag.tui.session import Session

ORDERS: dict[Order, str] = {"mentions": "most passages", "relations": "most relations", "name": "name"}
"""What entities are sorted by, in words."""


_HELP = """
All entities that were found in your documents: persons, places, organisations, things.

- Type in the box (**/**) to search by name, by another name or by type; **↓** goes to the list.
- **enter** opens the page of an entity, **d** draws its neighbours, **w** looks for a way to another one.
- **f** shows one type only, **s** changes the order, **space** marks entities to be merged with **c**.
- **m** shows which entities may be the same; **u** takes the last decision back, **H** lists decisions.
"""


class _Chip(Static):
    """A word that can be clicked."""

    def __init__(self, action: str, name: str) -> None:
        super().__init__("", id=name, classes="chip", markup=False)
        self._action = action

    async def on_click(self, event: events.Click) -> None:
        """Do what its key does."""
        event.stop()
        await self.query_ancestor(EntityFinder).run_action(self._action)


class EntityLines(LineList):
    """The list, explained as a part of what it stands in."""

    HELP = _HELP


class EntityFinder(Vertical):
    """Searches while one types. What it finds may be a hundred thousand rows."""

    HELP = _HELP
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "f", "filter", "Type", show=False, id="graph.filter", tooltip="Show one type of entities only"
        ),
        Binding("s", "sort", "Order", show=False, id="graph.sort", tooltip="Change the order of the list"),
        Binding("y", "copy", "Copy", show=False, id="graph.copy", tooltip="Copy the name at the cursor"),
    ]

    class Opened(Message):
        """The page of an entity is to be opened."""

        def __init__(self, entity_id: int) -> None:
            super().__init__()
            self.entity_id = entity_id

    class Highlighted(Message):
        """The cursor stands on another entity; 0 for none."""

        def __init__(self, entity_id: int) -> None:
            super().__init__()
            self.entity_id = entity_id

        def can_replace(self, message: Message) -> bool:
            """Only the last one matters."""
            return isinstance(message, EntityFinder.Highlighted)

    def __init__(self, session: Session, *, picks: bool = False) -> None:
        """Where it `picks` one entity, enter in the box takes the first that was found."""
        super().__init__(classes="finder")
        self._session = session
        self._picks = picks
        # Two finders must not replace each other's searches.
        self._search_key = "graph.pick" if picks else "graph.find"
        self._shown_for = ""
        self._take_first = False
        self._to_top = False
        self._found: Found | None = None
        self._kind = ""
        self._order: Order = "mentions"
        self._fresh = False

    def compose(self) -> ComposeResult:
        """The box, what is searched, the list."""
        yield Input(placeholder="Search: name, other name or type", classes="finder-box", restrict=TYPEABLE)
        with Horizontal(classes="finder-chips"):
            yield _Chip("filter", "finder-type")
            yield _Chip("sort", "finder-order")
            yield Static("", id="finder-count", markup=False)
        yield EntityLines(
            [
                Column("name", "Name"),
                Column("type", "Type", 12, room=44),
                Column("mentions", "Passages", 10, right=True, room=34),
                Column("relations", "Relations", 9, right=True, room=56),
            ],
            multiple=not self._picks,
        )

    def on_mount(self) -> None:
        """Say what is searched."""
        self._say()

    @property
    def box(self) -> Input:
        """The search box."""
        return self.query_one(Input)

    @property
    def lines(self) -> LineList:
        """The list."""
        return self.query_one(LineList)

    @property
    def chosen(self) -> list[EntityEntry]:
        """The marked entities, or that at the cursor."""
        found = self._found
        return [found.entries[index] for index in self.lines.chosen] if found is not None else []

    @property
    def marked(self) -> list[EntityEntry]:
        """The marked entities."""
        found = self._found
        return [found.entries[index] for index in self.lines.marked] if found is not None else []

    @property
    def total(self) -> int:
        """How many entities there are; -1 while that is not known."""
        return self._found.total if self._found is not None else -1

    def renew(self) -> None:
        """Search anew in what is there now."""
        self._fresh = True
        self.search()

    def search(self) -> None:
        """Search for what stands in the box."""
        text, kind, order, fresh = self.box.value, self._kind, self._order, self._fresh
        self._fresh = False
        self._session.look(
            self,
            lambda kb: kb.graph.find(text, kind, order, fresh=fresh),
            lambda found: self._show(found, text),
            key=self._search_key,
        )

    def say_none(self, documents: int) -> None:
        """Say in place of an empty list what to do, in a file of so many documents."""
        if self.total:
            words = "No entity is called like that. Another word, or fewer letters, may find it."
        elif not documents:
            words = "There are no documents yet. Press f3 to go to the library and add some."
        else:
            words = (
                "No entities yet. They are the persons, places and things in your documents; the model "
                "finds them when it reads.\nPress f4 and let it read."
            )
        self.lines.say_empty(words)

    # Keys

    def action_sort(self) -> None:
        """Take the next order."""
        orders = list(ORDERS)
        self._sort_by(orders[(orders.index(self._order) + 1) % len(orders)])

    def action_filter(self) -> None:
        """Choose a type."""
        from localrag.tui.screens.entity_choice import Choice

        def choose(types: list[tuple[str, int]]) -> None:
            options = [("", "All types")]
            options += [(kind, f"{plain(kind) or 'no type'}  ({count:,})") for kind, count in types if kind]
            self.app.push_screen(Choice("Show one type only", options), self._filter_by)

        self._session.look(self, lambda kb: kb.graph.types(), choose, key="graph.types")

    def action_copy(self) -> None:
        """Copy the names of what is chosen."""
        names = [plain(entry.name) for entry in self.chosen]
        if names:
            self.app.copy_to_clipboard("\n".join(names))
            self.notify("The name was copied." if len(names) == 1 else "The names were copied.")

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.search()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if not self._picks:
            self.lines.focus()
        elif self._shown_for == self.box.value:
            self._open_first()
        else:
            # The search for what was typed has not come back yet.
            self._take_first = True

    def on_key(self, event: events.Key) -> None:
        """From the box down leads into the list; from the first row up leads back."""
        if event.key == "down" and self.box.has_focus:
            event.stop()
            self.lines.focus()
        elif event.key == "escape" and self.box.has_focus and self.box.value:
            event.stop()
            event.prevent_default()
            self.box.value = ""

    @on(LineList.Opened)
    def _open(self, event: LineList.Opened) -> None:
        event.stop()
        if self._found is not None and event.index < len(self._found.entries):
            self.post_message(self.Opened(self._found.entries[event.index].id))

    @on(LineList.Highlighted)
    def _highlight(self, event: LineList.Highlighted) -> None:
        event.stop()
        found = self._found
        inside = found is not None and 0 <= event.index < len(found.entries)
        self.post_message(self.Highlighted(found.entries[event.index].id if found and inside else 0))

    @on(LineList.SortAsked)
    def _heading(self, event: LineList.SortAsked) -> None:
        event.stop()
        columns: dict[str, Order] = {"name": "name", "mentions": "mentions", "relations": "relations"}
        if event.column in columns:
            self._sort_by(columns[event.column])
        else:
            self.action_filter()

    # What was found

    def _sort_by(self, order: Order) -> None:
        self._order = order
        self._to_top = True
        self._say()
        self.search()

    def _filter_by(self, kind: str | None) -> None:
        if kind is not None:
            self._kind = kind
            self._to_top = True
            self._say()
            self.search()

    def _show(self, found: Found, text: str) -> None:
        self._found, self._shown_for = found, text
        entries, called = found.entries, found.called

        def row(index: int) -> list[Cell]:
            entry = entries[index]
            name: Cell = plain(entry.name)
            if entry.id in called:
                name = Text(f"{plain(entry.name)} ")
                name.append(f"“{plain(called[entry.id])}”", "italic")
            return [name, Toned(entry.type, "faint"), f"{entry.mentions:,}", f"{entry.relations:,}"]

        self.lines.order(self._order, descending=self._order != "name")
        first = 0 if self.box.has_focus or self._to_top else None
        self._to_top = False
        self.lines.show(len(entries), row, key=lambda index: entries[index].id, cursor=first)
        self._say()
        if self._take_first and text == self.box.value:
            self._take_first = False
            self._open_first()

    def _open_first(self) -> None:
        if self._found is not None and self._found.entries:
            self.post_message(self.Opened(self._found.entries[0].id))

    def _say(self) -> None:
        self.query_one("#finder-type", _Chip).update(f"Type: {plain(self._kind) or 'all'}")
        self.query_one("#finder-order", _Chip).update(f"By: {ORDERS[self._order]}")
        if self._found is not None:
            count, total = len(self._found.entries), self._found.total
            words = f"{count:,} of {total:,}" if count != total else f"{total:,}"
            self.query_one("#finder-count", Static).update(words)
