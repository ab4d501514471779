"""Whether the full-text rows say what the passages say.

The tables keep no text of their own, so rows are compared with those that the passages give anew, in a table
of the same kind in memory: by the number of terms, and by whether all terms stand there in their order.
Comparing a row takes longer the more rows there are, so in a large file a sample is compared, spread evenly,
until its time is up.
"""

from __future__ import annotations

import random
import time
from contextlib import closing

from localrag.store.fulltext import FullText
from localrag.store.session import Session
from localrag.store.sqlite import sqlite3

SAMPLE = 2000
"""Most passages whose full-text rows are compared with their text."""

SECONDS = 10.0
"""Time after which no further row of a table is compared."""

_TABLES = ("chunk_words", "chunk_codes")


def text_problems(session: Session, fulltext: FullText) -> list[str]:
    """Full-text rows that are not their passage's text, in words."""
    expected = fulltext.rows_of(_sample(session))
    found = []
    for place, table in enumerate(_TABLES, start=1):
        wrong, compared = _differing(session, table, {row[0]: str(row[place]) for row in expected})
        if wrong:
            found.append(
                f"Full text ({table}): {wrong:,} of {compared:,} rows that were compared are not what their "
                "passage says."
            )
    return found


def _sample(session: Session) -> list[int]:
    total = session.value("SELECT count(*) FROM chunks")
    step = max(1, -(-total // SAMPLE))
    return session.column(
        "SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM chunks) WHERE n % ? = 0",
        [step],
    )


def _differing(session: Session, table: str, expected: dict[int, str]) -> tuple[int, int]:
    """How many rows differ, and of how many. Rows that are missing altogether are counted elsewhere."""
    schema = session.value("SELECT sql FROM sqlite_master WHERE name = ?", [table])
    with closing(sqlite3.connect(":memory:")) as memory:
        memory.execute(schema)
        memory.executemany(f"INSERT INTO {table} (rowid, text) VALUES (?, ?)", expected.items())
        sizes = dict(memory.execute(f"SELECT id, sz FROM {table}_docsize"))
    wrong = compared = 0
    until = time.monotonic() + SECONDS
    # In the same order each time, and in no order of the file's: those that time allows are spread evenly.
    for chunk_id in random.Random(0).sample(list(expected), len(expected)):
        if time.monotonic() > until:
            break
        compared += 1
        text = expected[chunk_id]
        size = session.value(f"SELECT sz FROM {table}_docsize WHERE id = ?", [chunk_id])
        wrong += size is not None and (size != sizes[chunk_id] or not _holds(session, table, chunk_id, text))
    return wrong, compared


def _holds(session: Session, table: str, chunk_id: int, text: str) -> bool:
    """Whether a row holds the terms of a text, as one long phrase."""
    # A row without terms cannot be asked for; neither can trigrams of pieces that are too short for one.
    pieces = [part for part in text.split() if table != "chunk_codes" or len(part) >= 3]
    if not pieces:
        return True
    phrases = [text] if table != "chunk_codes" else pieces
    wanted = " AND ".join('"' + phrase.replace('"', '""') + '"' for phrase in phrases)
    row = session.row(f"SELECT 1 FROM {table} WHERE {table} MATCH ? AND rowid = ?", [wanted, chunk_id])
    return row is not None
