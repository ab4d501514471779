"""Format 3: what is derived from the texts as a whole, kept apart from what chunks say.

Everything here can be made anew from the other tables at any time. It is never merged, and what rests on a
deleted document goes or changes with it.
"""

from __future__ import annotations

from sqlite_utils import Database

from localrag.graph.names import VERSION

TABLES: tuple[str, ...] = (
    "unresolved",
    "name_features",
    "document_merges",
    "name_links",
    "name_merges",
    "zero_names",
    "zero_places",
    "zero_documents",
)
"""The tables that came with format 3."""

_RESOLUTION: tuple[str, ...] = (
    # Rules by which keys were folded, see names.py, and automatic merges derived; 0: there are none.
    "ALTER TABLE meta ADD COLUMN names_version INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE meta ADD COLUMN merges_version INTEGER NOT NULL DEFAULT 0",
    # Documents that were read since automatic merges were derived.
    """
    CREATE TABLE unresolved (
        document_id INTEGER PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE
    ) STRICT
    """,
    # What names that may mean the same have in common; see graph/name_relations.py.
    """
    CREATE TABLE name_features (
        feature TEXT NOT NULL,
        key TEXT NOT NULL,
        PRIMARY KEY (feature, key)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX name_features_key ON name_features (key)",
    # What a name means in one document; follows from that document alone.
    """
    CREATE TABLE document_merges (
        document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
        key TEXT NOT NULL,
        into_key TEXT NOT NULL,
        score REAL NOT NULL,
        kind TEXT NOT NULL,
        said INTEGER NOT NULL,
        PRIMARY KEY (document_id, key)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX document_merges_key ON document_merges (key)",
    "CREATE INDEX document_merges_into ON document_merges (into_key)",
    # Pairs of names that may mean the same, sure ones and those that a person is asked about.
    """
    CREATE TABLE name_links (
        key TEXT NOT NULL,
        into_key TEXT NOT NULL,
        score REAL NOT NULL,
        kind TEXT NOT NULL,
        said INTEGER NOT NULL,
        documents INTEGER NOT NULL,
        together INTEGER NOT NULL,
        neighbours INTEGER NOT NULL,
        PRIMARY KEY (key, into_key)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX name_links_into ON name_links (into_key)",
    "CREATE INDEX name_links_score ON name_links (score)",
    # What a name means everywhere; the sure links, each leading to the name of its whole group.
    """
    CREATE TABLE name_merges (
        key TEXT PRIMARY KEY,
        into_key TEXT NOT NULL,
        score REAL NOT NULL,
        kind TEXT NOT NULL,
        said INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX name_merges_into ON name_merges (into_key)",
)

_ZERO_GRAPH: tuple[str, ...] = (
    # Names that chunks have by form and statistics; see zero.py. A name is there as long as a chunk has it.
    "CREATE TABLE zero_names (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE) STRICT",
    """
    CREATE TABLE zero_places (
        chunk_id INTEGER NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
        name_id INTEGER NOT NULL REFERENCES zero_names (id) ON DELETE CASCADE,
        kind INTEGER NOT NULL,  -- what marks it there, a sum of bits
        char_start INTEGER NOT NULL,  -- -1 where it is only in a heading or title
        char_end INTEGER NOT NULL,
        PRIMARY KEY (chunk_id, name_id)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX zero_places_name ON zero_places (name_id, kind)",
    """
    CREATE TABLE zero_documents (
        document_id INTEGER PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE,
        rules INTEGER NOT NULL  -- its chunks' names were found by; negative: to be looked at again
    ) STRICT
    """,
)

_CLAIMS: tuple[str, ...] = (
    "CREATE INDEX claims_type ON claims (type, status)",
    "CREATE INDEX claims_same ON claims (subject_id, object_id, type)",
    # Which passages a task has read.
    "CREATE INDEX generations_task ON generations (task, chunk_id)",
)


def upgrade(database: Database) -> None:
    """Bring a file of format 2 to format 3, within the caller's transaction."""
    for group in (_RESOLUTION, _ZERO_GRAPH, _CLAIMS):
        for statement in group:
            database.execute(statement)
    # A file that holds no names has none that older rules folded; see refolding.py.
    database.execute(
        "UPDATE meta SET names_version = ? WHERE NOT EXISTS (SELECT 1 FROM mentions) "
        "AND NOT EXISTS (SELECT 1 FROM decisions)",
        [VERSION],
    )
