"""Looks through the whole file for anything that is not as it was promised.

Every check is of one thing and runs by itself, so that damage in one place does not hide what else is wrong.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial

import numpy as np
from sqlite_utils import Database

from localrag.errors import Cancelled, KnowledgeBaseError
from localrag.store import merges, migrations, origins, resolution, zero
from localrag.store.check_text import SAMPLE, text_problems
from localrag.store.fulltext import FullText
from localrag.store.session import Session
from localrag.store.sqlite import sqlite3
from localrag.store.upkeep import entity_text, relation_text, text_hash

OnStep = Callable[[str], None]
"""Hears what is looked at now."""

UNIT = 1e-3
"""Most that a vector's length may be off 1."""

_BLOCK = 2048
_OPCODES = 1_000


def problems(
    session: Session,
    fulltext: FullText,
    on_step: OnStep | None = None,
    cancel: threading.Event | None = None,
) -> list[str]:
    """What is wrong with the file, one sentence each; an empty list if all is well.

    `on_step` hears of every step before it begins. Raises `Cancelled` once `cancel` is set, and nothing
    because of the state of the file.
    """
    connection = session.database.conn
    connection.set_progress_handler(lambda: cancel is not None and cancel.is_set(), _OPCODES)
    try:
        return _problems(session, fulltext, on_step, cancel)
    finally:
        connection.set_progress_handler(None, 0)


def _problems(
    session: Session, fulltext: FullText, on_step: OnStep | None, cancel: threading.Event | None
) -> list[str]:
    found: list[str] = []
    for label, check in _steps(session, fulltext):
        if on_step is not None:
            on_step(label)
        try:
            found += check()
        except KnowledgeBaseError as error:
            found.append(f"The {label} cannot be looked at: {error.message}")
        except (sqlite3.Error, AttributeError, TypeError, ValueError, OverflowError) as error:
            # Values of a kind that no program of ours writes.
            found.append(f"The {label} cannot be looked at: {error}.")
        if cancel is not None and cancel.is_set():
            raise Cancelled("Stopped before all was looked at.", "Nothing was changed.")
    return found


def _steps(session: Session, fulltext: FullText) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    yield "structure of the file", partial(_integrity, session)
    yield "tables and indexes", partial(_schema, session)
    yield "links between rows", partial(_broken_keys, session)
    yield "passages and their places", partial(_spans, session)
    yield "what rests on passages", partial(origins.problems, session)
    yield "full text", lambda: [*fulltext.problems(), *text_problems(session, fulltext)]
    for kind, owner in (("chunk", "passages"), ("entity", "entities"), ("relation", "relations")):
        yield f"vectors of {owner}", partial(_vectors, session, kind, owner)
    yield "what is computed from the texts", partial(_texts, session)
    yield "graph without a model", partial(zero.problems, session)
    yield "prompts", partial(_prompts, session)
    yield "decisions", partial(resolution.problems, session)
    yield "automatic merges", partial(merges.problems, session)
    for label, counted in _COUNTED.items():
        yield label, partial(_count, session, counted)


# A name over a line break, or with control characters or several blanks in it, is kept with a blank for them.
_FOLDED = (
    "((substr(c.text, m.char_start + 1, m.char_end - m.char_start) GLOB "
    "'*[' || char(1) || '-' || char(31) || char(127) || '-' || char(160) || char(12288) || ']*' "
    "OR instr(substr(c.text, m.char_start + 1, m.char_end - m.char_start), '  ') > 0) "
    "AND substr(c.text, m.char_start + 1, 1) = substr(m.name, 1, 1) "
    "AND substr(c.text, m.char_end, 1) = substr(m.name, -1, 1) "
    "AND length(m.name) <= m.char_end - m.char_start)"
)

