"""One connection as the table groups use it: queries, transactions, and the content's revision.

Transactions nest. The outermost one takes the write lock at once, so that a second writer learns of the
first before it has done any work, and it raises the revision if anything in it said that content changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlite_utils import Database

from localrag.errors import KnowledgeBaseError
from localrag.store.sqlite import read_only_error, sqlite3, translated

Row = tuple[Any, ...]


class Session:
    """A connection to one file, used by one thread."""

    def __init__(self, database: Database, path: Path, *, read_only: bool, vec: bool) -> None:
        self.database = database
        self.path = path
        self.read_only = read_only
        self.vec = vec
        self._depth = 0
        self._changed = False
        self._before_commit: list[Callable[[], Callable[[], None] | None]] = []

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open, so that other connections do not see what this one sees."""
        return self._depth > 0

    def before_commit(self, hook: Callable[[], Callable[[], None] | None]) -> None:
        """Call `hook` at the end of every transaction, within it, and what it returns after the commit."""
        self._before_commit.append(hook)

    @property
    def changing(self) -> bool:
        """Whether an open transaction has changed content that the revision does not show yet."""
        return self._changed

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query."""
        with translated(self.path):
            return self.database.execute(sql, parameters).fetchall()

    def each(self, sql: str, parameters: Sequence[Any] = ()) -> Iterator[Row]:
        """The rows of a query one after the other, for a loop that may end early."""
        with translated(self.path), closing(self.database.execute(sql, parameters)) as cursor:
            yield from cursor

    def row(self, sql: str, parameters: Sequence[Any] = ()) -> Row | None:
        """The first row of a query, or None."""
        with translated(self.path):
            row: Row | None = self.database.execute(sql, parameters).fetchone()
            return row

    def value(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        """The first column of the first row, or None."""
        row = self.row(sql, parameters)
        return row[0] if row else None

    def column(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """The first column of all rows."""
        return [row[0] for row in self.rows(sql, parameters)]

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        """Run a statement that writes, inside a transaction; returns the number of rows it changed."""
        with translated(self.path):
            return self._writer().execute(sql, parameters).rowcount

    def insert(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        """Run an INSERT inside a transaction; returns the new row's id."""
        with translated(self.path):
            return int(self._writer().execute(sql, parameters).lastrowid or 0)

    def run_many(self, sql: str, parameters: Iterable[Sequence[Any]]) -> None:
        """Run a statement that writes once for each row of parameters, inside a transaction."""
        with translated(self.path):
            self._writer().executemany(sql, parameters)

    def touch(self) -> None:
        """Say that the open transaction changes content; the revision goes up when it is committed."""
        self._changed = True

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing for the block. Inner ones undo their own part only.

        Raises `KnowledgeBaseReadOnly`, `KnowledgeBaseBusy` after the busy timeout, `DiskFull`.
        """
        if self.read_only:
            raise read_only_error(self.path)
        if self._depth:
            with self._savepoint():
                yield
            return
        connection = self.database.conn
        with translated(self.path):
            connection.execute("BEGIN IMMEDIATE")
        self._depth, self._changed = 1, False
        try:
            with translated(self.path):
                yield
                self._still_open()
                if self._changed:
                    connection.execute("UPDATE meta SET revision = revision + 1")
                afterwards = [after for hook in self._before_commit if (after := hook()) is not None]
                connection.execute("COMMIT")
        except BaseException:
            self._undo("ROLLBACK")
            raise
        finally:
            self._depth, self._changed = 0, False
        for after in afterwards:
            after()

    @contextmanager
    def _savepoint(self) -> Iterator[None]:
        name = f"level_{self._depth}"
        connection = self._writer()
        with translated(self.path):
            connection.execute(f"SAVEPOINT {name}")
        self._depth += 1
        try:
            with translated(self.path):
                yield
                self._still_open()
                connection.execute(f"RELEASE {name}")
        except BaseException:
            self._undo(f"ROLLBACK TO {name}", f"RELEASE {name}")
            raise
        finally:
            self._depth -= 1

    def _undo(self, *statements: str) -> None:
        # A full disk makes SQLite roll the whole transaction back by itself; then there is nothing to undo
        # and the first error must not be hidden by a second one.
        if self.database.conn.in_transaction:
            with suppress(sqlite3.Error):
                for statement in statements:
                    self.database.conn.execute(statement)

    def _still_open(self) -> None:
        if not self.database.conn.in_transaction:
            raise KnowledgeBaseError("A change was undone by an earlier error.", "Run the command again.")

    def _writer(self) -> sqlite3.Connection:
        if not self._depth:
            raise RuntimeError("a write outside of a transaction")
        self._still_open()
        return self.database.conn


def listed(ids: Iterable[Any]) -> str:
    """Ids or cleaned texts for `IN (SELECT value FROM json_each(?))`, which has no limit on their number."""
    return json.dumps([item if isinstance(item, str) else int(item) for item in ids])
