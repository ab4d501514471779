"""Format 2: claims, decisions of a person, aliases, tags, communities, reports, sessions, followed folders.

Mentions keep the folded name as it was read beside the entity that it belongs to now. So what a person
decides (merge, split, delete) changes only which entity a mention belongs to, can be taken back at any time,
and is applied in the same way to what is read later.
"""

from __future__ import annotations

from sqlite_utils import Database

TABLES = (
    "roots",
    "copies",
    "decisions",
    "entity_aliases",
    "tags",
    "claims",
    "claim_quotes",
    "generation_sources",
    "communities",
    "community_members",
    "reports",
    "report_sources",
    "sessions",
    "messages",
    "citations",
    "answers",
)
"""The tables that came with format 2."""

_FOLDERS = (
    # What `sync` follows. A document whose root is not here was named by itself and is looked at alone.
    """
    CREATE TABLE roots (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        path TEXT NOT NULL UNIQUE,
        include TEXT NOT NULL DEFAULT '[]',  -- patterns, a JSON list; empty takes everything
        exclude TEXT NOT NULL DEFAULT '[]',
        gitignore INTEGER NOT NULL DEFAULT 1,
        added_at TEXT NOT NULL,
        synced_at TEXT NOT NULL DEFAULT ''
    ) STRICT
    """,
    # Further places of a document's content. The first place is in the document itself.
    """
    CREATE TABLE copies (
        document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
        root TEXT NOT NULL,
        path TEXT NOT NULL,
        size INTEGER NOT NULL,
        mtime REAL NOT NULL,
        UNIQUE (root, path)
    ) STRICT
    """,
    "CREATE INDEX copies_document ON copies (document_id)",
    "ALTER TABLE documents ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0",  # to read the file
)

_DECISIONS = (
    # The log is the truth; aliases, tags and the columns below are what it makes of the rows that are there.
    """
    CREATE TABLE decisions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uuid TEXT NOT NULL UNIQUE,  -- the same decision in two files that are merged
        kind TEXT NOT NULL,
        arguments TEXT NOT NULL,  -- JSON object
        made_at TEXT NOT NULL,
        undone_at TEXT NOT NULL DEFAULT ''
    ) STRICT
    """,
    """
    CREATE TABLE entity_aliases (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        entity_id INTEGER REFERENCES entities (id) ON DELETE SET NULL,  -- NULL: waits for the entity
        entity_key TEXT NOT NULL,  -- said by a text: as it was read; by a person: where it leads to now
        key TEXT NOT NULL,
        name TEXT NOT NULL,
        decision_id INTEGER REFERENCES decisions (id) ON DELETE CASCADE,
        chunk_id INTEGER REFERENCES chunks (id) ON DELETE CASCADE,
        CHECK ((decision_id IS NULL) <> (chunk_id IS NULL))  -- said by a person or by a text
    ) STRICT
    """,
    "CREATE INDEX entity_aliases_entity ON entity_aliases (entity_id)",
    "CREATE INDEX entity_aliases_key ON entity_aliases (key)",
    "CREATE INDEX entity_aliases_entity_key ON entity_aliases (entity_key)",
    "CREATE INDEX entity_aliases_decision ON entity_aliases (decision_id)",
    "CREATE INDEX entity_aliases_chunk ON entity_aliases (chunk_id)",
    """
    CREATE TABLE tags (
        document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
        tag TEXT NOT NULL,  -- folded, to be compared
        name TEXT NOT NULL,  -- as it was typed
        decision_id INTEGER NOT NULL REFERENCES decisions (id) ON DELETE CASCADE,
        UNIQUE (document_id, tag)
    ) STRICT
    """,
    "CREATE INDEX tags_tag ON tags (tag)",
    "CREATE INDEX tags_decision ON tags (decision_id)",
    # Another number after every change of the log, so that a program knows whether it has read it all.
    "ALTER TABLE meta ADD COLUMN decided INTEGER NOT NULL DEFAULT 0",
    # A person's own words; they stand in place of what was read.
    "ALTER TABLE entities ADD COLUMN description TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE relations ADD COLUMN keywords TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE relations ADD COLUMN description TEXT NOT NULL DEFAULT ''",
)

