"""Gives relations, claims and aliases of passages the entities that their names belong to by the decisions.

An end of a relation as it was read is a name of the same passage. Which entity that name is may differ from
passage to passage, so it is looked up among the mentions of the passage.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from localrag.store.curation_rows import Pair, Place, Sight
from localrag.store.merges import Starts
from localrag.store.replay import Resolution
from localrag.store.session import Row, Session, listed

_ID_IN = "IN (SELECT value FROM json_each(?))"
_BATCH = 5_000
"""Rows looked at together, so that a hub with a million mentions needs no more memory than a small one."""


@dataclass
class Relinked:
    """Relations that lost or gained mentions."""

    lost: set[int] = field(default_factory=set)
    """Ids of relations with fewer mentions than before."""

    gained: set[int] = field(default_factory=set)
    """Ids of relations with more."""

    mentions: int = 0
    """Mentions of relations that moved."""


class Places:
    """Where the documents of chunks lie; looked up once each."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._of_chunk: dict[int, int] = {}
        self._places: dict[int, Place] = {}

    def of_chunk(self, chunk_id: int) -> Place:
        """The place of a chunk's document."""
        if chunk_id not in self._of_chunk:
            self._of_chunk[chunk_id] = self._session.value(
                "SELECT document_id FROM chunks WHERE id = ?", [chunk_id]
            )
        document_id = self._of_chunk[chunk_id]
        if document_id not in self._places:
            self._places[document_id] = place(self._session, document_id)
        return self._places[document_id]


def place(session: Session, document_id: int) -> Place:
    """Where a document lies."""
    root, path, sha256, size = session.row(
        "SELECT root, path, sha256, size FROM documents WHERE id = ?", [document_id]
    ) or ("", "", "", 0)
    copies = session.rows("SELECT root, path FROM copies WHERE document_id = ?", [document_id])
    return Place(frozenset({(root, path), *copies}), sha256 if size else "")


class Ends:
    """How chunks speak of the names in them: the first mention of each that was not deleted."""

    def __init__(self, session: Session, resolution: Resolution, chunk_ids: Iterable[int]) -> None:
        self._resolution = resolution
        self._places = Places(session) if resolution.documents else None
        self._starts = Starts(session, resolution)
        self._sights: dict[tuple[int, str], tuple[Sight, int | None]] = {}
        for chunk_id, key, name, kind, entity_id in session.rows(
            f"SELECT chunk_id, key, name, type, entity_id FROM mentions WHERE chunk_id {_ID_IN} ORDER BY id",
            [listed(set(chunk_ids))],
        ):
            before = self._sights.get((chunk_id, key))
            if before is None or (before[1] is None and entity_id is not None):
                self._sights[chunk_id, key] = (Sight(name, kind, place=self._place(chunk_id)), entity_id)

    def entity(self, chunk_id: int, key: str) -> int | None:
        """The entity that a name of a chunk belongs to; None if it was deleted or is not in the chunk."""
        return self._sights.get((chunk_id, key), (None, None))[1]

    def pair(self, chunk_id: int, source: str, target: str, keywords: str) -> Pair | None:
        """Keys of the two entities that a relation as it was read is between now."""
        place = self._place(chunk_id)
        bare = Sight(place=place)
        ends = [
            (self._starts.of(chunk_id, key), self._sights.get((chunk_id, key), (bare, None))[0])
            for key in (source, target)
        ]
        return self._resolution.pair(ends[0], ends[1], Sight(keywords=keywords, place=place))

    def _place(self, chunk_id: int) -> Place | None:
        return self._places.of_chunk(chunk_id) if self._places is not None else None


def relation_of(session: Session, pair: Pair | None) -> int | None:
    """The relation between two entities, made if both are there; None if one is not."""
    if pair is None:
        return None
    ids: dict[str, int] = dict(
        session.rows(f"SELECT key, id FROM entities WHERE key {_ID_IN}", [listed(pair)])
    )
    if len(ids) < 2:
        return None
    return relation_between(session, ids[pair[0]], ids[pair[1]])


def relation_between(session: Session, source_id: int, target_id: int) -> int:
    """The relation between two entities that are there, made if it is not."""
    ends = [source_id, target_id]
    found: int | None = session.value("SELECT id FROM relations WHERE source_id = ? AND target_id = ?", ends)
    return found or session.insert("INSERT INTO relations (source_id, target_id) VALUES (?, ?)", ends)


