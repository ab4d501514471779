"""Looks through claims: which passages are to be read, lists, timelines, contradictions, what has claims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from localrag.store.claim_rows import (
    ClaimCount,
    ClaimQuery,
    ClaimSet,
    ClaimTest,
    Contradiction,
    Difference,
    PlacedClaim,
)
from localrag.store.claims import Claims
from localrag.store.origins import drop_calls, forget_readings
from localrag.store.report_rows import ClaimName
from localrag.store.session import Session, listed
from localrag.store.sqlite import clean

_IN = "IN (SELECT value FROM json_each(?))"

_DATED = "(c.start_date <> '' OR c.end_date <> '')"
_LAST_DAY = "9999-12-31"

_BY_TIME = (
    f"ORDER BY NOT {_DATED}, coalesce(nullif(c.start_date, ''), c.end_date), "
    f"coalesce(nullif(c.end_date, ''), '{_LAST_DAY}'), c.id"
)

# Claims of one type about the same pair that say something else. What the same words are quoted for by two
# readings is no contradiction of the texts.
_CONTRADICTIONS = (
    "SELECT a.id, b.id, a.status <> b.status, "
    "coalesce(nullif(a.end_date, ''), ?1) < b.start_date OR coalesce(nullif(b.end_date, ''), ?1) "
    "< a.start_date AS apart "
    "FROM claims a JOIN claims b ON b.subject_id = a.subject_id AND b.object_id IS a.object_id "
    "AND b.type = a.type AND b.id > a.id "
    "WHERE (a.object_key = '') = (b.object_key = '') AND (a.object_key = '' OR a.object_id IS NOT NULL) "
    "AND (?2 IS NULL OR a.subject_id = ?2 OR a.object_id = ?2) "
    "AND (a.status <> b.status OR apart) "
    "AND NOT EXISTS (SELECT 1 FROM claim_quotes p JOIN claim_quotes q ON q.claim_id = b.id "
    "AND q.char_start = p.char_start AND q.char_end = p.char_end "
    "WHERE p.claim_id = a.id AND a.chunk_id = b.chunk_id) "
    "ORDER BY min(a.status, b.status) <> 'FALSE' OR max(a.status, b.status) <> 'TRUE', "
    "a.status = b.status, a.id, b.id LIMIT ?3"
)


def claim_condition(test: ClaimTest, table: str = "c") -> tuple[str, list[Any]]:
    """A condition on rows of claims, and its parameters."""
    conditions, parameters = ["TRUE"], []
    for column, wanted in (("type", test.types), ("status", test.statuses)):
        if wanted:
            conditions.append(f"{table}.{column} {_IN}")
            parameters.append(listed(clean(text).upper() for text in wanted))
    return " AND ".join(conditions), parameters


class ClaimSearch:
    """Reads claims the way a person looks for them, and says which passages have none yet."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._claims = Claims(session)

    def unread(self, task: str, chunk_ids: Iterable[int] | None = None, *, again: bool = False) -> list[int]:
        """Passages with entities whose claims were not read by calls of this task, in the documents' order.

        `chunk_ids` narrows them; with `again` those are among them that were read so before.
        """
        ids = None if chunk_ids is None else listed(chunk_ids)
        return self._session.column(
            "SELECT c.id FROM chunks c WHERE c.state = 'read' "
            "AND EXISTS (SELECT 1 FROM mentions m WHERE m.chunk_id = c.id AND m.entity_id IS NOT NULL) "
            "AND (?2 OR NOT EXISTS (SELECT 1 FROM generations g WHERE g.task = ?1 AND g.chunk_id = c.id)) "
            "AND (?3 IS NULL OR c.id IN (SELECT value FROM json_each(?3))) "
            "ORDER BY c.document_id, c.ordinal",
            [clean(task), int(again), ids],
        )

    def names(self, chunk_id: int) -> list[ClaimName]:
        """The names of entities that were read in a passage, each key once, in their order."""
        rows = self._session.rows(
            "SELECT m.key, m.name, e.type, e.key FROM mentions m JOIN entities e ON e.id = m.entity_id "
            "WHERE m.chunk_id = ? ORDER BY m.id",
            [chunk_id],
        )
        names: dict[str, ClaimName] = {}
        for row in rows:
            names.setdefault(row[0], ClaimName(*row))
        return list(names.values())

    def stored(self, chunk_id: int, task: str) -> int:
        """How many claims of a passage calls of this task have found."""
        return int(
            self._session.value(
                "SELECT count(*) FROM claims c JOIN generations g ON g.id = c.generation_id "
                "WHERE c.chunk_id = ? AND g.task = ?",
                [chunk_id, clean(task)],
            )
        )

    def find(self, query: ClaimQuery, limit: int) -> list[PlacedClaim]:
        """Claims by time, those without a date last."""
        condition, parameters = claim_condition(query.test)
        conditions = [condition]
        if query.entity_id is not None:
            conditions.append("(c.subject_id = ? OR c.object_id = ?)")
            parameters += [query.entity_id] * 2
        if query.documents:
            conditions.append(f"c.chunk_id IN (SELECT id FROM chunks WHERE document_id {_IN})")
            parameters.append(listed(query.documents))
        if query.since or query.until:
            conditions.append(_DATED)
        if query.since:
            conditions.append(f"coalesce(nullif(c.end_date, ''), '{_LAST_DAY}') >= ?")
            parameters.append(clean(query.since))
        if query.until:
            conditions.append("c.start_date <= ?")
            parameters.append(clean(query.until))
        return self.placed(
            self._session.column(
                f"SELECT c.id FROM claims c WHERE {' AND '.join(conditions)} {_BY_TIME} LIMIT ?",
                [*parameters, max(limit, 0)],
            )
        )

    def types(self) -> list[str]:
        """The types of claims, the most frequent first."""
        return self._session.column("SELECT type FROM claims GROUP BY type ORDER BY count(*) DESC, type")

    def entity_types(self) -> list[str]:
        """The types of entities, by name."""
        return self._session.column("SELECT DISTINCT type FROM entities ORDER BY type")

    def contradictions(self, entity_id: int | None = None, limit: int = 100) -> list[Contradiction]:
        """Pairs of claims of one type about the same entities with another status or other days.

        Those that say TRUE and FALSE come first, those that differ in their days alone last. `entity_id`
        narrows them to one entity.
        """
        rows = self._session.rows(_CONTRADICTIONS, [_LAST_DAY, entity_id, max(limit, 0)])
        placed = {item.claim.id: item for item in self.placed({claim for row in rows for claim in row[:2]})}
        found = []
        for first, second, status, apart in rows:
            kinds: tuple[tuple[Difference, object], ...] = (("status", status), ("dates", apart))
            differs = tuple(name for name, differ in kinds if differ)
            found.append(Contradiction(placed[first], placed[second], differs))
        return found

    def documents(self, test: ClaimTest, limit: int) -> list[ClaimCount]:
        """Documents that make such claims, those with the most first."""
        condition, parameters = claim_condition(test)
        return self._counts(
            "SELECT d.id, d.path, count(*) FROM claims c JOIN chunks t ON t.id = c.chunk_id "
            f"JOIN documents d ON d.id = t.document_id WHERE {condition} "
            "GROUP BY d.id ORDER BY count(*) DESC, d.path, d.id LIMIT ?",
            [*parameters, max(limit, 0)],
        )

    def entities(self, test: ClaimTest, limit: int) -> list[ClaimCount]:
        """Entities that such claims are about, those with the most first."""
        condition, parameters = claim_condition(test)
        return self._counts(
            f"SELECT e.id, e.name, count(*) FROM claims c JOIN entities e ON e.id = c.subject_id "
            f"WHERE {condition} GROUP BY e.id ORDER BY count(*) DESC, e.key LIMIT ?",
            [*parameters, max(limit, 0)],
        )

    def sets(self, prefix: str) -> list[ClaimSet]:
        """What was read with each specification; `prefix` begins the names of their tasks."""
        rows = self._session.rows(
            "SELECT g.task, max(g.id), count(DISTINCT g.chunk_id), "
            "(SELECT count(*) FROM claims c JOIN generations h ON h.id = c.generation_id "
            "WHERE h.task = g.task) "
            "FROM generations g WHERE substr(g.task, 1, length(?1)) = ?1 GROUP BY g.task ORDER BY max(g.id)",
            [clean(prefix)],
        )
        parameters: dict[int, str] = dict(
            self._session.rows(
                f"SELECT id, parameters FROM generations WHERE id {_IN}", [listed(row[1] for row in rows)]
            )
        )
        return [ClaimSet(task, parameters[last], chunks, claims) for task, last, chunks, claims in rows]

    def drop(self, task: str) -> int:
        """Delete the claims of one specification with their calls; returns how many claims went."""
        session = self._session
        with session.transaction():
            calls = session.rows("SELECT id, chunk_id FROM generations WHERE task = ?", [clean(task)])
            before = self._claims.count()
            if calls:
                forget_readings(session, [chunk for _, chunk in calls if chunk is not None])
                drop_calls(session, [call for call, _ in calls])
                session.touch()
            return before - self._claims.count()

    def _counts(self, sql: str, parameters: Sequence[Any]) -> list[ClaimCount]:
        return [ClaimCount(*row) for row in self._session.rows(sql, parameters)]

    def placed(self, ids: Iterable[int]) -> list[PlacedClaim]:
        """The claims in the order of `ids` with their places; those that are gone are left out."""
        wanted = list(ids)
        claims = {claim.id: claim for claim in self._claims.many(wanted)}
        begins: dict[int, int] = {}
        places: dict[int, tuple[int, str, int, int | None]] = {}
        for claim_id, begin, *place in self._session.rows(
            "SELECT c.id, t.char_start, d.id, d.path, t.ordinal, t.page FROM claims c "
            "JOIN chunks t ON t.id = c.chunk_id JOIN documents d ON d.id = t.document_id "
            f"WHERE c.id {_IN}",
            [listed(wanted)],
        ):
            begins[claim_id] = begin
            places[claim_id] = (place[0], place[1], place[2], place[3])
        spans: dict[int, list[tuple[int, int]]] = {}
        for claim_id, start, end in self._session.rows(
            f"SELECT claim_id, char_start, char_end FROM claim_quotes WHERE claim_id {_IN} "
            "ORDER BY claim_id, char_start, char_end",
            [listed(wanted)],
        ):
            begin = begins[claim_id]
            spans.setdefault(claim_id, []).append((begin + start, begin + end))
        return [
            PlacedClaim(claims[item], *places[item], tuple(spans.get(item, ())))
            for item in wanted
            if item in claims
        ]
