"""Kept answers: the same question, asked again while nothing has changed, needs no model."""

from __future__ import annotations

from datetime import UTC, datetime

from localrag.errors import UsageError
from localrag.store.origins import drop_calls
from localrag.store.session import Session
from localrag.store.sqlite import clean
from localrag.store.talk_rows import AnswerRow


class Answers:
    """Keeps answers by key and revision. They go with the call that wrote them, so with their sources."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, key: str) -> AnswerRow | None:
        """The answer with this key, if it was given from the content as it is now."""
        row = self._session.row(
            "SELECT key, revision, created_at, question, answer FROM answers "
            "WHERE key = ? AND revision = (SELECT revision FROM meta)",
            [clean(key)],
        )
        return AnswerRow(*row) if row else None

    def put(self, key: str, question: str, answer: str, *, revision: int, generation_id: int) -> bool:
        """Keep an answer in place of an earlier one; those of earlier revisions go, since none can come back.

        `revision` is that of the content when the search for the answer began, `generation_id` the call that
        wrote it. Returns False, and keeps nothing, if the content has changed since. Raises `UsageError` if
        the call is not in the journal.
        """
        session = self._session
        with session.transaction():
            if session.changing or revision != session.value("SELECT revision FROM meta"):
                return False
            if session.value("SELECT 1 FROM generations WHERE id = ?", [generation_id]) is None:
                raise UsageError(f"There is no call {generation_id} in the journal.")
            key = clean(key)
            session.run("DELETE FROM answers WHERE key = ? OR revision <> ?", [key, revision])
            session.insert(
                "INSERT INTO answers (key, revision, generation_id, created_at, question, answer) "
                "VALUES (?,?,?,?,?,?)",
                [
                    key,
                    revision,
                    generation_id,
                    datetime.now(UTC).isoformat(timespec="seconds"),
                    clean(question),
                    clean(answer),
                ],
            )
        return True

    def count(self) -> int:
        """Number of kept answers, those that are out of date included."""
        return int(self._session.value("SELECT count(*) FROM answers"))

    def clear(self) -> int:
        """Remove all kept answers with the calls that wrote them, but those that a message rests on; returns
        how many answers went."""
        session = self._session
        with session.transaction():
            calls = session.column(
                "SELECT DISTINCT generation_id FROM answers a "
                "WHERE NOT EXISTS (SELECT 1 FROM messages WHERE generation_id = a.generation_id)"
            )
            count = session.run("DELETE FROM answers")
            drop_calls(session, calls)
        return count