_COUNTED: dict[str, tuple[tuple[str, str], ...]] = {
    "calls of the model": (
        (
            "{} calls of the model do not add up: parsed is not stored + rejected.",
            "SELECT count(*) FROM generations g WHERE parsed <> "
            "(SELECT count(*) FROM mentions WHERE generation_id = g.id) + "
            "(SELECT count(*) FROM relation_mentions WHERE generation_id = g.id) + "
            "(SELECT count(*) FROM claims WHERE generation_id = g.id) + "
            "(SELECT count(*) FROM rejects WHERE generation_id = g.id)",
        ),
    ),
    "documents": (
        (
            "{} documents are marked as read and have passages that are not.",
            "SELECT count(*) FROM documents d WHERE status = 'indexed' AND EXISTS "
            "(SELECT 1 FROM chunks WHERE document_id = d.id AND state = 'pending')",
        ),
        (
            "{} documents wait for nothing: all their passages were read.",
            "SELECT count(*) FROM documents d WHERE status = 'waiting' AND NOT EXISTS "
            "(SELECT 1 FROM chunks WHERE document_id = d.id AND state = 'pending')",
        ),
        (
            "{} documents have a gap in the numbers of their passages.",
            "SELECT count(*) FROM (SELECT 1 FROM chunks GROUP BY document_id "
            "HAVING min(ordinal) <> 0 OR max(ordinal) <> count(*) - 1)",
        ),
        (
            "{} places belong to two documents.",
            "SELECT count(*) FROM copies c JOIN documents d ON d.root = c.root AND d.path = c.path",
        ),
    ),
    "entities and relations": (
        (
            "{} entities have no mention.",
            "SELECT count(*) FROM entities e WHERE NOT EXISTS "
            "(SELECT 1 FROM mentions WHERE entity_id = e.id)",
        ),
        (
            "{} relations have no mention.",
            "SELECT count(*) FROM relations r WHERE NOT EXISTS "
            "(SELECT 1 FROM relation_mentions WHERE relation_id = r.id)",
        ),
        (
            "{} mentions lie outside of their passage's text, or their name is not what stands there.",
            "SELECT count(*) FROM mentions m JOIN chunks c ON c.id = m.chunk_id WHERE NOT "
            "((m.char_start = -1 AND m.char_end = -1) OR "
            "(m.char_start >= 0 AND m.char_start <= m.char_end AND m.char_end <= length(c.text) "
            f"AND (substr(c.text, m.char_start + 1, m.char_end - m.char_start) = m.name OR {_FOLDED})))",
        ),
        (
            "{} pieces of evidence for relations lie outside of their passage's text.",
            "SELECT count(*) FROM relation_mentions m JOIN chunks c ON c.id = m.chunk_id WHERE NOT "
            "((m.char_start = -1 AND m.char_end = -1) OR "
            "(m.char_start >= 0 AND m.char_start <= m.char_end AND m.char_end <= length(c.text)))",
        ),
    ),
    "claims": (
        (
            "{} quotes lie outside of their passage's text.",
            "SELECT count(*) FROM claim_quotes q JOIN claims k ON k.id = q.claim_id "
            "JOIN chunks c ON c.id = k.chunk_id WHERE NOT "
            "(q.char_start >= 0 AND q.char_start < q.char_end AND q.char_end <= length(c.text))",
        ),
    ),
    "citations": (
        (
            "{} citations whose source is gone still hold its text.",
            "SELECT count(*) FROM citations WHERE gone = 1 AND text <> ''",
        ),
        (
            "{} citations of passages are not what stands there.",
            "SELECT count(*) FROM citations t JOIN documents d ON d.id = t.document_id "
            "WHERE t.gone = 0 AND t.chunk_id IS NOT NULL AND t.kind = 'document' "
            "AND substr(d.text, t.char_start + 1, t.char_end - t.char_start) <> t.text",
        ),
    ),
    "reports": (
        (
            "{} sources of reports are not there.",
            "SELECT count(*) FROM report_sources s WHERE NOT CASE s.kind "
            "WHEN 'entity' THEN EXISTS (SELECT 1 FROM entities WHERE id = s.row_id) "
            "WHEN 'relation' THEN EXISTS (SELECT 1 FROM relations WHERE id = s.row_id) "
            "ELSE EXISTS (SELECT 1 FROM claims WHERE id = s.row_id) END",
        ),
        (
            "{} communities have no member.",
            "SELECT count(*) FROM communities c WHERE NOT EXISTS "
            "(SELECT 1 FROM community_members WHERE community_id = c.id)",
        ),
    ),
    "embedding spaces": (
        (
            "{} vectors are there, and no embedding space is searched in.",
            "SELECT count(*) FROM chunk_vectors WHERE NOT EXISTS "
            "(SELECT 1 FROM embedding_spaces WHERE active = 1)",
        ),
    ),
}


def _count(session: Session, counted: tuple[tuple[str, str], ...]) -> list[str]:
    return [sentence.format(f"{count:,}") for sentence, sql in counted if (count := session.value(sql))]


def _integrity(session: Session) -> list[str]:
    return [f"SQLite: {text}" for text in session.column("PRAGMA integrity_check(20)") if text != "ok"]


