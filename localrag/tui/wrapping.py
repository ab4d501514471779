"""Breaks a text into the rows of a screen, and finds the row of a place in it; any length, any script.

Rows are kept as the places where they begin, so a long document takes little room. Nothing here touches a
widget, so it can be done in a thread.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from itertools import pairwise

from rich.cells import split_graphemes

from localrag.plain import plain_lines

_LEAST = 4
"""Columns below which nothing can be laid out."""

_SIMPLE = re.compile("[\x20-\x7e\u3001-\u303e\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uff01-\uff5e]*")
"""Text in which ASCII takes one column and everything else two, and no character joins another."""


_MOST_JOINED = 8
"""Characters that one column may take, such as those of a family or of a letter with many accents."""


class Rows:
    """The rows of a text at one width."""

    def __init__(self, text: str, width: int) -> None:
        """`text` is harmless for a terminal and has no tabs, as `plain_lines` gives it."""
        self.text = text
        self.width = max(width, _LEAST)
        self._starts = array("Q", _starts(text, self.width))

    def __len__(self) -> int:
        return len(self._starts)

    def span(self, row: int) -> tuple[int, int]:
        """First character of a row and the one behind its last, without the line's end."""
        start = self._starts[row]
        end = self._starts[row + 1] if row + 1 < len(self._starts) else len(self.text)
        if end > start and self.text[end - 1] == "\n":
            end -= 1
        return start, end

    def row_at(self, place: int) -> int:
        """The row that holds a character."""
        return max(bisect_right(self._starts, place) - 1, 0)


def _starts(text: str, width: int) -> Iterable[int]:
    """Where rows begin. A text has at least one row."""
    start = 0
    while True:
        end = text.find("\n", start)
        last = end < 0
        end = len(text) if last else end
        yield start
        if end - start > width or not _fits(text[start:end], width):
            yield from _breaks(text, start, end, width)
        if last:
            return
        start = end + 1


def _fits(line: str, width: int) -> bool:
    """Whether a line of no more characters than columns needs no more columns."""
    return line.isascii() or 2 * len(line) <= width or _fitting(line, 0, len(line), width) == len(line)


def _breaks(text: str, start: int, end: int, width: int) -> Iterable[int]:
    """Where the further rows of a line begin that does not fit into one."""
    while True:
        fits = _fitting(text, start, end, width)
        if fits >= end:
            return
        if text[fits] != " ":
            blank = text.rfind(" ", start, fits)
            # A long word is cut rather than leaving most of a row empty.
            fits = blank + 1 if blank - start > width // 3 else fits
        else:
            # The blanks at the end of a row stand beyond its edge.
            while fits < end and text[fits] == " ":
                fits += 1
            if fits >= end:
                return
        yield fits
        start = fits


def _fitting(text: str, start: int, end: int, width: int) -> int:
    """Where a row ends that begins at `start` of a line up to `end`; it has at least one character."""
    near = text[start : min(start + 2 * width, end)]
    if near.isascii():
        return min(start + width, end)
    used = 0
    if _SIMPLE.fullmatch(near):
        for place, char in enumerate(near):
            used += 1 if char < "\x7f" else 2
            if used > width:
                return start + max(place, 1)
        return start + len(near)
    near = text[start : min(start + _MOST_JOINED * width, end)]
    for first, _, cells in split_graphemes(near)[0]:
        if used + cells > width:
            return start + max(first, 1)
        used += cells
    return start + len(near)


def as_shown(text: str, places: Iterable[int]) -> tuple[str, Mapping[int, int]]:
    """A document's text as a screen shows it, and where the places in it went.

    What a terminal would obey is taken out and tabs become blanks, so places move.
    """
    shown = plain_lines(text)
    known = sorted({0, len(text), *(place for place in places if 0 <= place <= len(text))})
    if shown == text:
        return text, {place: place for place in known}
    pieces: list[str] = []
    moved = {0: 0}
    length = 0
    for left, right in pairwise(known):
        pieces.append(plain_lines(text[left:right]))
        length += len(pieces[-1])
        moved[right] = length
    return "".join(pieces), moved
