"""The page of an entity, on which the cursor goes from relation to claim to mention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from localrag.tui.widgets.entity_text import EntityFacts, Item, PageText, Tone, compose_page

_TONES: tuple[Tone, ...] = ("title", "heading", "faint", "name", "said", "mark")
_GUTTER = 2


class EntityPage(ScrollView, can_focus=True):
    """Shows what is known of an entity; only the lines that are seen are drawn."""

    HELP = """
    All that is known of an entity: what it is, its relations, what is claimed of it by time, and the
    sentences that mention it.

    - **↑ ↓** or **j k** go from entry to entry, **1 2 3** to the relations, the claims and the mentions.
    - **enter** on a relation opens the page of its other end; on a claim or a mention the passage.
    - **v** shows the passage of a relation, **y** copies an entry.
    - **d** draws its neighbours, **w** looks for a way to another entity, **c** changes it: another name,
      another type, merge, split and more.
    - **backspace** or **[** goes back as in a browser, **]** forward.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"page--cursor", *(f"page--{tone}" for tone in _TONES)}
    DEFAULT_CSS = """
    EntityPage {
        height: 1fr;
        background: transparent;
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
        & > .page--title { text-style: bold; color: $text-primary; }
        & > .page--heading { text-style: bold; }
        & > .page--faint { color: $text-muted; }
        & > .page--name { text-style: bold; }
        & > .page--said { text-style: italic; }
        & > .page--mark { text-style: bold underline; }
        & > .page--cursor { background: $block-cursor-blurred-background; }
        &:focus > .page--cursor { background: $primary 25%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", show=False, id="entity.enter", tooltip="Open what is at the cursor"),
        Binding(
            "v",
            "passage",
            "Passage",
            show=False,
            id="entity.passage",
            tooltip="Show the passage that says so",
        ),
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown,space", "page(1)", "Page down", show=False),
        Binding("home,g", "first", "Top", show=False),
        Binding("end,G", "last", "Bottom", show=False),
        *(
            Binding(
                key, f"section('{name}')", title, show=False, id=f"entity.{name}", tooltip=f"Go to the {name}"
            )
            for key, name, title in (
                ("1", "relations", "Relations"),
                ("2", "claims", "Claims"),
                ("3", "mentions", "Mentions"),
            )
        ),
        Binding("y", "copy", "Copy", show=False, id="entity.copy", tooltip="Copy the entry at the cursor"),
    ]

    class _OfItem(Message):
        def __init__(self, item: Item) -> None:
            super().__init__()
            self.item = item

    class Opened(_OfItem):
        """An entry is to be opened."""

    class PassageAsked(_OfItem):
        """The passage of an entry is to be shown."""

    def __init__(self) -> None:
        super().__init__(id="page")
        self._facts: EntityFacts | None = None
        self._page = PageText((), (), {})
        self._first: Sequence[int] = ()
        self._cursor = 0

    @property
    def facts(self) -> EntityFacts | None:
        """What is shown."""
        return self._facts

    @property
    def item(self) -> Item | None:
        """The entry at the cursor."""
        return self._page.items[self._cursor] if self._cursor < len(self._page.items) else None

    @property
    def place(self) -> tuple[int, int]:
        """Where one is on the page: the entry and the line at the top."""
        return self._cursor, int(self.scroll_offset.y)

    def show(self, facts: EntityFacts, place: tuple[int, int] | None = None) -> None:
        """Show an entity; from its top, or where one was before. The same entity stays where it is."""
        same = self._facts is not None and self._facts.entry.id == facts.entry.id
        self._facts = facts
        if not same:
            self._cursor = 0
        if place is not None:
            self._cursor = place[0]
        self._write()
        if place is not None:
            self.call_after_refresh(self.scroll_to, y=place[1], animate=False, force=True)
        elif not same:
            self.scroll_to(y=0, animate=False, force=True)

    # Keys

    def action_open(self) -> None:
        """Open the entry at the cursor."""
        if self.item is not None:
            self.post_message(self.Opened(self.item))

    def action_passage(self) -> None:
        """Ask for the passage of the entry at the cursor."""
        if self.item is not None and self.item.places:
            self.post_message(self.PassageAsked(self.item))

    def action_move(self, entries: int) -> None:
        """Go to another entry; at the first one upwards the head of the page is shown."""
        wanted = self._cursor + entries
        if wanted < 0 or not self._page.items:
            self.scroll_relative(y=entries, animate=False)
            return
        self._go(wanted)

    def action_page(self, pages: int) -> None:
        """Scroll by a screen, and put the cursor there."""
        height = max(1, self.size.height - 1)
        top = max(0, min(int(self.scroll_offset.y) + pages * height, len(self._page.lines) - 1))
        self.scroll_to(y=top, animate=False)
        inside = [entry for entry, line in enumerate(self._first) if top <= line < top + height]
        if inside:
            self._cursor = inside[0]
            self.refresh()

    def action_first(self) -> None:
        """Go to the top."""
        self._cursor = 0
        self.scroll_home(animate=False)
        self.refresh()

    def action_last(self) -> None:
        """Go to the last entry."""
        self._go(len(self._page.items) - 1)

    def action_section(self, name: str) -> None:
        """Go to the relations, the claims or the mentions."""
        line = self._page.sections.get(name)
        if line is None:
            return
        entry = next((entry for entry, first in enumerate(self._first) if first >= line), None)
        if entry is not None:
            self._cursor = entry
        self.scroll_to(y=line, animate=False)
        self.refresh()

    def action_copy(self) -> None:
        """Copy the entry at the cursor."""
        if self.item is not None and self.item.text:
            self.app.copy_to_clipboard(self.item.text)
            self.notify("Copied.", markup=False)

    def on_click(self, event: events.Click) -> None:
        """Put the cursor there; twice opens."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        event.stop()
        row = offset.y + int(self.scroll_offset.y)
        if row < len(self._page.lines) and self._page.lines[row].item >= 0:
            self._cursor = self._page.lines[row].item
            self.refresh()
            if event.chain == 2:
                self.action_open()

    # Drawing

    def on_resize(self) -> None:
        """Wrap anew."""
        self._write()

    def render_line(self, y: int) -> Strip:
        """A line of the page."""
        width = self.size.width
        row = y + int(self.scroll_offset.y)
        base = self.rich_style
        if row >= len(self._page.lines):
            return Strip.blank(width, base)
        line = self._page.lines[row]
        here = line.item >= 0 and line.item == self._cursor
        over = self.get_component_rich_style("page--cursor", partial=True) if here else Style()
        first = here and self._first[line.item] == row
        segments = [Segment(("›" if first else "▏" if here else " ") + " ", base + over)]
        for text, tone in line.pieces:
            style = self.get_component_rich_style(f"page--{tone}") if tone else Style()
            segments.append(Segment(text, base + style + over))
        return Strip(segments).adjust_cell_length(width, base + over)

    def _write(self) -> None:
        # The bar for scrolling comes and goes with the length of the text; it always has its column.
        width = self.content_size.width - 1
        if self._facts is None or width < _GUTTER:
            return
        self._page = compose_page(self._facts, width)
        self._first = _first_lines(self._page)
        self._cursor = min(self._cursor, max(0, len(self._page.items) - 1))
        self.virtual_size = Size(width, len(self._page.lines))
        self.refresh()

    def _go(self, entry: int) -> None:
        if not self._page.items:
            return
        self._cursor = max(0, min(entry, len(self._page.items) - 1))
        first = self._first[self._cursor]
        last = max(row for row, line in enumerate(self._page.lines) if line.item == self._cursor)
        top, height = int(self.scroll_offset.y), self.size.height
        if first < top:
            # What stands above an entry, such as the heading, comes with it.
            self.scroll_to(y=max(0, first - 1), animate=False)
        elif last >= top + height:
            self.scroll_to(y=min(first, last - height + 1), animate=False)
        self.refresh()


def _first_lines(page: PageText) -> Sequence[int]:
    found: dict[int, int] = {}
    for row, line in enumerate(page.lines):
        if line.item >= 0:
            found.setdefault(line.item, row)
    return [found[entry] for entry in range(len(page.items))]
