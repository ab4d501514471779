"""In the child: names everything that is done to the files, and ends the process at a chosen step.

A step is an SQL statement that changes something (FTS5's own ones included), the beginning or end of a
transaction, a change of the log, or a file operation of Python beside a knowledge base. The process
is killed just before the step is done; "after" is before the next one.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from localrag.store.sqlite import sqlite3

_WRITES = re.compile(
    r"""^(?P<verb>INSERT|REPLACE|UPDATE|DELETE|CREATE|DROP|ALTER|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE
    |VACUUM|ATTACH|DETACH)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_TABLE = re.compile(
    r"\b(?:INTO|FROM|UPDATE|TABLE|INDEX|TO)\s+(?:IF\s+NOT\s+EXISTS\s+)?(?:['\"]?main['\"]?\.)?['\"]?(\w+)",
    re.IGNORECASE,
)
_LOG = re.compile(r"^PRAGMA\s+(wal_checkpoint|journal_mode\s*=\s*\w+|user_version\s*=)", re.IGNORECASE)
_FILES = {
    "open": "open",
    "os.rename": "rename",
    "os.remove": "remove",
    "os.link": "link",
    "os.truncate": "truncate",
    "os.chmod": "chmod",
}


def named(sql: str) -> str | None:
    """The name of a statement, such as `INSERT mentions`; None if it changes nothing."""
    sql = sql.removeprefix("-- ").strip()
    if log := _LOG.match(sql):
        return f"PRAGMA {log[1].split('=')[0].strip()}"
    found = _WRITES.match(sql)
    if found is None:
        return None
    verb = found["verb"].upper()
    if verb in ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "VACUUM", "ATTACH", "DETACH"):
        return verb
    table = _TABLE.search(sql)
    return f"{verb} {table[1] if table else '?'}"


class Steps:
    """Counts the steps of this process, writes them down, and stops at one of them."""

    def __init__(self, log: Path, folders: Sequence[Path], stop: str = "") -> None:
        """`stop` is a step's full name, as `INSERT mentions#3`, or `#17` for the 17th of all; empty for none.

        Steps are appended to `log`; file operations count if they are in one of `folders`.
        """
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._folders = tuple(map(str, folders))
        self._stop = stop
        self._counts: Counter[str] = Counter()
        self._total = 0
        self._lock = threading.Lock()

    def step(self, name: str) -> None:
        """One step is about to be done."""
        with self._lock:
            self._counts[name] += 1
            self._total += 1
            full = f"{name}#{self._counts[name]}"
            os.write(self._log, f"{full}\n".encode())
            if self._stop in (full, f"#{self._total}"):
                os.kill(os.getpid(), signal.SIGKILL)

    def watch(self) -> None:
        """Watch every connection that is opened from now on, and the files."""
        connect = sqlite3.connect

        def watched(*args: Any, **options: Any) -> sqlite3.Connection:
            connection: sqlite3.Connection = connect(*args, **options)
            if args[0] != ":memory:":
                connection.set_trace_callback(self._statement)
            return connection

        sqlite3.connect = watched  # type: ignore[assignment]
        sys.addaudithook(self._audit)

    def _statement(self, sql: str) -> None:
        name = named(sql)
        if name is not None:
            self.step(name)

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if event not in _FILES or not isinstance(args[0], (str, os.PathLike)):
            return
        path = os.fspath(args[0])
        if not isinstance(path, str) or not path.startswith(self._folders):
            return
        if event == "open" and not (isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR)):
            return
        self.step(f"file {_FILES[event]}")
