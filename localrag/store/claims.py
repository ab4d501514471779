"""Claims: what chunks say that someone did or is, each with the words that say so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import get_args

from localrag.errors import UsageError
from localrag.store.journal import insert_generation, insert_rejects
from localrag.store.origins import drop_calls, forget_readings, outdate
from localrag.store.report_rows import ClaimRow, ClaimStatus, NewClaim
from localrag.store.rows import GenerationRow, Reject
from localrag.store.session import Session, listed
from localrag.store.sqlite import clean

_ID_IN = "IN (SELECT value FROM json_each(?))"
_STATUSES = get_args(ClaimStatus)
_WIDE = {4: "-01-01", 7: "-01"}
_YEAR_FIRST = re.compile(r"\d{4}(-\d\d(-\d\d(T.+)?)?)?")

_SELECT = (
    "SELECT c.id, c.chunk_id, c.subject_id, coalesce(s.name, c.subject_key), c.object_id, "
    "coalesce(o.name, c.object_key), c.type, c.status, c.start_date, c.end_date, c.description "
    "FROM claims c LEFT JOIN entities s ON s.id = c.subject_id LEFT JOIN entities o ON o.id = c.object_id "
)

_EARLIER = (
    "SELECT id FROM generations g WHERE chunk_id = ? AND task = ? "
    "AND NOT EXISTS (SELECT 1 FROM mentions WHERE generation_id = g.id)"
)
"""Calls that read the claims of a chunk and nothing else."""


class Claims:
    """Stores and reads claims. They go with their chunk, and with every new reading of it."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def record(
        self,
        chunk_id: int,
        claims: Sequence[NewClaim],
        generation: GenerationRow,
        rejects: Sequence[Reject] = (),
    ) -> bool:
        """Store what a call of its own found in a chunk, in place of what such a call found before.

        Calls are told apart by their task. A claim that cannot be stored, see `put_claims`, becomes a reject.
        Returns False, and stores nothing, if the chunk was deleted meanwhile.
        """
        session = self._session
        with session.transaction():
            if session.value("SELECT 1 FROM chunks WHERE id = ?", [chunk_id]) is None:
                return False
            earlier = session.column(_EARLIER, [chunk_id, clean(generation.task)])
            parsed = len(claims) + len(rejects)
            generation_id = insert_generation(session, generation, chunk_id=chunk_id, parsed=parsed)
            if earlier:
                forget_readings(session, [chunk_id])
                drop_calls(session, earlier)
            refused = list(rejects)
            put_claims(session, chunk_id, generation_id, claims, refused)
            insert_rejects(session, generation_id, refused)
            session.touch()
        return True

    def get(self, claim_id: int) -> ClaimRow:
        """One claim. Raises `UsageError` if it is not there."""
        found = self.many([claim_id])
        if not found:
            raise UsageError(f"There is no claim {claim_id} in the knowledge base.")
        return found[0]

    def many(self, ids: Iterable[int]) -> list[ClaimRow]:
        """The claims in the order of `ids`; those that are gone are left out."""
        wanted = list(ids)
        found = {row.id: row for row in self._rows(f"WHERE c.id {_ID_IN}", [listed(wanted)])}
        return [found[claim_id] for claim_id in wanted if claim_id in found]

    def all(self, limit: int, offset: int = 0) -> list[ClaimRow]:
        """Claims in the order of their chunks."""
        return self._rows("ORDER BY c.chunk_id, c.id LIMIT ? OFFSET ?", [max(limit, 0), max(offset, 0)])

    def of_entity(self, entity_id: int) -> list[ClaimRow]:
        """Claims that an entity is the subject or the object of, in the order of their chunks."""
        return self._rows(
            "WHERE c.subject_id = ?1 OR c.object_id = ?1 ORDER BY c.chunk_id, c.id", [entity_id]
        )

    def of_chunk(self, chunk_id: int) -> list[ClaimRow]:
        """Claims that a chunk makes, in the order in which they were written."""
        return self._rows("WHERE c.chunk_id = ? ORDER BY c.id", [chunk_id])

    def among(self, entity_ids: Iterable[int], limit: int) -> list[ClaimRow]:
        """Claims about these entities, in the order of their chunks."""
        return self._rows(
            f"WHERE c.subject_id {_ID_IN} ORDER BY c.chunk_id, c.id LIMIT ?",
            [listed(entity_ids), max(limit, 0)],
        )

    def count(self) -> int:
        """Number of claims."""
        return int(self._session.value("SELECT count(*) FROM claims"))

    def _rows(self, rest: str, parameters: Sequence[object]) -> list[ClaimRow]:
        rows = self._session.rows(_SELECT + rest, parameters)
        quotes: dict[int, list[str]] = {}
        for claim_id, text in self._session.rows(
            "SELECT q.claim_id, substr(t.text, q.char_start + 1, q.char_end - q.char_start) "
            "FROM claim_quotes q JOIN claims c ON c.id = q.claim_id JOIN chunks t ON t.id = c.chunk_id "
            f"WHERE q.claim_id {_ID_IN} ORDER BY q.claim_id, q.char_start, q.char_end",
            [listed(row[0] for row in rows)],
        ):
            quotes.setdefault(claim_id, []).append(text)
        return [ClaimRow(*(*row, tuple(quotes.get(row[0], ())))) for row in rows]


