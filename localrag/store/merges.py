"""Automatic merges: which name a name means, within a document or everywhere, as derived from the documents.

They act like decisions made before all of a person's: a mention starts as the name that its own name means,
and goes from there by the decisions. A name that a person decided something about is not moved, nor are two
names brought together that a person keeps apart. `merges_upkeep` derives the rows; here they are applied.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from localrag.graph.resolution import SURE
from localrag.store.replay import Resolution
from localrag.store.session import Session, listed

TABLES = ("unresolved", "name_features", "document_merges", "name_links", "name_merges")
"""The tables that hold what is derived. They are made anew, never copied or saved."""

_ID_IN = "IN (SELECT value FROM json_each(?))"
_LINK = "key, into_key, score, kind, said, documents, together, neighbours"


@dataclass(frozen=True)
class LinkRow:
    """Two names that may mean the same, over all documents."""

    key: str
    """The lesser name, folded."""

    into: str
    """The fuller name, folded."""

    score: float
    """From 0 to 1."""

    kind: str
    """How the names are related; see `name_relations.Kind`."""

    said: bool
    """Whether a text says that they are one."""

    documents: int
    """Documents that decide so by themselves."""

    together: int
    """Documents that hold both names."""

    neighbours: int
    """Other names that passages relate both to."""


@dataclass(frozen=True)
class MergedRow:
    """A name that was merged automatically."""

    key: str
    """The name, folded."""

    name: str
    """As it is most often written."""

    into: str
    """Key of the name that it means."""

    score: float
    """How sure that is, from 0 to 1."""

    kind: str
    """How the names are related."""

    said: bool
    """Whether a text says that they are one."""

    document: str
    """Path of the document in which it means that; empty for everywhere."""


class Starts:
    """What names as they were read mean before any decision; every name is looked up once."""

    def __init__(self, session: Session, resolution: Resolution) -> None:
        self._session = session
        self._resolution = resolution
        self.none = not session.value(
            "SELECT EXISTS (SELECT 1 FROM document_merges) OR EXISTS (SELECT 1 FROM name_merges)"
        )
        """Whether nothing was merged at all."""
        self._inside: dict[int, dict[str, str]] = {}
        self._everywhere: dict[str, str] = {}
        self._chunks: dict[int, int] = {}

    def of(self, chunk_id: int, key: str) -> str:
        """The key that a name of a chunk starts as."""
        if self.none:
            return key
        if chunk_id not in self._chunks:
            self._chunks[chunk_id] = self._session.value(
                "SELECT document_id FROM chunks WHERE id = ?", [chunk_id]
            )
        document_id = self._chunks[chunk_id]
        meant = self._meant(document_id, key)
        if meant != key and any(
            self._meant(document_id, other) == meant for other in self._resolution.kept_from(key)
        ):
            return key
        return meant

    def _meant(self, document_id: int, key: str) -> str:
        """The same, without a look at what else comes there."""
        if key in self._resolution.settled:
            return key
        apart = self._resolution.kept_from(key)
        first = self._inside_of(document_id).get(key, key)
        if first in apart:
            return key
        if first in self._resolution.settled:
            return first
        last = self._meaning(first)
        return first if last in apart or last in self._resolution.kept_from(first) else last

    def _inside_of(self, document_id: int) -> dict[str, str]:
        if document_id not in self._inside:
            self._inside[document_id] = dict(
                self._session.rows(
                    "SELECT key, into_key FROM document_merges WHERE document_id = ?", [document_id]
                )
            )
        return self._inside[document_id]

    def _meaning(self, key: str) -> str:
        if key not in self._everywhere:
            found = self._session.value("SELECT into_key FROM name_merges WHERE key = ?", [key])
            self._everywhere[key] = found or key
        return self._everywhere[key]


def sources(session: Session, keys: Collection[str]) -> set[str]:
    """These keys, and all that automatic merges lead to one of them."""
    found = set(keys)
    for table in ("name_merges", "document_merges"):
        # A name may mean another one in its document, which means a third one everywhere.
        found.update(session.column(f"SELECT key FROM {table} WHERE into_key {_ID_IN}", [listed(found)]))
    return found


def moved_among(session: Session, keys: Collection[str]) -> set[str]:
    """Those of these keys that automatic merges lead to others."""
    parameters = [listed(keys)] * 2
    return set(
        session.column(
            f"SELECT key FROM name_merges WHERE key {_ID_IN} "
            f"UNION SELECT key FROM document_merges WHERE key {_ID_IN}",
            parameters,
        )
    )


def is_on(session: Session) -> bool:
    """Whether the file keeps automatic merges up."""
    return bool(session.value("SELECT merges_version FROM meta"))


def mark(session: Session, document_ids: Iterable[int]) -> None:
    """Note that documents have to be looked at again, within the caller's transaction."""
    if is_on(session):
        session.run_many(
            "INSERT OR IGNORE INTO unresolved (document_id) VALUES (?)", [[item] for item in document_ids]
        )


