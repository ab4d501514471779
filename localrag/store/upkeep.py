"""What follows from a change of mentions: rows without a source go, derived columns are made anew.

An entity's name and type, and the text that its vector is made from, depend on its mentions alone, so
that taking a document away leaves what would be there without it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable

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
        self.entities = set(session.column(f"SELECT entity_id FROM mentions WHERE chunk_id {_ID_IN}", ids))
        self.relations = set(
            session.column(f"SELECT relation_id FROM relation_mentions WHERE chunk_id {_ID_IN}", ids)
        )
        self.renewed: set[int] = set()
        """Entities that gain mentions; added by the caller."""
        self.prompts = set(
            session.column(f"SELECT prompt_hash FROM generations WHERE chunk_id {_ID_IN}", ids)
        )

    def settle(self, session: Session) -> None:
        """Remove what has no source any more and renew what is left. To be called within the transaction."""
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
        # A summary that rested on what is gone must go; one that lacks something new may wait.
        session.run(f"UPDATE entities SET summary = '' WHERE id {_ID_IN}", entities)
        entities = [listed(self.entities | self.renewed)]
        session.run(f"UPDATE entities SET dirty = 1 WHERE id {_ID_IN}", entities)
        renamed = [
            entity_id
            for entity_id in session.column(
                f"SELECT id FROM entities WHERE id {_ID_IN} ORDER BY id", entities
            )
            if _renew_entity(session, entity_id)
        ]
        ends = listed(renamed)
        for relation_id in session.column(
            f"SELECT id FROM relations WHERE id {_ID_IN} OR source_id {_ID_IN} OR target_id {_ID_IN} "
            "ORDER BY id",
            [relations[0], ends, ends],
        ):
            text = relation_text(session, relation_id)
            session.run("UPDATE relations SET text_hash = ? WHERE id = ?", [text_hash(text), relation_id])


def entity_text(session: Session, entity_id: int) -> str:
    """The text to embed for an entity: its name, and below it its summary or its descriptions."""
    name, summary = session.row("SELECT name, summary FROM entities WHERE id = ?", [entity_id]) or ("", "")
    described = [summary] if summary else _first_distinct(session, "mentions", "entity_id", entity_id)
    return f"{name}\n{' '.join(described)}".rstrip("\n")


def relation_text(session: Session, relation_id: int) -> str:
    """The text to embed for a relation: keywords, source, target and descriptions, parted by tabs."""
    source, target = session.row(
        "SELECT s.name, t.name FROM relations r JOIN entities s ON s.id = r.source_id "
        "JOIN entities t ON t.id = r.target_id WHERE r.id = ?",
        [relation_id],
    ) or ("", "")
    if not source:
        return ""
    keywords = joined_keywords(
        _first_distinct(session, "relation_mentions", "relation_id", relation_id, column="keywords")
    )
    described = _first_distinct(session, "relation_mentions", "relation_id", relation_id)
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


def _renew_entity(session: Session, entity_id: int) -> bool:
    """Set name, type and text hash from the mentions; True if the name is another one now."""
    before = session.value("SELECT name FROM entities WHERE id = ?", [entity_id])
    name, kind = (
        session.value(
            f"SELECT {column} FROM mentions WHERE entity_id = ? GROUP BY {column} "
            f"ORDER BY count(DISTINCT chunk_id) DESC, {column} LIMIT 1",
            [entity_id],
        )
        for column in ("name", "type")
    )
    session.run("UPDATE entities SET name = ?, type = ? WHERE id = ?", [name, kind, entity_id])
    digest = text_hash(entity_text(session, entity_id))
    session.run("UPDATE entities SET text_hash = ? WHERE id = ?", [digest, entity_id])
    return bool(name != before)


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
