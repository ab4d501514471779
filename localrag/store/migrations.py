"""The file's tables, and the steps that bring an older file up to date.

`user_version` is the generation of the format. A step that is added here raises `FORMAT`, and a file with
a higher number than that is left alone. All steps that a file needs run in one transaction.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

from sqlite_utils import Database, Migrations

from localrag import __version__
from localrag.store import format2, format3, format4

APPLICATION_ID = 0x4C524147
"""`LRAG`: marks the file as one of ours."""

FORMAT = 4
"""Generation of the format that this localrag writes."""

TABLES = (
    "documents",
    "chunks",
    "generations",
    "entities",
    "mentions",
    "relations",
    "relation_mentions",
    "rejects",
    "prompts",
    "embedding_spaces",
    "chunk_vectors",
    "entity_vectors",
    "relation_vectors",
    *format2.TABLES,
    *format3.TABLES,
    *format4.TABLES,
)
"""The tables whose rows are counted for `info`."""

steps = Migrations("localrag")


def migrate(database: Database) -> None:
    """Apply the missing steps in one transaction. `SQLite` errors pass through."""
    connection = database.conn
    connection.execute("BEGIN IMMEDIATE")
    try:
        apply(database)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def apply(database: Database) -> None:
    """Apply the missing steps within the caller's transaction."""
    steps.apply(database)
    database.conn.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    database.conn.execute(f"PRAGMA user_version = {FORMAT}")


# Ids are AUTOINCREMENT where something outside may remember them (a citation, a cache of vectors): the id
# of a deleted row must never come to mean another one. Large columns come last, so that reading the
# others does not touch their pages.

