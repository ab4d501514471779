"""Tags of documents, given and taken by a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from localrag.curating.deciding import Desk, typed_line
from localrag.curating.finding import Finder, reference
from localrag.errors import UsageError
from localrag.store.curation_rows import AddTag, RemoveTag
from localrag.store.database import Store
from localrag.store.decisions import TAG_KINDS
from localrag.store.rows import DocumentRow
from localrag.store.tags import folded


@dataclass(frozen=True)
class Tagged:
    """A tag with the documents that carry it, or that it was given to or taken from."""

    tag: str
    """As it was typed."""

    documents: tuple[str, ...]
    """Their paths."""

    unchanged: tuple[str, ...] = ()
    """Paths of documents that carried it already, or did not carry it."""


class TagDesk(Desk):
    """Lists tags and decides about them. Raises `UsageError` for a document that is not there."""

    kinds = TAG_KINDS

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._find = Finder(store)

    def list(self, document: str = "") -> list[Tagged]:
        """All tags, or those of one document, by name, each with its documents."""
        only = self._find.document(document).id if document else None
        paths = {row.id: row.path for row in self._store.documents.list()}
        return [
            Tagged(row.name, tuple(sorted(paths[document_id] for document_id in row.documents)))
            for row in self._store.tags.list()
            if only is None or only in row.documents
        ]

    def add(self, tag: str, documents: Sequence[str | int]) -> Tagged:
        """Give documents a tag; they keep it when they are changed, moved, or deleted and added again."""
        return self._change(AddTag, tag, documents)

    def remove(self, tag: str, documents: Sequence[str | int]) -> Tagged:
        """Take a tag off documents."""
        return self._change(RemoveTag, tag, documents)

    def _change(
        self, kind: type[AddTag] | type[RemoveTag], tag: str, documents: Sequence[str | int]
    ) -> Tagged:
        name = typed_line(tag, "tag")
        rows = self._documents(name, documents)
        if not rows:
            raise UsageError("No document was named.")
        changed, unchanged = [], []
        with self._store.transaction():
            for document_id, row in rows.items():
                carried = folded(name) in map(folded, self._store.tags.of_document(document_id))
                if carried == (kind is AddTag):
                    unchanged.append(row.path)
                    continue
                self._store.decisions.add(kind(reference(row), name))
                changed.append(row.path)
        return Tagged(name, tuple(changed), tuple(unchanged))

    def _documents(self, tag: str, named: Sequence[str | int]) -> dict[int, DocumentRow]:
        """The documents that were named, by path or id, by id. Raises `UsageError` if one is not there."""
        try:
            rows = [
                self._store.documents.get(item) if isinstance(item, int) else self._find.document(item)
                for item in named
            ]
            return {row.id: row for row in rows}
        except UsageError as error:
            try:
                self._find.document(tag)
            except UsageError:
                raise error from None
            # The two were typed the other way round.
            raise UsageError(error.message, "The tag comes first, then the documents.") from error
