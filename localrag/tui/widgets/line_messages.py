"""What a list tells: `LineList.Opened` and its like, which `@on(LineList.Opened, "#id")` listens to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from localrag.tui.widgets.lines import LineList


class _OfList(Message):
    """A message of a list; `@on(LineList.Opened, "#id")` listens to one of them."""

    def __init__(self, lines: LineList) -> None:
        super().__init__()
        # Whoever made the list show something: a message goes no further up than to its sender.
        self.set_sender(lines)
        self.lines = lines

    @property
    def control(self) -> LineList:
        """The list."""
        return self.lines


class _OfRow(_OfList):
    def __init__(self, lines: LineList, index: int) -> None:
        super().__init__(lines)
        self.index = index


class Opened(_OfRow):
    """Enter or a double click; `index` is the row."""


class Highlighted(_OfRow):
    """The cursor stands on another row, or the rows were shown anew; `index` is -1 without any."""

    def can_replace(self, message: Message) -> bool:
        """Only the last row matters."""
        return isinstance(message, Highlighted) and message.lines is self.lines


class SortAsked(_OfList):
    """A heading was clicked; `column` is the key of its column."""

    def __init__(self, lines: LineList, column: str) -> None:
        super().__init__(lines)
        self.column = column


class Marked(_OfList):
    """Other rows are marked; `lines.marked` has them."""


class Wanted(_OfList):
    """Rows are seen that were not there: from `first` to before `end`."""

    def __init__(self, lines: LineList, first: int, end: int) -> None:
        super().__init__(lines)
        self.first = first
        self.end = end
