"""The library as a person looks through it: all documents, one with its passages, what was read in them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from localrag.documents.discovery import path_on_disk
from localrag.store.database import Store
from localrag.store.followed_rows import Place
from localrag.store.rows import DocumentRow
from localrag.store.shelf_rows import Finding, PassagePlace, ShelfRow
from localrag.store.sqlite import read_only_error

__all__ = ["Finding", "LibraryDesk", "Opening", "PassagePlace", "ShelfRow"]


@dataclass(frozen=True)
class Opening:
    """A document as it is opened to be read."""

    document: DocumentRow
    """The document."""

    text: str
    """Its whole text."""

    passages: tuple[PassagePlace, ...]
    """Its passages in their order."""

    places: tuple[Place, ...]
    """Where files with its content lie, the first place first."""

    tags: tuple[str, ...]
    """Its tags."""


class LibraryDesk:
    """Looks through the documents. Raises `UsageError` for a document or passage that is not there."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def documents(self) -> list[ShelfRow]:
        """All documents with pages, tags and when they were added, by root and path."""
        return self._store.documents.shelf.rows()

    def open(self, document_id: int) -> Opening:
        """A document with its text, its passages and where its files lie."""
        return Opening(
            document=self._store.documents.get(document_id),
            text=self._store.documents.text(document_id),
            passages=tuple(self._store.documents.shelf.passages(document_id)),
            places=tuple(self._store.documents.places(document_id)),
            tags=tuple(self._store.tags.of_document(document_id)),
        )

    def passages(self, document_id: int) -> list[PassagePlace]:
        """How far the passages of a document are."""
        return self._store.documents.shelf.passages(document_id)

    def findings(self, chunk_id: int) -> list[Finding]:
        """What was read in a passage, with its places in the passage's text."""
        return self._store.documents.shelf.findings(chunk_id)

    def file(self, document_id: int) -> Path | None:
        """A file with the document's content that is there; None if there is none on this machine."""
        for place in self._store.documents.places(document_id):
            path = path_on_disk(place.full)
            if path.is_file():
                return path
        return None

    def read_again(self, chunk_ids: list[int]) -> int:
        """Let failed passages be read again by the next index run; how many wait now.

        Raises `KnowledgeBaseReadOnly`.
        """
        if self._store.read_only:
            raise read_only_error(self._store.path)
        return self._store.failures.retry_passages(chunk_ids).passages
