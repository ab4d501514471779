"""The read graph as some of the chunks tell it: what the others say of an entity is not there.

A search that is narrowed to some documents must not show what only others say, and a name, a type and a
description of an entity are made of all its mentions. Here they are made of those in the allowed chunks, by
the same rules. What a person decided holds whatever is allowed, since it comes from no document.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from localrag.store.decision_log import resolution
from localrag.store.filters import Ids
from localrag.store.graph_rows import EntityRow, RelationRow
from localrag.store.replay import Resolution
from localrag.store.rows import VectorKind
from localrag.store.session import Row, Session, listed
from localrag.store.upkeep import joined_keywords
from localrag.store.wording import distinct, joined

_IN = "IN (SELECT value FROM json_each(?))"
_TABLES: Mapping[VectorKind, str] = {"entity": "mentions", "relation": "relation_mentions"}


@dataclass(frozen=True)
class Edge:
    """A relation without its words."""

    id: int
    """The relation."""

    source_id: int
    """Entity that it starts from."""

    target_id: int
    """Entity that it goes to."""

    weight: int
    """Number of chunks that state it."""


@dataclass
class _Said:
    """What the allowed mentions of an entity say."""

    chunks: set[int] = field(default_factory=set)
    names: dict[tuple[bool, str], set[int]] = field(default_factory=dict)
    types: dict[tuple[bool, str], set[int]] = field(default_factory=dict)
    descriptions: list[str] = field(default_factory=list)


class Narrowed:
    """Reads entities and relations within a set of chunks; None stands for all chunks."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def within(self, kind: VectorKind, ids: Ids | None, chunks: Ids) -> Ids:
        """Those of the entities or relations, of all where `ids` is None, that an allowed chunk mentions."""
        table, column = _TABLES[kind], f"{kind}_id"
        found = self._session.column(
            f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL AND chunk_id {_IN}",
            [chunks.listed],
        )
        return Ids(found if ids is None else [row_id for row_id in found if row_id in ids])

    def entities(self, ids: Iterable[int], chunks: Ids) -> list[EntityRow]:
        """The entities in the order of `ids`, each as the allowed chunks tell it; others are left out."""
        wanted = list(ids)
        said: dict[int, _Said] = {}
        for entity_id, chunk_id, own, name, kind, description in self._allowed(
            "SELECT m.entity_id, m.chunk_id, m.key = e.key, m.name, m.type, m.description FROM mentions m "
            f"JOIN entities e ON e.id = m.entity_id WHERE m.entity_id {_IN} ORDER BY m.chunk_id, m.id",
            wanted,
            chunks,
        ):
            entry = said.setdefault(entity_id, _Said())
            entry.chunks.add(chunk_id)
            entry.names.setdefault((bool(own), name), set()).add(chunk_id)
            entry.types.setdefault((bool(own), kind), set()).add(chunk_id)
            entry.descriptions.append(description)
        keys: dict[int, str] = dict(
            self._session.rows(f"SELECT id, key FROM entities WHERE id {_IN}", [listed(said)])
        )
        decided = resolution(self._session)
        return [_entity(row_id, keys[row_id], said[row_id], decided) for row_id in wanted if row_id in said]

    def relations(self, ids: Iterable[int], chunks: Ids) -> list[RelationRow]:
        """The relations in the order of `ids`, each as the allowed chunks tell it; others are left out."""
        wanted = list(ids)
        said: dict[int, list[Row]] = {}
        for row in self._allowed(
            "SELECT relation_id, chunk_id, keywords, description FROM relation_mentions "
            f"WHERE relation_id {_IN} ORDER BY chunk_id, id",
            wanted,
            chunks,
        ):
            said.setdefault(row[0], []).append(row)
        rows = {
            row[0]: row
            for row in self._session.rows(
                f"SELECT id, source_id, target_id, keywords, description FROM relations WHERE id {_IN}",
                [listed(said)],
            )
        }
        ends = {end for row in rows.values() for end in row[1:3]}
        names = {entity.id: entity.name for entity in self.entities(ends, chunks)}
        return [
            _relation(rows[row_id], said[row_id], names)
            for row_id in wanted
            if row_id in rows and rows[row_id][1] in names and rows[row_id][2] in names
        ]

    def chunks_of(
        self, kind: VectorKind, ids: Collection[int], chunks: Ids | None = None
    ) -> dict[int, tuple[int, ...]]:
        """The allowed chunks that mention each of the entities or relations, ascending."""
        column = f"{kind}_id"
        found: dict[int, list[int]] = {row_id: [] for row_id in ids}
        for row_id, chunk_id in self._allowed(
            f"SELECT DISTINCT {column}, chunk_id FROM {_TABLES[kind]} WHERE {column} {_IN} ORDER BY chunk_id",
            ids,
            chunks,
        ):
            found[row_id].append(chunk_id)
        return {row_id: tuple(places) for row_id, places in found.items()}

    def edges(self, entity_ids: Collection[int], relations: Ids | None = None) -> list[Edge]:
        """All relations with an end among the entities, of those that are allowed; heaviest first, then by
        id."""
        ids = listed(entity_ids)
        rows = self._session.rows(
            "SELECT r.id, r.source_id, r.target_id, count(DISTINCT m.chunk_id) AS weight FROM relations r "
            "JOIN relation_mentions m ON m.relation_id = r.id WHERE r.id IN "
            f"(SELECT id FROM relations WHERE source_id {_IN} UNION "
            f"SELECT id FROM relations WHERE target_id {_IN}) GROUP BY r.id ORDER BY weight DESC, r.id",
            [ids, ids],
        )
        return [Edge(*row) for row in _kept(rows, relations, lambda row: row[0])]

    def stated_in(self, kind: VectorKind, chunk_ids: Collection[int]) -> list[tuple[int, int]]:
        """What some chunks mention: pairs of a chunk and an entity or relation, by chunk and id."""
        column = f"{kind}_id"
        rows = self._session.rows(
            f"SELECT DISTINCT chunk_id, {column} FROM {_TABLES[kind]} WHERE chunk_id {_IN} "
            f"AND {column} IS NOT NULL ORDER BY chunk_id, {column}",
            [listed(chunk_ids)],
        )
        return [(row[0], row[1]) for row in rows]

    def _allowed(self, sql: str, ids: Iterable[int], chunks: Ids | None) -> list[Row]:
        """The rows of a query over ids whose second column is an allowed chunk."""
        return _kept(self._session.rows(sql, [listed(ids)]), chunks, lambda row: row[1])


