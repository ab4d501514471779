"""`vacuum`: gives the room of what was deleted back to the disk.

SQLite's own VACUUM builds the new file in memory where its library was built so, as pysqlite3's is. So a
compact copy is written beside the file, and its pages are put in place of the old ones in one transaction.
"""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path

from localrag.errors import KnowledgeBaseBusy
from localrag.store import sqlite
from localrag.store.backup import part_beside, plain_connection, require_room, vacuum_into
from localrag.store.file_rows import VacuumReport
from localrag.store.sqlite import sqlite3, translated


def vacuum(path: Path, cancel: threading.Event | None = None) -> VacuumReport:
    """Make the file as small as its content; nothing else changes.

    Raises `KnowledgeBaseBusy` if any program has it open, `KnowledgeBaseReadOnly`, `DiskFull`, `Cancelled`,
    `KnowledgeBaseError` if it is damaged; the file is as it was then.
    """
    real = path.resolve()
    if not sqlite.writable(real):
        raise sqlite.read_only_error(path)
    before = real.stat().st_size
    with closing(plain_connection(real)) as connection, translated(path):
        _take(connection, path)
        require_room(real.parent, 2 * before, f"the work on {path.name}")
        with part_beside(real) as part:
            vacuum_into(connection, real, part, cancel)
            with closing(plain_connection(part)) as compact:
                # One transaction; a program that is killed within it leaves a journal that undoes it.
                compact.backup(connection)
    return VacuumReport(before, real.stat().st_size)


def _take(connection: sqlite3.Connection, path: Path) -> None:
    """Lock the file against all other programs until the connection is closed."""
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        mode = connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0]
        if mode == "delete":
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")
            return
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in sqlite.IN_USE:
            raise
    raise KnowledgeBaseBusy(
        f"Another program has {path.name} open.", "Close it there, then run the command again."
    )
