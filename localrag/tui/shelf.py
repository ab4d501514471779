"""The documents as the library shows them: which of them, in which order, and what stands in each column.

Nothing here touches a widget, so that it can be done in a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from localrag.plain import plain
from localrag.tui.widgets.cells import Column, Row, Tone, Toned
from localrag.tui.words import count, document_state, share, size

if TYPE_CHECKING:
    from localrag.store.shelf_rows import ShelfRow

STATES = ("waiting", "reading", "indexed", "failed", "skipped")
"""The states of documents, in the order in which they are counted."""

_TONES: dict[str, Tone] = {"indexed": "good", "failed": "bad", "reading": "busy", "skipped": "faint"}
_WORST_FIRST = {"failed": 0, "reading": 1, "waiting": 2, "skipped": 3, "indexed": 4}

_READ_WIDTH = 9

COLUMNS = (
    Column("path", "Document", share=4, cut="start"),
    Column("state", "State", 8),
    Column("read", "Read", _READ_WIDTH, right=True),
    Column("pages", "Pages", 6, right=True, room=112),
    Column("language", "Lang", 5, room=84),
    Column("size", "Size", 7, right=True, room=70),
    Column("tags", "Tags", share=1, room=100),
    Column("added", "Added", 10, room=94),
    Column("reason", "Why", share=1, room=124, sorts=False),
)
"""The columns of the library; those that a narrow terminal has no room for stand below the list."""

ORDERS = tuple(column.key for column in COLUMNS if column.sorts)
"""What the documents can be ordered by."""

_DESCENDING_AT_FIRST = frozenset(("size", "pages", "added"))


@dataclass(frozen=True)
class View:
    """Which documents are shown, and in which order."""

    text: str = ""
    """To be found in path, title or tags, each word of it; empty shows all."""

    state: str = ""
    """Only documents in this state; empty shows all."""

    order: str = "path"
    """Key of the column that they are ordered by."""

    descending: bool = False
    """Whether the last comes first."""

    def ordered_by(self, column: str) -> View:
        """Ordered by a column; the other way round if they are already."""
        if column == self.order:
            return replace(self, descending=not self.descending)
        return replace(self, order=column, descending=column in _DESCENDING_AT_FIRST)

    @property
    def narrowed(self) -> bool:
        """Whether some documents are left out."""
        return bool(self.text.strip() or self.state)


@dataclass(frozen=True)
class Arranged:
    """The documents that a view shows."""

    rows: Sequence[ShelfRow]
    """Those that are shown, in their order."""

    counts: dict[str, int]
    """How many documents of all there are in each state; without a state, how many in all. Those of which
    only passages failed count as failed too, beside the state that they are in."""


def arrange(rows: Sequence[ShelfRow], view: View) -> Arranged:
    """Choose and order documents."""
    counts = {"": len(rows), **dict.fromkeys(STATES, 0)}
    for row in rows:
        counts[state_of(row)] += 1
        counts["failed"] += _partly_failed(row)
    words = view.text.casefold().split()
    shown = [row for row in rows if _is_in(row, view.state) and (not words or _holds(row, words))]
    shown.sort(key=_KEYS[view.order], reverse=view.descending)
    return Arranged(shown, counts)


def state_of(row: ShelfRow) -> str:
    """The word for a document's state."""
    of = row.document
    return document_state(of.status, of.read, of.failed, of.chunks)


def cells(row: ShelfRow) -> Row:
    """What stands in the columns."""
    of = row.document
    state = state_of(row)
    return (
        of.path,
        Toned(state, _TONES.get(state, "")),
        _read(of.read, of.chunks),
        str(row.pages or ""),
        of.language,
        size(of.size),
        ", ".join(row.tags),
        local_date(row.added_at),
        of.reason,
    )


def _read(read: int, chunks: int) -> str:
    """How many chunks were read, or how much where the numbers are too long."""
    if not chunks:
        return "–"
    both = f"{read:,}/{chunks:,}"
    return both if len(both) <= _READ_WIDTH else share(read, chunks).removesuffix(" read")


def details(row: ShelfRow) -> str:
    """A document in three lines: its whole path, its state with the reason, and what else is known."""
    of = row.document
    state = state_of(row)
    told = [f"{state}: {plain(of.reason)}" if of.reason else state]
    if of.chunks:
        told.append(f"{of.read:,} of {count(of.chunks, 'chunk')} read")
    if of.failed:
        told.append(f"{of.failed:,} failed")
    if row.left_out:
        told.append(f"{row.left_out:,} left out, since the engine died over them")
    facts = [count(row.pages, "page")] if row.pages else []
    facts += [size(of.size), of.language, f"added {local_date(row.added_at)}"]
    if row.tags:
        facts.append(f"tags: {plain(', '.join(row.tags))}")
    path = plain(f"{of.root.rstrip('/')}/{of.path}")
    return f"{path}\n{', '.join(told)}\n{', '.join(filter(None, facts))}"


def local_date(moment: str) -> str:
    """The day of a stored moment where the person is."""
    try:
        return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d")
    except ValueError:
        return plain(moment[:10])


def _is_in(row: ShelfRow, state: str) -> bool:
    return not state or state_of(row) == state or (state == "failed" and _partly_failed(row))


def _partly_failed(row: ShelfRow) -> bool:
    """Whether passages of a document failed that was read otherwise."""
    return row.document.failed > 0 and state_of(row) != "failed"


def _holds(row: ShelfRow, words: Sequence[str]) -> bool:
    of = row.document
    text = f"{of.root}/{of.path}\n{of.title}\n{' '.join(row.tags)}".casefold()
    return all(word in text for word in words)


_KEYS: dict[str, Callable[[ShelfRow], Any]] = {
    "path": lambda row: (row.document.path.casefold(), row.document.root),
    "state": lambda row: (_WORST_FIRST[state_of(row)], row.document.path.casefold()),
    "read": lambda row: row.document.read / row.document.chunks if row.document.chunks else -1.0,
    "pages": lambda row: row.pages or 0,
    "language": lambda row: (row.document.language, row.document.path.casefold()),
    "size": lambda row: row.document.size,
    "tags": lambda row: (not row.tags, [tag.casefold() for tag in row.tags], row.document.path.casefold()),
    "added": lambda row: row.added_at,
}
