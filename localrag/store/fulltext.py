"""Full-text search over chunks, in FTS5 tables that any SQLite can read.

The rows are written and removed by `Documents` in the transactions that write and remove the chunks.
`terms.py` says what the two tables hold.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping

from localrag.store import rarity
from localrag.store.filters import Ids
from localrag.store.session import Session, listed
from localrag.store.space_rows import Hit
from localrag.store.sqlite import clean, sqlite3
from localrag.store.terms import TERMS_VERSION, any_of, codes_of, fold, terms_of, words_of

DEPTH = 200
"""Fewest rows taken from each table before the two lists become one."""

SCANNED = 1000
"""Most rows that a search without an index may find."""

_TABLES = ("chunk_words", "chunk_codes")
_BATCH = 2000


class FullText:
    """Search for words, and the upkeep of the rows that make it possible."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._removed = False

    def search(
        self, query: str, limit: int, ids: Collection[int] | None = None, *, whole: bool = False
    ) -> list[Hit]:
        """Chunks that hold at least one term of the query, best first.

        Takes any text and never raises because of what it says. `ids`, if given, are the only chunks that
        count. Each table's BM25 is divided by its best value and the two are added, so a score lies in
        (0, 2]; it compares the hits of one search, not those of two. Ties go by id. In a large knowledge base
        the rarest terms choose the hits and common ones only order them (see rarity.py), unless `whole`.
        """
        if limit <= 0 or (ids is not None and not ids):
            return []
        ids = None if ids is None else Ids.of(ids)
        terms = terms_of(clean(query))
        scores: dict[int, float] = {}
        try:
            for table, wanted in zip(_TABLES, (terms.words, terms.codes), strict=True):
                for chunk_id, score in self._ranked(table, wanted, limit, ids, whole):
                    scores[chunk_id] = scores.get(chunk_id, 0.0) + score
        except sqlite3.OperationalError:
            # A newer SQLite wrote the tables in a form that this one cannot read, and the file is read-only.
            scores = self._scan(terms.plain, ids)
        if terms.signs:
            scores = self._scan(terms.signs, ids)
        best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:limit]
        return [Hit(chunk_id, score) for chunk_id, score in best]

    def holding(self, question: str) -> dict[str, int]:
        """The words of a question, folded, each with about how many chunks hold it."""
        found = terms_of(clean(question)).words
        counts = rarity.counts(self._session, _TABLES[0], found)
        return {term.rstrip("*").strip('"').replace('""', '"'): counts[term] for term in found}

    def rebuild(self) -> None:
        """Make all rows anew from the chunks, in one transaction."""
        session = self._session
        with session.transaction():
            self._make_readable()
            for table in _TABLES:
                session.run(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")
            last = 0
            while ids := session.column(
                "SELECT id FROM chunks WHERE id > ? ORDER BY id LIMIT ?", [last, _BATCH]
            ):
                self.add(ids)
                last = ids[-1]
            session.run("UPDATE meta SET terms_version = ?", [TERMS_VERSION])

    def prepare(self) -> None:
        """Bring the rows in step with this program and this SQLite; called once after opening to write."""
        made_by = self._session.value("SELECT terms_version FROM meta")
        if made_by != TERMS_VERSION or not self._readable():
            self.rebuild()
        # Looked at first: opening must not wait for a writer who is at work.
        open_ = [table for table in _TABLES if self._can_secure() and not self._secured(table)]
        if open_:
            with self._session.transaction():
                for table in open_:
                    self._session.run(f"INSERT INTO {table} ({table}, rank) VALUES ('secure-delete', 1)")

    def add(self, chunk_ids: Iterable[int]) -> None:
        """Write the rows of new chunks, within the caller's transaction."""
        for chunk_id, words, codes in self.rows_of(chunk_ids):
            self._session.run("INSERT INTO chunk_words (rowid, text) VALUES (?, ?)", [chunk_id, words])
            self._session.run("INSERT INTO chunk_codes (rowid, text) VALUES (?, ?)", [chunk_id, codes])

    def remove(self, chunk_ids: Iterable[int]) -> None:
        """Remove the rows of chunks that are still there, within the caller's transaction."""
        self._removed = True
        for chunk_id, words, codes in self.rows_of(chunk_ids):
            for table, text in zip(_TABLES, (words, codes), strict=True):
                self._session.run(
                    f"INSERT INTO {table} ({table}, rowid, text) VALUES ('delete', ?, ?)", [chunk_id, text]
                )

    def tidy(self) -> None:
        """Let go of removed words where this SQLite kept them in old segments; called before closing."""
        if self._removed and not self._can_secure():
            with self._session.transaction():
                for table in _TABLES:
                    self._session.run(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
        self._removed = False

    def problems(self) -> list[str]:
        """Chunks without a row and rows without a chunk, in words."""
        found = []
        for table in _TABLES:
            rows = f"SELECT id FROM {table}_docsize"
            missing = self._session.value(f"SELECT count(*) FROM chunks WHERE id NOT IN ({rows})")
            ghosts = self._session.value(
                f"SELECT count(*) FROM ({rows}) WHERE id NOT IN (SELECT id FROM chunks)"
            )
            if missing or ghosts:
                found.append(f"Full text ({table}): {missing} passages are missing, {ghosts} are too many.")
        return found

    def _ranked(
        self, table: str, wanted: Collection[str], limit: int, ids: Ids | None, whole: bool
    ) -> list[tuple[int, float]]:
        if not wanted:
            return []
        depth = max(limit, DEPTH)
        budget = rarity.BUDGET if ids is None else rarity.FILTERED * rarity.BUDGET
        parted = rarity.split(self._session, table, wanted, limit, sys.maxsize if whole else budget)
        if parted.common:
            found = self._matches(table, parted.leading, max(depth, rarity.CANDIDATES), ids)
            rows = self._with_common(found, parted.common)[:depth]
        else:
            rows = self._matches(table, parted.leading, depth, ids)
        best = rows[0][1] if rows else 0.0
        return [(chunk_id, score / best if best > 0 else 1.0) for chunk_id, score in rows]

    def _matches(
        self, table: str, wanted: Collection[str], depth: int, ids: Ids | None
    ) -> list[tuple[int, float]]:
        """The best rows with one of the terms, with their BM25."""
        # The + keeps SQLite from running the whole query again for each id.
        only = "" if ids is None else "AND +rowid IN (SELECT value FROM json_each(?))"
        return [
            (chunk_id, score)
            for chunk_id, score in self._session.rows(
                f"SELECT rowid, -bm25({table}) AS score FROM {table} WHERE {table} MATCH ? {only} "
                "ORDER BY score DESC, rowid LIMIT ?",
                [any_of(wanted), *([] if ids is None else [ids.listed]), depth],
            )
        ]

    def _with_common(
        self, rows: list[tuple[int, float]], common: Mapping[str, float]
    ) -> list[tuple[int, float]]:
        """The rows with what common words add to their scores, best first."""
        texts = self._session.rows(
            "SELECT id, heading || char(10) || text FROM chunks WHERE id IN (SELECT value FROM json_each(?))",
            [listed(chunk_id for chunk_id, _ in rows)],
        )
        more = {chunk_id: rarity.added(common, fold(text)) for chunk_id, text in texts}
        scored = [(chunk_id, score + more.get(chunk_id, 0.0)) for chunk_id, score in rows]
        return sorted(scored, key=lambda row: (-row[1], row[0]))

    def _scan(self, terms: Collection[str], ids: Ids | None) -> dict[int, float]:
        """Share of the terms that each chunk's text holds, found without an index."""
        if not terms:
            return {}
        patterns = ["%" + _escaped(term) + "%" for term in terms]
        matches = " + ".join(["(text LIKE ? ESCAPE '!' OR heading LIKE ? ESCAPE '!')"] * len(patterns))
        twice = [pattern for pattern in patterns for _ in ("text", "heading")]
        only = "" if ids is None else "WHERE id IN (SELECT value FROM json_each(?))"
        rows = self._session.rows(
            f"SELECT id, n FROM (SELECT id, {matches} AS n FROM chunks {only}) "
            "WHERE n > 0 ORDER BY n DESC, id LIMIT ?",
            [*twice, *([] if ids is None else [ids.listed]), SCANNED],
        )
        return {chunk_id: count / len(patterns) for chunk_id, count in rows}

    def rows_of(self, chunk_ids: Iterable[int]) -> list[tuple[int, str, str]]:
        """What the two tables hold for chunks: id, words, codes, by id; those that are gone are left out."""
        rows = self._session.rows(
            "SELECT id, heading || char(10) || text FROM chunks "
            "WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
            [listed(chunk_ids)],
        )
        return [(chunk_id, words_of(text), codes_of(text)) for chunk_id, text in rows]

    def _readable(self) -> bool:
        try:
            for table in _TABLES:
                self._session.rows(f"SELECT rowid FROM {table} LIMIT 1")
        except sqlite3.OperationalError:
            return False
        return True

    def _make_readable(self) -> None:
        """An older SQLite refuses even to empty a table that a newer one wrote to with secure-delete; the
        mark that it looks at may be set back, since all rows are about to go."""
        if not self._readable():
            for table in _TABLES:
                self._session.run(f"UPDATE {table}_config SET v = 4 WHERE k = 'version'")

    def _can_secure(self) -> bool:
        return sqlite3.sqlite_version_info >= (3, 42, 0)

    def _secured(self, table: str) -> bool:
        return bool(self._session.value(f"SELECT v FROM {table}_config WHERE k = 'secure-delete'"))


def _escaped(term: str) -> str:
    return term.replace("!", "!!").replace("%", "!%").replace("_", "!_")
