"""A document's text with its passages marked: where each begins, and which one is looked at."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from textual import events
from textual.message import Message
from textual.timer import Timer

from localrag.tui.widgets.text_lines import CITED, NEAR, Span, TextLines

BEGINS = "╶"
"""Stands before the row in which a passage begins."""

FAILED = "!"
"""Stands before the row in which a passage begins that could not be read."""

_GUTTER = 2
_STILL_SECONDS = 0.2


class PassageText(TextLines):
    """The text; a click looks at the passage there."""

    HELP = """
    The text of the document, cut into passages (chunks) as the model reads them. **▌** stands before the
    passage that is looked at, **╶** where another begins, **!** where one begins that could not be read.
    What was found in the passage is underlined, and listed beside or below the text.

    **n** and **p** go to the next and the previous passage, **f** to the next one that failed, a click looks
    at the passage there. **/** searches in the text: then **n** and **p** go from match to match until
    **escape** ends the search. **tab** goes to the list of what was found.
    """

    DEFAULT_CSS = """
    PassageText {
        & > .text--cited { background: $surface; }
        & > .text--near { background: $primary-muted; }
    }
    """

    class Clicked(Message):
        """A place in the text was clicked, or scrolled to."""

        def __init__(self, place: int) -> None:
            super().__init__()
            self.place = place

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (as Textual calls it)
        super().__init__(id=id)
        self._starts: Sequence[int] = ()
        self._failed: Sequence[int] = ()
        self._settles: Timer | None = None

    def divide(self, starts: Sequence[int], failed: Sequence[int]) -> None:
        """Say where passages begin, ascending, and where those that failed do."""
        self._starts = starts
        self._failed = failed
        self.refresh()

    def look_at(self, span: Span, marks: Sequence[Span], *, near: Span = (0, 0), go: bool = True) -> None:
        """Mark a passage, words in it, and a stretch that is looked at; with `go` bring it into view."""
        self._cited = span
        self._near = near
        self._marks = sorted(marks)
        self.refresh()
        if go and not self._seen(span):
            self.go_to(span[0])

    def _seen(self, span: Span) -> bool:
        """Whether all of a stretch is in view."""
        top = round(self.scroll_offset.y)
        first, last = self._rows_of(span)
        return top <= first and last < top + self.size.height

    def _rows_of(self, span: Span) -> Span:
        return self._rows.row_at(span[0]), self._rows.row_at(max(span[0], span[1] - 1))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Where the passage is scrolled out of sight, another one is looked at once the text stands still."""
        super().watch_scroll_y(old_value, new_value)
        if self._settles is not None:
            self._settles.stop()
        self._settles = self.set_timer(_STILL_SECONDS, self._settled)

    def _settled(self) -> None:
        self._settles = None
        top, (first, last) = round(self.scroll_offset.y), self._rows_of(self._cited)
        if self._cited[1] > self._cited[0] and (last < top or first >= top + self.size.height):
            row = min(top + self.size.height // 3, len(self._rows) - 1)
            self.post_message(self.Clicked(self._rows.span(row)[0]))

    def on_click(self, event: events.Click) -> None:
        """Tell what place it was."""
        offset = event.get_content_offset(self)
        row = round(self.scroll_offset.y) + (offset.y if offset is not None else 0)
        if offset is not None and row < len(self._rows):
            start, end = self._rows.span(row)
            self.post_message(self.Clicked(min(start + max(0, offset.x - _GUTTER), end)))

    def _gutter(self, start: int, end: int) -> str:
        found = super()._gutter(start, end)
        failed = _any_in(self._failed, start, end)
        if found[0] == CITED and self._near[0] < end and self._near[1] > start:
            return CITED + NEAR
        if found.strip():
            return found[0] + FAILED if failed else found
        if failed:
            return f"{FAILED} "
        return f"{BEGINS} " if _any_in(self._starts, start, end) else found


def _any_in(places: Sequence[int], start: int, end: int) -> bool:
    """Whether one of ascending places is on a row; the last of several empty rows counts too."""
    at = bisect_left(places, start)
    return at < len(places) and places[at] <= max(start, end - 1)


def passage_at(starts: Sequence[int], place: int) -> int:
    """Index of the passage that holds a place: the last one that begins at it or before."""
    return max(0, bisect_right(starts, place) - 1)
