"""What could not be read, files and passages alike, and the way to try it once more."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from localrag.store.chunks import MAX_ATTEMPTS
from localrag.store.failure_rows import FailedFile, FailedPassage, Retried
from localrag.store.session import Session, listed

_OF_DOCUMENTS = "(?1 IS NULL OR document_id IN (SELECT value FROM json_each(?1))) AND state = 'failed'"

_OF_PASSAGES = "id IN (SELECT value FROM json_each(?1)) AND state = 'failed'"


class Failures:
    """Lists what failed and lets it be tried again."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def passages(self, max_attempts: int = MAX_ATTEMPTS) -> list[FailedPassage]:
        """The passages whose reading failed, by document and place."""
        rows = self._session.rows(
            "SELECT c.id, d.id, d.root, d.path, c.ordinal, c.attempts, c.left_out, c.error "
            "FROM chunks c JOIN documents d ON d.id = c.document_id "
            "WHERE c.state = 'failed' ORDER BY d.path, d.root, c.ordinal"
        )
        return [
            FailedPassage(
                chunk_id,
                document_id,
                root,
                path,
                ordinal,
                attempts,
                left_out=bool(left_out),
                waits=not left_out and attempts < max_attempts,
                reason=error,
            )
            for chunk_id, document_id, root, path, ordinal, attempts, left_out, error in rows
        ]

    def files(self) -> list[FailedFile]:
        """The documents whose file could not be read at the last try, by path."""
        rows = self._session.rows(
            "SELECT id, root, path, attempts, status <> 'failed', reason FROM documents "
            "WHERE status = 'failed' OR attempts > 0 ORDER BY path, root"
        )
        return [
            FailedFile(document_id, root, path, attempts, kept=bool(kept), reason=reason)
            for document_id, root, path, attempts, kept, reason in rows
        ]

    def retry(self, document_ids: Collection[int] | None = None, *, left_out: bool = False) -> Retried:
        """Let failed passages wait to be read as if they had never been tried.

        Of these documents, or of all. Passages that made the engine die are among them only with `left_out`.
        """
        wanted = [None if document_ids is None else listed(document_ids), int(left_out)]
        return self._retry(_OF_DOCUMENTS, wanted)

    def retry_passages(self, chunk_ids: Collection[int]) -> Retried:
        """The same for single passages, those that made the engine die too."""
        return self._retry(_OF_PASSAGES, [listed(chunk_ids), 1])

    def _retry(self, which: str, wanted: list[Any]) -> Retried:
        session = self._session
        with session.transaction():
            taken = session.column(f"SELECT document_id FROM chunks WHERE {which} AND left_out <= ?2", wanted)
            kept = session.value(f"SELECT count(*) FROM chunks WHERE {which} AND left_out > ?2", wanted)
            session.run(
                "UPDATE chunks SET state = 'pending', attempts = 0, left_out = 0, error = '' "
                f"WHERE {which} AND left_out <= ?2",
                wanted,
            )
            session.run(
                "UPDATE documents SET status = 'waiting', reason = '' "
                "WHERE status = 'indexed' AND id IN (SELECT value FROM json_each(?))",
                [listed(set(taken))],
            )
        return Retried(len(taken), len(set(taken)), kept)
