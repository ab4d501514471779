"""A file that holds nothing yet: the program that was making it was killed, or somebody made it empty."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from localrag.errors import KnowledgeBaseError
from localrag.store import sqlite


def take_over(path: Path) -> bool:
    """Whether there is an ordinary file without content of which a knowledge base may be made.

    It is then for its owner alone, as a new one would be. A file in which the making was begun and not ended
    is empty once SQLite has undone what the log beside it tells of.
    """
    if not path.is_file() or not _is_empty(path):
        return False
    try:
        path.chmod(0o600)
    except PermissionError:
        return False
    return True


def _is_empty(path: Path) -> bool:
    if path.stat().st_size == 0:
        return True
    if not sqlite.beside(path, "-journal").exists():
        return False
    try:
        with closing(sqlite.connect(path, read_only=False).conn) as connection, sqlite.translated(path):
            # Reading it makes SQLite undo what the log beside it tells of.
            connection.execute("PRAGMA page_count").fetchone()
    except KnowledgeBaseError:
        return False
    return path.stat().st_size == 0
