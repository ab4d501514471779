"""The one door to SQLite: which module is used, how a connection is set up, what its errors mean.

A process must not load two copies of SQLite for one file (their locks break each other), so every part
of the store takes `sqlite3` from here; it is the module that sqlite-utils chose, pysqlite3 where it is
installed.
"""

from __future__ import annotations

import functools
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sqlite_utils import Database

from localrag.errors import (
    DiskFull,
    KnowledgeBaseBusy,
    KnowledgeBaseError,
    KnowledgeBaseReadOnly,
    LocalragError,
    NotAKnowledgeBase,
)
from localrag.store.file_rows import Capabilities

if TYPE_CHECKING:
    import sqlite3
else:
    from sqlite_utils.utils import sqlite3

__all__ = [
    "BESIDE",
    "BUSY_TIMEOUT",
    "FULL",
    "IN_USE",
    "IOERR",
    "ROOM",
    "address",
    "beside",
    "capabilities",
    "clean",
    "clean_path",
    "close",
    "connect",
    "damaged",
    "disk_full",
    "meaning",
    "not_ours",
    "prepared",
    "read_only_error",
    "require",
    "sqlite3",
    "translated",
    "use_log",
    "writable",
]

BUSY_TIMEOUT = 5.0
"""Seconds that a writer waits for another one."""

OLDEST_SQLITE = (3, 37, 0)
"""The first version with STRICT tables."""

_LOOK = 0.01
"""Seconds between two tries to switch the log on."""

BESIDE = ("-wal", "-shm", "-journal")
"""Endings of the files that SQLite puts beside a database while it is open."""

FULL, IOERR = 13, 10
_BUSY, _LOCKED, _READONLY, _CORRUPT, _CANTOPEN, _NOTADB = 5, 6, 8, 11, 14, 26
_WRITING = (778, 1034, 1290, 1546)
"""Errors of SQLite that come from writing a file: WRITE, FSYNC, DIR_FSYNC, TRUNCATE."""
IN_USE = (_BUSY, _LOCKED)
"""Another connection is at work."""

ROOM = 1 << 20
"""An input/output error on a disk with less free space than this is taken for a full disk."""


def clean(text: str) -> str:
    """The text as the file can hold it: NUL and lone surrogates become U+FFFD, one character for one."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
    return text.replace("\0", "\ufffd")


def clean_path(path: str) -> str:
    """A file name as the file can hold it: bytes that are no UTF-8 are written as `\\udcXX`.

    Unlike `clean` it keeps two such names apart.
    """
    return path.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\ufffd")


def load_vec(connection: sqlite3.Connection) -> bool:
    """Load sqlite-vec into a connection, then switch loading off again; False where that cannot be."""
    if not hasattr(connection, "enable_load_extension"):
        return False
    try:
        import sqlite_vec
    except ImportError:
        return False
    try:
        connection.enable_load_extension(True)
        sqlite_vec.load(connection)
    except sqlite3.Error:
        return False
    finally:
        with suppress(sqlite3.Error):
            connection.enable_load_extension(False)
    return True


@functools.cache
def capabilities() -> Capabilities:
    """What this Python's SQLite can do; looked at once per process."""
    with closing(sqlite3.connect(":memory:")) as connection:
        vec = load_vec(connection)
        version = connection.execute("SELECT vec_version()").fetchone()[0] if vec else None
        try:
            connection.execute("CREATE VIRTUAL TABLE probe USING fts5(text, content='')")
            fts5 = True
        except sqlite3.Error:
            fts5 = False
        return Capabilities(
            module=sqlite3.__name__,
            sqlite_version=sqlite3.sqlite_version,
            extension_loading=hasattr(connection, "enable_load_extension"),
            vec_version=version,
            fts5=fts5,
            search_path="sqlite-vec" if vec else "numpy",
        )


def require() -> None:
    """Raise `KnowledgeBaseError` where this Python's SQLite cannot hold a knowledge base at all."""
    found = capabilities()
    if sqlite3.sqlite_version_info < OLDEST_SQLITE or not found.fts5:
        raise KnowledgeBaseError(
            f"This Python's SQLite ({found.sqlite_version}) is too old or was built without full text.",
            "Install the pysqlite3 package into the same environment.",
        )


def writable(path: Path) -> bool:
    """Whether the file and its folder (SQLite puts a log beside it) can be written."""
    path = path.resolve()
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def connect(path: Path, read_only: bool, *, busy_timeout: float = BUSY_TIMEOUT) -> Database:
    """Open an existing file and set the connection up; looks at nothing in it.

    `read_only` never writes content. Where the file may be written it is still opened so, because only
    then SQLite can tidy up the log that a killed program left behind.

    Raises `NotAKnowledgeBase`, `KnowledgeBaseReadOnly`, `KnowledgeBaseBusy` and the like.
    """
    can_write = writable(path)
    with translated(path):
        connection = sqlite3.connect(address(path), uri=True, isolation_level=None, timeout=busy_timeout)
        try:
            database = prepared(connection)
            if read_only or not can_write:
                connection.execute("PRAGMA query_only = ON")
        except BaseException:
            connection.close()
            raise
    return database