def _kept(rows: list[Row], allowed: Ids | None, of: Callable[[Row], int]) -> list[Row]:
    """The rows whose id is allowed; tested at once, since a hub has thousands of them."""
    if allowed is None or not rows:
        return rows
    keep = np.isin(np.fromiter((of(row) for row in rows), dtype=np.int64, count=len(rows)), allowed.array)
    return [row for row, wanted in zip(rows, keep, strict=True) if wanted]


def _entity(row_id: int, key: str, said: _Said, decided: Resolution) -> EntityRow:
    own = decided.description(key)
    return EntityRow(
        id=row_id,
        name=decided.name(key) or _most(said.names, own=True) or decided.fallback(key) or _most(said.names),
        key=key,
        type=decided.type(key) or _most(said.types, own=True) or _most(said.types),
        summary="",
        mentions=len(said.chunks),
        descriptions=(own,) if own else tuple(distinct(said.descriptions)),
    )


def _most(said: Mapping[tuple[bool, str], set[int]], *, own: bool = False) -> str:
    """What most chunks say, ties by text; with `own`, only where the entity was read under its own key."""
    counted: dict[str, set[int]] = {}
    for (is_own, text), chunks in said.items():
        if is_own or not own:
            counted.setdefault(text, set()).update(chunks)
    return min(counted, key=lambda text: (-len(counted[text]), text), default="")


def _relation(row: Row, said: Sequence[Row], names: Mapping[int, str]) -> RelationRow:
    row_id, source_id, target_id, own_words, own = row
    return RelationRow(
        id=row_id,
        source_id=source_id,
        target_id=target_id,
        source=names[source_id],
        target=names[target_id],
        keywords=own_words or joined_keywords(line[2] for line in said),
        description=own or joined(line[3] for line in said),
        weight=len({line[1] for line in said}),
    )
