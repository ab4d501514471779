"""The lists of the place of reading: what came out, what waits, what failed, and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import ContentSwitcher, Tab, Tabs

from localrag.tui.run_state import Failed, Found
from localrag.tui.widgets.lines import Column, LineList, Row, Toned

if TYPE_CHECKING:
    from localrag.indexing import WaitingDocument

TITLES = {"found": "Found", "waiting": "Waiting", "failed": "Failed", "notes": "Notes"}
"""The lists, each with the name of its tab."""

_EMPTY = {
    "found": "Nothing yet. What the model finds appears here as it is found: names, relations, claims.",
    "waiting": "No document waits to be read.",
    "failed": "Nothing has failed.",
    "notes": "Nothing to tell.",
}
_COLUMNS = {
    "found": [
        Column("kind", "Kind", 8),
        Column("name", "What", share=3),
        Column("words", "Type, or what is said", share=2, room=60),
        Column("document", "Document", share=1, cut="start", room=100),
    ],
    "waiting": [
        Column("place", "", 4, right=True),
        Column("document", "Document", cut="start"),
        Column("chunks", "Chunks", 16, right=True),
        Column("turn", "", 10, room=50),
    ],
    "failed": [
        Column("document", "Document", share=2, cut="start"),
        Column("part", "Part", 5, right=True),
        Column("reason", "Why", share=4),
        Column("again", "Next run", 14, room=90),
    ],
    "notes": [Column("note", "")],
}


class RunLists(Vertical):
    """Four lists behind tabs; the tabs say how much is in each."""

    HELP: ClassVar[str] = """
    **Found** shows names, relations and claims as they come out of the texts, the newest first; **enter**
    opens one in the graph. **Waiting** shows the documents in the order of reading; **u** lets one be read
    next, **d** lets it wait for its turn again. **Failed** shows what could not be read and why; **enter**
    opens the document, **r** tries all of it again. The keys **f**, **w**, **x** and **n** choose a list.
    """

    class Chosen(Message):
        """Another list is seen."""

    @dataclass
    class Opened(Message):
        """A row was opened."""

        item: Found | Failed | WaitingDocument | str
        """What it shows."""

    def __init__(self) -> None:
        super().__init__(id="run-lists")
        self._found: Sequence[Found] = ()
        self._waiting: Sequence[WaitingDocument] = ()
        self._failed: Sequence[Failed] = ()
        self._notes: Sequence[str] = ()
        self._labels: dict[str, str] = {}

    def compose(self) -> ComposeResult:
        """The tabs, and a list behind each."""
        yield Tabs(*(Tab(title, id=f"{name}-tab") for name, title in TITLES.items()), id="run-tabs")
        with ContentSwitcher(initial="found-list"):
            for name in TITLES:
                yield LineList(_COLUMNS[name], header=name != "notes", empty=_EMPTY[name], id=f"{name}-list")

    @property
    def active(self) -> str:
        """The list that is seen."""
        return (self.query_one(ContentSwitcher).current or "found-list").removesuffix("-list")

    def list_of(self, name: str) -> LineList:
        """One of the lists."""
        return self.query_one(f"#{name}-list", LineList)

    @property
    def shown(self) -> LineList:
        """The list that is seen."""
        return self.list_of(self.active)

    def choose(self, name: str) -> None:
        """Show a list and put the cursor into it."""
        self.query_one(Tabs).active = f"{name}-tab"
        self._show(name)
        self.list_of(name).focus()

    @on(Tabs.TabActivated)
    def _tab_chosen(self, event: Tabs.TabActivated) -> None:
        event.stop()
        self._show((event.tab.id or "").removesuffix("-tab"))

    def _show(self, name: str) -> None:
        self.query_one(ContentSwitcher).current = f"{name}-list"
        self.post_message(self.Chosen())

    # What they show

    def show_found(self, found: Sequence[Found], total: int) -> None:
        """The last of `total` things found, the newest first."""
        if len(found) == len(self._found) and found[:1] == self._found[:1]:
            return
        self._found = found
        lines = self.list_of("found")
        lines.show(
            len(found),
            lambda index: found_row(found[index]),
            key=lambda index: found[index].number,
            # At the head the cursor stays there, so that what comes is seen; elsewhere it stays on its row.
            cursor=0 if lines.cursor == 0 else None,
        )
        self._label("found", total)

    def show_waiting(self, waiting: Sequence[WaitingDocument], *, ordered: bool) -> None:
        """The documents that wait, in their order if that is known."""
        if self._waiting == waiting:
            return
        self._waiting = waiting
        self.list_of("waiting").show(
            len(waiting),
            lambda index: waiting_row(waiting[index], index + 1 if ordered else 0),
            key=lambda index: waiting[index].document_id,
        )
        self._label("waiting", len(waiting))

    def show_failed(self, failed: Sequence[Failed], total: int) -> None:
        """What could not be read."""
        if self._failed == failed:
            return
        self._failed = failed
        self.list_of("failed").show(len(failed), lambda index: failed_row(failed[index]))
        self._label("failed", total)

    def show_notes(self, notes: Sequence[str]) -> None:
        """What a person should know."""
        if self._notes == notes:
            return
        self._notes = notes
        self.list_of("notes").show(len(notes), lambda index: [notes[index]])
        self._label("notes", len(notes))

    def document_at_cursor(self) -> WaitingDocument | None:
        """The waiting document under the cursor, if that list is seen."""
        index = self.list_of("waiting").cursor
        seen = self.active == "waiting" and index < len(self._waiting)
        return self._waiting[index] if seen else None

    def _label(self, name: str, number: int) -> None:
        words = f"{TITLES[name]} {number:,}" if number else TITLES[name]
        if self._labels.get(name) != words:
            self._labels[name] = words
            self.query_one(f"#{name}-tab", Tab).label = Content(words)

    @on(LineList.Opened)
    def _opened(self, event: LineList.Opened) -> None:
        event.stop()
        name = (event.lines.id or "").removesuffix("-list")
        items: dict[str, Sequence[Found | Failed | WaitingDocument | str]] = {
            "found": self._found,
            "waiting": self._waiting,
            "failed": self._failed,
            "notes": self._notes,
        }
        if event.index < len(items[name]):
            self.post_message(self.Opened(items[name][event.index]))


def found_row(item: Found) -> Row:
    """Something that came out."""
    name = f"{item.name} → {item.other}" if item.other else item.name
    return [Toned(item.kind, "faint"), Toned(name, "strong"), item.words, Toned(item.document, "faint")]


def waiting_row(item: WaitingDocument, place: int) -> Row:
    """A document that waits."""
    chunks = f"{item.chunks:,} of {item.of:,}" if item.chunks != item.of else f"{item.chunks:,}"
    turn = Toned("read next", "busy") if item.preferred else ""
    return [f"{place:,}" if place else "", item.path, chunks, turn]


def failed_row(item: Failed) -> Row:
    """What could not be read."""
    part = f"{item.ordinal + 1:,}" if item.ordinal >= 0 else "file"
    again = "only with r" if item.left_out else "tries again"
    return [item.document, part, Toned(item.reason, "bad"), again]
