"""One content at a time into the knowledge base: read, cut into chunks, stored in one transaction."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import PurePosixPath

from localrag.documents import language, reading, recutting
from localrag.documents.discovery import path_on_disk
from localrag.documents.reading import Document
from localrag.errors import DocumentError
from localrag.folders.compare import Content
from localrag.folders.types import Outcome, Seen
from localrag.naming import ensure_named
from localrag.sections import ChunkingSettings
from localrag.store.database import Store
from localrag.store.followed_rows import Place, full_path
from localrag.store.rows import DocumentRow, NewChunk, NewDocument


@dataclass(frozen=True)
class Stored:
    """What became of a file."""

    path: str
    """The file as it is stored."""

    outcome: Outcome
    """What became of it."""

    reason: str = ""
    """Why, or from where."""

    changed: bool = False
    """Whether the text of a document that moved is another one too."""


def beside(
    file: Place | Seen, outcome: Outcome, other: Place | Seen | DocumentRow, *, changed: bool = False
) -> Stored:
    """What became of a file with regard to another place, both in full where their paths are the same."""
    if file.path != other.path:
        return Stored(file.path, outcome, other.path, changed)
    return Stored(full_path(file.root, file.path), outcome, full_path(other.root, other.path), changed)


class Storing:
    """Brings contents in and counts their new chunks."""

    def __init__(self, store: Store, settings: ChunkingSettings) -> None:
        self._store = store
        self._settings = settings
        self.chunks = 0
        """New chunks so far."""

    def put(self, content: Content) -> list[Stored]:
        """Read a content from its first file and store it; says what became of each of its files."""
        first, *others = content.files
        try:
            document = reading.read(first.disk)
        except DocumentError as error:
            return [self.fail(file, error.message) for file in content.files]
        with self._store.transaction():
            done, document_id = self._put(content.document, first, document)
            # The file may have changed since it was compared; then the others are looked at by the next run.
            alike = [file for file in others if file.content == document.sha256]
            told = [self._further(document_id, file, document.sha256) for file in alike]
        # Behind it, since nobody else can write meanwhile; killed here, the next index does it.
        ensure_named(self._store, document_id)
        return [done, *told]

    def reread(self, document_id: int, place: Place) -> None:
        """Read a document once more from its new first place, whose name says that it is of another format.

        The bytes are the same, but headings, title and the cut may differ. What cannot be read, or has
        changed meanwhile, is left to the next run.
        """
        try:
            document = reading.read(path_on_disk(place.full))
        except DocumentError:
            return
        with self._store.transaction():
            known = self._store.documents.by_place(place.root, place.path)
            if known is not None and (known.id, known.sha256) == (document_id, document.sha256):
                chunks = self._cut(document, known)
                self.chunks += self._store.documents.replace(
                    document_id, _new(place, document, bool(chunks)), chunks
                )
        ensure_named(self._store, document_id)

    def fail(self, file: Seen, reason: str) -> Stored:
        """Note that a file could not be read."""
        if not os.path.lexists(file.disk):
            return Stored(file.path, "skipped", "it went away meanwhile")
        documents = self._store.documents
        # Where the file could be opened, the same bytes need not be tried again.
        noted = file.place if os.access(file.disk, os.R_OK) else Place(file.root, file.path, 0, 0.0)
        with self._store.transaction():
            known = documents.by_place(file.root, file.path)
            document_id = documents.add(_failed(noted, reason), []) if known is None else known.id
            documents.note_failure(document_id, reason)
            if known is not None and known.status == "failed":
                documents.note_times([noted])
        kept = known is not None and known.status != "failed"
        return Stored(file.path, "failed", f"{reason} What it said before is kept." if kept else reason)

    def _put(self, planned: int | None, file: Seen, document: Document) -> tuple[Stored, int]:
        """Store a document that was read; returns what became of it and its id."""
        documents = self._store.documents
        known = self._target(planned, file)
        twin = self._twin(document, known)
        if twin is not None:
            if known is not None:
                documents.delete(known.id)
            return self._further(twin.id, file, document.sha256), twin.id
        place = Place(file.root, file.path, document.size, document.mtime)
        if known is not None and known.sha256 == document.sha256:
            documents.note_times([place])
            return Stored(file.path, "unchanged"), known.id
        chunks = self._cut(document, known)
        new = _new(file, document, bool(chunks))
        if known is None:
            self.chunks += len(chunks)
            return Stored(file.path, "added"), documents.add(new, chunks)
        self.chunks += documents.replace(known.id, new, chunks)
        documents.arrange({known.id: [place]})
        if known.status == "failed":
            return Stored(file.path, "added"), known.id
        if (known.root, known.path) != (file.root, file.path) and planned is not None:
            return beside(file, "moved", known, changed=True), known.id
        return Stored(file.path, "changed"), known.id

    def _target(self, planned: int | None, file: Seen) -> DocumentRow | None:
        """The document to write to. Another program may have been here since the comparison."""
        documents = self._store.documents
        owner = documents.by_place(file.root, file.path)
        if owner is not None or planned is None:
            return owner
        return next((row for row in documents.list() if row.id == planned), None)

    def _twin(self, document: Document, known: DocumentRow | None) -> DocumentRow | None:
        """Another document with the same content. Empty files are all alike and no copies of each other."""
        twin = self._store.documents.by_hash(document.sha256)
        if twin is None or not twin.chunks or (known is not None and twin.id == known.id):
            return None
        return twin

    def _further(self, document_id: int, file: Seen, sha256: str) -> Stored:
        """Note a further place of a document."""
        documents = self._store.documents
        owner = documents.by_place(file.root, file.path)
        row = documents.get(document_id)
        if owner is not None and owner.id == document_id:
            documents.note_times([file.place])
            return Stored(file.path, "unchanged")
        if owner is not None:
            documents.delete(owner.id)
        documents.add_place(document_id, file.place)
        return beside(file, "copied", row)

    def _cut(self, document: Document, known: DocumentRow | None) -> list[NewChunk]:
        """Cut a text so that as many of the known chunks as possible stay."""
        before = [] if known is None else [chunk.text for chunk in self._store.chunks.of_document(known.id)]
        spans = recutting.recut(
            document.text, document.headings, self._settings.size, self._settings.overlap, before
        )
        return [
            NewChunk(
                start=span.start,
                end=span.end,
                heading=span.heading,
                page=None,
                tokens=span.tokens,
                language=language.detect_part(document.text[span.start : span.end], document.language),
                text=document.text[span.start : span.end],
            )
            for span in spans
        ]


def _new(file: Seen | Place, document: Document, has_chunks: bool) -> NewDocument:
    return NewDocument(
        path=file.path,
        root=file.root,
        sha256=document.sha256,
        size=document.size,
        mtime=document.mtime,
        media_type=document.media_type,
        title=document.title,
        language=document.language,
        text=document.text,
        status="waiting" if has_chunks else "indexed",
        reason="" if has_chunks else "There is nothing in it.",
    )


def _failed(place: Place, reason: str) -> NewDocument:
    return NewDocument(
        path=place.path,
        root=place.root,
        sha256="",
        size=place.size,
        mtime=place.mtime,
        media_type="",
        title=PurePosixPath(place.path).name,
        language="",
        text="",
        status="failed",
        reason=reason,
    )