_FIRST = (
    """
    CREATE TABLE meta (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        uuid TEXT NOT NULL,
        created_by TEXT NOT NULL,
        created_at TEXT NOT NULL,
        revision INTEGER NOT NULL,
        terms_version INTEGER NOT NULL  -- rules by which the full-text rows were made; see fulltext.py
    ) STRICT
    """,
    """
    CREATE TABLE documents (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        root TEXT NOT NULL,
        path TEXT NOT NULL,
        sha256 TEXT NOT NULL,
        size INTEGER NOT NULL,
        mtime REAL NOT NULL,
        media_type TEXT NOT NULL,
        title TEXT NOT NULL,
        language TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('waiting', 'indexed', 'failed', 'skipped')),
        reason TEXT NOT NULL,
        added_at TEXT NOT NULL,
        characters INTEGER NOT NULL,
        text TEXT NOT NULL,
        UNIQUE (root, path)
    ) STRICT
    """,
    "CREATE INDEX documents_sha256 ON documents (sha256)",
    """
    CREATE TABLE chunks (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
        ordinal INTEGER NOT NULL,
        char_start INTEGER NOT NULL,
        char_end INTEGER NOT NULL,
        heading TEXT NOT NULL,
        page INTEGER,
        tokens INTEGER NOT NULL,
        language TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'read', 'failed')),
        attempts INTEGER NOT NULL DEFAULT 0,
        error TEXT NOT NULL DEFAULT '',
        text TEXT NOT NULL,
        UNIQUE (document_id, ordinal),
        CHECK (char_start >= 0 AND char_end - char_start = length(text))
    ) STRICT
    """,
    "CREATE INDEX chunks_state ON chunks (document_id, state)",
    "CREATE INDEX chunks_open ON chunks (state, document_id, ordinal) WHERE state <> 'read'",
    """
    CREATE TABLE generations (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        chunk_id INTEGER REFERENCES chunks (id) ON DELETE CASCADE,
        task TEXT NOT NULL,
        prompt_hash TEXT NOT NULL,
        model TEXT NOT NULL,
        parameters TEXT NOT NULL,
        prompt_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL,
        milliseconds INTEGER NOT NULL,
        finish TEXT NOT NULL,
        parsed INTEGER NOT NULL DEFAULT 0,  -- records in the output: those stored and those rejected
        created_at TEXT NOT NULL,
        output TEXT NOT NULL
    ) STRICT
    """,
    "CREATE INDEX generations_chunk ON generations (chunk_id)",
    "CREATE INDEX generations_prompt ON generations (prompt_hash)",
    """
    CREATE TABLE entities (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        key TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL,
        type TEXT NOT NULL,
        dirty INTEGER NOT NULL DEFAULT 1,  -- its mentions changed since the summary was written
        text_hash TEXT NOT NULL DEFAULT '',  -- of the text that its vector is made from
        summary TEXT NOT NULL DEFAULT ''
    ) STRICT
    """,
    """
    CREATE TABLE mentions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        chunk_id INTEGER NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
        entity_id INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
        generation_id INTEGER REFERENCES generations (id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        char_start INTEGER NOT NULL,
        char_end INTEGER NOT NULL,
        type TEXT NOT NULL,
        description TEXT NOT NULL
    ) STRICT
    """,
    "CREATE INDEX mentions_entity ON mentions (entity_id, chunk_id)",
    "CREATE INDEX mentions_chunk ON mentions (chunk_id)",
    "CREATE INDEX mentions_generation ON mentions (generation_id)",
    """
    CREATE TABLE relations (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        source_id INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
        target_id INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
        text_hash TEXT NOT NULL DEFAULT '',  -- of the text that its vector is made from
        UNIQUE (source_id, target_id),
        CHECK (source_id <> target_id)
    ) STRICT
    """,
    "CREATE INDEX relations_target ON relations (target_id)",
    """
    CREATE TABLE relation_mentions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        chunk_id INTEGER NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
        relation_id INTEGER NOT NULL REFERENCES relations (id) ON DELETE CASCADE,
        generation_id INTEGER REFERENCES generations (id) ON DELETE CASCADE,
        keywords TEXT NOT NULL,
        description TEXT NOT NULL,
        strength REAL,
        char_start INTEGER NOT NULL,
        char_end INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX relation_mentions_relation ON relation_mentions (relation_id, chunk_id)",
    "CREATE INDEX relation_mentions_chunk ON relation_mentions (chunk_id)",
    "CREATE INDEX relation_mentions_generation ON relation_mentions (generation_id)",
    """
    CREATE TABLE rejects (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        generation_id INTEGER NOT NULL REFERENCES generations (id) ON DELETE CASCADE,
        kind TEXT NOT NULL,
        text TEXT NOT NULL,
        reason TEXT NOT NULL
    ) STRICT
    """,
    "CREATE INDEX rejects_generation ON rejects (generation_id)",
    "CREATE TABLE prompts (hash TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT",
    """
    CREATE TABLE embedding_spaces (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        fingerprint TEXT NOT NULL UNIQUE,
        model TEXT NOT NULL,
        dimension INTEGER NOT NULL CHECK (dimension > 0),
        pooling TEXT NOT NULL,
        query_prefix TEXT NOT NULL,
        passage_prefix TEXT NOT NULL,
        token_limit INTEGER NOT NULL,
        active INTEGER NOT NULL DEFAULT 0
    ) STRICT
    """,
    "CREATE UNIQUE INDEX embedding_spaces_active ON embedding_spaces (active) WHERE active = 1",
    *(
        f"""
        CREATE TABLE {kind}_vectors (
            {kind}_id INTEGER NOT NULL REFERENCES {owner} (id) ON DELETE CASCADE,
            space_id INTEGER NOT NULL REFERENCES embedding_spaces (id) ON DELETE CASCADE,
            text_hash TEXT NOT NULL,  -- of the text that was embedded
            vec BLOB NOT NULL CHECK (length(vec) > 0 AND length(vec) % 4 = 0),  -- float32, little-endian
            UNIQUE ({kind}_id, space_id)
        ) STRICT
        """
        for kind, owner in (("chunk", "chunks"), ("entity", "entities"), ("relation", "relations"))
    ),
    # Contentless: the words' text would double the size of the file, and it can be made again from the
    # chunk. Both can be read by any SQLite with FTS5. M* keeps the vowel signs of Hindi within words.
    """
    CREATE VIRTUAL TABLE chunk_words USING fts5(
        text, content='', tokenize="unicode61 remove_diacritics 2 categories 'L* N* Co M*'"
    )
    """,
    "CREATE VIRTUAL TABLE chunk_codes USING fts5(text, content='', tokenize='trigram')",
)


@steps()
def m001_first_tables(database: Database) -> None:
    """The tables of format 1."""
    for statement in _FIRST:
        database.execute(statement)
    database.execute(
        "INSERT INTO meta VALUES (1, ?, ?, ?, 0, 0)",
        [str(uuid.uuid4()), __version__, datetime.now(UTC).isoformat(timespec="seconds")],
    )


@steps()
def m002_decisions_claims_reports(database: Database) -> None:
    """The tables of format 2; see format2.py."""
    format2.upgrade(database)


@steps()
def m003_derived(database: Database) -> None:
    """The tables of format 3; see format3.py."""
    format3.upgrade(database)


@steps()
def m004_traces(database: Database) -> None:
    """The tables of format 4; see format4.py."""
    format4.upgrade(database)
