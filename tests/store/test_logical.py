"""The view that tests compare files by leaves nothing out: a new table or column has to be taken in."""

from __future__ import annotations

from localrag.store import Store
from localrag.store.sqlite import sqlite3
from tests.store.helpers import logical_rows, session_of
from tests.store.logical import BOOKKEEPING, NOT_SAID, QUERIES, WORDS

_READ = 20  # SQLITE_READ


def test_every_table_is_compared(store: Store) -> None:
    tables = session_of(store).column("SELECT name FROM sqlite_master WHERE type = 'table'")
    shadows = {name for name in tables for words in WORDS if name.startswith(f"{words}_")}
    assert {*QUERIES, *WORDS, *BOOKKEEPING} == set(tables) - shadows
    assert logical_rows(store).keys() == {*QUERIES, *WORDS}


def test_every_column_is_compared_unless_it_is_an_id_or_a_time(store: Store) -> None:
    session = session_of(store)
    for table, sql in QUERIES.items():
        compared: set[str] = set()

        def note(action: int, name: str | None, column: str | None, *rest: object) -> int:
            if action == _READ and name == table and column is not None:  # noqa: B023
                compared.add(column)  # noqa: B023
            return int(sqlite3.SQLITE_OK)

        session.database.conn.set_authorizer(note)
        try:
            session.rows(sql)
        finally:
            session.database.conn.set_authorizer(None)
        columns = set(session.column(f"SELECT name FROM pragma_table_info('{table}')"))
        assert columns - compared - NOT_SAID.get(table, set()) - {"id"} == set(), table
