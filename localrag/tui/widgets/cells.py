"""The cells and columns of a list: what they say, how wide they are, and how they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Literal, TypeAlias

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from localrag.plain import plain_lines

GAP = 1
"""Cells between two columns."""

GUTTER = 2
"""Cells at the left edge, for the cursor and for marks."""

_ELLIPSIS = "…"

Tone = Literal["", "good", "bad", "busy", "faint", "strong"]
"""How a cell is drawn; the words themselves say the same, since colours may be off."""


@dataclass(frozen=True)
class Toned:
    """A cell that stands out."""

    text: str
    """What it says."""

    tone: Tone
    """How it is drawn."""


Cell: TypeAlias = str | Toned | Text
"""What stands in a column. A `Text` is drawn with its own styles and has to be harmless already."""

Row: TypeAlias = Sequence[Cell]
"""The cells of a row, one for each column that was named, seen or not."""


@dataclass(frozen=True)
class Column:
    """A column of a list."""

    key: str
    """Its name in messages."""

    title: str
    """Its heading."""

    width: int = 0
    """Cells that it takes; 0 shares what the fixed ones leave."""

    share: int = 1
    """Its part of what is left, where several columns share it."""

    right: bool = False
    """Whether it is set to the right, as numbers are."""

    cut: Literal["end", "start"] = "end"
    """Where a text that is too long loses; paths lose their start."""

    room: int = 0
    """The column is left out where the list has fewer cells than this."""

    sorts: bool = True
    """Whether a click on its heading asks for another order."""


COMPONENTS = {
    "lines--heading",
    "lines--cursor",
    "lines--marked",
    "lines--good",
    "lines--bad",
    "lines--busy",
    "lines--faint",
    "lines--strong",
}
"""What a style sheet may style of a list."""

STYLES = """
LineList {
    height: 1fr;
    background: transparent;
    overflow-x: hidden;
    overflow-y: auto;
    scrollbar-size-vertical: 1;
    & > .lines--heading { text-style: bold; color: $text-muted; }
    & > .lines--cursor {
        background: $block-cursor-blurred-background;
        color: $block-cursor-blurred-foreground;
        text-style: $block-cursor-blurred-text-style;
    }
    &:focus > .lines--cursor {
        background: $block-cursor-background;
        color: $block-cursor-foreground;
        text-style: $block-cursor-text-style;
    }
    & > .lines--marked { background: $primary 20%; }
    & > .lines--good { color: $text-success; }
    & > .lines--bad { color: $text-error; text-style: bold; }
    & > .lines--busy { color: $text-accent; }
    & > .lines--faint { color: $text-muted; }
    & > .lines--strong { text-style: bold; }
}
"""
"""The usual styles of a list."""


@dataclass(frozen=True)
class Ink:
    """What rows are drawn with."""

    console: Console
    """Renders texts that have styles of their own."""

    base: Style
    """The style of the list."""

    tone: Callable[[Tone], Style]
    """What a tone adds to it."""


def fit(columns: Sequence[Column], inside: int) -> dict[str, tuple[int, int]]:
    """The columns that have room in `inside` cells, by key: where each begins, and its width."""
    shown = [column for column in columns if inside >= column.room]
    left = inside - GUTTER - sum(column.width for column in shown) - GAP * max(0, len(shown) - 1)
    shares = sum(column.share for column in shown if not column.width)
    found, x = {}, GUTTER
    for column in shown:
        width = column.width
        if not width:
            width = max(1, left * column.share // max(1, shares))
            left, shares = left - width, shares - column.share
        found[column.key] = (x, width)
        x += width + GAP
    return found


def draw(
    row: Row, columns: Sequence[Column], inside: int, ink: Ink, *, gutter: str = "", over: Style | None = None
) -> Strip:
    """A row in `inside` cells; the style `over` stands over those of its cells."""
    over = over or Style()
    blank = ink.base + over
    segments = [Segment(f"{gutter:{GUTTER}}", blank)]
    places = fit(columns, inside)
    for column, cell in zip(columns, row, strict=False):
        if column.key in places:
            if len(segments) > 1:
                segments.append(Segment(" " * GAP, blank))
            segments += _cell(cell, column, places[column.key][1], ink, over)
    return Strip(segments).adjust_cell_length(inside, blank)


def _cell(cell: Cell, column: Column, width: int, ink: Ink, over: Style) -> list[Segment]:
    if isinstance(cell, Text):
        text = cell.copy()
        text.truncate(width, overflow="ellipsis")
        pad = Text(" " * max(0, width - text.cell_len))
        text = pad + text if column.right else text + pad
        text.end = ""
        return [
            Segment(part.text, ink.base + (part.style or Style()) + over)
            for part in text.render(ink.console)
            if part.text
        ]
    toned = cell if isinstance(cell, Toned) else Toned(cell, "")
    words = plain_lines(toned.text).replace("\n", " ")
    style = ink.base + (ink.tone(toned.tone) if toned.tone else Style()) + over
    return [Segment(fitted(words, width, right=column.right, cut=column.cut), style)]


def words_instead(words: str, inside: int, y: int) -> str:
    """Line `y` of the words that stand in place of rows."""
    lines = [line for part in words.split("\n") for line in wrap(part, max(8, inside - 2)) or [""]]
    return set_cell_size(f" {lines[y]}" if y < len(lines) else "", inside)


def fitted(text: str, width: int, *, right: bool = False, cut: Literal["end", "start"] = "end") -> str:
    """A text in exactly `width` cells: filled with blanks, or cut with three dots where it is too long."""
    length = cell_len(text)
    if length > width:
        if width <= 1:
            return _ELLIPSIS[:width]
        text = _tail(text, width - 1) if cut == "start" else set_cell_size(text, width - 1).rstrip(" ")
        text = _ELLIPSIS + text if cut == "start" else text + _ELLIPSIS
        length = cell_len(text)
    blanks = " " * (width - length)
    return blanks + text if right else text + blanks


def _tail(text: str, width: int) -> str:
    """The end of a text, `width` cells at most."""
    kept, taken = len(text), 0
    while kept and taken + cell_len(text[kept - 1]) <= width:
        kept -= 1
        taken += cell_len(text[kept])
    return text[kept:]
