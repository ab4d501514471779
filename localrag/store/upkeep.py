"""What follows from a change of mentions: rows without a source go, derived columns are made anew.

An entity's name and type, and the text that its vector is made from, depend on its mentions and on what a
person decided alone, so that taking a document away leaves what would be there without it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable

from localrag.store import decision_log, origins
from localrag.store.assignment import relink_relations
from localrag.store.merges import sources
from localrag.store.replay import Resolution
from localrag.store.session import Session, listed

EMBEDDED = 1500
"""Characters after which no further description goes into the text that is embedded; models cut it anyway,
and an entity with thousands of mentions need not be embedded again with each new one."""

_ID_IN = "IN (SELECT value FROM json_each(?))"


def text_hash(text: str) -> str:
    """sha256 of a text, hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def joined_keywords(keywords: Iterable[str]) -> str:
    """Distinct keywords of many comma-separated lists, in order, parted by `, `."""
    found: dict[str, str] = {}
    for text in keywords:
        for part in re.split("[,，、;；]", text):
            if word := part.strip():
                found.setdefault(word.casefold(), word)
    return ", ".join(found.values())


class Touched:
    """The entities, relations and prompts that a change may leave without a source, gathered before it."""

    def __init__(self, session: Session, chunk_ids: Collection[int]) -> None:
        ids = [listed(chunk_ids)]
        self.entities = set(
            session.column(
                f"SELECT entity_id FROM mentions WHERE chunk_id {_ID_IN} AND entity_id IS NOT NULL", ids
            )
        )
        """Entities that lose mentions."""
        self.relations = set(
            session.column(
                f"SELECT relation_id FROM relation_mentions WHERE chunk_id {_ID_IN} "
                "AND relation_id IS NOT NULL",
                ids,
            )
        )
        """Relations that lose mentions."""
        self.renewed: set[int] = set()
        """Entities that gain mentions; added by the caller."""
        self.linked: set[int] = set()
        """Relations that gain mentions; added by the caller."""
        self.created: set[str] = set()
        """Keys of entities that are new; added by the caller."""
        self.prompts = set(
            session.column(f"SELECT prompt_hash FROM generations WHERE chunk_id {_ID_IN}", ids)
        )

    def settle(self, session: Session) -> None:
        """Remove what has no source any more and renew what is left. To be called within the transaction."""
        resolution = decision_log.resolution(session)
        # A summary that rested on what is gone must go; one that lacks something new may wait.
        origins.forget(session, self.entities, self.relations)
        relations, entities = [listed(self.relations)], [listed(self.entities)]
        session.run(
            f"DELETE FROM relations WHERE id {_ID_IN} AND NOT EXISTS "
            "(SELECT 1 FROM relation_mentions WHERE relation_id = relations.id)",
            relations,
        )
        session.run(
            f"DELETE FROM entities WHERE id {_ID_IN} AND NOT EXISTS "
            "(SELECT 1 FROM mentions WHERE entity_id = entities.id)",
            entities,
        )
        session.run(
            f"DELETE FROM prompts WHERE hash {_ID_IN} AND NOT EXISTS "
            "(SELECT 1 FROM generations WHERE prompt_hash = prompts.hash)",
            [listed(self.prompts)],
        )
        self._give_what_waited(session, resolution)
        renew(session, resolution, self.entities | self.renewed, self.relations | self.linked)

    def _give_what_waited(self, session: Session, resolution: Resolution) -> None:
        """Give aliases and relations that waited for entities these entities, now that they are there."""
        if self.created and resolution.aliases:
            session.run(
                "UPDATE entity_aliases SET entity_id = (SELECT id FROM entities WHERE key = entity_key) "
                f"WHERE decision_id IS NOT NULL AND entity_key {_ID_IN}",
                [listed(self.created)],
            )
        if coming := self.created & resolution.pair_targets:
            leading = sources(session, resolution.leading_to(coming))
            found = relink_relations(session, resolution, leading, both=True)
            self.linked |= found.lost | found.gained


def renew(
    session: Session,
    resolution: Resolution,
    entities: Collection[int],
    relations: Collection[int],
    *,
    mark: bool = True,
) -> None:
    """Make the derived columns of entities and relations anew, and of relations whose ends changed names.

    With `mark`, their summaries are marked for renewal. To be called within the transaction.
    """
    touched = [listed(entities)]
    if mark:
        session.run(f"UPDATE entities SET dirty = 1 WHERE id {_ID_IN}", touched)
        session.run(f"UPDATE relations SET dirty = 1 WHERE id {_ID_IN}", [listed(relations)])
        origins.outdate(session, entities, relations)
    renamed = [
        entity_id
        for entity_id in session.column(f"SELECT id FROM entities WHERE id {_ID_IN} ORDER BY id", touched)
        if _renew_entity(session, resolution, entity_id)
    ]
    ends = listed(renamed)
    for relation_id, source, target, *pair, summary in session.rows(
        "SELECT r.id, s.name, t.name, s.key, t.key, r.summary FROM relations r "
        "JOIN entities s ON s.id = r.source_id JOIN entities t ON t.id = r.target_id "
        f"WHERE r.id {_ID_IN} OR r.source_id {_ID_IN} OR r.target_id {_ID_IN} ORDER BY r.id",
        [listed(relations), ends, ends],
    ):
        words = resolution.words((pair[0], pair[1]))
        said = words.description or summary
        text = _relation_text(session, relation_id, source, target, words.keywords, said)
        session.run(
            "UPDATE relations SET keywords = ?, description = ?, text_hash = ? WHERE id = ?",
            [words.keywords, words.description, text_hash(text), relation_id],
        )


