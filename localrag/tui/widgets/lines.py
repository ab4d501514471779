"""A list or table of any length: only the rows that are seen are asked for and drawn."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import ClassVar, TypeAlias

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from localrag.tui.widgets import line_messages as said
from localrag.tui.widgets.cells import (
    COMPONENTS,
    GUTTER,
    STYLES,
    Cell,
    Column,
    Ink,
    Row,
    Tone,
    Toned,
    draw,
    fit,
    fitted,
    words_instead,
)
from localrag.tui.widgets.line_keys import KEYS

__all__ = ["Cell", "Column", "LineList", "Row", "Tone", "Toned", "fitted"]

_NOT_THERE_YET = (Toned("…", "faint"),)


class LineList(ScrollView, can_focus=True):
    """A list whose rows are asked for when they are drawn, so that its length costs nothing.

    names = LineList(
        [Column("name", "Name", cut="start"), Column("size", "Size", 8, right=True, room=60)],
        multiple=True,
        empty="Nothing here yet. Press a to add something.",
        id="names",
    )
    names.show(len(rows), lambda index: [rows[index].name, f"{rows[index].size:,}"],
               key=lambda index: rows[index].id)

    @on(LineList.Opened, "#names")
    def _open(self, event: LineList.Opened) -> None:
        self.look_at(rows[event.index])

    `show_rows` takes rows that are there already. `row` may return None for a row that is still being
    fetched: it is drawn as three dots, and `Wanted` tells which rows are seen; call `redraw` once they are
    there. With `key`, cursor and marks stay with their rows when the list is shown anew in another order.

    Texts are made harmless here, unless they are `rich.text.Text`.
    """

    HELP = """
    A list. **↑ ↓**, **j** and **k** move, **page up** and **page down** by a screen, **g** and **G** go to
    the first and the last row, **enter** or a double click opens. Where several rows can be chosen, **space**
    marks one, **shift** with the arrows marks several, **\\*** marks all, **escape** none, and a click on
    the left edge marks too. A click on a heading orders the list by that column.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = COMPONENTS
    DEFAULT_CSS = STYLES
    BINDINGS: ClassVar[list[BindingType]] = KEYS

    cursor: reactive[int] = reactive(0, always_update=False, repaint=False)
    """The row that the keys speak of; 0 in an empty list too."""

    Opened: TypeAlias = said.Opened
    Highlighted: TypeAlias = said.Highlighted
    SortAsked: TypeAlias = said.SortAsked
    Marked: TypeAlias = said.Marked
    Wanted: TypeAlias = said.Wanted

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        multiple: bool = False,
        header: bool = True,
        empty: str = "",
        id: str | None = None,  # noqa: A002 (as Textual calls it)
        classes: str | None = None,
    ) -> None:
        """`multiple` lets several rows be marked; `empty` is said in place of rows."""
        super().__init__(id=id, classes=classes)
        self._columns = tuple(columns)
        self._multiple = multiple
        self._header = int(header)
        self._empty = empty
        self._count = 0
        self._row: Callable[[int], Row | None] = lambda index: None
        self._key: Callable[[int], Hashable] = lambda index: index
        self._marks: set[Hashable] = set()
        self._order: tuple[str, bool] = ("", False)
        self._asked: set[int] = set()
        self._to_ask: set[int] = set()

    # What is shown

    def show(
        self,
        count: int,
        row: Callable[[int], Row | None],
        *,
        key: Callable[[int], Hashable] | None = None,
        cursor: int | None = None,
    ) -> None:
        """Show `count` rows; `row` gives the cells of one when it is drawn.

        `key` names a row for good, so that cursor and marks stay with it; `cursor` puts the cursor on a row.
        """
        held = self._key(self.cursor) if self.cursor < self._count else None
        self._count, self._row = count, row
        self._key = key or (lambda index: index)
        if key is None:
            self._marks = {mark for mark in self._marks if isinstance(mark, int) and mark < count}
        elif self._marks:
            self._marks &= {key(index) for index in range(count)}
        self._asked.clear()
        self.virtual_size = Size(self._inside_width, count + self._header)
        self.set_reactive(LineList.cursor, self._place(held) if cursor is None else self._inside(cursor))
        self.refresh()
        self.call_after_refresh(self._show_cursor)
        self.post_message(said.Highlighted(self, self.cursor if count else -1))

    def show_rows(self, rows: Sequence[Row], *, cursor: int | None = None) -> None:
        """Show rows that are all there."""
        self.show(len(rows), rows.__getitem__, cursor=cursor)

    def redraw(self) -> None:
        """Ask for the rows that are seen once more: their number is the same, their cells are not."""
        self._asked.clear()
        self.refresh()

    def order(self, column: str, *, descending: bool = False) -> None:
        """Say in the heading by which column the rows are ordered."""
        self._order = (column, descending)
        self.refresh()

    def say_empty(self, words: str) -> None:
        """What stands in place of rows; without words it is drawn as an empty list."""
        self._empty = words
        self.refresh()

    @property
    def count(self) -> int:
        """How many rows there are."""
        return self._count

    @property
    def in_sight(self) -> range:
        """The rows that are seen."""
        first = int(self.scroll_offset.y)
        return range(min(first, self._count), min(first + self._room, self._count))

    @property
    def marked(self) -> list[int]:
        """The rows that are marked, in their order."""
        if not self._marks:
            return []
        return [index for index in range(self._count) if self._key(index) in self._marks]

    @property
    def chosen(self) -> list[int]:
        """What an action is about: the marked rows, or without any the row at the cursor."""
        return self.marked or ([self.cursor] if self._count else [])

    @property
    def marks(self) -> int:
        """How many rows are marked."""
        return len(self._marks)

    def move_to(self, index: int) -> None:
        """Put the cursor on a row."""
        if self._count:
            self.cursor = self._inside(index)

    # Keys

    def action_open(self) -> None:
        """Open the row at the cursor."""
        if self._count:
            self.post_message(said.Opened(self, self.cursor))

    def action_move(self, rows: int) -> None:
        """Move the cursor."""
        self.move_to(self.cursor + rows)

    def action_page(self, pages: int) -> None:
        """Move the cursor by a screen."""
        self.move_to(self.cursor + pages * max(1, self._room - 1))

    def action_first(self) -> None:
        """Go to the first row."""
        self.move_to(0)

    def action_last(self) -> None:
        """Go to the last row."""
        self.move_to(self._count - 1)

    def action_mark(self) -> None:
        """Mark the row at the cursor, or take its mark away, and go on to the next."""
        if self._count:
            self._toggle(self.cursor)
            self.action_move(1)

    def action_mark_and_move(self, rows: int) -> None:
        """Mark this row and the next one."""
        if self._count:
            self._marks.add(self._key(self.cursor))
            self.action_move(rows)
            self._marks.add(self._key(self.cursor))
            self._marks_changed()

    def action_mark_all(self) -> None:
        """Mark all rows, or none if all are."""
        everything = {self._key(index) for index in range(self._count)}
        self._marks = set() if self._marks == everything else everything
        self._marks_changed()

    def action_unmark(self) -> None:
        """Mark no row."""
        self._marks.clear()
        self._marks_changed()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Marks only where several rows can be chosen; escape only takes away marks that are there."""
        if action in ("mark", "mark_and_move", "mark_all"):
            return self._multiple
        if action == "unmark":
            return bool(self._marks)
        return True

    # Mouse

    def on_click(self, event: events.Click) -> None:
        """Put the cursor there; twice opens, the left edge or ctrl marks, shift marks up to there."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        event.stop()
        if offset.y < self._header:
            self._click_heading(offset.x)
            return
        index = int(self.scroll_offset.y) + offset.y - self._header
        if index >= self._count:
            return
        before, self.cursor = self.cursor, index
        if self._multiple and event.shift:
            low, high = sorted((before, index))
            self._marks |= {self._key(between) for between in range(low, high + 1)}
            self._marks_changed()
        elif self._multiple and (event.ctrl or offset.x < GUTTER):
            self._toggle(index)
        elif event.chain == 2:
            self.action_open()

    def _click_heading(self, x: int) -> None:
        places = fit(self._columns, self._inside_width)
        for column in self._columns:
            left, width = places.get(column.key, (0, 0))
            if left <= x < left + width and column.sorts:
                self.post_message(said.SortAsked(self, column.key))

    # Drawing

    def render_line(self, y: int) -> Strip:
        """A line of the widget: the heading, or a row."""
        width = self._inside_width
        if y < self._header and self._count:
            return self._draw(self._headings(), " " * GUTTER, "lines--heading")
        if not self._count:
            return self._draw_empty(y)
        index = int(self.scroll_offset.y) + y - self._header
        if index >= self._count:
            return Strip.blank(width, self.rich_style)
        row = self._row(index)
        if row is None:
            self._want(index)
            row = _NOT_THERE_YET
        marked = self._multiple and self._key(index) in self._marks
        at_cursor = index == self.cursor
        gutter = ("›" if at_cursor else " ") + ("●" if marked else " ")
        name = "lines--cursor" if at_cursor else "lines--marked" if marked else ""
        return self._draw(row, gutter, name)

    def _draw(self, row: Row, gutter: str, name: str) -> Strip:
        over = self.get_component_rich_style(name) if name else None
        if over is not None and name != "lines--cursor":
            # The cells keep their own colours.
            over = Style(bgcolor=over.bgcolor if name == "lines--marked" else None, bold=over.bold)
        return draw(row, self._columns, self._inside_width, self._ink, gutter=gutter, over=over)

    @property
    def _ink(self) -> Ink:
        return Ink(
            self.app.console,
            self.rich_style,
            lambda tone: self.get_component_rich_style(f"lines--{tone}", partial=True),
        )

    def _headings(self) -> Row:
        key, descending = self._order
        mark = " ▼" if descending else " ▲"
        return [column.title + mark if column.key == key else column.title for column in self._columns]

    def _draw_empty(self, y: int) -> Strip:
        style = self.rich_style + self.get_component_rich_style("lines--faint", partial=True)
        return Strip([Segment(words_instead(self._empty, self._inside_width, y), style)])

    # Inside

    @property
    def _inside_width(self) -> int:
        """Cells beside the scrollbar."""
        return self.scrollable_content_region.width

    @property
    def _room(self) -> int:
        """Rows that are seen at a time."""
        return max(1, self.size.height - self._header)

    def _inside(self, index: int) -> int:
        return max(0, min(index, self._count - 1))

    def _place(self, held: Hashable) -> int:
        """Where the row is now that had the cursor; else the nearest place."""
        if held is None or (self.cursor < self._count and self._key(self.cursor) == held):
            return self._inside(self.cursor)
        return next((i for i in range(self._count) if self._key(i) == held), self._inside(self.cursor))

    def watch_cursor(self, before: int, after: int) -> None:
        """Draw both rows anew, and scroll to where the cursor is."""
        for index in (before, after):
            if index in self.in_sight:
                y = index + self._header - int(self.scroll_offset.y)
                self.refresh(Region(0, y, self._inside_width, 1))
        self._show_cursor()
        if self._count:
            self.post_message(said.Highlighted(self, after))

    def _show_cursor(self) -> None:
        top = int(self.scroll_offset.y)
        if not self.size.height:
            return
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False)
        elif self.cursor >= top + self._room:
            self.scroll_to(y=self.cursor - self._room + 1, animate=False)

    def on_resize(self) -> None:
        """Columns fit the new width; the cursor stays in sight."""
        self.virtual_size = Size(self._inside_width, self._count + self._header)
        self._show_cursor()
        self.refresh()

    def _toggle(self, index: int) -> None:
        self._marks ^= {self._key(index)}
        self._marks_changed()

    def _marks_changed(self) -> None:
        self.refresh()
        self.refresh_bindings()
        self.post_message(said.Marked(self))

    def _want(self, index: int) -> None:
        """Ask once for what is seen and not there, when all lines have been drawn."""
        if index in self._asked:
            return
        if not self._to_ask:
            self.call_after_refresh(self._ask)
        self._asked.add(index)
        self._to_ask.add(index)

    def _ask(self) -> None:
        if self._to_ask:
            self.post_message(said.Wanted(self, min(self._to_ask), max(self._to_ask) + 1))
            self._to_ask.clear()
