"""Reads documents for a list of all of them, and what was read in a passage, where it stands in its text."""

from __future__ import annotations

from collections.abc import Iterable

from localrag.store.rows import DocumentRow
from localrag.store.session import Row, Session
from localrag.store.shelf_rows import Finding, PassagePlace, ShelfRow

_LIST = """
    SELECT d.id, d.path, d.root, d.sha256, d.size, d.mtime, d.media_type, d.title, d.language, d.status,
        d.reason, d.characters, coalesce(c.total, 0), coalesce(c.read, 0), coalesce(c.failed, 0), d.added_at,
        (SELECT page FROM chunks WHERE document_id = d.id ORDER BY ordinal DESC LIMIT 1)
    FROM documents d LEFT JOIN (
        SELECT document_id, count(*) AS total, sum(state = 'read') AS read, sum(state = 'failed') AS failed
        FROM chunks INDEXED BY chunks_state GROUP BY document_id
    ) c ON c.document_id = d.id
    ORDER BY d.root, d.path
"""


class Shelf:
    """Reads what people look through: all documents in one go, and passages with what was found in them."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def rows(self) -> list[ShelfRow]:
        """All documents with their tags, by root and path."""
        tags: dict[int, list[str]] = {}
        for document_id, name in self._session.rows("SELECT document_id, name FROM tags ORDER BY tag"):
            tags.setdefault(document_id, []).append(name)
        left_out: dict[int, int] = dict(
            self._session.rows(
                "SELECT document_id, count(*) FROM chunks WHERE state <> 'read' AND state = 'failed' "
                "AND left_out = 1 GROUP BY document_id"
            )
        )
        return [
            ShelfRow(
                DocumentRow(*values),
                added_at,
                page,
                tuple(tags.get(values[0], ())),
                left_out.get(values[0], 0),
            )
            for *values, added_at, page in self._session.rows(_LIST)
        ]

    def passages(self, document_id: int) -> list[PassagePlace]:
        """The passages of a document in their order."""
        rows = self._session.rows(
            "SELECT id, char_start, char_end, heading, page, tokens, state, error FROM chunks "
            "WHERE document_id = ? ORDER BY ordinal",
            [document_id],
        )
        return [PassagePlace(*row) for row in rows]

    def findings(self, chunk_id: int) -> list[Finding]:
        """What was read in a passage: entities, relations and claims, each in the order of writing."""
        return [*self._entities(chunk_id), *self._relations(chunk_id), *self._claims(chunk_id)]

    def _entities(self, chunk_id: int) -> Iterable[Finding]:
        """One for each entity, with all places in which it is named."""
        rows = self._session.rows(
            "SELECT e.id, coalesce(e.name, m.name), m.type, m.description, m.char_start, m.char_end "
            "FROM mentions m LEFT JOIN entities e ON e.id = m.entity_id WHERE m.chunk_id = ? ORDER BY m.id",
            [chunk_id],
        )
        found: dict[tuple[int | None, str], list[Row]] = {}
        for row in rows:
            found.setdefault((row[0], row[1]), []).append(row)
        for (entity_id, name), mentions in found.items():
            said = dict.fromkeys(row[3] for row in mentions if row[3])
            spans = _spans((row[4], row[5]) for row in mentions)
            yield Finding("entity", entity_id, entity_id, name, mentions[0][2], " ".join(said), "", spans)

    def _relations(self, chunk_id: int) -> Iterable[Finding]:
        rows = self._session.rows(
            "SELECT r.id, s.id, coalesce(s.name, m.source_key), coalesce(t.name, m.target_key), m.keywords, "
            "m.description, m.strength, m.char_start, m.char_end FROM relation_mentions m "
            "LEFT JOIN relations r ON r.id = m.relation_id LEFT JOIN entities s ON s.id = r.source_id "
            "LEFT JOIN entities t ON t.id = r.target_id WHERE m.chunk_id = ? ORDER BY m.id",
            [chunk_id],
        )
        for relation_id, entity_id, source, target, keywords, description, strength, start, end in rows:
            detail = "" if strength is None else f"strength {strength:g}"
            spans = _spans([(start, end)])
            yield Finding(
                "relation",
                relation_id,
                entity_id,
                f"{source} → {target}",
                keywords,
                description,
                detail,
                spans,
            )

    def _claims(self, chunk_id: int) -> Iterable[Finding]:
        quotes: dict[int, list[tuple[int, int]]] = {}
        for claim_id, start, end in self._session.rows(
            "SELECT q.claim_id, q.char_start, q.char_end FROM claim_quotes q "
            "JOIN claims c ON c.id = q.claim_id WHERE c.chunk_id = ?",
            [chunk_id],
        ):
            quotes.setdefault(claim_id, []).append((start, end))
        rows = self._session.rows(
            "SELECT c.id, c.subject_id, coalesce(s.name, c.subject_key), coalesce(o.name, c.object_key), "
            "c.type, c.status, c.start_date, c.end_date, c.description FROM claims c "
            "LEFT JOIN entities s ON s.id = c.subject_id LEFT JOIN entities o ON o.id = c.object_id "
            "WHERE c.chunk_id = ? ORDER BY c.id",
            [chunk_id],
        )
        for claim_id, entity_id, subject, other, kind, status, start, end, description in rows:
            name = f"{subject} → {other}" if other else subject
            detail = ", ".join(part for part in (status, " to ".join(filter(None, (start, end)))) if part)
            spans = _spans(quotes.get(claim_id, ()))
            yield Finding("claim", claim_id, entity_id, name, kind, description, detail, spans)


def _spans(places: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The places that are known, each once."""
    return tuple(sorted({(start, end) for start, end in places if 0 <= start < end}))
