"""Other names of entities: given by a person's decisions, or said by a passage.

What passages say finds entities and changes nothing else; which entity a mention belongs to follows from
decisions alone.
"""

from __future__ import annotations

from localrag.errors import UsageError
from localrag.store import decision_log
from localrag.store.assignment import relink_aliases
from localrag.store.curation_rows import AliasRow
from localrag.store.replay import Resolution
from localrag.store.session import Session, listed
from localrag.store.sqlite import clean

Derived = dict[tuple[int, str], tuple[str, str, int | None]]
"""Name, key of the entity, and the entity if it is there, by decision and folded alias."""

_SELECT = (
    "SELECT e.id, e.name, a.key, a.name, a.decision_id, a.chunk_id FROM entity_aliases a "
    "JOIN entities e ON e.id = a.entity_id "
)


class Aliases:
    """Stores what passages say and lists all aliases. `Graph.find_named` looks names up in them."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def put(self, chunk_id: int, entity_key: str, name: str, key: str) -> bool:
        """Store that a passage calls an entity by another name; it goes with the passage and its reading.

        `entity_key` is the folded name of a mention in the same passage, `key` the folded alias. Returns
        False, and stores nothing, if the passage does not mention the entity or says the same already.
        Raises `UsageError` for an alias without name or key.
        """
        entity_key, name, key = clean(entity_key), clean(name), clean(key)
        if not name.strip() or not key:
            raise UsageError("An alias needs a name.")
        session = self._session
        with session.transaction():
            mentioned = session.value(
                "SELECT 1 FROM mentions WHERE chunk_id = ? AND key = ?", [chunk_id, entity_key]
            )
            said = session.value(
                "SELECT 1 FROM entity_aliases WHERE chunk_id = ? AND entity_key = ? AND key = ?",
                [chunk_id, entity_key, key],
            )
            if mentioned is None or said is not None or key == entity_key:
                return False
            session.insert(
                "INSERT INTO entity_aliases (entity_key, key, name, chunk_id) VALUES (?, ?, ?, ?)",
                [entity_key, key, name, chunk_id],
            )
            relink_aliases(session, decision_log.resolution(session), [entity_key])
            session.touch()
        return True

    def find(self, key: str) -> list[AliasRow]:
        """All aliases with this folded name, those of a person first."""
        rows = self._session.rows(
            _SELECT + "WHERE a.key = ? ORDER BY a.decision_id IS NULL, a.decision_id, a.chunk_id, a.id",
            [clean(key)],
        )
        return [AliasRow(*row) for row in rows]

    def list(self, entity_id: int | None = None, limit: int | None = None) -> list[AliasRow]:
        """Aliases of one entity or of all, by the entities' names; what is an entity's own name is left out.

        Those said by several passages come once, with the first of these.
        """
        found: dict[tuple[int, str, bool], AliasRow] = {}
        where, parameters = ("", []) if entity_id is None else ("AND a.entity_id = ? ", [entity_id])
        for row in self._session.rows(
            _SELECT + f"WHERE a.name <> e.name {where}ORDER BY e.name, e.id, a.name, a.chunk_id, a.id",
            parameters,
        ):
            alias = AliasRow(*row)
            found.setdefault((alias.entity_id, alias.name, alias.chunk_id is None), alias)
        return list(found.values())[:limit]


def derive(session: Session, resolution: Resolution) -> None:
    """Make the rows of aliases that decisions gave what these say now, within the caller's transaction."""
    before, after = present(session), wanted(session, resolution)
    session.run_many(
        "DELETE FROM entity_aliases WHERE decision_id = ? AND key = ?",
        [pair for pair, row in before.items() if after.get(pair) != row],
    )
    session.run_many(
        "INSERT INTO entity_aliases (decision_id, key, name, entity_key, entity_id) VALUES (?, ?, ?, ?, ?)",
        [(*pair, *row) for pair, row in after.items() if before.get(pair) != row],
    )


def wanted(session: Session, resolution: Resolution) -> Derived:
    """The aliases that decisions gave, as they should be."""
    ids: dict[str, int] = {}
    if resolution.aliases:
        ids = dict(
            session.rows(
                "SELECT key, id FROM entities WHERE key IN (SELECT value FROM json_each(?))",
                [listed(alias.entity for alias in resolution.aliases)],
            )
        )
    return {
        (alias.decision_id, alias.key): (alias.name, alias.entity, ids.get(alias.entity))
        for alias in resolution.aliases
    }


def present(session: Session) -> Derived:
    """The aliases that decisions gave, as they are."""
    return {
        (decision_id, key): (name, entity_key, entity_id)
        for decision_id, key, name, entity_key, entity_id in session.rows(
            "SELECT decision_id, key, name, entity_key, entity_id FROM entity_aliases "
            "WHERE decision_id IS NOT NULL"
        )
    }
