"""Chunks: the passages that are read, searched and cited, and how far their reading is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from localrag.errors import UsageError
from localrag.store.reading_rows import ReadingsTaken
from localrag.store.rows import ChunkCounts, ChunkRow, WaitingChunk
from localrag.store.session import Row, Session, listed
from localrag.store.sqlite import clean
from localrag.store.upkeep import settle_document

_COLUMNS = (
    "id, document_id, ordinal, char_start, char_end, heading, page, tokens, language, state, attempts, "
    "error, text"
)

MAX_ATTEMPTS = 2
"""Readings after which a passage is not tried again by itself."""


class Chunks:
    """Reads chunks and keeps their state. They are written by `Documents`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, chunk_id: int) -> ChunkRow:
        """One chunk. Raises `UsageError` if it is not there."""
        row = self._session.row(f"SELECT {_COLUMNS} FROM chunks WHERE id = ?", [chunk_id])
        if row is None:
            raise UsageError(f"There is no passage {chunk_id} in the knowledge base.")
        return ChunkRow(*row)

    def many(self, ids: Iterable[int]) -> list[ChunkRow]:
        """The chunks in the order of `ids`; those that are gone are left out."""
        wanted = list(ids)
        rows = self._session.rows(
            f"SELECT {_COLUMNS} FROM chunks WHERE id IN (SELECT value FROM json_each(?))", [listed(wanted)]
        )
        found = {row[0]: ChunkRow(*row) for row in rows}
        return [found[chunk_id] for chunk_id in wanted if chunk_id in found]

    def of_document(self, document_id: int) -> list[ChunkRow]:
        """The document's chunks in their order."""
        rows = self._session.rows(
            f"SELECT {_COLUMNS} FROM chunks WHERE document_id = ? ORDER BY ordinal", [document_id]
        )
        return [ChunkRow(*row) for row in rows]

    def pending(self, limit: int | None = None, max_attempts: int = MAX_ATTEMPTS) -> list[ChunkRow]:
        """Chunks to be read, in the order of their documents: those never read, and those that failed fewer
        than `max_attempts` times and are not left out, after the others."""
        rows: list[Row] = []
        for state, most in (("pending", None), ("failed", max_attempts)):
            rows += self._session.rows(
                f"SELECT {_COLUMNS} FROM chunks WHERE state <> 'read' AND state = ?1 "
                "AND (?2 IS NULL OR (attempts < ?2 AND left_out = 0)) ORDER BY document_id, ordinal LIMIT ?3",
                [state, most, -1 if limit is None else max(limit - len(rows), 0)],
            )
        return [ChunkRow(*row) for row in rows]

    def waiting(self, max_attempts: int = MAX_ATTEMPTS) -> tuple[list[WaitingChunk], list[WaitingChunk]]:
        """What `pending` gives, without texts: those never read, and those that failed before."""
        found: tuple[list[WaitingChunk], list[WaitingChunk]] = ([], [])
        for rows, state, most in zip(found, ("pending", "failed"), (None, max_attempts), strict=True):
            rows += [
                WaitingChunk(*row)
                for row in self._session.rows(
                    "SELECT id, document_id, tokens FROM chunks WHERE state <> 'read' AND state = ?1 "
                    "AND (?2 IS NULL OR (attempts < ?2 AND left_out = 0)) ORDER BY document_id, ordinal",
                    [state, most],
                )
            ]
        return found

    def tokens_of(self, ids: Iterable[int]) -> int:
        """Estimated tokens of the texts of chunks together."""
        return int(
            self._session.value(
                "SELECT coalesce(sum(tokens), 0) FROM chunks WHERE id IN (SELECT value FROM json_each(?))",
                [listed(ids)],
            )
        )

    def taken(
        self, tasks: Collection[str], model: str = "", programs: Collection[str] = (), last: int = 400
    ) -> ReadingsTaken:
        """What the last readings of a model took, by its fingerprint; without one, of that of the last call.

        `tasks` are the calls that count. What a program wrote without a model does not, and with `programs`
        only chunks count that one of these kinds of programs has written about, or nobody
        knows which.
        """
        model = model or self._session.value(
            "SELECT model FROM generations WHERE chunk_id IS NOT NULL AND model <> '' "
            "ORDER BY id DESC LIMIT 1"
        )
        rows = self._session.rows(
            "SELECT g.chunk_id, c.tokens, g.prompt_tokens - CASE WHEN json_valid(g.parameters) "
            "THEN coalesce(json_extract(g.parameters, '$.shared_tokens'), 0) "
            "- coalesce(json_extract(g.parameters, '$.weighed_tokens'), 0) ELSE 0 END, g.output_tokens, "
            "g.milliseconds, CAST(strftime('%s', g.created_at) AS INTEGER) "
            "FROM generations g JOIN chunks c ON c.id = g.chunk_id WHERE g.model = ?1 "
            "AND g.task IN (SELECT value FROM json_each(?2)) AND (?3 = '[]' OR EXISTS (SELECT 1 "
            "FROM generations o WHERE o.chunk_id = g.chunk_id AND o.model = g.model AND "
            "coalesce(CASE WHEN json_valid(o.parameters) THEN json_extract(o.parameters, '$.program') END "
            "IN (SELECT value FROM json_each(?3)), 1))) ORDER BY g.id DESC LIMIT ?4",
            [model or "", listed(tasks), listed(programs), last],
        )
        chunks = {row[0]: row[1] for row in rows}
        return ReadingsTaken(
            chunks=len(chunks),
            chunk_tokens=sum(chunks.values()),
            calls=len(rows),
            prompt_tokens=sum(max(row[2], 0) for row in rows),
            written_tokens=sum(row[3] for row in rows),
            seconds=_working_seconds([(row[5] or 0, row[4] / 1000) for row in reversed(rows)]),
        )

    def unread_of(self, ids: Iterable[int]) -> set[int]:
        """Those of the chunks that the model has not read."""
        return set(
            self._session.column(
                "SELECT id FROM chunks WHERE state <> 'read' AND id IN (SELECT value FROM json_each(?))",
                [listed(ids)],
            )
        )

    def any_unread(self) -> bool:
        """Whether a chunk is there that the model has not read."""
        return self._session.value("SELECT 1 FROM chunks WHERE state <> 'read' LIMIT 1") is not None

    def count(self) -> ChunkCounts:
        """Chunks by state."""
        counts: dict[str, int] = dict(self._session.rows("SELECT state, count(*) FROM chunks GROUP BY state"))
        read, failed, pending = (int(counts.get(state, 0)) for state in ("read", "failed", "pending"))
        return ChunkCounts(read + failed + pending, read, failed, pending)

    def mark_failed(self, chunk_id: int, error: str, attempts: int = 1, *, left_out: bool = False) -> None:
        """Count one or more failed attempts and keep the reason; `left_out` says that no run is to try again.

        What an earlier reading found stays, and so does the state of a chunk that was read before. A chunk
        that is gone is no error.
        """
        with self._session.transaction():
            self._session.run(
                "UPDATE chunks SET attempts = attempts + ?, error = ?, left_out = ?, "
                "state = CASE state WHEN 'read' THEN 'read' ELSE 'failed' END WHERE id = ?",
                [attempts, clean(error), int(left_out), chunk_id],
            )
            document_id = self._session.value("SELECT document_id FROM chunks WHERE id = ?", [chunk_id])
            if document_id is not None:
                settle_document(self._session, document_id)


def _working_seconds(ends: Sequence[tuple[int, float]]) -> float:
    """The time in which calls were at work, from the second in which each ended and how long it took.

    Calls run side by side; a gap that is longer than the call behind it is one between two runs.
    """
    seconds, before = 0.0, None
    for ended, took in ends:
        seconds += took if before is None else min(max(ended - before, 0), took)
        before = ended
    return seconds