_MENTIONS = (
    """
    CREATE TABLE mentions_2 (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        chunk_id INTEGER NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
        entity_id INTEGER REFERENCES entities (id) ON DELETE SET NULL,  -- NULL: a person deleted the entity
        generation_id INTEGER REFERENCES generations (id) ON DELETE CASCADE,
        key TEXT NOT NULL,  -- the folded name as it was read
        name TEXT NOT NULL,
        char_start INTEGER NOT NULL,
        char_end INTEGER NOT NULL,
        type TEXT NOT NULL,
        description TEXT NOT NULL
    ) STRICT
    """,
    """
    INSERT INTO mentions_2
    SELECT m.id, m.chunk_id, m.entity_id, m.generation_id, e.key, m.name, m.char_start, m.char_end, m.type,
        m.description
    FROM mentions m JOIN entities e ON e.id = m.entity_id ORDER BY m.id
    """,
    "DROP TABLE mentions",
    "ALTER TABLE mentions_2 RENAME TO mentions",
    "CREATE INDEX mentions_entity ON mentions (entity_id, chunk_id)",
    "CREATE INDEX mentions_chunk ON mentions (chunk_id)",
    "CREATE INDEX mentions_generation ON mentions (generation_id)",
    "CREATE INDEX mentions_key ON mentions (key)",
    """
    CREATE TABLE relation_mentions_2 (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        chunk_id INTEGER NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
        relation_id INTEGER REFERENCES relations (id) ON DELETE SET NULL,  -- NULL: its ends are one
        generation_id INTEGER REFERENCES generations (id) ON DELETE CASCADE,
        source_key TEXT NOT NULL,  -- as it was read
        target_key TEXT NOT NULL,
        keywords TEXT NOT NULL,
        description TEXT NOT NULL,
        strength REAL,
        char_start INTEGER NOT NULL,
        char_end INTEGER NOT NULL
    ) STRICT
    """,
    """
    INSERT INTO relation_mentions_2
    SELECT m.id, m.chunk_id, m.relation_id, m.generation_id, s.key, t.key, m.keywords, m.description,
        m.strength, m.char_start, m.char_end
    FROM relation_mentions m JOIN relations r ON r.id = m.relation_id
    JOIN entities s ON s.id = r.source_id JOIN entities t ON t.id = r.target_id ORDER BY m.id
    """,
    "DROP TABLE relation_mentions",
    "ALTER TABLE relation_mentions_2 RENAME TO relation_mentions",
    "CREATE INDEX relation_mentions_relation ON relation_mentions (relation_id, chunk_id)",
    "CREATE INDEX relation_mentions_chunk ON relation_mentions (chunk_id)",
    "CREATE INDEX relation_mentions_generation ON relation_mentions (generation_id)",
    "CREATE INDEX relation_mentions_source ON relation_mentions (source_key)",
    "CREATE INDEX relation_mentions_target ON relation_mentions (target_key)",
)

_CHUNKS = (
    # It made the engine die: no run tries it again unless a person asks for it.
    "ALTER TABLE chunks ADD COLUMN left_out INTEGER NOT NULL DEFAULT 0",
    "UPDATE chunks SET left_out = 1 WHERE state = 'failed' AND error LIKE 'It made the engine fail %'",
)

_CLAIMS = (
    """
    CREATE TABLE claims (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        chunk_id INTEGER NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
        generation_id INTEGER REFERENCES generations (id) ON DELETE CASCADE,
        subject_key TEXT NOT NULL,  -- as it was read
        object_key TEXT NOT NULL DEFAULT '',  -- empty: about no one else
        subject_id INTEGER REFERENCES entities (id) ON DELETE SET NULL,
        object_id INTEGER REFERENCES entities (id) ON DELETE SET NULL,
        type TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('TRUE', 'FALSE', 'SUSPECTED')),
        start_date TEXT NOT NULL DEFAULT '',  -- ISO 8601, empty where none is known
        end_date TEXT NOT NULL DEFAULT '',
        description TEXT NOT NULL
    ) STRICT
    """,
    "CREATE INDEX claims_chunk ON claims (chunk_id)",
    "CREATE INDEX claims_generation ON claims (generation_id)",
    "CREATE INDEX claims_subject ON claims (subject_id)",
    "CREATE INDEX claims_object ON claims (object_id)",
    "CREATE INDEX claims_subject_key ON claims (subject_key)",
    "CREATE INDEX claims_object_key ON claims (object_key)",
    """
    CREATE TABLE claim_quotes (
        claim_id INTEGER NOT NULL REFERENCES claims (id) ON DELETE CASCADE,
        char_start INTEGER NOT NULL,  -- in the chunk's text
        char_end INTEGER NOT NULL,
        UNIQUE (claim_id, char_start, char_end)
    ) STRICT
    """,
)

