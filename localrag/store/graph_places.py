"""Where things of the graph stand in the documents, and which of them stand together."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from localrag.store.narrowed import Edge
from localrag.store.session import Session, listed

_IN = "IN (SELECT value FROM json_each(?))"


@dataclass(frozen=True)
class SaidAt:
    """A passage that says something, and where in its text."""

    owner: int
    """The entity or relation."""

    chunk_id: int
    """The passage."""

    document_id: int
    """Its document."""

    document: str
    """Path of the document as it is stored."""

    page: int | None
    """Page from 1 where the format has pages."""

    heading: str
    """Headings above the passage."""

    begin: int
    """Where the passage begins in the document's text."""

    text: str
    """The passage."""

    name: str
    """The entity's name as it is written there; empty for a relation."""

    start: int
    """First character in the passage, or -1."""

    end: int
    """One past the last character, or -1."""

    description: str
    """What is said."""


class GraphPlaces:
    """Reads where entities and relations come from."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def mentions(self, entity_id: int, limit: int, offset: int = 0) -> list[SaidAt]:
        """Mentions of an entity by document and place."""
        return self._said(
            "m.entity_id, m.chunk_id",
            "m.name, m.char_start, m.char_end, m.description FROM mentions m",
            "WHERE m.entity_id = ? ORDER BY d.path, d.id, c.ordinal, m.char_start, m.id LIMIT ? OFFSET ?",
            [entity_id, max(limit, 0), max(offset, 0)],
        )

    def count_mentions(self, entity_id: int) -> int:
        """Number of mentions of an entity."""
        return int(self._session.value("SELECT count(*) FROM mentions WHERE entity_id = ?", [entity_id]))

    def relation_mentions(self, relation_id: int, limit: int) -> list[SaidAt]:
        """The first mentions of a relation."""
        return self._said(
            "m.relation_id, m.chunk_id",
            "'', m.char_start, m.char_end, m.description FROM relation_mentions m",
            "WHERE m.relation_id = ? ORDER BY m.chunk_id, m.id LIMIT ?",
            [relation_id, max(limit, 0)],
        )

    def edges_among(self, entity_ids: Collection[int]) -> list[Edge]:
        """Relations with both ends among the entities; heaviest first, then by id."""
        ids = listed(entity_ids)
        rows = self._session.rows(
            "SELECT r.id, r.source_id, r.target_id, "
            "(SELECT count(DISTINCT chunk_id) FROM relation_mentions WHERE relation_id = r.id) AS weight "
            f"FROM relations r WHERE r.source_id {_IN} AND r.target_id {_IN} ORDER BY weight DESC, r.id",
            [ids, ids],
        )
        return [Edge(*row) for row in rows]

    def ends(self, entity_ids: Collection[int]) -> list[tuple[int, int, int]]:
        """The relations with an end among the entities, each with its source and its target, by id."""
        ids = listed(entity_ids)
        rows = self._session.rows(
            f"SELECT id, source_id, target_id FROM relations WHERE source_id {_IN} UNION "
            f"SELECT id, source_id, target_id FROM relations WHERE target_id {_IN} ORDER BY id",
            [ids, ids],
        )
        return [(relation, source, target) for relation, source, target in rows]

    def communities_of(self, entity_id: int) -> list[int]:
        """The communities that an entity is a member of, the finest first."""
        return self._session.column(
            "SELECT c.id FROM community_members m JOIN communities c ON c.id = m.community_id "
            "WHERE m.entity_id = ? ORDER BY c.level DESC, c.id",
            [entity_id],
        )

    def _said(self, owner: str, columns: str, rest: str, parameters: list[object]) -> list[SaidAt]:
        return [
            SaidAt(*row)
            for row in self._session.rows(
                f"SELECT {owner}, d.id, d.path, c.page, c.heading, c.char_start, c.text, {columns} "
                f"JOIN chunks c ON c.id = m.chunk_id JOIN documents d ON d.id = c.document_id {rest}",
                parameters,
            )
        ]
