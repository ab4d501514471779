"""How answers of conversations came about: ids and numbers, kept with a message and gone with its sources."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from localrag.errors import UsageError
from localrag.store.session import Session, listed
from localrag.store.sqlite import clean


class Traces:
    """Keeps one trace for each message. It goes with the message, and with any chunk that it rests on."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def put(self, message_id: int, trace: Mapping[str, Any], chunk_ids: Iterable[int] = ()) -> bool:
        """Keep the trace of a message in place of an earlier one.

        `trace` is JSON-ready and holds no document's text; `chunk_ids` are the chunks that the model was
        shown. Returns False, and keeps nothing, if one of them was deleted meanwhile. Raises `UsageError` if
        there is no such message.
        """
        session, wanted = self._session, sorted(set(chunk_ids))
        with session.transaction():
            if session.value("SELECT 1 FROM messages WHERE id = ?", [message_id]) is None:
                raise UsageError(f"There is no message {message_id} in the knowledge base.")
            there = session.value(
                "SELECT count(*) FROM chunks WHERE id IN (SELECT value FROM json_each(?))", [listed(wanted)]
            )
            if there != len(wanted):
                return False
            session.run("DELETE FROM traces WHERE message_id = ?", [message_id])
            session.insert(
                "INSERT INTO traces (message_id, trace) VALUES (?, ?)",
                [message_id, clean(json.dumps(dict(trace), ensure_ascii=False, separators=(",", ":")))],
            )
            session.run_many(
                "INSERT INTO trace_sources (message_id, chunk_id) VALUES (?, ?)",
                [(message_id, chunk_id) for chunk_id in wanted],
            )
        return True

    def get(self, message_id: int) -> dict[str, Any] | None:
        """The trace of a message; None if there is none, or none any more."""
        text = self._session.value("SELECT trace FROM traces WHERE message_id = ?", [message_id])
        return None if text is None else dict(json.loads(text))


def forget_traces(session: Session, chunk_ids: Collection[int]) -> None:
    """Remove traces of answers that rest on chunks about to be deleted, within the caller's transaction."""
    session.run(
        "DELETE FROM traces WHERE message_id IN (SELECT message_id FROM trace_sources "
        "WHERE chunk_id IN (SELECT value FROM json_each(?)))",
        [listed(chunk_ids)],
    )