def put_claims(
    session: Session,
    chunk_id: int,
    generation_id: int,
    claims: Iterable[NewClaim],
    refused: list[Reject],
) -> int:
    """Write the claims of a chunk within the caller's transaction; returns how many were stored.

    The chunk's mentions have to be there. What cannot be stored joins `refused`: a subject or an object that
    the chunk does not mention, no quote or one outside of the chunk's text, an unknown status, a date that is
    none. Each claim counts as one record of the call, as each reject does.
    """
    characters = session.value("SELECT length(text) FROM chunks WHERE id = ?", [chunk_id])
    known: dict[str, int | None] = {}
    for key, entity_id in session.rows(
        "SELECT key, entity_id FROM mentions WHERE chunk_id = ? ORDER BY id", [chunk_id]
    ):
        # A person may have deleted the entity of one mention and not that of the next.
        if known.get(key) is None:
            known[key] = entity_id
    about: list[int | None] = []
    for claim in claims:
        reason = _refusal(claim, known, characters)
        if reason:
            shown = f"{claim.subject_key} → {claim.object_key or '-'}: {claim.type}: {claim.description}"
            refused.append(Reject("claim", shown, reason))
            continue
        _insert(session, chunk_id, generation_id, claim, known)
        about.append(known[clean(claim.subject_key)])
    outdate(session, [entity_id for entity_id in about if entity_id is not None])
    return len(about)


def _refusal(claim: NewClaim, known: dict[str, int | None], characters: int) -> str:
    """Why a claim cannot be stored; empty if it can."""
    if clean(claim.subject_key) not in known:
        return "Its subject is not an entity of this passage."
    if claim.object_key and clean(claim.object_key) not in known:
        return "Its object is not an entity of this passage."
    if claim.status not in _STATUSES:
        return "Its status is neither TRUE nor FALSE nor SUSPECTED."
    if not claim.description.strip() or not claim.type.strip():
        return "It has no type or says nothing."
    if not claim.quotes or not all(0 <= start < end <= characters for start, end in claim.quotes):
        return "It has no quote out of this passage."
    if not all(_is_date(text) for text in (claim.start_date, claim.end_date)):
        return "Its date is none."
    return ""


def _is_date(text: str) -> bool:
    """Whether a text is empty, a year, a month, a day or a moment by ISO 8601."""
    if not text:
        return True
    if not _YEAR_FIRST.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text + _WIDE.get(len(text), ""))
    except ValueError:
        return False
    return True


def _insert(
    session: Session, chunk_id: int, generation_id: int, claim: NewClaim, known: dict[str, int | None]
) -> None:
    subject_key, object_key = clean(claim.subject_key), clean(claim.object_key)
    claim_id = session.insert(
        "INSERT INTO claims (chunk_id, generation_id, subject_key, object_key, subject_id, object_id, type, "
        "status, start_date, end_date, description) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
        [
            chunk_id,
            generation_id,
            subject_key,
            object_key,
            known[subject_key],
            known.get(object_key),
            clean(claim.type),
            claim.status,
            claim.start_date,
            claim.end_date,
            clean(claim.description),
        ],
    )
    session.run_many(
        "INSERT OR IGNORE INTO claim_quotes (claim_id, char_start, char_end) VALUES (?, ?, ?)",
        [(claim_id, start, end) for start, end in claim.quotes],
    )