def _schema(session: Session) -> list[str]:
    """Tables, columns and indexes that a file of this format has and this one lacks."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        fresh = Database(connection, execute_plugins=False)
        migrations.migrate(fresh)
        expected = _parts(fresh.execute(_PARTS).fetchall())
    missing = sorted(expected - _parts(session.rows(_PARTS)))
    return [f"The file lacks {name}." for name in missing]


_PARTS = (
    "SELECT m.type, m.name, coalesce(c.name, '') FROM sqlite_master m "
    "LEFT JOIN pragma_table_xinfo(m.name) c "
    "WHERE m.type IN ('table', 'index', 'trigger') AND m.name NOT LIKE 'sqlite_%'"
)


def _parts(rows: list[tuple[str, str, str]]) -> set[str]:
    return {
        f"the {kind} {name}" if kind != "table" or not column else f"the column {column} of the table {name}"
        for kind, name, column in rows
    }


def _broken_keys(session: Session) -> list[str]:
    counts: dict[str, int] = {}
    for row in session.rows("PRAGMA foreign_key_check"):
        counts[row[0]] = counts.get(row[0], 0) + 1
    return [f"{count:,} rows of {table} point to rows that are not there." for table, count in counts.items()]


def _spans(session: Session) -> list[str]:
    """Chunks whose text is not their document's text at their span."""
    found = []
    for document_id, path, characters in session.rows(
        "SELECT id, path, characters FROM documents ORDER BY id"
    ):
        text = session.value("SELECT text FROM documents WHERE id = ?", [document_id])
        if len(text) != characters:
            found.append(f"{path}: the text has {len(text)} characters, {characters} were noted.")
        rows = session.rows(
            "SELECT char_start, char_end, text FROM chunks WHERE document_id = ?", [document_id]
        )
        wrong = sum(text[start:end] != part for start, end, part in rows)
        if wrong:
            found.append(f"{path}: {wrong} passages are not the document's text at their place.")
    return found


def _texts(session: Session) -> list[str]:
    """Entities and relations for which another text was noted than the one that is embedded; a sample."""
    found = []
    for table, text_of in (("entities", entity_text), ("relations", relation_text)):
        total = session.value(f"SELECT count(*) FROM {table}")
        step = max(1, -(-total // SAMPLE))
        rows = session.rows(
            "SELECT id, text_hash FROM (SELECT id, text_hash, row_number() OVER (ORDER BY id) AS n "
            f"FROM {table}) WHERE n % ? = 0",
            [step],
        )
        if wrong := sum(text_hash(text_of(session, row_id)) != noted for row_id, noted in rows):
            found.append(f"{wrong:,} of {len(rows):,} {table} are noted with another text than theirs.")
    return found


def _prompts(session: Session) -> list[str]:
    wrong = sum(
        hashlib.sha256(text.encode("utf-8")).hexdigest() != digest
        for digest, text in session.each("SELECT hash, text FROM prompts")
    )
    return [f"{wrong:,} prompts are not the text that was sent."] if wrong else []


def _vectors(session: Session, kind: str, owner: str) -> list[str]:
    wrong = sum(1 for _ in wrong_vectors(session, kind))
    return (
        [f"{wrong:,} vectors of {owner} have not length 1 or not their space's dimension."] if wrong else []
    )


def wrong_vectors(session: Session, kind: str) -> Iterator[int]:
    """The rowids of a kind's vectors that cannot be searched: of another dimension than their space's, with
    a value that is no number, or of another length than 1."""
    table = f"{kind}_vectors"
    for space_id, dimension in session.rows("SELECT id, dimension FROM embedding_spaces"):
        yield from session.column(
            f"SELECT rowid FROM {table} WHERE space_id = ? AND length(vec) <> ?", [space_id, 4 * dimension]
        )
        last = -1
        while rows := session.rows(
            f"SELECT rowid, vec FROM {table} WHERE space_id = ? AND rowid > ? AND length(vec) = ? "
            "ORDER BY rowid LIMIT ?",
            [space_id, last, 4 * dimension, _BLOCK],
        ):
            last = rows[-1][0]
            matrix = np.frombuffer(b"".join(row[1] for row in rows), dtype="<f4").reshape(
                len(rows), dimension
            )
            with np.errstate(invalid="ignore", over="ignore"):
                lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))
            for index in np.flatnonzero(~(np.abs(lengths - 1.0) <= UNIT)):
                yield rows[int(index)][0]