_REPORTS = (
    # Which chunks a call of the model rested on, where it belongs to no single one: summaries, reports,
    # answers. What such a call made goes when one of its chunks goes.
    """
    CREATE TABLE generation_sources (
        generation_id INTEGER NOT NULL REFERENCES generations (id) ON DELETE CASCADE,
        chunk_id INTEGER NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
        PRIMARY KEY (generation_id, chunk_id)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX generation_sources_chunk ON generation_sources (chunk_id)",
    "ALTER TABLE entities ADD COLUMN generation_id INTEGER REFERENCES generations (id) ON DELETE SET NULL",
    "ALTER TABLE relations ADD COLUMN summary TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE relations ADD COLUMN dirty INTEGER NOT NULL DEFAULT 1",
    "ALTER TABLE relations ADD COLUMN generation_id INTEGER REFERENCES generations (id) ON DELETE SET NULL",
    "CREATE INDEX entities_generation ON entities (generation_id)",
    "CREATE INDEX relations_generation ON relations (generation_id)",
    """
    CREATE TABLE communities (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        level INTEGER NOT NULL,
        parent_id INTEGER REFERENCES communities (id) ON DELETE SET NULL,
        input_hash TEXT NOT NULL DEFAULT '',  -- of members and relations as they were reported
        dirty INTEGER NOT NULL DEFAULT 1
    ) STRICT
    """,
    "CREATE INDEX communities_parent ON communities (parent_id)",
    """
    CREATE TABLE community_members (
        community_id INTEGER NOT NULL REFERENCES communities (id) ON DELETE CASCADE,
        entity_id INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
        PRIMARY KEY (community_id, entity_id)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX community_members_entity ON community_members (entity_id)",
    """
    CREATE TABLE reports (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        community_id INTEGER NOT NULL UNIQUE REFERENCES communities (id) ON DELETE CASCADE,
        generation_id INTEGER REFERENCES generations (id) ON DELETE SET NULL,
        made_from TEXT NOT NULL CHECK (made_from IN ('model', 'facts')),
        dirty INTEGER NOT NULL DEFAULT 0,
        made_at TEXT NOT NULL,
        title TEXT NOT NULL,
        rating REAL,
        rating_reason TEXT NOT NULL DEFAULT '',
        summary TEXT NOT NULL,
        findings TEXT NOT NULL DEFAULT '[]'  -- JSON list of {summary, explanation}
    ) STRICT
    """,
    "CREATE INDEX reports_generation ON reports (generation_id)",
    """
    CREATE TABLE report_sources (
        report_id INTEGER NOT NULL REFERENCES reports (id) ON DELETE CASCADE,
        finding INTEGER NOT NULL,  -- its place in the list, -1 for the report as a whole
        kind TEXT NOT NULL CHECK (kind IN ('entity', 'relation', 'claim')),
        row_id INTEGER NOT NULL,
        PRIMARY KEY (report_id, finding, kind, row_id)
    ) STRICT, WITHOUT ROWID
    """,
)

_TALK = (
    """
    CREATE TABLE sessions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        title TEXT NOT NULL,
        created_at TEXT NOT NULL,
        changed_at TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        generation_id INTEGER REFERENCES generations (id) ON DELETE SET NULL,  -- the call that wrote it
        role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
        state TEXT NOT NULL CHECK (state IN ('whole', 'stopped', 'failed')),
        created_at TEXT NOT NULL,
        details TEXT NOT NULL DEFAULT '{}',  -- JSON: mode, model, coverage, seconds
        text TEXT NOT NULL
    ) STRICT
    """,
    "CREATE INDEX messages_session ON messages (session_id)",
    "CREATE INDEX messages_generation ON messages (generation_id)",
    """
    CREATE TABLE citations (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        message_id INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        label TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('document', 'entity', 'relation')),
        document_id INTEGER REFERENCES documents (id) ON DELETE SET NULL,
        chunk_id INTEGER REFERENCES chunks (id) ON DELETE SET NULL,
        path TEXT NOT NULL,
        page INTEGER,
        char_start INTEGER NOT NULL,  -- in the document's text
        char_end INTEGER NOT NULL,
        gone INTEGER NOT NULL DEFAULT 0,  -- the source was deleted or its place changed; `text` is empty then
        text TEXT NOT NULL
    ) STRICT
    """,
    "CREATE INDEX citations_message ON citations (message_id)",
    "CREATE INDEX citations_document ON citations (document_id)",
    "CREATE INDEX citations_chunk ON citations (chunk_id)",
    # Answers kept for the same question; they go with the call that wrote them.
    """
    CREATE TABLE answers (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        key TEXT NOT NULL UNIQUE,  -- hash of question, mode, model, prompts and settings
        revision INTEGER NOT NULL,
        generation_id INTEGER NOT NULL REFERENCES generations (id) ON DELETE CASCADE,
        created_at TEXT NOT NULL,
        question TEXT NOT NULL,
        answer TEXT NOT NULL  -- JSON
    ) STRICT
    """,
    "CREATE INDEX answers_generation ON answers (generation_id)",
)

_REMOVED = (
    # Removals since the unused parts of the pages were last overwritten; see scrubbing.py.
    "ALTER TABLE meta ADD COLUMN removed INTEGER NOT NULL DEFAULT 0",
    "UPDATE meta SET removed = (SELECT count(*) > 0 FROM documents)",
)

_VECTORS = (
    # A space whose vectors are being made in the background while another one is searched.
    "ALTER TABLE embedding_spaces ADD COLUMN building INTEGER NOT NULL DEFAULT 0",
    "CREATE UNIQUE INDEX embedding_spaces_building ON embedding_spaces (building) WHERE building = 1",
    # What the cache beside the file (matrix.py) needs to follow it: row numbers that grow and are never
    # given twice, a random mark for each row, so that it is told from the row of that number in a copy, and
    # a random number that changes with every deletion. A vector is replaced, never changed in place.
    *(
        statement
        for kind, owner in (("chunk", "chunks"), ("entity", "entities"), ("relation", "relations"))
        for statement in (
            f"ALTER TABLE meta ADD COLUMN {kind}_vectors_removed INTEGER NOT NULL DEFAULT 0",
            f"""
            CREATE TABLE {kind}_vectors_2 (
                seq INTEGER PRIMARY KEY AUTOINCREMENT,
                {kind}_id INTEGER NOT NULL REFERENCES {owner} (id) ON DELETE CASCADE,
                space_id INTEGER NOT NULL REFERENCES embedding_spaces (id) ON DELETE CASCADE,
                text_hash TEXT NOT NULL,  -- of the text that was embedded
                mark INTEGER NOT NULL DEFAULT (random()),
                vec BLOB NOT NULL CHECK (length(vec) > 0 AND length(vec) % 4 = 0),  -- float32, little-endian
                UNIQUE ({kind}_id, space_id)
            ) STRICT
            """,
            f"""
            INSERT INTO {kind}_vectors_2 ({kind}_id, space_id, text_hash, vec)
            SELECT {kind}_id, space_id, text_hash, vec FROM {kind}_vectors ORDER BY {kind}_id, space_id
            """,
            f"DROP TABLE {kind}_vectors",
            f"ALTER TABLE {kind}_vectors_2 RENAME TO {kind}_vectors",
            f"""
            CREATE TRIGGER {kind}_vectors_deleted AFTER DELETE ON {kind}_vectors
            BEGIN UPDATE meta SET {kind}_vectors_removed = random(); END
            """,
            f"""
            CREATE TRIGGER {kind}_vectors_kept BEFORE UPDATE OF seq, {kind}_id, space_id, mark, vec
            ON {kind}_vectors
            BEGIN SELECT RAISE(ABORT, 'a vector is replaced, not changed'); END
            """,
        )
    ),
)


def upgrade(database: Database) -> None:
    """Bring a file of format 1 to format 2, within the caller's transaction."""
    for group in (_FOLDERS, _DECISIONS, _MENTIONS, _CHUNKS, _CLAIMS, _REPORTS, _TALK, _REMOVED, _VECTORS):
        for statement in group:
            database.execute(statement)
