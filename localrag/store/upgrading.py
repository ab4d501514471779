"""Files of an older format: brought up to date with a copy kept, or read through a copy in memory.

The steps themselves are in migrations.py. They run in one transaction, so a file is either of the new
format or exactly what it was.
"""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path

from sqlite_utils import Database

from localrag import __version__
from localrag.errors import KnowledgeBaseError, LocalragError, NewerFormat
from localrag.store import migrations, sqlite
from localrag.store.backup import copy_file, free_name, plain_connection, require_room
from localrag.store.sqlite import sqlite3, translated

IN_MEMORY = 1 << 30
"""Most bytes of an older file that is brought up to date in memory, where it cannot be written."""


def known_format(database: Database, path: Path) -> int:
    """The file's format. Raises `NotAKnowledgeBase` or `NewerFormat`."""
    if database.conn.execute("PRAGMA application_id").fetchone()[0] != migrations.APPLICATION_ID:
        raise sqlite.not_ours(path)
    found = int(database.conn.execute("PRAGMA user_version").fetchone()[0])
    if found > migrations.FORMAT:
        raise NewerFormat(
            f"{path.name} has format {found}; this localrag ({__version__}) knows formats up to "
            f"{migrations.FORMAT}.",
            "Use a newer localrag for this file. It was not changed.",
        )
    return found


def upgrade(database: Database, path: Path) -> str:
    """Bring a file of an older format up to date, and keep a copy of what it was beside it.

    Returns a sentence about it for the person; empty if another program did it meanwhile. Raises
    `DiskFull`, `KnowledgeBaseBusy`, `KnowledgeBaseReadOnly`, `KnowledgeBaseError`; the file is as it was
    then, and no copy is left.
    """
    connection = database.conn
    with translated(path):
        # Taken before the copy, so that nobody changes the file between the two.
        connection.execute("BEGIN IMMEDIATE")
    copy: Path | None = None
    try:
        found = known_format(database, path)
        if found == migrations.FORMAT and not migrations.steps.pending(database):
            connection.execute("ROLLBACK")
            return ""
        # The copy, and the pages that the steps write anew until they are committed.
        real = path.resolve()
        require_room(real.parent, 2 * real.stat().st_size, f"a copy of {path.name} and its new tables")
        copy = free_name(real.with_name(f"{real.name}.format-{found}"))
        copy_file(real, copy)
        with translated(path):
            migrations.apply(database)
            connection.execute("COMMIT")
    except BaseException as error:
        with suppress(sqlite3.Error):
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        if copy is not None:
            with suppress(OSError):
                copy.unlink()
        if isinstance(error, sqlite3.Error) or (isinstance(error, LocalragError) and copy is not None):
            raise _failed(path, error) from error
        raise
    return (
        f"{path.name} was brought from format {found} to format {migrations.FORMAT}. What it was is kept in "
        f"{copy.name}; delete that when all is well."
    )


def in_memory(path: Path, found: int) -> Database:
    """An up-to-date copy in memory of an older file, for reading it where it is not to be written.

    Raises `KnowledgeBaseError` if it is too large for that.
    """
    if path.stat().st_size > IN_MEMORY:
        raise KnowledgeBaseError(
            f"{path.name} has format {found} and must be brought to format {migrations.FORMAT} before it can "
            "be used; here it can only be read.",
            "Copy it to a folder of yours and open it there, or make file and folder writable.",
        )
    with translated(path):
        connection = sqlite3.connect("", isolation_level=None)
        try:
            with closing(plain_connection(path)) as source:
                source.backup(connection)
            database = sqlite.prepared(connection)
            migrations.migrate(database)
        except BaseException:
            connection.close()
            raise
    return database


def read_in_memory(path: Path, found: int) -> str:
    """What a person is told of a file that `in_memory` serves."""
    return (
        f"{path.name} has format {found}. It is read through a copy in memory and stays as it is; it is "
        f"brought to format {migrations.FORMAT} when it is next opened to be changed."
    )


def _failed(path: Path, error: BaseException) -> LocalragError:
    """The error of a file that could not be brought up to date."""
    reason, hint = str(error), ""
    kind: type[LocalragError] = KnowledgeBaseError
    if isinstance(error, LocalragError):
        reason, hint, kind = error.message, error.hint, type(error)
    return kind(
        f"{path.name} could not be brought to format {migrations.FORMAT}; it is as it was. {reason}",
        hint or "Look at it with `localrag verify`, or use a copy of the file if you have one.",
    )
