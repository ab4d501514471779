"""The record of the model's work: its calls, what was not stored of them, and the prompts used."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import UTC, datetime

from localrag.errors import SourceGone, UsageError
from localrag.store.rows import GenerationRow, JournalTotals, Reject, RejectRow
from localrag.store.session import Session, listed
from localrag.store.sqlite import clean


class Journal:
    """Calls of the model that belong to no single chunk, and sums over all calls."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add_generation(self, generation: GenerationRow, sources: Iterable[int] = ()) -> int:
        """Store a call that belongs to no chunk, such as an answer's; returns its id.

        `sources` are the ids of the chunks that it rested on: the call goes with the first of them that is
        deleted. Raises `SourceGone` if one is not there any more.
        """
        with self._session.transaction():
            generation_id = insert_generation(self._session, generation)
            insert_sources(self._session, generation_id, sources)
        return generation_id

    def rejects(self, limit: int) -> list[RejectRow]:
        """The newest rejects, newest first."""
        return [
            RejectRow(*row)
            for row in self._session.rows(
                "SELECT r.id, g.chunk_id, r.kind, r.text, r.reason FROM rejects r "
                "JOIN generations g ON g.id = r.generation_id ORDER BY r.id DESC LIMIT ?",
                [max(limit, 0)],
            )
        ]

    def put_prompt(self, text: str) -> str:
        """Keep a prompt's text; returns its hash (sha256, hexadecimal)."""
        text = clean(text)
        digest = hashlib.sha256(text.encode("utf-8")).hexdigest()
        if self._session.value("SELECT 1 FROM prompts WHERE hash = ?", [digest]) is None:
            with self._session.transaction():
                self._session.run("INSERT OR IGNORE INTO prompts (hash, text) VALUES (?, ?)", [digest, text])
        return digest

    def prompt(self, digest: str) -> str:
        """The text of a kept prompt. Raises `UsageError` if there is none with this hash."""
        text = self._session.value("SELECT text FROM prompts WHERE hash = ?", [clean(digest)])
        if text is None:
            raise UsageError("The knowledge base holds no prompt with this hash.")
        return str(text)

    def totals(self) -> JournalTotals:
        """Sums over all calls. `parsed` was noted with each call; `stored` and `rejected` are counted now."""
        generations, parsed, output_tokens, milliseconds = self._session.row(
            "SELECT count(*), coalesce(sum(parsed), 0), coalesce(sum(output_tokens), 0), "
            "coalesce(sum(milliseconds), 0) FROM generations"
        ) or (0, 0, 0, 0)
        stored = self._session.value(
            "SELECT (SELECT count(*) FROM mentions WHERE generation_id IS NOT NULL) + "
            "(SELECT count(*) FROM relation_mentions WHERE generation_id IS NOT NULL) + "
            "(SELECT count(*) FROM claims WHERE generation_id IS NOT NULL)"
        )
        rejected = self._session.value("SELECT count(*) FROM rejects")
        return JournalTotals(generations, parsed, stored, rejected, output_tokens, milliseconds)


def insert_generation(
    session: Session, generation: GenerationRow, *, chunk_id: int | None = None, parsed: int = 0
) -> int:
    """Write a call within the caller's transaction; returns its id."""
    return session.insert(
        "INSERT INTO generations (chunk_id, task, prompt_hash, model, parameters, prompt_tokens, "
        "output_tokens, milliseconds, finish, parsed, created_at, output) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
        [
            chunk_id,
            clean(generation.task),
            clean(generation.prompt_hash),
            clean(generation.model),
            clean(generation.parameters),
            generation.prompt_tokens,
            generation.output_tokens,
            generation.milliseconds,
            clean(generation.finish),
            parsed,
            datetime.now(UTC).isoformat(timespec="seconds"),
            clean(generation.output),
        ],
    )


def insert_sources(session: Session, generation_id: int, sources: Iterable[int]) -> None:
    """Note which chunks a call rested on, within the caller's transaction.

    Raises `SourceGone` if one of them was deleted since: what the call wrote must not come after its source
    has gone.
    """
    wanted = sorted(set(sources))
    session.run(
        "INSERT INTO generation_sources (generation_id, chunk_id) "
        "SELECT ?, id FROM chunks WHERE id IN (SELECT value FROM json_each(?))",
        [generation_id, listed(wanted)],
    )
    stored = session.value("SELECT count(*) FROM generation_sources WHERE generation_id = ?", [generation_id])
    if stored != len(wanted):
        raise SourceGone("A passage that the model was reading from was deleted meanwhile.", "Try again.")


def insert_rejects(session: Session, generation_id: int, rejects: Iterable[Reject]) -> None:
    """Write rejects of a call within the caller's transaction."""
    session.run_many(
        "INSERT INTO rejects (generation_id, kind, text, reason) VALUES (?, ?, ?, ?)",
        [(generation_id, clean(r.kind), clean(r.text), clean(r.reason)) for r in rejects],
    )
