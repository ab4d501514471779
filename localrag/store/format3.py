"""Format 3: what is derived from the texts as a whole, kept apart from what chunks say.

Everything here can be made anew from the other tables at any time. It is never merged, and what rests on a
deleted document goes or changes with it.
"""

from __future__ import annotations

from sqlite_utils import Database

TABLES: tuple[str, ...] = ()
"""The tables that came with format 3."""

_RESOLUTION: tuple[str, ...] = ()

_ZERO_GRAPH: tuple[str, ...] = ()


def upgrade(database: Database) -> None:
    """Bring a file of format 2 to format 3, within the caller's transaction."""
    for group in (_RESOLUTION, _ZERO_GRAPH):
        for statement in group:
            database.execute(statement)
