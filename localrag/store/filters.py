"""Filters: which chunks, entities and relations a search may find, decided before it takes the best ones."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrag.store.rows import VectorKind
from localrag.store.session import Session, listed
from localrag.store.sqlite import clean, clean_path
from localrag.store.tag_replay import folded

_IN = "IN (SELECT value FROM json_each(?))"


@dataclass(frozen=True)
class Filter:
    """What a search is narrowed to. All that is given must hold; of a list, one is enough."""

    documents: tuple[int, ...] = ()
    """Documents."""

    tags: tuple[str, ...] = ()
    """Tags of documents, however they are written."""

    folder: str = ""
    """A folder in full or as it is written in the documents' paths, or one document's path."""

    media_types: tuple[str, ...] = ()
    """Media types of documents, such as `text/markdown`."""

    entity_types: tuple[str, ...] = ()
    """Types of entities, however they are written. Holds for entities, and for relations with one such end;
    passages have no type."""

    modified_from: datetime | None = None
    """Earliest time at which the file was changed; a time without a zone is this machine's."""

    modified_until: datetime | None = None
    """Latest such time."""

    added_from: datetime | None = None
    """Earliest time at which the document was added."""

    added_until: datetime | None = None
    """Latest such time."""

    @property
    def about_documents(self) -> bool:
        """Whether it leaves documents out."""
        return self != Filter(entity_types=self.entity_types)


class Ids(Collection[int]):
    """Ids of one kind, ascending and each once, in forms that searches take quickly."""

    def __init__(self, ids: Collection[int]) -> None:
        self.array: NDArray[np.int64] = np.unique(np.fromiter(ids, dtype=np.int64, count=len(ids)))

    @classmethod
    def of(cls, ids: Collection[int]) -> Ids:
        """The same ids; what is `Ids` already is taken as it is."""
        return ids if isinstance(ids, Ids) else cls(ids)

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[int]:
        return iter(self.array.tolist())

    def __contains__(self, item: object) -> bool:
        return isinstance(item, int) and bool(np.isin(item, self.array))

    @cached_property
    def listed(self) -> str:
        """For `IN (SELECT value FROM json_each(?))`."""
        return json.dumps(self.array.tolist())


class Filters:
    """Finds what passes a filter."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def ids(self, wanted: Filter, kind: VectorKind) -> Ids | None:
        """The ids that pass, for the `ids` of a search; None if the filter leaves out nothing of this kind.

        An entity or a relation passes if a chunk that mentions it does, and if its type fits.
        """
        chunks, parameters = _chunks(wanted) if wanted.about_documents else ("", [])
        if kind == "chunk":
            return Ids(self._session.column(chunks, parameters)) if chunks else None
        types = self._types(wanted.entity_types) if wanted.entity_types else None
        if not chunks and types is None:
            return None
        table = {"entity": "mentions", "relation": "relation_mentions"}[kind]
        conditions = [f"{kind}_id IS NOT NULL"]
        if chunks:
            conditions.append(f"chunk_id IN ({chunks})")
        if types is not None:
            entities = f"SELECT id FROM entities WHERE type {_IN}"
            conditions.append(
                f"entity_id IN ({entities})"
                if kind == "entity"
                else "relation_id IN (SELECT r.id FROM relations r "
                f"JOIN ({entities}) e ON e.id IN (r.source_id, r.target_id))"
            )
            parameters = [*parameters, types]
        found = self._session.column(
            f"SELECT DISTINCT {kind}_id FROM {table} WHERE {' AND '.join(conditions)}", parameters
        )
        return Ids(found)

    def _types(self, wanted: Collection[str]) -> str:
        """The stored types that are meant."""
        names = {name.casefold() for name in wanted}
        stored = self._session.column("SELECT DISTINCT type FROM entities")
        return listed(name for name in stored if name.casefold() in names)


def _chunks(wanted: Filter) -> tuple[str, list[Any]]:
    """A query for the chunks of the documents that pass, and its parameters."""
    conditions: list[str] = []
    parameters: list[Any] = []

    def must(condition: str, *values: Any) -> None:
        conditions.append(condition)
        parameters.extend(values)

    if wanted.documents:
        must(f"d.id {_IN}", listed(wanted.documents))
    if wanted.tags:
        tags = listed(clean(folded(tag)) for tag in wanted.tags)
        must(f"d.id IN (SELECT document_id FROM tags WHERE tag {_IN})", tags)
    if wanted.folder:
        folder = clean_path(wanted.folder).removeprefix("./").rstrip("/")
        below = _below("d")
        must(
            f"({below} OR d.id IN (SELECT p.document_id FROM copies p WHERE {_below('p')}))",
            *[folder] * (2 * below.count("?")),
        )
    if wanted.media_types:
        must(f"d.media_type {_IN}", listed(clean(name).lower() for name in wanted.media_types))
    for bound, sign in ((wanted.modified_from, ">="), (wanted.modified_until, "<=")):
        if bound is not None:
            must(f"d.mtime {sign} ?", bound.timestamp())
    for bound, sign in ((wanted.added_from, ">="), (wanted.added_until, "<=")):
        if bound is not None:
            # As it is stored: whole seconds of UTC, so that text order is time order.
            must(f"d.added_at {sign} ?", bound.astimezone(UTC).isoformat(timespec="seconds"))
    documents = f"SELECT d.id FROM documents d WHERE {' AND '.join(conditions)}"
    return f"SELECT id FROM chunks WHERE document_id IN ({documents})", parameters


def _below(table: str) -> str:
    """A condition on the place of a document: it is the folder, or lies in it. Compared as text, since what a
    person typed is no pattern."""
    places = (f"{table}.path", f"rtrim({table}.root, '/') || '/' || {table}.path")
    tests = (f"{place} = ? OR substr({place}, 1, length(?) + 1) = ? || '/'" for place in places)
    return f"({' OR '.join(tests)})"
