"""Documents: a document comes, changes and goes with everything that was made from it, in one transaction.

A document is a content. It has a first place, which is its root and path, and may have further ones (table
`copies`) where files with the same content lie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from localrag.errors import UsageError
from localrag.store.decisions import moved
from localrag.store.followed_rows import Place
from localrag.store.fulltext import FullText
from localrag.store.matching import ChunkWriter
from localrag.store.merges_upkeep import let_go, names_of
from localrag.store.rows import DocumentRow, DocumentStatus, NewChunk, NewDocument
from localrag.store.session import Session, listed
from localrag.store.shelf import Shelf
from localrag.store.sqlite import clean, clean_path
from localrag.store.tags import replay
from localrag.store.upkeep import settle_document
from localrag.store.zero import forget_marks

_SELECT = """
    SELECT d.id, d.path, d.root, d.sha256, d.size, d.mtime, d.media_type, d.title, d.language, d.status,
        d.reason, d.characters,
        (SELECT count(*) FROM chunks WHERE document_id = d.id),
        (SELECT count(*) FROM chunks WHERE document_id = d.id AND state = 'read'),
        (SELECT count(*) FROM chunks WHERE document_id = d.id AND state = 'failed')
    FROM documents d
"""


class Documents:
    """Stores, replaces, moves, deletes and lists documents."""

    def __init__(self, session: Session, fulltext: FullText) -> None:
        self._session = session
        self._chunks = ChunkWriter(session, fulltext)
        self.shelf = Shelf(session)
        """Reads documents for a list of all of them, and passages with what was found there."""

    def add(self, document: NewDocument, chunks: Sequence[NewChunk]) -> int:
        """Store a new document with its chunks; returns its id.

        A waiting document without chunks becomes indexed at once. Raises `ValueError` if a chunk's text is
        not the document's text at its span, or if root and path are stored already.
        """
        if self.by_place(document.root, document.path) is not None:
            raise ValueError("a document with this root and path is stored already")
        with self._session.transaction():
            columns, values = _record(document)
            document_id = self._session.insert(
                f"INSERT INTO documents ({', '.join(columns)}, added_at) "
                f"VALUES ({', '.join('?' * len(columns))}, ?)",
                [*values, datetime.now(UTC).isoformat(timespec="seconds")],
            )
            _require_spans(document, chunks)
            self._chunks.insert(document_id, list(enumerate(chunks)))
            self._stored(document_id)
        return document_id

    def replace(self, document_id: int, document: NewDocument, chunks: Sequence[NewChunk]) -> int:
        """Put another text in a document's place; the id stays.

        Chunks whose text and language are in the new text too stay with all that was made from them; what
        was made from the others goes. `document` may have another root and path. Returns how many chunks
        are new. Raises `UsageError` if the document is not there, `ValueError` as `add` does.
        """
        with self._session.transaction():
            self._require(document_id)
            other = self.by_place(document.root, document.path)
            if other is not None and other.id != document_id:
                raise ValueError("another document with this root and path is stored already")
            _require_spans(document, chunks)
            columns, values = _record(document)
            before = self.places(document_id)
            self._session.run(
                f"UPDATE documents SET {', '.join(f'{column} = ?' for column in columns)}, attempts = 0 "
                "WHERE id = ?",
                [*values, document_id],
            )
            # A place is noted once, as the first one or as a further one.
            self._drop_copy(document.root, document.path)
            moved(self._session, {document_id: {(item.root, item.path) for item in before}})
            names = names_of(self._session, document_id)
            touched, new = self._chunks.replace(document_id, chunks)
            touched.settle(self._session)
            let_go(self._session, document_id, names)
            self._stored(document_id)
        return new

    def delete(self, document_id: int) -> None:
        """Delete a document and exactly what has no other source. Raises `UsageError` if it is not there."""
        with self._session.transaction():
            self._require(document_id)
            names = names_of(self._session, document_id)
            touched = self._chunks.remove_all(document_id)
            self._session.run("DELETE FROM documents WHERE id = ?", [document_id])
            touched.settle(self._session)
            let_go(self._session, document_id, names)
            self._session.touch()

    def places(self, document_id: int) -> list[Place]:
        """Where files with the document's content lie, the first place first.

        Raises `UsageError` if it is not there.
        """
        found = self.all_places([document_id])
        if document_id not in found:
            raise _missing(document_id)
        return found[document_id]

    def all_places(self, ids: Sequence[int] | None = None) -> dict[int, list[Place]]:
        """The places of all documents, or of these, by id; the first place first, the others by path."""
        only = "" if ids is None else "WHERE {} IN (SELECT value FROM json_each(?))"
        parameters = [] if ids is None else [listed(ids)]
        found: dict[int, list[Place]] = {}
        for document_id, *values in self._session.rows(
            f"SELECT id, root, path, size, mtime FROM documents {only.format('id')} ORDER BY id", parameters
        ):
            found[document_id] = [Place(*values)]
        for document_id, *values in self._session.rows(
            f"SELECT document_id, root, path, size, mtime FROM copies {only.format('document_id')} "
            "ORDER BY root, path",
            parameters,
        ):
            found[document_id].append(Place(*values))
        return found

    def by_place(self, root: str, path: str) -> DocumentRow | None:
        """The document one of whose places this is."""
        found = self.by_path(root, path)
        if found is None:
            copy = self._session.value(
                "SELECT document_id FROM copies WHERE root = ? AND path = ?",
                [clean_path(root), clean_path(path)],
            )
            found = None if copy is None else self.get(copy)
        return found

    def add_place(self, document_id: int, place: Place) -> None:
        """Note a further place of a document's content.

        Raises `UsageError` if the document is not there, `ValueError` if another document has this place.
        """
        with self._session.transaction():
            known = self.by_place(place.root, place.path)
            if known is not None and known.id != document_id:
                raise ValueError("another document has this place")
            self.arrange({document_id: [*self.places(document_id), place]})

    def move(self, document_id: int, place: Place) -> None:
        """Give a document another first place; all that was made from it stays.

        Raises `UsageError` if the document is not there, `ValueError` if another document has this place.
        """
        with self._session.transaction():
            known = self.by_place(place.root, place.path)
            if known is not None and known.id != document_id:
                raise ValueError("another document has this place")
            self.arrange({document_id: [place, *self.places(document_id)[1:]]})

    def arrange(self, places: Mapping[int, Sequence[Place]], titles: Mapping[int, str] | None = None) -> None:
        """Give documents exactly these places, the first one first; among each other they may swap places.

        `titles` are new titles of documents that are named after their file. Raises `UsageError` if one of
        the documents is not there, `ValueError` for one without a place.
        """
        session = self._session
        with session.transaction():
            before = self.all_places(list(places))
            for document_id in places:
                self._require(document_id)
            after = {document_id: _distinct(wanted) for document_id, wanted in places.items()}
            if not all(after.values()):
                raise ValueError("a document has at least one place")
            # Places are unique at every moment: all are given up before they are given anew.
            session.run(
                "DELETE FROM copies WHERE document_id IN (SELECT value FROM json_each(?))", [listed(places)]
            )
            session.run_many(
                "UPDATE documents SET root = '', path = CAST(id AS TEXT) WHERE id = ?",
                [[document_id] for document_id in places],
            )
            for document_id, (first, *others) in after.items():
                session.run(
                    "UPDATE documents SET root = ?, path = ?, size = ?, mtime = ? WHERE id = ?",
                    [clean_path(first.root), clean_path(first.path), first.size, first.mtime, document_id],
                )
                session.run_many(
                    "INSERT INTO copies (document_id, root, path, size, mtime) VALUES (?, ?, ?, ?, ?)",
                    [
                        [document_id, clean_path(item.root), clean_path(item.path), item.size, item.mtime]
                        for item in others
                    ],
                )
            moved(session, {of: {(item.root, item.path) for item in items} for of, items in before.items()})
            for document_id in after:
                if [item.full for item in before[document_id]] != [item.full for item in after[document_id]]:
                    replay(session, document_id)
                    session.touch()
            for document_id, title in (titles or {}).items():
                session.run("UPDATE documents SET title = ? WHERE id = ?", [clean(title), document_id])
                forget_marks(session, document_id)

    def note_times(self, places: Sequence[Place]) -> None:
        """Note other sizes and times of files whose content is the same. Not a change of the content."""
        with self._session.transaction():
            values = [
                [item.size, item.mtime, clean_path(item.root), clean_path(item.path)] for item in places
            ]
            for table in ("documents", "copies"):
                self._session.run_many(
                    f"UPDATE {table} SET size = ?, mtime = ? WHERE root = ? AND path = ?", values
                )

    def note_failure(self, document_id: int, reason: str) -> None:
        """Count a failed try to read the document's file.

        A document that holds a text keeps it and its status. Raises `UsageError` if it is not there.
        """
        with self._session.transaction():
            self._require(document_id)
            self._session.run(
                "UPDATE documents SET attempts = attempts + 1, "
                "reason = CASE status WHEN 'failed' THEN ? ELSE reason END WHERE id = ?",
                [clean(reason), document_id],
            )

    def attempts(self, document_id: int) -> int:
        """How often reading the document's file failed since it last succeeded."""
        return int(self._session.value("SELECT attempts FROM documents WHERE id = ?", [document_id]) or 0)

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

    def ids_of_path(self, path: str) -> list[int]:
        """The documents one of whose places has this path, under whatever root."""
        return [
            int(found)
            for found in self._session.column(
                "SELECT id FROM documents WHERE path = ?1 "
                "UNION SELECT document_id FROM copies WHERE path = ?1 ORDER BY 1",
                [clean_path(path)],
            )
        ]

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

    def _stored(self, document_id: int) -> None:
        """What follows from a new text."""
        settle_document(self._session, document_id)
        forget_marks(self._session, document_id)
        replay(self._session, document_id)
        self._session.touch()

    def _drop_copy(self, root: str, path: str) -> None:
        self._session.run(
            "DELETE FROM copies WHERE root = ? AND path = ?", [clean_path(root), clean_path(path)]
        )

    def _require(self, document_id: int) -> None:
        if self._session.value("SELECT 1 FROM documents WHERE id = ?", [document_id]) is None:
            raise _missing(document_id)


def _require_spans(document: NewDocument, chunks: Sequence[NewChunk]) -> None:
    for ordinal, chunk in enumerate(chunks):
        if (
            not 0 <= chunk.start <= chunk.end <= len(document.text)
            or document.text[chunk.start : chunk.end] != chunk.text
        ):
            raise ValueError(f"the text of chunk {ordinal} is not the document's text at its span")


def _distinct(places: Sequence[Place]) -> list[Place]:
    """The places in order, each once."""
    found: dict[str, Place] = {}
    for place in places:
        found.setdefault(place.full, place)
    return list(found.values())


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
