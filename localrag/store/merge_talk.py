"""Conversations of another file, with what their answers rest on.

A conversation has no name of its own that lasts; the moment at which it began, to the microsecond, tells it
from others. Where one file has more of the same conversation than the other, the rest is joined; where the
two went on differently, both are kept.
"""

from __future__ import annotations

from typing import Any

from localrag.store.merge_calls import CallMerger
from localrag.store.merge_documents import DocumentMerger
from localrag.store.row_copies import RowCopier
from localrag.store.session import Row, Session

_MESSAGES = "SELECT id, role, created_at, text, generation_id FROM messages WHERE session_id = ? ORDER BY id"
_HOLDING = (
    "SELECT id FROM chunks WHERE document_id = ?1 AND char_start <= ?2 AND char_end >= ?3 "
    "AND substr(text, ?2 - char_start + 1, ?3 - ?2) = ?4 ORDER BY ordinal LIMIT 1"
)


def join_talk(rows: RowCopier, documents: DocumentMerger, calls: CallMerger) -> int:
    """Join conversations, within the transactions of both files; returns how many came over or grew.

    The documents have to be there.
    """
    joiner = _Joiner(rows, documents, calls)
    return sum(
        joiner.join(*row)
        for row in rows.source.rows("SELECT id, created_at, changed_at FROM sessions ORDER BY id")
    )


class _Joiner:
    """Brings conversations in one after the other."""

    def __init__(self, rows: RowCopier, documents: DocumentMerger, calls: CallMerger) -> None:
        self._rows = rows
        self._source = rows.source
        self._target = rows.target
        self._documents = documents
        self._calls = calls

    def join(self, there: int, created_at: str, changed_at: str) -> bool:
        """Join one conversation; False if all of it is here."""
        messages = self._source.rows(_MESSAGES, [there])
        said = [row[1:4] for row in messages]
        here = None
        for candidate in self._target.column(
            "SELECT id FROM sessions WHERE created_at = ? ORDER BY id", [created_at]
        ):
            known = _said(self._target, candidate)
            if known[: len(said)] == said:
                return False
            if said[: len(known)] == known:
                here, messages = candidate, messages[len(known) :]
                break
        if here is None:
            names = self._rows.columns("sessions")
            values = self._source.row(f"SELECT {', '.join(names)} FROM sessions WHERE id = ?", [there])
            assert values is not None
            here = self._rows.put("sessions", values, {})
        else:
            self._target.run(
                "UPDATE sessions SET changed_at = max(changed_at, ?) WHERE id = ?", [changed_at, here]
            )
        self._bring(messages, here)
        return True

    def _bring(self, messages: list[Row], here: int) -> None:
        names = self._rows.columns("messages")
        for message_id, *_, call in messages:
            values = self._source.row(f"SELECT {', '.join(names)} FROM messages WHERE id = ?", [message_id])
            assert values is not None
            given = {"session_id": here, "generation_id": self._calls.bring(call)}
            self._cite(message_id, self._rows.put("messages", values, {}, given))

    def _cite(self, there: int, here: int) -> None:
        names = self._rows.columns("citations")
        for values in self._source.rows(
            f"SELECT {', '.join(names)} FROM citations WHERE message_id = ? ORDER BY id", [there]
        ):
            cited = dict(zip(names, values, strict=True))
            place = self._place(cited)
            given: dict[str, Any] = {"message_id": here, "document_id": place[0], "chunk_id": place[1]}
            if place[0] in self._documents.paths:
                given["path"] = self._documents.paths[place[0]]
            if cited["chunk_id"] is not None and place[1] is None:
                # As if the passage had been deleted here.
                given |= {"document_id": None, "gone": 1, "text": ""}
                if cited["kind"] != "document":
                    given["label"] = ""
            self._rows.put("citations", values, {}, given)

    def _place(self, cited: dict[str, object]) -> tuple[int | None, int | None]:
        """Document and passage here that a citation is of."""
        document, chunk = cited["document_id"], cited["chunk_id"]
        here = self._documents.documents.get(document) if isinstance(document, int) else None
        if here is None or not isinstance(chunk, int):
            return here, None
        found = self._documents.chunks.get(chunk)
        if found is None:
            found = self._target.value(
                _HOLDING, [here, cited["char_start"], cited["char_end"], cited["text"]]
            )
        return here, found


def _said(session: Session, session_id: int) -> list[Row]:
    return [row[1:4] for row in session.rows(_MESSAGES, [session_id])]