def prepared(connection: sqlite3.Connection) -> Database:
    """The connection with the settings that the store relies on. `SQLite` errors pass through."""
    database = Database(connection, execute_plugins=False)
    # The first statement that reads the file, so a foreign file fails here.
    connection.execute("PRAGMA schema_version").fetchone()
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    load_vec(connection)
    return database


def address(path: Path) -> str:
    """The URI under which SQLite opens an existing file: to write where that is possible, else to read."""
    real = path.resolve()
    if writable(path):
        return real.as_uri() + "?mode=rw"
    if not beside(real, "-wal").exists() and not os.access(real.parent, os.W_OK):
        # A file whose last user could not switch the log off would ask for a -shm that cannot be made.
        # Nobody can write beside it and no log is pending, so nothing can change or be missed.
        return real.as_uri() + "?mode=ro&immutable=1"
    return real.as_uri() + "?mode=ro"


def use_log(database: Database) -> None:
    """Switch to write-ahead logging, so that readers never wait. Some network drives refuse; that is fine.

    SQLite itself does not wait here for another program that is just switching the log on or off.
    """
    connection = database.conn
    wait = connection.execute("PRAGMA busy_timeout").fetchone()[0] / 1000
    deadline = time.monotonic() + wait
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != _BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(_LOOK)


def close(database: Database) -> None:
    """Close a connection; the last one to close folds the log into the file, so that one file is left.

    Never raises: what was committed is in the log if not in the file.
    """
    connection = database.conn
    with suppress(sqlite3.Error, UnicodeDecodeError):
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        # Others may be at work; then it is theirs to do, and waiting for them would be wrong.
        connection.execute("PRAGMA busy_timeout = 0")
        mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
        if mode == "wal":
            connection.execute("PRAGMA query_only = OFF")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    connection.close()


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors within the block into localrag's. Broken constraints stay as they are: they
    are mistakes of the program, not of its surroundings."""
    try:
        yield
    except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
        raise
    except sqlite3.Error as error:
        meant = meaning(path, error)
        if meant is None:
            raise
        raise meant from error
    except UnicodeDecodeError as error:
        # A damaged schema shows up in SQLite's messages, which Python then cannot read.
        raise damaged(path, error) from error


def meaning(path: Path, error: sqlite3.Error) -> LocalragError | None:
    """What an error of SQLite means for a person; None where it is a mistake of the program."""
    whole_code = getattr(error, "sqlite_errorcode", 0)
    code = whole_code & 0xFF
    if code == IOERR and shutil.disk_usage(path.parent).free < ROOM:
        code = FULL
    if code in IN_USE:
        return KnowledgeBaseBusy(
            f"Another program is writing to {path.name}.", "Wait until it is done, then try again."
        )
    if code == _READONLY:
        return read_only_error(path)
    if code == FULL:
        return disk_full(path)
    if code == _NOTADB:
        return not_ours(path)
    if code == _CANTOPEN:
        return KnowledgeBaseReadOnly(
            f"{path.name} cannot be opened here: its permissions or its folder's do not allow it.",
            "If another program was interrupted, copy the file and the -wal beside it to a folder of yours.",
        )
    if whole_code in _WRITING:
        return KnowledgeBaseError(
            f"{path.name} cannot be written to its disk ({error}). Everything saved before is still there.",
            "See whether the disk is in order and takes files of this size; FAT takes none above 4 GB.",
        )
    if code in (_CORRUPT, IOERR):
        return damaged(path, error)
    return None


def damaged(path: Path, error: Exception) -> KnowledgeBaseError:
    """The error for a file that SQLite cannot read as it should be."""
    return KnowledgeBaseError(
        f"{path.name} is damaged or its disk fails ({error}).",
        "Use a copy if you have one, or save what can be read with `localrag repair`.",
    )


def not_ours(path: Path) -> NotAKnowledgeBase:
    """The error for a file or folder that is not a knowledge base."""
    name = path.name or path
    return NotAKnowledgeBase(
        f"{name} is a folder and not a knowledge base of localrag."
        if path.is_dir()
        else f"{name} is not a knowledge base of localrag.",
        "Name another file with --kb, or make a new one with `localrag init FILE`.",
    )


def disk_full(path: Path) -> DiskFull:
    """The error for a disk without room."""
    return DiskFull(
        f"The disk of {path.name} is full. Everything saved before is still there.",
        "Free some space and run the command again; it goes on where it stopped.",
    )


def read_only_error(path: Path) -> KnowledgeBaseReadOnly:
    """The error for a write to a file that is open for reading only."""
    return KnowledgeBaseReadOnly(
        f"{path.name} is open for reading only; nothing can be stored in it.",
        "Make the file and its folder writable, or copy the file to a folder of yours.",
    )


def beside(path: Path, suffix: str) -> Path:
    """The file that SQLite puts beside a database, such as its `-wal`."""
    return path.with_name(path.name + suffix)
