"""Saves what can be read of a damaged file into a new one, table by table, row by row.

The damaged file is never opened: all is done on a copy of it. Where a stretch of rows cannot be read it is
halved until single rows are left; of a row whose long text is lost the rest is kept.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from localrag.errors import KnowledgeBaseError
from localrag.store import merges, sqlite, zero
from localrag.store.migrations import TABLES
from localrag.store.session import Row, Session
from localrag.store.sqlite import BESIDE, beside, sqlite3

FAILURES = 5_000
"""Stretches of a table that fail one after the other before the rest of it is given up."""

LARGEST = 1 << 40
"""Where the ids of a table end if it cannot be asked."""

_SPARE = {"documents": "text", "chunks": "text", "generations": "output"}
"""Long columns that a row may be kept without; the first two can be put together from each other."""

_RECORDS = ("mentions", "relation_mentions", "claims", "rejects")
"""Where the records that a call of the model wrote are stored."""

_BATCH = 2_000


@dataclass
class Salvage:
    """What became of the rows."""

    rows: dict[str, int] = field(default_factory=dict)
    """Rows that were saved, by table."""

    lost: dict[str, int] = field(default_factory=dict)
    """Rows or stretches of rows that could not be read or stored, by table."""

    spared: dict[str, list[int]] = field(default_factory=dict)
    """Ids of rows that were saved without their long text, by table."""

    torn: int = 0
    """Documents that lack passages, so that their files have to be read again."""

    again: int = 0
    """Passages that wait to be read again, because what was read in them is lost."""


def copy_damaged(path: Path, folder: Path) -> Path:
    """A copy of a file with the log beside it, in an empty folder; the log may hold what the file lacks."""
    copy = folder / "damaged"
    shutil.copyfile(path, copy)
    for suffix in BESIDE:
        # SQLite makes a -shm from the log by itself.
        if suffix != "-shm" and beside(path, suffix).exists():
            shutil.copyfile(beside(path, suffix), beside(copy, suffix))
    return copy


def save_rows(damaged: Path, session: Session) -> Salvage:
    """Write all rows that can be read of the file `damaged`, a copy, into a new, empty knowledge base.

    Links between rows are not looked at; the caller mends them afterwards. Raises `KnowledgeBaseError` if the
    file's list of tables cannot be read.
    """
    found = Salvage()
    with closing(_opened(damaged)) as source:
        names, complete = _names(source)
        connection = session.database.conn
        connection.execute("PRAGMA foreign_keys = OFF")
        try:
            with session.transaction():
                for table in TABLES:
                    if table in (*merges.TABLES, *zero.TABLES):
                        continue  # made anew by the next index, and complete then
                    if table in names:
                        _save_table(source, session, table, found)
                    elif not complete:
                        found.lost[table] = 1
                _complete_texts(session, found)
                _cut_again(session, found)
                _read_again(session, found)
                _take_identity(source, session)
        finally:
            connection.execute("PRAGMA foreign_keys = ON")
    return found


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.text_factory = lambda data: sqlite.clean(data.decode("utf-8", "replace"))
    # Damage in the description of one table must not hide the others.
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def _names(source: sqlite3.Connection) -> tuple[set[str], bool]:
    """The names of the tables as far as their list can be read, and whether that is all of it.

    The list's last page lies at the end of a compact file, so a file that was cut off lacks it.
    """
    names: set[str] = set()
    try:
        for row in source.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            names.add(row[0])
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if not names:
            raise KnowledgeBaseError(
                f"The list of tables cannot be read, so nothing can be saved ({error}).",
                "Use a copy of the file if you have one.",
            ) from error
        return names, False
    return names, True


def _save_table(source: sqlite3.Connection, session: Session, table: str, found: Salvage) -> None:
    columns = session.column("SELECT name FROM pragma_table_info(?)", [table])
    there = _columns(source, table)
    shared = [name for name in columns if name in there]
    if not shared:
        found.lost[table] = found.lost.get(table, 0) + 1
        return
    marks = ", ".join("?" * len(shared))
    sql = f"INSERT OR IGNORE INTO {table} ({', '.join(shared)}) VALUES ({marks})"
    reader = _Reader(source, table, shared)
    saved = 0
    for row in reader.rows():
        try:
            values = _with_text(session, shared, row) if table == "chunks" else row
            stored = session.run(sql, values)
        except (sqlite3.Error, OverflowError, TypeError):
            # A value of the wrong kind.
            stored = 0
        saved += stored
        reader.lost += 1 - stored
    found.rows[table] = saved
    if reader.lost:
        found.lost[table] = reader.lost
    if reader.spared:
        found.spared[table] = reader.spared


def _with_text(session: Session, columns: list[str], row: Row) -> Row:
    """A passage whose text was lost, with what its document says at its place."""
    values = dict(zip(columns, row, strict=True))
    if values.get("text") == "" and values["char_end"] != values["char_start"]:
        span = [values["char_start"] + 1, values["char_end"] - values["char_start"], values["document_id"]]
        values["text"] = session.value("SELECT substr(text, ?, ?) FROM documents WHERE id = ?", span) or ""
    return tuple(values.values())


def _columns(source: sqlite3.Connection, table: str) -> set[str]:
    with suppress(sqlite3.Error, UnicodeDecodeError):
        return {row[0] for row in source.execute("SELECT name FROM pragma_table_info(?)", [table])}
    return set()


class _Reader:
    """Reads the rows of one table around what is damaged."""

    def __init__(self, source: sqlite3.Connection, table: str, columns: list[str]) -> None:
        self._source = source
        self._table = table
        self._columns = columns
        self._list = ", ".join(columns)
        self._failures = 0
        self._reached = 0
        self.lost = 0
        """Stretches that could not be read; single rows where they could be told apart."""
        self.spared: list[int] = []
        """Ids of rows that were read without their long text."""

    def rows(self) -> Iterator[Row]:
        """All rows that can be read."""
        if not self._has_rowid():
            yield from self._until_damage()
            return
        pending = [(0, self._last())]
        while pending:
            first, last = pending.pop()
            if self._failures > FAILURES:
                self.lost += 1
                return
            try:
                rows = self._between(first, last)
            except (sqlite3.Error, UnicodeDecodeError, OverflowError):
                self._failures += 1
                if first == last:
                    yield from self._without_text(first)
                else:
                    middle = (first + last) // 2
                    pending += [(middle + 1, last), (first, middle)]
                continue
            if rows:
                self._failures = 0
                yield from rows
                # There may be more than one batch in the stretch; damaged pages may tell of no progress.
                if len(rows) == _BATCH and first <= self._reached < last:
                    pending.append((self._reached + 1, last))

    def _between(self, first: int, last: int) -> list[Row]:
        rows = self._source.execute(
            f"SELECT rowid, {self._list} FROM {self._table} WHERE rowid BETWEEN ? AND ? "
            "ORDER BY rowid LIMIT ?",
            [first, last, _BATCH],
        ).fetchall()
        if rows:
            self._reached = rows[-1][0]
        return [row[1:] for row in rows]

    def _without_text(self, rowid: int) -> Iterator[Row]:
        """A single row without its long text, if that is what cannot be read."""
        spare = _SPARE.get(self._table)
        wanted = ", ".join("''" if name == spare else name for name in self._columns)
        try:
            row = self._source.execute(
                f"SELECT {wanted} FROM {self._table} WHERE rowid = ?", [rowid]
            ).fetchone()
        except (sqlite3.Error, UnicodeDecodeError, OverflowError):
            row = None
        if row is None or spare is None:
            self.lost += 1
            return
        self._failures = 0
        self.spared.append(rowid)
        yield row

    def _until_damage(self) -> Iterator[Row]:
        try:
            yield from self._source.execute(f"SELECT {self._list} FROM {self._table}")
        except (sqlite3.Error, UnicodeDecodeError):
            self.lost += 1

    def _has_rowid(self) -> bool:
        try:
            self._source.execute(f"SELECT rowid FROM {self._table} LIMIT 0")
        except sqlite3.Error:
            return False
        return True

    def _last(self) -> int:
        for sql, parameters in (
            (f"SELECT max(rowid) FROM {self._table}", []),
            ("SELECT seq FROM sqlite_sequence WHERE name = ?", [self._table]),
        ):
            with suppress(sqlite3.Error, UnicodeDecodeError):
                row = self._source.execute(sql, parameters).fetchone()
                if row is not None and isinstance(row[0], int):
                    return max(row[0], 0)
                if row is not None and row[0] is None:
                    return 0
        return LARGEST


def _take_identity(source: sqlite3.Connection, session: Session) -> None:
    """Take over when the knowledge base was made, and which ids were given once: none may come again."""
    with suppress(sqlite3.Error, UnicodeDecodeError, TypeError):
        made = source.execute("SELECT created_by, created_at, revision FROM meta").fetchone()
        session.run("UPDATE meta SET created_by = ?, created_at = ?, revision = ?", made)
        # Names are folded by the rules of this program when the file is next opened.
        session.run("UPDATE meta SET names_version = 0")
    with suppress(sqlite3.Error, UnicodeDecodeError):
        for name, number in source.execute("SELECT name, seq FROM sqlite_sequence").fetchall():
            if name in TABLES and isinstance(number, int):
                session.run("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", [number, name])


def _cut_again(session: Session, found: Salvage) -> None:
    """Have the files of documents that lack passages taken for changed ones; `sync` cuts them again then."""
    if "chunks" in found.lost:
        found.torn = session.run(
            "UPDATE documents AS d SET sha256 = '', size = 0, mtime = 0 "
            "WHERE status IN ('waiting', 'indexed') AND trim(text, char(9, 10, 13, 32)) <> '' "
            "AND (SELECT count(*) = 0 OR min(ordinal) > 0 "
            "OR max(ordinal) >= count(*) OR max(char_end) < length(rtrim(d.text, char(9, 10, 13, 32))) "
            "FROM chunks WHERE document_id = d.id)"
        )


def _read_again(session: Session, found: Salvage) -> None:
    """Have the passages read again whose calls of the model, or some of their records, could not be saved.

    A passage may have been read by several calls. Claims that are lost are no reason to read it again.
    """
    if not found.lost.keys() & {"generations", *_RECORDS[:-1]}:
        return
    stored = " + ".join(f"(SELECT count(*) FROM {table} WHERE generation_id = g.id)" for table in _RECORDS)
    found.again = session.run(
        "UPDATE chunks SET state = 'pending', attempts = 0 WHERE state = 'read' AND (NOT EXISTS "
        f"(SELECT 1 FROM generations g WHERE g.chunk_id = chunks.id AND g.parsed <= {stored}) OR EXISTS "
        "(SELECT 1 FROM generations g WHERE g.chunk_id = chunks.id AND g.task <> 'claims' "
        f"AND g.parsed > {stored}))"
    )


def _complete_texts(session: Session, found: Salvage) -> None:
    """Put the texts of documents together from their passages."""
    for document_id in found.spared.get("documents", []):
        length = session.value("SELECT characters FROM documents WHERE id = ?", [document_id])
        text = _from_passages(session, document_id, length)
        session.run(
            "UPDATE documents SET text = ?, characters = ? WHERE id = ?", [text, len(text), document_id]
        )


def _from_passages(session: Session, document_id: int, length: int) -> str:
    """A document's text out of its passages; blank where none of them lies."""
    rows: list[Any] = session.rows(
        "SELECT char_start, text FROM chunks WHERE document_id = ? AND text <> '' ORDER BY char_start",
        [document_id],
    )
    parts: list[str] = []
    reached = 0
    for start, text in rows:
        if start > reached:
            parts.append("\n" * (start - reached))
            reached = start
        if start + len(text) > reached:
            parts.append(text[reached - start :])
            reached = start + len(text)
    if length > reached:
        parts.append("\n" * (length - reached))
    return "".join(parts)