def entity_text(session: Session, entity_id: int) -> str:
    """The text to embed for an entity: its name, and below it what a person wrote, else its summary or its
    descriptions."""
    name, own, summary = session.row(
        "SELECT name, description, summary FROM entities WHERE id = ?", [entity_id]
    ) or ("", "", "")
    return _entity_text(session, entity_id, name, own or summary)


def relation_text(session: Session, relation_id: int) -> str:
    """The text to embed for a relation: keywords, source, target and descriptions, parted by tabs.

    What a person wrote stands in place of what was read, a summary in place of descriptions.
    """
    source, target, keywords, own, summary = session.row(
        "SELECT s.name, t.name, r.keywords, r.description, r.summary FROM relations r "
        "JOIN entities s ON s.id = r.source_id JOIN entities t ON t.id = r.target_id WHERE r.id = ?",
        [relation_id],
    ) or ("", "", "", "", "")
    return _relation_text(session, relation_id, source, target, keywords, own or summary) if source else ""


def _entity_text(session: Session, entity_id: int, name: str, said: str) -> str:
    described = [said] if said else _first_distinct(session, "mentions", "entity_id", entity_id)
    return f"{name}\n{' '.join(described)}".rstrip("\n")


def _relation_text(
    session: Session, relation_id: int, source: str, target: str, keywords: str, said: str
) -> str:
    owner = ("relation_mentions", "relation_id", relation_id)
    keywords = keywords or joined_keywords(_first_distinct(session, *owner, column="keywords"))
    described = [said] if said else _first_distinct(session, *owner)
    return f"{keywords}\t{source}\t{target}\t{' '.join(described)}"


def settle_document(session: Session, document_id: int) -> None:
    """Set the document's status by its chunks: indexed once none is pending, with the failed ones named."""
    total, pending, failed = session.row(
        "SELECT count(*), coalesce(sum(state = 'pending'), 0), coalesce(sum(state = 'failed'), 0) "
        "FROM chunks WHERE document_id = ?",
        [document_id],
    ) or (0, 0, 0)
    if pending:
        return
    reason = "" if total else "There is no text in it."
    if failed:
        ordinal, error = session.row(
            "SELECT ordinal, error FROM chunks WHERE document_id = ? AND state = 'failed' "
            "ORDER BY ordinal LIMIT 1",
            [document_id],
        ) or (0, "")
        reason = f"{failed} of {total} passages could not be read. Passage {ordinal + 1}: {error}"
    session.run(
        "UPDATE documents SET status = 'indexed', reason = ? "
        "WHERE id = ? AND status IN ('waiting', 'indexed')",
        [reason, document_id],
    )


def _renew_entity(session: Session, resolution: Resolution, entity_id: int) -> bool:
    """Set name, type, description and text hash; True if the name is another one now."""
    key, before, summary = session.row(
        "SELECT key, name, summary FROM entities WHERE id = ?", [entity_id]
    ) or ("", "", "")
    name = resolution.name(key) or _most_said(session, "name", entity_id, key)
    kind = resolution.type(key) or _most_said(session, "type", entity_id, key)
    own = resolution.description(key)
    name = name or resolution.fallback(key) or _most_said(session, "name", entity_id)
    kind = kind or _most_said(session, "type", entity_id)
    digest = text_hash(_entity_text(session, entity_id, name, own or summary))
    session.run(
        "UPDATE entities SET name = ?, type = ?, description = ?, text_hash = ? WHERE id = ?",
        [name, kind, own, digest, entity_id],
    )
    return bool(name != before)


def _most_said(session: Session, column: str, entity_id: int, key: str = "") -> str:
    """The name or type that most chunks give to an entity, ties by text; with `key`, only where it was read
    under this key: what was merged into an entity does not rename it. Empty if there is none."""
    condition, parameters = ("AND +key = ? ", [entity_id, key]) if key else ("", [entity_id])
    return str(
        session.value(
            f"SELECT {column} FROM mentions WHERE entity_id = ? {condition}GROUP BY {column} "
            f"ORDER BY count(DISTINCT chunk_id) DESC, {column} LIMIT 1",
            parameters,
        )
        or ""
    )


def _first_distinct(
    session: Session, table: str, owner: str, owner_id: int, *, column: str = "description"
) -> list[str]:
    """Distinct texts of an owner's mentions in the order of their chunks, until there are enough."""
    found: dict[str, None] = {}
    size = 0
    for (text,) in session.each(
        f"SELECT {column} FROM {table} WHERE {owner} = ? ORDER BY chunk_id, id", [owner_id]
    ):
        if text and text not in found:
            found[text] = None
            size += len(text)
            if size > EMBEDDED:
                break
    return list(found)
