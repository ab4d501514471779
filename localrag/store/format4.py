"""Format 4: how the answers of conversations came about, and what the communities were divided from.

A trace goes with its message, and with any passage that the model was shown.
"""

from __future__ import annotations

from sqlite_utils import Database

TABLES: tuple[str, ...] = ("traces", "trace_sources")
"""The tables that came with format 4."""

_TRACES: tuple[str, ...] = (
    # How an answer of a conversation came about, in ids and numbers; see traces.py.
    """
    CREATE TABLE traces (
        message_id INTEGER PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
        trace TEXT NOT NULL  -- JSON
    ) STRICT
    """,
    """
    CREATE TABLE trace_sources (
        message_id INTEGER NOT NULL REFERENCES traces (message_id) ON DELETE CASCADE,
        chunk_id INTEGER NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
        PRIMARY KEY (message_id, chunk_id)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX trace_sources_chunk ON trace_sources (chunk_id)",
)

_COMMUNITIES: tuple[str, ...] = (
    # Hash of the graph and the options that the communities were divided from; empty before the first time.
    "ALTER TABLE meta ADD COLUMN divided TEXT NOT NULL DEFAULT ''",
    # Whether the budget ended the report before the model did.
    "ALTER TABLE reports ADD COLUMN cut INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE reports ADD COLUMN language TEXT NOT NULL DEFAULT ''",
)


def upgrade(database: Database) -> None:
    """Bring a file of format 3 to format 4, within the caller's transaction."""
    for statement in (*_TRACES, *_COMMUNITIES):
        database.execute(statement)