def wanted_pairs(
    session: Session, resolution: Resolution, keys: Collection[str] | None, *, both: bool = False
) -> Iterator[tuple[int, int | None, Pair | None]]:
    """Mentions of relations with these names at an end (None: all): id, present relation, and the pair that
    it belongs to. With `both`, only those with such names at both ends."""
    condition = f"(source_key {_ID_IN} {'AND' if both else 'OR'} target_key {_ID_IN})"
    for rows in batches(
        session,
        "id, chunk_id, relation_id, source_key, target_key, keywords",
        "relation_mentions",
        condition,
        keys,
    ):
        ends = Ends(session, resolution, (row[1] for row in rows))
        for mention_id, chunk_id, relation, source, target, keywords in rows:
            yield mention_id, relation, ends.pair(chunk_id, source, target, keywords)


def relink_relations(
    session: Session, resolution: Resolution, keys: Collection[str] | None, *, both: bool = False
) -> Relinked:
    """Give mentions of relations with these names (None: all) the relations that they belong to.

    Mentions of entities have to be in their place. Rows that are left without a mention are for upkeep.
    """
    found = Relinked()
    known: dict[Pair | None, int | None] = {}
    updates: list[tuple[int | None, int]] = []
    for mention_id, present, pair in wanted_pairs(session, resolution, keys, both=both):
        if pair not in known:
            known[pair] = relation_of(session, pair)
        if known[pair] != present:
            updates.append((known[pair], mention_id))
            found.lost.update([present] if present is not None else ())
            found.gained.update([] if (wanted := known[pair]) is None else [wanted])
    session.run_many("UPDATE relation_mentions SET relation_id = ? WHERE id = ?", updates)
    found.mentions = len(updates)
    return found


def relink_claims(session: Session, resolution: Resolution, keys: Collection[str] | None) -> None:
    """Give claims with these names (None: all) their entities."""
    condition = f"(subject_key {_ID_IN} OR object_key {_ID_IN})"
    columns = "id, chunk_id, subject_key, object_key, subject_id, object_id"
    for rows in batches(session, columns, "claims", condition, keys):
        ends = Ends(session, resolution, (row[1] for row in rows))
        updates = []
        for claim_id, chunk_id, *said, subject_id, object_id in rows:
            wanted = [ends.entity(chunk_id, key) for key in said]
            if wanted != [subject_id, object_id]:
                updates.append([*wanted, claim_id])
        session.run_many("UPDATE claims SET subject_id = ?, object_id = ? WHERE id = ?", updates)


def relink_aliases(session: Session, resolution: Resolution, keys: Collection[str] | None) -> None:
    """Give aliases that passages gave to these names (None: all) their entities, if no one denied it."""
    columns = "id, chunk_id, entity_key, key, entity_id"
    condition = f"entity_key {_ID_IN}"
    for rows in batches(session, columns, "entity_aliases", condition, keys, "chunk_id IS NOT NULL"):
        ends = Ends(session, resolution, (row[1] for row in rows))
        updates = []
        for alias_id, chunk_id, entity_key, alias, present in rows:
            wanted = ends.entity(chunk_id, entity_key)
            if wanted is not None and _denied(session, resolution, wanted, alias):
                wanted = None
            if wanted != present:
                updates.append((wanted, alias_id))
        session.run_many("UPDATE entity_aliases SET entity_id = ? WHERE id = ?", updates)


def _denied(session: Session, resolution: Resolution, entity_id: int, alias: str) -> bool:
    key = session.value("SELECT key FROM entities WHERE id = ?", [entity_id])
    return resolution.denies(key, alias)


def batches(
    session: Session,
    columns: str,
    table: str,
    condition: str,
    keys: Collection[str] | None,
    always: str = "TRUE",
) -> Iterator[list[Row]]:
    """Rows of a table with these names in pieces, in the order of their ids; all of them if `keys` is None.

    The ids are fetched first, so that the caller may change the rows while it goes through them.
    """
    parameters = [] if keys is None else [listed(keys)] * condition.count("?")
    where = always if keys is None else f"{always} AND {condition}"
    ids = iter(session.column(f"SELECT id FROM {table} WHERE {where} ORDER BY id", parameters))
    while part := list(islice(ids, _BATCH)):
        yield session.rows(f"SELECT {columns} FROM {table} WHERE id {_ID_IN} ORDER BY id", [listed(part)])
