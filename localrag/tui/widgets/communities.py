"""The tree of communities as a list that opens and closes, and a page of paragraphs that lead somewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from localrag.tui.community_words import Paragraph
from localrag.tui.widgets.cells import GUTTER, Row, Toned
from localrag.tui.widgets.lines import Column, LineList

if TYPE_CHECKING:
    from localrag.store.survey import CommunityLine

COLUMNS = (
    Column("title", "Community", sorts=False),
    Column("rating", "Rating", 6, right=True, sorts=False),
    Column("members", "Members", 7, right=True, room=34, sorts=False),
    Column("state", "Report", 8, room=48, sorts=False),
)

OVERVIEW = 0
"""The number of the first row, which is no community."""


class CommunityTree(LineList):
    """All communities below those that hold them."""

    HELP = """
    The **communities** of the graph: groups of entities that have much to do with each other, from the large
    ones down to the small ones within them. The **rating** says how much the model takes one to matter, from
    0 to 10. A report is `written`, `behind` when the graph has changed since, or there are `facts` only.

    **→** opens and **←** closes a community, **enter** goes to its report, **/** searches titles.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "right,l,plus", "unfold", "Open", show=False, id="communities.unfold", tooltip="Show its parts"
        ),
        Binding("left,h,minus", "fold", "Close", show=False, id="communities.fold", tooltip="Hide its parts"),
    ]

    def __init__(self) -> None:
        super().__init__(COLUMNS, id="community-tree")
        self._lines: dict[int, CommunityLine] = {}
        self._parts: dict[int, list[int]] = {}
        self._open: set[int] = set()
        self._rows: list[tuple[int, int]] = [(OVERVIEW, 0)]
        self._words: tuple[str, ...] = ()

    def fill(self, lines: Sequence[CommunityLine]) -> None:
        """Show these communities, in their order at each level."""
        self._lines = {line.id: line for line in lines}
        self._parts = {}
        for line in lines:
            parent = line.parent_id if line.parent_id in self._lines else None
            self._parts.setdefault(parent or OVERVIEW, []).append(line.id)
        self._open &= set(self._lines)
        self._lay_out()

    def narrow(self, words: Sequence[str]) -> None:
        """Show only those with all these words in their title, without their parents."""
        self._words = tuple(words)
        self._lay_out()

    @property
    def chosen_id(self) -> int:
        """The community at the cursor, `OVERVIEW` on the first row."""
        return self._rows[self.cursor][0] if self.cursor < len(self._rows) else OVERVIEW

    def go_to(self, community_id: int) -> None:
        """Put the cursor on a community, opening what holds it."""
        line = self._lines.get(community_id)
        while line is not None and line.parent_id is not None:
            self._open.add(line.parent_id)
            line = self._lines.get(line.parent_id)
        self._lay_out()
        places = [place for place, (found, _) in enumerate(self._rows) if found == community_id]
        if places:
            self.move_to(places[0])

    def action_unfold(self) -> None:
        """Show the parts of a community; when they are shown, go to the first."""
        found = self._rows[self.cursor][0]
        if found in self._open:
            self.action_move(1)
        elif found in self._parts and found != OVERVIEW:
            self._open.add(found)
            self._lay_out()

    def action_fold(self) -> None:
        """Hide the parts of a community; when there are none, go to what holds it."""
        found = self._rows[self.cursor][0]
        if found in self._open:
            self._open.discard(found)
            self._lay_out()
        elif found in self._lines and self._lines[found].parent_id is not None:
            self.go_to(self._lines[found].parent_id or OVERVIEW)

    def on_click(self, event: events.Click) -> None:
        """A click on the mark before a title opens or closes it; the list itself moves the cursor there."""
        offset = event.get_content_offset(self)
        index = int(self.scroll_offset.y) + offset.y - 1 if offset is not None else -1
        if offset is None or not 0 <= index < len(self._rows):
            return
        found, depth = self._rows[index]
        left = GUTTER + 2 * depth
        if left <= offset.x < left + 2:
            event.prevent_default()
            self.move_to(index)
            if found in self._open:
                self.action_fold()
            else:
                self.action_unfold()

    def _lay_out(self) -> None:
        if self._words:
            fitting = (line for line in self._lines.values() if self._fits(line))
            self._rows = [(OVERVIEW, 0), *((line.id, 0) for line in fitting)]
        else:
            self._rows = [(OVERVIEW, 0)]
            self._add(OVERVIEW, 0)
        rows = self._rows
        self.show(len(rows), self._row_at, key=lambda index: rows[index][0])

    def _add(self, parent: int, depth: int) -> None:
        waiting = [(found, depth) for found in reversed(self._parts.get(parent, []))]
        while waiting:
            found, deep = waiting.pop()
            self._rows.append((found, deep))
            if found in self._open:
                waiting += [(below, deep + 1) for below in reversed(self._parts.get(found, []))]

    def _fits(self, line: CommunityLine) -> bool:
        title = line.title.lower()
        return all(word in title for word in self._words)

    def _row_at(self, index: int) -> Row:
        found, depth = self._rows[index]
        if found == OVERVIEW:
            return (Toned("Overview of the file", "strong"), "", "", "")
        line = self._lines[found]
        parts = self._parts.get(found)
        mark = "  " if not parts or self._words else "▾ " if found in self._open else "▸ "
        rating = f"{line.rating:g}" if line.rating is not None else "–"
        state = ("behind" if line.dirty else "written") if line.by_model else "facts"
        tone = Toned(state, "busy" if state == "behind" else "faint" if state == "facts" else "")
        return (f"{'  ' * depth}{mark}{line.title or '(no title)'}", rating, f"{line.members:,}", tone)


class Page(OptionList):
    """Paragraphs; those that lead somewhere open with enter or a click."""

    HELP = """
    A report, or the overview. Lines with **▸** lead somewhere: **enter** opens the page of an entity in the
    graph, or a document; **p** shows the passage that says it. **y** copies the whole page.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", show=False),
        Binding("k", "cursor_up", "Up", show=False),
        Binding("g", "first", "First", show=False),
        Binding("G", "last", "Last", show=False),
    ]

    class Followed(Message):
        """A paragraph was chosen."""

        def __init__(self, paragraph: Paragraph) -> None:
            super().__init__()
            self.paragraph = paragraph

    def __init__(self) -> None:
        super().__init__(id="community-page")
        self.paragraphs: list[Paragraph] = []

    def show(self, paragraphs: list[Paragraph], *, keep: bool = False) -> None:
        """Show paragraphs, from the first one unless `keep`."""
        place = self.highlighted if keep else None
        self.paragraphs = paragraphs
        self.set_options([Option(paragraph.text) for paragraph in paragraphs])
        if paragraphs:
            self.highlighted = min(place or 0, len(paragraphs) - 1)
        if not keep:
            self.scroll_home(animate=False)

    @property
    def chosen(self) -> Paragraph | None:
        """The paragraph at the cursor."""
        return self.paragraphs[self.highlighted] if self.highlighted is not None else None

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Followed(self.paragraphs[event.option_index]))
