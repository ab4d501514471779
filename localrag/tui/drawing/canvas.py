"""A grid of characters on which lines join where they meet, and on which wide characters keep their room."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from rich.cells import cell_len

Kind = Literal["", "edge", "cross", "label", "name", "faint", "centre", "selected", "near"]
"""What a cell belongs to; the widget gives each kind its style."""

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_JOINTS = {
    _UP: "│",
    _DOWN: "│",
    _UP | _DOWN: "│",
    _LEFT: "─",
    _RIGHT: "─",
    _LEFT | _RIGHT: "─",
    _DOWN | _RIGHT: "╭",
    _DOWN | _LEFT: "╮",
    _UP | _RIGHT: "╰",
    _UP | _LEFT: "╯",
    _UP | _DOWN | _RIGHT: "├",
    _UP | _DOWN | _LEFT: "┤",
    _LEFT | _RIGHT | _DOWN: "┬",
    _LEFT | _RIGHT | _UP: "┴",
    _UP | _DOWN | _LEFT | _RIGHT: "┼",
}
_HEAVY = "━"
_DASHED = {"─": "╌", "│": "╎"}
_STRAIGHT = (_LEFT | _RIGHT, _LEFT, _RIGHT)


class Canvas:
    """Characters by row and column. What is put later lies on top; lines lie below all texts."""

    def __init__(self, width: int, height: int) -> None:
        self.width = max(1, width)
        self.height = max(1, height)
        self._texts: dict[tuple[int, int], tuple[str, Kind]] = {}
        self._lines: dict[tuple[int, int], tuple[int, bool, Kind]] = {}

    def text(self, x: int, y: int, words: str, kind: Kind = "") -> None:
        """Put words; a wide character takes two cells, what combines goes to the cell before."""
        for character in words:
            width = cell_len(character)
            if width == 0:
                before = self._texts.get((x - 1, y))
                if before is not None and before[0]:
                    self._texts[x - 1, y] = (before[0] + character, before[1])
                continue
            self._texts[x, y] = (character, kind)
            if width == 2:
                self._texts[x + 1, y] = ("", kind)
            x += width

    def across(self, x: int, end: int, y: int, kind: Kind = "edge", *, heavy: bool = False) -> None:
        """A line in a row from `x` to `end`, both included."""
        low, high = sorted((x, end))
        for place in range(low, high + 1):
            bits = (_LEFT if place > low else 0) | (_RIGHT if place < high else 0)
            self._join(place, y, bits, kind, heavy=heavy)

    def down(self, x: int, y: int, end: int, kind: Kind = "edge") -> None:
        """A line in a column from `y` to `end`, both included."""
        low, high = sorted((y, end))
        for place in range(low, high + 1):
            bits = (_UP if place > low else 0) | (_DOWN if place < high else 0)
            self._join(x, place, bits, kind)

    def free(self, x: int, y: int) -> bool:
        """Whether nothing stands there."""
        return (x, y) not in self._texts and (x, y) not in self._lines

    def row(self, y: int) -> list[tuple[str, Kind]]:
        """A row as pieces of one kind each; together they fill the width."""
        pieces: list[tuple[str, Kind]] = []
        for character, kind in self._cells(y):
            if pieces and pieces[-1][1] == kind:
                pieces[-1] = (pieces[-1][0] + character, kind)
            else:
                pieces.append((character, kind))
        return pieces

    def lines(self) -> list[str]:
        """The whole as text, without blanks at the ends of lines."""
        return ["".join(text for text, _ in self.row(y)).rstrip() for y in range(self.height)]

    def _cells(self, y: int) -> Iterator[tuple[str, Kind]]:
        x = 0
        while x < self.width:
            character, kind = self._texts.get((x, y), (" ", ""))
            if (x, y) not in self._texts and (x, y) in self._lines:
                bits, heavy, kind = self._lines[x, y]
                character = _JOINTS.get(bits, " ")
                if heavy and bits in _STRAIGHT:
                    character = _HEAVY
                elif kind == "cross":
                    character = _DASHED.get(character, character)
            width = cell_len(character)
            if x + width > self.width:
                character, width = " ", 1
            yield (character or " "), kind
            x += max(1, width)

    def _join(self, x: int, y: int, bits: int, kind: Kind, *, heavy: bool = False) -> None:
        before, was_heavy, was = self._lines.get((x, y), (0, heavy, kind))
        self._lines[x, y] = (before | bits, heavy and was_heavy, kind if was == kind else "edge")
