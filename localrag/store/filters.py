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

from localrag.store.claim_rows import ClaimTest
from localrag.store.claim_search import claim_condition
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

    claims: ClaimTest | None = None
    """Documents that make such a claim, entities that one is about, relations with one such end."""

    without_claims: ClaimTest | None = None
    """Leaves out documents that make such a claim, entities that one is about, and relations of these."""

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
        """Whether it leaves documents out, by what is known of them beside claims."""
        return self != Filter(
            entity_types=self.entity_types, claims=self.claims, without_claims=self.without_claims
        )

    @property
    def about_claims(self) -> bool:
        """Whether it goes by claims."""
        return self.claims is not None or self.without_claims is not None


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
        if not isinstance(item, int):
            return False
        place = int(np.searchsorted(self.array, item))
        return place < len(self.array) and int(self.array[place]) == item

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
        by_claims = kind == "chunk" and wanted.about_claims
        narrowed = wanted.about_documents or by_claims
        chunks, parameters = _chunks(wanted, by_claims=by_claims) if narrowed else ("", [])
        if kind == "chunk":
            return Ids(self._session.column(chunks, parameters)) if chunks else None
        types = self._types(wanted.entity_types) if wanted.entity_types else None
        if not chunks and types is None and not wanted.about_claims:
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
        for test, sign in _claim_tests(wanted):
            subjects, values = _subjects(test)
            ends = f"SELECT r.id FROM relations r JOIN ({subjects}) s ON s.id IN (r.source_id, r.target_id)"
            conditions.append(f"{kind}_id {sign} ({subjects if kind == 'entity' else ends})")
            parameters = [*parameters, *values]
        found = self._session.column(
            f"SELECT DISTINCT {kind}_id FROM {table} WHERE {' AND '.join(conditions)}", parameters
        )
        return Ids(found)

    def _types(self, wanted: Collection[str]) -> str:
        """The stored types that are meant."""
        names = {name.casefold() for name in wanted}
        stored = self._session.column("SELECT DISTINCT type FROM entities")
        return listed(name for name in stored if name.casefold() in names)


def _claim_tests(wanted: Filter) -> list[tuple[ClaimTest, str]]:
    """The tests by claims, each with what a row has to be to the rows that it finds."""
    tests = ((wanted.claims, "IN"), (wanted.without_claims, "NOT IN"))
    return [(test, sign) for test, sign in tests if test is not None]


def _subjects(test: ClaimTest) -> tuple[str, list[Any]]:
    """A query for the entities that such claims are about, and its parameters."""
    condition, parameters = claim_condition(test)
    return (
        f"SELECT c.subject_id AS id FROM claims c WHERE c.subject_id IS NOT NULL AND {condition}",
        parameters,
    )


def _chunks(wanted: Filter, *, by_claims: bool) -> tuple[str, list[Any]]:
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
    for test, sign in _claim_tests(wanted) if by_claims else ():
        condition, values = claim_condition(test)
        must(
            f"d.id {sign} (SELECT t.document_id FROM claims c JOIN chunks t ON t.id = c.chunk_id "
            f"WHERE {condition})",
            *values,
        )
    documents = f"SELECT d.id FROM documents d WHERE {' AND '.join(conditions)}"
    return f"SELECT id FROM chunks WHERE document_id IN ({documents})", parameters


def _below(table: str) -> str:
    """A condition on the place of a document: it is the folder, or lies in it. Compared as text, since what a
    person typed is no pattern."""
    places = (f"{table}.path", f"rtrim({table}.root, '/') || '/' || {table}.path")
    tests = (f"{place} = ? OR substr({place}, 1, length(?) + 1) = ? || '/'" for place in places)
    return f"({' OR '.join(tests)})"
