"""A document's text, of any length: only the rows that are seen are drawn. Stretches of it can be marked."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from localrag.tui.messages import call
from localrag.tui.work import in_background
from localrag.tui.wrapping import Rows

CITED = "▌"
"""Stands before the rows of the cited stretch, so that it is seen without colour."""

NEAR = "┊"
"""Stands before the rows of the neighbour that was gone to."""

_GUTTER = 2
_AT_ONCE = 200_000
"""Characters that are laid out without a thread: a few milliseconds."""

Span = tuple[int, int]


class TextLines(ScrollView, can_focus=True):
    """Text to scroll through. `show` gives it a text; `go_to` brings a place into view.

    The text must be harmless already, as `wrapping.as_shown` makes it.
    """

    ALLOW_SELECT = True
    COMPONENT_CLASSES: ClassVar[set[str]] = {"text--cited", "text--near", "text--mark", "text--gutter"}
    DEFAULT_CSS = """
    TextLines {
        height: 1fr;
        background: transparent;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        & > .text--cited { background: $primary 28%; }
        & > .text--near { background: $foreground 8%; }
        & > .text--mark { text-style: bold underline; color: $text-accent; }
        & > .text--gutter { color: $primary; text-style: bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", "Down", show=False),
        Binding("k", "scroll_up", "Up", show=False),
        Binding("space", "page_down", "Page down", show=False),
        Binding("g", "scroll_home", "Top", show=False, id="text.top", tooltip="Go to the beginning"),
        Binding("G", "scroll_end", "End", show=False, id="text.end", tooltip="Go to the end"),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (as Textual calls it)
        super().__init__(id=id)
        self._text = ""
        self._rows = Rows("", 1)
        self._cited: Span = (0, 0)
        self._near: Span = (0, 0)
        self._marks: Sequence[Span] = ()
        self._goal: int | None = None
        self._goal_on_top = False

    def show(self, text: str, cited: Span = (0, 0), marks: Sequence[Span] = ()) -> None:
        """Show a text with a stretch of it and words in it marked, the stretch in view."""
        self._text = text
        self._cited = cited
        self._near = (0, 0)
        self._marks = sorted(marks)
        self._goal, self._goal_on_top = cited[0], False
        self._lay_out()

    @property
    def rows(self) -> Rows:
        """The text in rows as it is drawn."""
        return self._rows

    def mark_near(self, span: Span) -> None:
        """Mark another stretch, such as a neighbour, and bring it into view."""
        self._near = span
        self.refresh()
        self.go_to(span[0])

    def go_to(self, place: int, *, top: bool = False) -> None:
        """Bring a character of the text into view, near the top, or at the very top."""
        above = 0 if top else max(self.size.height // 5, 1)
        row = self._rows.row_at(place)
        self.scroll_to(y=max(row - above, 0), animate=False, immediate=True, force=True)

    def _on_resize(self, event: events.Resize) -> None:
        if self._rows.width != self._width:
            # What stood at the top stays there.
            row = min(round(self.scroll_y), len(self._rows) - 1)
            if self._goal is None and row > 0:
                self._goal, self._goal_on_top = self._rows.span(row)[0], True
            self._lay_out()
        elif self._goal is not None:
            self._take(self._rows)

    @property
    def _width(self) -> int:
        return max(self.scrollable_content_region.width - _GUTTER, 4)

    def _lay_out(self) -> None:
        """Break the text anew, a long one in a thread."""
        text, width = self._text, self._width
        if self.size.width == 0:
            return
        if len(text) <= _AT_ONCE:
            self._take(Rows(text, width))
            return

        def work() -> None:
            rows = Rows(text, width)
            call(self, lambda: self._take(rows))

        in_background(work)

    def _take(self, rows: Rows) -> None:
        if rows.text is not self._text or rows.width != self._width:
            if rows.text is self._text:
                self._lay_out()
            return
        self._rows = rows
        self.virtual_size = Size(self.scrollable_content_region.width, len(rows))
        goal, self._goal = self._goal, None
        if goal is not None:
            self.call_after_refresh(self.go_to, goal, top=self._goal_on_top)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One row: a mark before it if it belongs to the cited stretch, then the text."""
        width = self.size.width
        row = round(self.scroll_offset.y) + y
        base = self.rich_style
        if row >= len(self._rows):
            return Strip.blank(width, base)
        start, end = self._rows.span(row)
        gutter = self._gutter(start, end)
        segments = [Segment(gutter, base + self.get_component_rich_style("text--gutter", partial=True))]
        segments += self._segments(start, end, base, row)
        strip = Strip(segments).adjust_cell_length(width, base)
        return strip.apply_offsets(-_GUTTER, row)

    def _gutter(self, start: int, end: int) -> str:
        if _touch((start, end), self._cited):
            return f"{CITED} "
        return f"{NEAR} " if _touch((start, end), self._near) else "  "

    def _segments(self, start: int, end: int, base: Style, row: int) -> Iterator[Segment]:
        """The text of a row in pieces of one style each."""
        selected = self._selected(row, start, end)
        borders = {start, end, *self._cited, *self._near, *selected}
        marks = list(self._marks_in(start, end))
        borders.update(place for mark in marks for place in mark)
        places = sorted(place for place in borders if start <= place <= end)
        for left, right in pairwise(places):
            style = base
            if self._cited[0] <= left < self._cited[1]:
                style += self.get_component_rich_style("text--cited")
            elif self._near[0] <= left < self._near[1]:
                style += self.get_component_rich_style("text--near")
            if any(first <= left < last for first, last in marks):
                style += self.get_component_rich_style("text--mark", partial=True)
            if selected[0] <= left < selected[1]:
                style += self.screen.get_component_rich_style("screen--selection")
            yield Segment(self._text[left:right], style)

    def _marks_in(self, start: int, end: int) -> Iterator[Span]:
        first = max(bisect_right(self._marks, (start,)) - 1, 0)
        for mark in self._marks[first:]:
            if mark[0] >= end:
                return
            if mark[1] > start:
                yield mark

    def _selected(self, row: int, start: int, end: int) -> Span:
        """The part of a row that was selected with the mouse."""
        selection = self.text_selection
        found = selection.get_span(row) if selection is not None else None
        if found is None:
            return start, start
        return start + found[0], end if found[1] < 0 else min(start + found[1], end)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """What was selected, for ctrl+c."""
        spans = (self._rows.span(row) for row in range(len(self._rows)))
        return selection.extract("\n".join(self._text[start:end] for start, end in spans)), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw anew."""
        self.refresh()


def _touch(row: Span, stretch: Span) -> bool:
    """Whether a row shows something of a stretch; an empty row within it does too."""
    if stretch[1] <= stretch[0]:
        return False
    return row[0] < stretch[1] and (row[1] > stretch[0] or (row[0] == row[1] and row[0] >= stretch[0]))
