"""Looks through the graph for a person: lists, searches, near names, and what an entity is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from localrag.store.assignment import Places
from localrag.store.curation_rows import Pair, Sight
from localrag.store.entity_list import EntityList
from localrag.store.graph_places import GraphPlaces
from localrag.store.session import Session
from localrag.store.sqlite import clean

_COMPARED = 20_000
"""Names that a missing one is compared with."""

_TELLING = 3
"""Latin letters from which on it says something that a name holds them."""


@dataclass(frozen=True)
class Variant:
    """One of the names, types or documents that the mentions of an entity have."""

    text: str
    """The name, type or path."""

    mentions: int
    """Mentions that have it."""


@dataclass(frozen=True)
class Variants:
    """Of what an entity is put together: what a split can ask for."""

    names: tuple[Variant, ...]
    """Names as written, most frequent first."""

    types: tuple[Variant, ...]
    """Types."""

    documents: tuple[Variant, ...]
    """Paths of documents."""


class Browse:
    """Reads entities and relations the way a person looks for them."""

    all: EntityList
    """All entities in short, to be searched while one types."""

    places: GraphPlaces
    """Where things of the graph stand in the documents."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.all = EntityList(session)
        self.places = GraphPlaces(session)

    def entities(self, *, text: str = "", key: str = "", kind: str = "", limit: int = 50) -> list[int]:
        """Ids of entities, those in most passages first.

        `text` is to be found in the name, or `key`, the same folded, in the folded name or an alias; `kind`
        is the type, whatever its case.
        """
        return self._session.column(
            "SELECT e.id FROM entities e WHERE (?1 = '' OR instr(e.name, ?1) > 0 OR (?2 <> '' AND "
            "(instr(e.key, ?2) > 0 OR EXISTS (SELECT 1 FROM entity_aliases a WHERE a.entity_id = e.id "
            "AND instr(a.key, ?2) > 0)))) AND (?3 = '' OR lower(e.type) = lower(?3)) "
            "ORDER BY (SELECT count(DISTINCT chunk_id) FROM mentions WHERE entity_id = e.id) DESC, e.key "
            "LIMIT ?4",
            [clean(text), clean(key), clean(kind), max(limit, 0)],
        )

    def relations(self, entity_id: int | None = None, limit: int = 50) -> list[int]:
        """Ids of relations, of all or of one entity, those in most passages first."""
        return self._session.column(
            "SELECT r.id FROM relations r WHERE ?1 IS NULL OR r.source_id = ?1 OR r.target_id = ?1 "
            "ORDER BY (SELECT count(DISTINCT chunk_id) FROM relation_mentions WHERE relation_id = r.id) "
            "DESC, r.id LIMIT ?2",
            [entity_id, max(limit, 0)],
        )

    def relation_between(self, pair: Pair) -> int | None:
        """The relation between the entities with these keys."""
        found: int | None = self._session.value(
            "SELECT r.id FROM relations r JOIN entities s ON s.id = r.source_id "
            "JOIN entities t ON t.id = r.target_id WHERE s.key = ? AND t.key = ?",
            pair,
        )
        return found

    def near(self, key: str, limit: int = 3) -> list[str]:
        """Names of entities whose folded names are like this one, the most alike first."""
        key = clean(key)[:200]
        rows: dict[str, str] = dict(
            self._session.rows(
                "SELECT key, name FROM entities ORDER BY abs(length(key) - ?), key LIMIT ?",
                [len(key), _COMPARED],
            )
        )
        rows |= dict(
            self._session.rows("SELECT key, name FROM entities WHERE instr(key, ?) > 0 LIMIT 50", [key])
        )
        alike = get_close_matches(key, rows, n=limit, cutoff=0.7)
        alike += sorted((other for other in rows if key and _holds(other, key)), key=len)
        return [rows[other] for other in dict.fromkeys(alike)][:limit]

    def variants(self, entity_id: int) -> Variants:
        """The names, types and documents of an entity's mentions, most frequent first."""
        names, types = (
            tuple(
                Variant(*row)
                for row in self._session.rows(
                    f"SELECT {column}, count(*) FROM mentions WHERE entity_id = ? GROUP BY {column} "
                    f"ORDER BY count(*) DESC, {column}",
                    [entity_id],
                )
            )
            for column in ("name", "type")
        )
        documents = self._session.rows(
            "SELECT d.path, count(*) FROM mentions m JOIN chunks c ON c.id = m.chunk_id "
            "JOIN documents d ON d.id = c.document_id WHERE m.entity_id = ? GROUP BY d.id "
            "ORDER BY count(*) DESC, d.path",
            [entity_id],
        )
        return Variants(names, types, tuple(Variant(*row) for row in documents))

    def sights(self, entity_id: int) -> Iterator[Sight]:
        """How passages speak of an entity, one for each mention."""
        return self._sights("SELECT chunk_id, name, type, '' FROM mentions WHERE entity_id = ?", [entity_id])

    def relation_sights(self, relation_id: int) -> Iterator[Sight]:
        """How passages speak of a relation, one for each mention."""
        return self._sights(
            "SELECT chunk_id, NULL, NULL, keywords FROM relation_mentions WHERE relation_id = ?",
            [relation_id],
        )

    def _sights(self, sql: str, parameters: Sequence[int]) -> Iterator[Sight]:
        places = Places(self._session)
        for chunk_id, name, kind, keywords in self._session.rows(sql, parameters):
            yield Sight(name, kind, keywords, places.of_chunk(chunk_id))


def _holds(name: str, part: str) -> bool:
    """Whether a folded name holds another one; one or two Latin letters have to be a word, as all names hold
    them."""
    return part in (name.split() if part.isascii() and len(part) < _TELLING else name)
