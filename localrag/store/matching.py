"""A document's chunks after a change: those whose text is still there stay, with all that was made from them.

Only what the change really touched is removed or comes in new. A chunk that stays keeps its id, and with it
its mentions, vectors, state and attempts; its ordinal, place, page and heading follow the new text.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from localrag.store.fulltext import FullText
from localrag.store.origins import forget_chunks
from localrag.store.rows import NewChunk
from localrag.store.session import Row, Session, listed
from localrag.store.sqlite import clean
from localrag.store.upkeep import Touched
from localrag.store.zero import forget_chunks as forget_names

_OLD = "SELECT id, ordinal, char_start, char_end, heading, page, tokens, language, text FROM chunks"
_ID_IN = "IN (SELECT value FROM json_each(?))"


class ChunkWriter:
    """Writes, moves and removes the chunks of documents with their full-text rows.

    Its methods are called within the transaction of the document's change.
    """

    def __init__(self, session: Session, fulltext: FullText) -> None:
        self._session = session
        self._fulltext = fulltext

    def insert(self, document_id: int, chunks: Sequence[tuple[int, NewChunk]]) -> None:
        """Store new chunks, each with its ordinal."""
        ordinals = [ordinal for ordinal, _ in chunks]
        self._session.run_many(
            "INSERT INTO chunks (document_id, ordinal, char_start, char_end, heading, page, tokens, "
            "language, text) VALUES (?,?,?,?,?,?,?,?,?)",
            [
                [
                    document_id,
                    ordinal,
                    chunk.start,
                    chunk.end,
                    clean(chunk.heading),
                    chunk.page,
                    chunk.tokens,
                    clean(chunk.language),
                    clean(chunk.text),
                ]
                for ordinal, chunk in chunks
            ],
        )
        self._fulltext.add(
            self._session.column(
                f"SELECT id FROM chunks WHERE document_id = ? AND ordinal {_ID_IN} ORDER BY ordinal",
                [document_id, listed(ordinals)],
            )
        )

    def remove(self, document_id: int, chunk_ids: Sequence[int]) -> Touched:
        """Delete chunks of a document; what is returned is to be settled when the rest is in place."""
        touched = Touched(self._session, chunk_ids)
        if not chunk_ids:
            return touched
        forget_chunks(self._session, chunk_ids)
        forget_names(self._session, chunk_ids)
        self._fulltext.remove(chunk_ids)
        self._session.run(
            f"DELETE FROM chunks WHERE document_id = ? AND id {_ID_IN}", [document_id, listed(chunk_ids)]
        )
        return touched

    def remove_all(self, document_id: int) -> Touched:
        """Delete all chunks of a document."""
        return self.remove(
            document_id,
            self._session.column("SELECT id FROM chunks WHERE document_id = ?", [document_id]),
        )

    def replace(self, document_id: int, chunks: Sequence[NewChunk]) -> tuple[Touched, int]:
        """Bring a document's chunks to `chunks`; returns what is to be settled and how many are new."""
        old = self._session.rows(_OLD + " WHERE document_id = ? ORDER BY ordinal", [document_id])
        stay = _pairs(old, chunks)
        kept = {row[0] for row in stay.values()}
        touched = self.remove(document_id, [row[0] for row in old if row[0] not in kept])
        self._move(document_id, [(stay[ordinal], ordinal, chunks[ordinal]) for ordinal in sorted(stay)])
        new = [(ordinal, chunk) for ordinal, chunk in enumerate(chunks) if ordinal not in stay]
        self.insert(document_id, new)
        return touched, len(new)

    def _move(self, document_id: int, staying: Sequence[tuple[Row, int, NewChunk]]) -> None:
        """Give chunks that stay their new ordinal, place, page and heading."""
        session = self._session
        moved = [(row, ordinal, chunk) for row, ordinal, chunk in staying if _differs(row, ordinal, chunk)]
        # Ordinals are unique at every moment: they make room before they are given anew.
        session.run_many(
            "UPDATE chunks SET ordinal = -1 - ordinal WHERE id = ?", [[row[0]] for row, _, _ in moved]
        )
        renamed = [row[0] for row, _, chunk in moved if row[4] != clean(chunk.heading)]
        # The full-text rows hold the heading and can only be removed while the old one is there.
        if renamed:
            self._fulltext.remove(renamed)
        values: list[list[Any]] = [
            [ordinal, chunk.start, chunk.end, clean(chunk.heading), chunk.page, chunk.tokens, row[0]]
            for row, ordinal, chunk in moved
        ]
        session.run_many(
            "UPDATE chunks SET ordinal = ?, char_start = ?, char_end = ?, heading = ?, page = ?, tokens = ? "
            "WHERE id = ?",
            values,
        )
        self._fulltext.add(renamed)
        # Citations give places in the document's text; they move along.
        session.run_many(
            "UPDATE citations SET char_start = char_start + ?1, char_end = char_end + ?1 "
            "WHERE chunk_id = ?2 AND document_id = ?3",
            [[chunk.start - row[2], row[0], document_id] for row, _, chunk in moved if chunk.start != row[2]],
        )


def _pairs(old: Sequence[Row], chunks: Sequence[NewChunk]) -> dict[int, Row]:
    """The old chunk for each new ordinal whose text and language it has; equal ones are taken in order."""
    waiting: dict[tuple[str, str], deque[Row]] = {}
    for row in old:
        waiting.setdefault((row[8], row[7]), deque()).append(row)
    found: dict[int, Row] = {}
    for ordinal, chunk in enumerate(chunks):
        same = waiting.get((clean(chunk.text), clean(chunk.language)))
        if same:
            found[ordinal] = same.popleft()
    return found


def _differs(row: Row, ordinal: int, chunk: NewChunk) -> bool:
    now = (ordinal, chunk.start, chunk.end, clean(chunk.heading), chunk.page, chunk.tokens)
    return tuple(row[1:7]) != now
