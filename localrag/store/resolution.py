"""Gives all that was read the place that the decisions give it: after a decision, after undoing one, and
wherever rows came in by another way than `Graph.record`.

What belongs where depends on the rows as they were read, the automatic merges and the active decisions alone,
so this may be called at any time and as often as one likes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from localrag.store import aliases, decision_log
from localrag.store.assignment import (
    Places,
    batches,
    relink_aliases,
    relink_claims,
    relink_relations,
    wanted_pairs,
)
from localrag.store.curation_rows import Sight
from localrag.store.merges import Starts, sources
from localrag.store.replay import Resolution
from localrag.store.session import Session, listed
from localrag.store.upkeep import Touched, renew

_ID_IN = "IN (SELECT value FROM json_each(?))"


@dataclass(frozen=True)
class Moved:
    """How much changed its place."""

    mentions: int = 0
    """Mentions of entities."""

    relation_mentions: int = 0
    """Mentions of relations."""


def reassign(
    session: Session,
    keys: Collection[str] | None = None,
    *,
    about: Collection[str] = (),
    relations_only: bool = False,
) -> Moved:
    """Give mentions, relations, claims and aliases read under these names (None: all) their entities.

    Entities and relations are made and removed as needed, and derived columns made anew: of what moved, of
    entities and relations that a person's words are `about`, by key, and with `None` of all. With
    `relations_only`, mentions of entities are known to be in their place. One transaction.
    """
    with session.transaction():
        if keys is None:
            # Whoever calls this way may have written to the log.
            decision_log.changed(session)
        resolution = decision_log.resolution(session)
        keys = None if keys is None else sources(session, keys)
        touched = Touched(session, ())
        mentions = 0 if relations_only else _move_mentions(session, resolution, keys, touched)
        relinked = relink_relations(session, resolution, keys, both=relations_only)
        touched.relations |= relinked.lost | relinked.gained
        if not relations_only:
            relink_claims(session, resolution, keys)
            touched.entities.update(
                session.column(f"SELECT id FROM entities WHERE key {_ID_IN}", [listed(about)])
            )
        relink_aliases(session, resolution, None if keys is None else {*keys, *about})
        touched.relations.update(_with_other_words(session, resolution, about))
        touched.settle(session)
        aliases.derive(session, resolution)
        if keys is None:
            entities = session.column("SELECT id FROM entities")
            renew(session, resolution, entities, session.column("SELECT id FROM relations"), mark=False)
        session.touch()
    return Moved(mentions, relinked.mentions)


def problems(session: Session) -> list[str]:
    """Where the file is not what its decisions make of it, one sentence each; reads only."""
    resolution = decision_log.resolution(session)
    found = []
    if count := sum(1 for _ in _moves(session, resolution, None)):
        found.append(f"{count} mentions do not belong to the entity that the decisions give them.")
    known = {
        (source, target): relation_id
        for relation_id, source, target in session.rows(
            "SELECT r.id, s.key, t.key FROM relations r JOIN entities s ON s.id = r.source_id "
            "JOIN entities t ON t.id = r.target_id"
        )
    }
    if count := sum(
        (known.get(pair) if pair is not None else None) != present
        for _, present, pair in wanted_pairs(session, resolution, None)
    ):
        found.append(f"{count} mentions of relations do not belong to the relation that the decisions give.")
    if count := sum(
        own != resolution.description(key)
        or (resolution.name(key) or name) != name
        or (resolution.type(key) or kind) != kind
        for key, name, kind, own in session.each("SELECT key, name, type, description FROM entities")
    ):
        found.append(f"{count} entities do not show what a person decided of them.")
    if aliases.wanted(session, resolution) != aliases.present(session):
        found.append("The aliases are not those of the decisions.")
    return found


def _move_mentions(
    session: Session, resolution: Resolution, keys: Collection[str] | None, touched: Touched
) -> int:
    """Give mentions read under these names their entities; returns how many moved."""
    ids: dict[str, int] = {}
    updates: list[tuple[int | None, int]] = []
    for mention_id, present, wanted, name, kind in _moves(session, resolution, keys):
        entity_id = None
        if wanted is not None:
            if wanted not in ids:
                found = session.value("SELECT id FROM entities WHERE key = ?", [wanted])
                if found is None:
                    found = session.insert(
                        "INSERT INTO entities (key, name, type) VALUES (?, ?, ?)", [wanted, name, kind]
                    )
                    touched.created.add(wanted)
                ids[wanted] = found
            entity_id = ids[wanted]
        touched.entities.update(owner for owner in (present, entity_id) if owner is not None)
        updates.append((entity_id, mention_id))
    session.run_many("UPDATE mentions SET entity_id = ? WHERE id = ?", updates)
    return len(updates)


def _moves(
    session: Session, resolution: Resolution, keys: Collection[str] | None
) -> Iterator[tuple[int, int | None, str | None, str, str]]:
    """Mentions that are not in their place: id, present entity, key of the wanted one, name and type."""
    places = Places(session) if resolution.documents else None
    starts = Starts(session, resolution)
    columns = "id, chunk_id, key, name, type, entity_id, (SELECT key FROM entities WHERE id = entity_id)"
    for rows in batches(session, columns, "mentions", f"key {_ID_IN}", keys):
        for mention_id, chunk_id, key, name, kind, entity_id, present in rows:
            place = places.of_chunk(chunk_id) if places is not None else None
            start = starts.of(chunk_id, key)
            wanted = resolution.entity_key(start, Sight(name, kind, place=place))
            if wanted != present:
                yield mention_id, entity_id, wanted, name, kind


def _with_other_words(session: Session, resolution: Resolution, keys: Collection[str]) -> list[int]:
    """Relations at these entities that do not show the words that a person gave them."""
    ids = session.column(f"SELECT id FROM entities WHERE key {_ID_IN}", [listed(keys)])
    rows = session.rows(
        "SELECT r.id, s.key, t.key, r.keywords, r.description FROM relations r "
        "JOIN entities s ON s.id = r.source_id JOIN entities t ON t.id = r.target_id "
        f"WHERE r.source_id {_ID_IN} OR r.target_id {_ID_IN}",
        [listed(ids)] * 2,
    )
    return [
        relation_id
        for relation_id, source, target, *present in rows
        if present != [(said := resolution.words((source, target))).keywords, said.description]
    ]
