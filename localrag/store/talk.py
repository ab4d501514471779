"""Conversations: sessions, their messages, and what the messages rest on.

What was said stays until the person deletes it. A citation is tied to a chunk: it follows the chunk when its
document changes around it, and says that the source is gone when the chunk is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from localrag.errors import UsageError
from localrag.store.origins import drop_calls, note_removal
from localrag.store.session import Row, Session, listed
from localrag.store.sqlite import clean, clean_path
from localrag.store.talk_rows import CitationRow, MessageRow, MessageState, NewCitation, Role, SessionRow

TITLE = 200
"""Most characters of a session's title."""

_SESSIONS = (
    "SELECT s.id, s.title, s.created_at, s.changed_at, "
    "(SELECT count(*) FROM messages WHERE session_id = s.id) FROM sessions s "
)
_PLACE = (
    "SELECT c.id, c.document_id FROM chunks c JOIN documents d ON d.id = c.document_id "
    "WHERE {} AND ?2 >= c.char_start AND ?3 <= c.char_end AND "
    "substr(c.text, ?2 - c.char_start + 1, ?3 - ?2) = ?4 ORDER BY c.id LIMIT 1"
)


class Talk:
    """Stores conversations and finds them again. The revision of the content does not count them."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def create(self, title: str) -> int:
        """Begin a session; returns its id. A long title is cut."""
        now = _now()
        with self._session.transaction():
            return self._session.insert(
                "INSERT INTO sessions (title, created_at, changed_at) VALUES (?, ?, ?)",
                [_title(title), now, now],
            )

    def rename(self, session_id: int, title: str) -> None:
        """Give a session another title. Raises `UsageError` if it is not there."""
        with self._session.transaction():
            changed = self._session.run(
                "UPDATE sessions SET title = ?, changed_at = ? WHERE id = ?",
                [_title(title), _now(), session_id],
            )
            if not changed:
                raise _missing(session_id)

    def delete(self, session_id: int) -> None:
        """Delete a session with its messages and the calls that wrote them. Raises `UsageError` if it is
        not there.

        An answer that was kept from such a call goes too. A call stays while a message of another session was
        written by it.
        """
        session = self._session
        with session.transaction():
            self.get(session_id)
            calls = session.column(
                "SELECT DISTINCT generation_id FROM messages m WHERE session_id = ?1 "
                "AND generation_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM messages o "
                "WHERE o.generation_id = m.generation_id AND o.session_id <> ?1)",
                [session_id],
            )
            note_removal(session)
            session.run("DELETE FROM sessions WHERE id = ?", [session_id])
            drop_calls(session, calls)

    def get(self, session_id: int) -> SessionRow:
        """One session. Raises `UsageError` if it is not there."""
        row = self._session.row(_SESSIONS + "WHERE s.id = ?", [session_id])
        if row is None:
            raise _missing(session_id)
        return SessionRow(*row)

    def sessions(self, limit: int | None = None) -> list[SessionRow]:
        """Sessions, the one changed last first."""
        rows = self._session.rows(
            _SESSIONS + "ORDER BY s.changed_at DESC, s.id DESC LIMIT ?",
            [-1 if limit is None else max(limit, 0)],
        )
        return [SessionRow(*row) for row in rows]

    def search(self, query: str, limit: int | None = None) -> list[SessionRow]:
        """Sessions in whose title and messages all words of the query occur, the one changed last first.

        Large and small letters are the same; any text may be searched for, all of it means itself.
        """
        words = set(clean(query).casefold().split())
        if not words:
            return self.sessions(limit)
        missing: dict[int, set[str]] = {}
        for session_id, text in self._session.each(
            "SELECT id, title FROM sessions UNION ALL SELECT session_id, text FROM messages"
        ):
            left = missing.setdefault(session_id, set(words))
            if left:
                folded = text.casefold()
                left.difference_update([word for word in left if word in folded])
        found = {session_id for session_id, left in missing.items() if not left}
        return [row for row in self.sessions() if row.id in found][: None if limit is None else max(limit, 0)]

    def add(
        self,
        session_id: int,
        role: Role,
        text: str,
        *,
        state: MessageState = "whole",
        details: Mapping[str, Any] | None = None,
        citations: Iterable[NewCitation] = (),
        generation_id: int | None = None,
    ) -> int:
        """Add a message with what it rests on; returns its id.

        A citation whose text is not in the file at its place, such as one of a document that was deleted
        while the answer was written, is stored as gone. `generation_id` is the call that wrote the message.
        Raises `UsageError` if the session is not there.
        """
        session, now = self._session, _now()
        with session.transaction():
            self.get(session_id)
            call = session.value("SELECT id FROM generations WHERE id = ?", [generation_id])
            message_id = session.insert(
                "INSERT INTO messages (session_id, generation_id, role, state, created_at, details, text) "
                "VALUES (?,?,?,?,?,?,?)",
                [
                    session_id,
                    call,
                    role,
                    state,
                    now,
                    clean(json.dumps(dict(details or {}), ensure_ascii=False)),
                    clean(text),
                ],
            )
            for citation in citations:
                self._cite(message_id, citation)
            session.run("UPDATE sessions SET changed_at = ? WHERE id = ?", [now, session_id])
        return message_id

    def describe(self, message_id: int, details: Mapping[str, Any], generation_id: int | None = None) -> None:
        """Give a message other details, and the call that it comes from. Raises `UsageError` if it is not
        there."""
        session = self._session
        with session.transaction():
            call = session.value("SELECT id FROM generations WHERE id = ?", [generation_id])
            changed = session.run(
                "UPDATE messages SET details = ?, generation_id = ? WHERE id = ?",
                [clean(json.dumps(dict(details), ensure_ascii=False)), call, message_id],
            )
            if not changed:
                raise UsageError(f"There is no message {message_id} in the knowledge base.")

    def take_back(self, session_id: int, message_id: int) -> None:
        """Delete a question of a session with all that was said to it, up to the next question.

        Calls that wrote only this go too. Nothing happens if the session has no such question.
        """
        session = self._session
        with session.transaction():
            messages = session.column(
                "SELECT id FROM messages WHERE session_id = ?1 AND id >= ?2 AND id < coalesce("
                "(SELECT min(id) FROM messages WHERE session_id = ?1 AND role = 'user' AND id > ?2), id + 1) "
                "AND EXISTS (SELECT 1 FROM messages WHERE id = ?2 AND session_id = ?1 AND role = 'user')",
                [session_id, message_id],
            )
            if not messages:
                return
            ids = [listed(messages)]
            among = "IN (SELECT value FROM json_each(?1))"
            calls = session.column(
                f"SELECT DISTINCT generation_id FROM messages m WHERE id {among} "
                "AND generation_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM messages o "
                "WHERE o.generation_id = m.generation_id "
                f"AND o.id NOT {among})",
                ids,
            )
            note_removal(session)
            session.run(f"DELETE FROM messages WHERE id {among}", ids)
            drop_calls(session, calls)

    def messages(self, session_id: int) -> list[MessageRow]:
        """The messages of a session with their citations, in their order. Raises `UsageError` if the session
        is not there."""
        self.get(session_id)
        rows = self._session.rows(
            "SELECT id, session_id, role, state, created_at, details, text FROM messages "
            "WHERE session_id = ? ORDER BY id",
            [session_id],
        )
        cited = self._citations([row[0] for row in rows])
        return [MessageRow(*(*row[:5], json.loads(row[5]), row[6], cited.get(row[0], ()))) for row in rows]

    def citations(self, message_id: int) -> tuple[CitationRow, ...]:
        """What a message rests on, by number, with the places as they are now."""
        return self._citations([message_id]).get(message_id, ())

    def sources(self, session_id: int) -> list[int]:
        """The chunks that what was said in a session rests on: those cited, and those the model was shown."""
        return self._session.column(
            "SELECT c.chunk_id FROM citations c JOIN messages m ON m.id = c.message_id "
            "WHERE m.session_id = ?1 AND c.chunk_id IS NOT NULL UNION "
            "SELECT s.chunk_id FROM generation_sources s JOIN messages m ON m.generation_id = "
            "s.generation_id WHERE m.session_id = ?1",
            [session_id],
        )

    def _cite(self, message_id: int, citation: NewCitation) -> None:
        place = self._place(citation)
        label = clean(citation.label) if place is not None or citation.kind == "document" else ""
        self._session.insert(
            "INSERT INTO citations (message_id, number, label, kind, document_id, chunk_id, path, page, "
            "char_start, char_end, gone, text) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
            [
                message_id,
                citation.number,
                label,
                citation.kind,
                place[1] if place else None,
                place[0] if place else None,
                clean_path(citation.document),
                citation.page,
                citation.start,
                citation.end,
                int(place is None),
                clean(citation.text) if place else "",
            ],
        )

    def _place(self, citation: NewCitation) -> Row | None:
        """Chunk and document that hold the cited text; None if there are none any more."""
        if not citation.text:
            return None
        span = [citation.start, citation.end, clean(citation.text)]
        if citation.chunk_id is not None:
            return self._session.row(_PLACE.format("c.id = ?1"), [citation.chunk_id, *span])
        return self._session.row(_PLACE.format("d.path = ?1"), [clean_path(citation.document), *span])

    def _citations(self, message_ids: Sequence[int]) -> dict[int, tuple[CitationRow, ...]]:
        found: dict[int, list[CitationRow]] = {}
        for message_id, *row in self._session.rows(
            "SELECT m.message_id, m.id, m.number, m.label, m.kind, m.document_id, m.chunk_id, "
            "coalesce(d.path, m.path), coalesce(c.page, m.page), m.char_start, m.char_end, "
            "m.gone OR c.id IS NULL, m.text FROM citations m "
            "LEFT JOIN documents d ON d.id = m.document_id LEFT JOIN chunks c ON c.id = m.chunk_id "
            "WHERE m.message_id IN (SELECT value FROM json_each(?)) ORDER BY m.message_id, m.number, m.id",
            [listed(message_ids)],
        ):
            found.setdefault(message_id, []).append(_citation(tuple(row)))
        return {message_id: tuple(rows) for message_id, rows in found.items()}


def _citation(row: Row) -> CitationRow:
    """A citation as it is now: its place moves along with its chunk, and ends with it."""
    *head, gone, text = row
    return CitationRow(*(*head, "" if gone else text, bool(gone)))


def _title(title: str) -> str:
    return " ".join(clean(title).split())[:TITLE]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _missing(session_id: int) -> UsageError:
    return UsageError(f"There is no conversation {session_id} in the knowledge base.")