def likely(session: Session, resolution: Resolution, limit: int) -> list[LinkRow]:
    """Links that a person may decide about, the likeliest first: two entities that were not judged yet."""
    found: list[LinkRow] = []
    for row in session.each(
        f"SELECT {_LINK} FROM name_links ORDER BY score DESC, documents DESC, together DESC, "
        "neighbours DESC, key, into_key"
    ):
        link = _link(row)
        if link.into in resolution.kept_from(link.key):
            continue
        # Most links are not looked at, so the entities are looked up one by one.
        ends = [meant_by(session, [key])[:1] for key in (link.key, link.into)]
        if all(ends) and ends[0][0][1] != ends[1][0][1]:
            found.append(link)
        if len(found) == limit:
            break
    return found


def merged_into(session: Session, entity_id: int) -> list[MergedRow]:
    """The automatic merges by which mentions belong to an entity; those everywhere first, then by name."""
    name = (
        "(SELECT name FROM mentions WHERE key = m.key AND entity_id = ?1 GROUP BY name "
        "ORDER BY count(*) DESC, name LIMIT 1)"
    )
    there = "EXISTS (SELECT 1 FROM mentions WHERE key = m.key AND entity_id = ?1)"
    everywhere = session.rows(
        f"SELECT m.key, {name}, m.into_key, m.score, m.kind, m.said, '' FROM name_merges m "
        f"WHERE m.into_key = (SELECT key FROM entities WHERE id = ?1) AND {there} ORDER BY 2, 1",
        [entity_id],
    )
    inside = session.rows(
        f"SELECT m.key, {name}, m.into_key, m.score, m.kind, m.said, d.path FROM document_merges m "
        "JOIN documents d ON d.id = m.document_id WHERE m.into_key IN "
        "(SELECT key FROM entities WHERE id = ?1 UNION SELECT key FROM name_merges WHERE into_key = "
        "(SELECT key FROM entities WHERE id = ?1)) "
        f"AND {there} AND m.key NOT IN (SELECT key FROM name_merges) ORDER BY 2, 1, d.path",
        [entity_id],
    )
    return [
        MergedRow(key, name, into, score, kind, bool(said), path)
        for key, name, into, score, kind, said, path in (*everywhere, *inside)
    ]


def meant_by(session: Session, keys: Collection[str]) -> list[tuple[str, int]]:
    """The entities that mentions with these folded names belong to, the one with most passages first."""
    return [
        (key, entity_id)
        for key, entity_id in session.rows(
            f"SELECT key, entity_id FROM mentions WHERE key {_ID_IN} AND entity_id IS NOT NULL "
            "GROUP BY key, entity_id ORDER BY count(DISTINCT chunk_id) DESC, "
            "(SELECT key FROM entities WHERE id = entity_id)",
            [listed(keys)],
        )
    ]


def problems(session: Session) -> list[str]:
    """What is wrong with the rows, one sentence each; not whether they are what would be derived now."""
    found = []
    for table, column in (
        ("name_features", "key"),
        ("name_links", "key"),
        ("name_links", "into_key"),
        ("name_merges", "key"),
        ("name_merges", "into_key"),
    ):
        count = session.value(
            f"SELECT count(*) FROM {table} t WHERE NOT EXISTS (SELECT 1 FROM mentions WHERE key = t.{column})"
        )
        if count:
            found.append(f"{count} rows of {table} are about a name that nothing mentions.")
    count = session.value("SELECT count(*) FROM name_merges a JOIN name_merges b ON b.key = a.into_key")
    if count:
        found.append(f"{count} automatic merges lead to a name that is merged itself.")
    count = session.value("SELECT count(*) FROM name_merges WHERE score < ?", [SURE])
    if count:
        found.append(f"{count} automatic merges are not sure enough.")
    return found


def _link(row: Sequence[Any]) -> LinkRow:
    key, into, score, kind, said, documents, together, neighbours = row
    return LinkRow(key, into, score, kind, bool(said), documents, together, neighbours)
