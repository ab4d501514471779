"""Overwrites the copies of deleted rows that SQLite leaves in the unused middle of its pages.

`secure_delete` overwrites a row where it lies when it is deleted. But where SQLite moved rows to other pages
to make room, it left their bytes in the middle of the page that they came from, and knows nothing of them
any more. So once the last program has closed a file from which something was removed, the middle of every
page is overwritten, in the file itself. `meta.removed` counts removals until that is done.

This runs as a program of its own, and only with the standard library: a process that opens and closes a file
beside SQLite drops the locks by which SQLite keeps other programs out. Nothing live is written to, so it may
be killed at any time.
"""

from __future__ import annotations

import importlib
import io
import os
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from types import ModuleType

SLICE = 0.2
"""Seconds after which another program that waits to write gets its turn."""

_BLOCK = 512
_LEAF, _INTERIOR = (10, 13), (2, 5)
_TELLABLE = 1 << 25
"""From this many pages on, the first byte of other pages may look like that of a page with rows."""


def scrub_file(path: Path) -> None:
    """Overwrite what was removed from a file that this process has closed.

    Does nothing, and leaves it to be done at the next close, if another program has the file open or this one
    cannot start a process.
    """
    with suppress(OSError):
        subprocess.run(
            [sys.executable, "-P", str(Path(__file__)), str(path.resolve())],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def scrub(path: str) -> int:
    """Overwrite the unused middle of every page; returns how many pages held something there, -1 if the file
    is in use or of a kind that this cannot read."""
    module = _module()
    # Closed behind the connection: its closing drops all locks of this process on the file.
    with open(path, "r+b", buffering=0) as file:
        uri = Path(path).as_uri() + "?mode=rw"
        with closing(module.connect(uri, uri=True, isolation_level=None, timeout=0)) as connection:
            try:
                return _scrub(connection, file)
            except module.OperationalError:
                return -1


def _scrub(connection: sqlite3.Connection, file: io.FileIO) -> int:
    _take(connection)
    removed = connection.execute("SELECT removed FROM meta").fetchone()[0]
    head = file.read(100)
    size = int.from_bytes(head[16:18], "big")
    size = 65536 if size == 1 else size
    count = file.seek(0, os.SEEK_END) // size
    moving = int.from_bytes(head[52:56], "big")  # auto_vacuum: some pages are tables of pages
    if moving or count >= _TELLABLE:
        return -1
    found, began = 0, time.monotonic()
    for first in range(0, count, _BLOCK):
        file.seek(first * size)
        block = file.read(size * _BLOCK)
        for offset in range(0, len(block) // size * size, size):
            start, end = unused(block, offset, 100 if first + offset == 0 else 0, size)
            if block.count(0, start, end) != end - start:
                file.seek(first * size + start)
                file.write(bytes(end - start))
                found += 1
        if time.monotonic() - began > SLICE:
            connection.execute("COMMIT")
            _take(connection)
            began = time.monotonic()
    os.fsync(file.fileno())
    connection.execute("UPDATE meta SET removed = 0 WHERE removed = ?", [removed])
    connection.execute("COMMIT")
    return found


def _take(connection: sqlite3.Connection) -> None:
    """Keep other writers out. Raises `OperationalError` if there are any or may be: a log is in use."""
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != "delete":
        raise _module().OperationalError("the file is in use")
    connection.execute("BEGIN IMMEDIATE")


def unused(block: bytes, offset: int, skipped: int, size: int) -> tuple[int, int]:
    """Where the unused middle of the page at `offset` begins and ends: between the list of its rows and the
    rows. Empty for a page without rows. `skipped` is the length of the file's own head in the first page."""
    head = offset + skipped
    kind = block[head]
    if kind not in _LEAF and kind not in _INTERIOR:
        return offset, offset
    rows = int.from_bytes(block[head + 3 : head + 5], "big")
    start = head + (8 if kind in _LEAF else 12) + 2 * rows
    end = offset + (int.from_bytes(block[head + 5 : head + 7], "big") or 65536)
    return (start, end) if start <= end <= offset + size else (offset, offset)


def _module() -> ModuleType:
    """The module that the rest of the program uses, without importing all of that."""
    try:
        return importlib.import_module("pysqlite3")
    except ImportError:
        return importlib.import_module("sqlite3")


if __name__ == "__main__":
    sys.exit(scrub(sys.argv[1]) < 0)
