"""All entities in short, held in memory, so that a list of them can be searched and sorted while one types.

Nothing here is stored: it is read anew when the content has changed, so what was deleted is not in it.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from localrag.store.session import Session, listed

PATIENCE = 2.0
"""Seconds for which a list that is behind may be taken all the same: while documents are read, the content
changes many times in a second."""

_SELECT = (
    "SELECT e.id, e.name, e.key, e.type, "
    "(SELECT count(DISTINCT chunk_id) FROM mentions WHERE entity_id = e.id), "
    "(SELECT count(*) FROM relations WHERE source_id = e.id) + "
    "(SELECT count(*) FROM relations WHERE target_id = e.id) FROM entities e "
)


@dataclass(frozen=True, slots=True)
class EntityEntry:
    """An entity as a list shows it."""

    id: int
    """The entity."""

    name: str
    """Its name."""

    key: str
    """The folded name."""

    type: str
    """Its type."""

    mentions: int
    """Number of passages that mention it."""

    relations: int
    """Number of relations that it is an end of."""


@dataclass(frozen=True, eq=False)
class EntityTable:
    """All entities and what else they are called."""

    entries: tuple[EntityEntry, ...]
    """The entities, by their folded names."""

    aliases: tuple[tuple[str, str, int], ...]
    """Other names: the folded name, the name and the entity."""

    @cached_property
    def by_mentions(self) -> list[EntityEntry]:
        """The entities, those in most passages first."""
        return sorted(self.entries, key=lambda entry: (-entry.mentions, entry.key))

    @cached_property
    def by_relations(self) -> list[EntityEntry]:
        """The entities, those with most relations first."""
        return sorted(self.entries, key=lambda entry: (-entry.relations, entry.key))

    @cached_property
    def by_name(self) -> list[EntityEntry]:
        """The entities in the order of their names as people read them."""
        return sorted(self.entries, key=lambda entry: (entry.name.casefold(), entry.key))


class EntityList:
    """Reads the table, and keeps it while the content stays as it is."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._kept: tuple[int, float, EntityTable] | None = None

    def table(self, *, patience: float = 0.0) -> EntityTable:
        """All entities as they are now, or as they were at most `patience` seconds ago."""
        session = self._session
        if session.changing or session.in_transaction:
            # What it would hold may be undone.
            return self._read()
        revision = int(session.value("SELECT revision FROM meta"))
        now = time.monotonic()
        if self._kept is None or (self._kept[0] != revision and now - self._kept[1] >= patience):
            self._kept = revision, now, self._read()
        return self._kept[2]

    def some(self, ids: Collection[int]) -> dict[int, EntityEntry]:
        """These entities as they are now, by id; those that are gone are left out."""
        rows = self._session.rows(_SELECT + "WHERE e.id IN (SELECT value FROM json_each(?))", [listed(ids)])
        return {row[0]: EntityEntry(*row) for row in rows}

    def _read(self) -> EntityTable:
        entries = tuple(EntityEntry(*row) for row in self._session.each(_SELECT + "ORDER BY e.key"))
        aliases = self._session.rows(
            "SELECT DISTINCT a.key, a.name, a.entity_id FROM entity_aliases a "
            "JOIN entities e ON e.id = a.entity_id WHERE a.name <> e.name ORDER BY a.name, a.entity_id"
        )
        return EntityTable(entries, tuple((key, name, entity_id) for key, name, entity_id in aliases))
