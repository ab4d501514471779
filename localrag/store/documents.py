"""Documents: a document comes and goes with everything that was made from it, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from localrag.errors import UsageError
from localrag.store.fulltext import FullText
from localrag.store.rows import DocumentRow, DocumentStatus, NewChunk, NewDocument
from localrag.store.session import Session
from localrag.store.sqlite import clean, clean_path
from localrag.store.upkeep import Touched, settle_document

_SELECT = """
    SELECT d.id, d.path, d.root, d.sha256, d.size, d.mtime, d.media_type, d.title, d.language, d.status,
        d.reason, d.characters,
        (SELECT count(*) FROM chunks WHERE document_id = d.id),
        (SELECT count(*) FROM chunks WHERE document_id = d.id AND state = 'read'),
        (SELECT count(*) FROM chunks WHERE document_id = d.id AND state = 'failed')
    FROM documents d
"""


class Documents:
    """Stores, replaces, deletes and lists documents."""

    def __init__(self, session: Session, fulltext: FullText) -> None:
        self._session = session
        self._fulltext = fulltext

    def add(self, document: NewDocument, chunks: Sequence[NewChunk]) -> int:
        """Store a new document with its chunks; returns its id.

        A waiting document without chunks becomes indexed at once. Raises `ValueError` if a chunk's text is
        not the document's text at its span, or if root and path are stored already.
        """
        if self.by_path(document.root, document.path) is not None:
            raise ValueError("a document with this root and path is stored already")
        with self._session.transaction():
            columns, values = _record(document)
            document_id = self._session.insert(
                f"INSERT INTO documents ({', '.join(columns)}, added_at) "
                f"VALUES ({', '.join('?' * len(columns))}, ?)",
                [*values, datetime.now(UTC).isoformat(timespec="seconds")],
            )
            self._put_chunks(document_id, document, chunks)
        return document_id

    def replace(self, document_id: int, document: NewDocument, chunks: Sequence[NewChunk]) -> None:
        """Put another text in a document's place: what was made from the old one goes, the id stays.

        Raises `UsageError` if the document is not there, `ValueError` as `add` does.
        """
        with self._session.transaction():
            self._require(document_id)
            other = self.by_path(document.root, document.path)
            if other is not None and other.id != document_id:
                raise ValueError("another document with this root and path is stored already")
            touched = self._remove_chunks(document_id)
            columns, values = _record(document)
            self._session.run(
                f"UPDATE documents SET {', '.join(f'{column} = ?' for column in columns)} WHERE id = ?",
                [*values, document_id],
            )
            touched.settle(self._session)
            self._put_chunks(document_id, document, chunks)

    def delete(self, document_id: int) -> None:
        """Delete a document and exactly what has no other source. Raises `UsageError` if it is not there."""
        with self._session.transaction():
            self._require(document_id)
            touched = self._remove_chunks(document_id)
            self._session.run("DELETE FROM documents WHERE id = ?", [document_id])
            touched.settle(self._session)
            self._session.touch()

    def get(self, document_id: int) -> DocumentRow:
        """One document. Raises `UsageError` if it is not there."""
        row = self._session.row(_SELECT + "WHERE d.id = ?", [document_id])
        if row is None:
            raise _missing(document_id)
        return DocumentRow(*row)

    def by_path(self, root: str, path: str) -> DocumentRow | None:
        """The document with this root and path."""
        row = self._session.row(
            _SELECT + "WHERE d.root = ? AND d.path = ?", [clean_path(root), clean_path(path)]
        )
        return DocumentRow(*row) if row else None

    def by_hash(self, sha256: str) -> DocumentRow | None:
        """The first document whose file had this hash."""
        row = self._session.row(_SELECT + "WHERE d.sha256 = ? ORDER BY d.id LIMIT 1", [clean(sha256)])
        return DocumentRow(*row) if row else None

    def list(self, status: DocumentStatus | None = None) -> list[DocumentRow]:
        """All documents, or those with this status, ordered by root and path."""
        where = "" if status is None else "WHERE d.status = ? "
        rows = self._session.rows(
            _SELECT + where + "ORDER BY d.root, d.path", [] if status is None else [status]
        )
        return [DocumentRow(*row) for row in rows]

    def text(self, document_id: int) -> str:
        """The document's whole text. Raises `UsageError` if it is not there."""
        text = self._session.value("SELECT text FROM documents WHERE id = ?", [document_id])
        if text is None:
            raise _missing(document_id)
        return str(text)

    def set_status(self, document_id: int, status: DocumentStatus, reason: str = "") -> None:
        """Set status and reason. Raises `UsageError` if the document is not there."""
        with self._session.transaction():
            self._require(document_id)
            self._session.run(
                "UPDATE documents SET status = ?, reason = ? WHERE id = ?",
                [status, clean(reason), document_id],
            )

    def _put_chunks(self, document_id: int, document: NewDocument, chunks: Sequence[NewChunk]) -> None:
        rows: list[list[Any]] = []
        for ordinal, chunk in enumerate(chunks):
            if (
                not 0 <= chunk.start <= chunk.end <= len(document.text)
                or document.text[chunk.start : chunk.end] != chunk.text
            ):
                raise ValueError(f"the text of chunk {ordinal} is not the document's text at its span")
            rows.append(
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
            )
        self._session.run_many(
            "INSERT INTO chunks (document_id, ordinal, char_start, char_end, heading, page, tokens, "
            "language, text) VALUES (?,?,?,?,?,?,?,?,?)",
            rows,
        )
        self._fulltext.add(
            self._session.column(
                "SELECT id FROM chunks WHERE document_id = ? ORDER BY ordinal", [document_id]
            )
        )
        settle_document(self._session, document_id)
        self._session.touch()

    def _remove_chunks(self, document_id: int) -> Touched:
        ids = self._session.column("SELECT id FROM chunks WHERE document_id = ?", [document_id])
        touched = Touched(self._session, ids)
        self._fulltext.remove(ids)
        self._session.run("DELETE FROM chunks WHERE document_id = ?", [document_id])
        return touched

    def _require(self, document_id: int) -> None:
        if self._session.value("SELECT 1 FROM documents WHERE id = ?", [document_id]) is None:
            raise _missing(document_id)


def _record(document: NewDocument) -> tuple[tuple[str, ...], list[Any]]:
    columns = {
        "root": clean_path(document.root),
        "path": clean_path(document.path),
        "sha256": clean(document.sha256),
        "size": document.size,
        "mtime": document.mtime,
        "media_type": clean(document.media_type),
        "title": clean(document.title),
        "language": clean(document.language),
        "status": document.status,
        "reason": clean(document.reason),
        "characters": len(document.text),
        "text": clean(document.text),
    }
    return tuple(columns), list(columns.values())


def _missing(document_id: int) -> UsageError:
    return UsageError(f"There is no document {document_id} in the knowledge base.", "See `localrag status`.")
