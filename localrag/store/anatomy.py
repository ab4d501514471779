"""What a knowledge base's file holds, and what of its size goes to which group of tables."""

from __future__ import annotations

from contextlib import suppress

from localrag.store import sqlite
from localrag.store.file_rows import FileFacts, GroupFacts, SpaceFacts, StoreInfo
from localrag.store.session import Session
from localrag.store.sqlite import sqlite3

GROUPS = {
    "documents and passages": ("documents", "chunks", "copies", "roots"),
    "full text": ("chunk_words", "chunk_codes"),
    "entities and relations": (
        "entities",
        "entity_aliases",
        "mentions",
        "relations",
        "relation_mentions",
    ),
    "automatic merges": ("unresolved", "name_features", "document_merges", "name_links", "name_merges"),
    "graph without a model": ("zero_names", "zero_places", "zero_documents"),
    "claims": ("claims", "claim_quotes"),
    "communities and reports": ("communities", "community_members", "reports", "report_sources"),
    "vectors": ("embedding_spaces", "chunk_vectors", "entity_vectors", "relation_vectors"),
    "calls of the model": ("generations", "generation_sources", "rejects", "prompts"),
    "decisions and tags": ("decisions", "tags"),
    "conversations and kept answers": (
        "sessions",
        "messages",
        "citations",
        "answers",
        "traces",
        "trace_sources",
    ),
}
"""The tables by what they mean to a person; what is in none of them is bookkeeping."""

REST = "bookkeeping"


def describe(session: Session, info: StoreInfo) -> FileFacts:
    """Identity, contents and sizes of the file. Reads every table once."""
    measured = _pages(session)
    groups = _groups(session, info, measured)
    page_size = session.value("PRAGMA page_size")
    free = session.value("PRAGMA freelist_count") * page_size
    used = sum(group.size for group in groups)
    if measured is None and (rest := info.size - free - used) > 0:
        groups.append(GroupFacts("indexes and half-filled pages", 0, rest))
    return FileFacts(
        path=session.path,
        uuid=info.uuid,
        format=info.format,
        created_by=info.created_by,
        created_at=info.created_at,
        revision=info.revision,
        size=info.size,
        free=free,
        read_only=not sqlite.writable(session.path),
        counts=dict(info.counts),
        groups=tuple(sorted(groups, key=lambda group: (-group.size, group.name))),
        measured=measured is not None,
        spaces=_spaces(session),
    )


def _groups(session: Session, info: StoreInfo, measured: dict[str, int] | None) -> list[GroupFacts]:
    owners = {table: name for name, tables in GROUPS.items() for table in tables}
    rows = dict.fromkeys((*GROUPS, REST), 0)
    sizes = dict.fromkeys((*GROUPS, REST), 0)
    for table, count in info.counts.items():
        rows[owners.get(table, REST)] += count
    for table in _tables(session):
        # The tables behind a full-text table are named after it.
        owner = next((name for name in GROUPS["full text"] if table.startswith(f"{name}_")), table)
        group = owners.get(owner, REST)
        sizes[group] += _content(session, table) if measured is None else measured.get(table, 0)
    return [GroupFacts(name, rows[name], sizes[name]) for name in rows if rows[name] or sizes[name]]


def _pages(session: Session) -> dict[str, int] | None:
    """Bytes of every table's pages and those of its indexes, where this SQLite can tell."""
    with suppress(sqlite3.OperationalError):
        return dict(
            session.rows(
                "SELECT coalesce(m.tbl_name, s.name), sum(s.pgsize) FROM dbstat s "
                "LEFT JOIN sqlite_master m ON m.name = s.name GROUP BY 1"
            )
        )
    return None


def _tables(session: Session) -> list[str]:
    return session.column(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
    )


def _content(session: Session, table: str) -> int:
    """Bytes of a table's contents; newer SQLites tell without reading the long ones."""
    size = "octet_length({})" if sqlite3.sqlite_version_info >= (3, 43, 0) else "length(CAST({} AS BLOB))"
    columns = [row[0] for row in session.rows("SELECT name FROM pragma_table_info(?)", [table])]
    # Names come from our own schema; quoted all the same.
    total = " + ".join(f"coalesce({size.format(_quoted(column))}, 0)" for column in columns)
    return int(session.value(f"SELECT coalesce(sum({total}), 0) FROM {_quoted(table)}"))


def _spaces(session: Session) -> tuple[SpaceFacts, ...]:
    found = []
    for space_id, model, fingerprint, dimension, active, building in session.rows(
        "SELECT id, model, fingerprint, dimension, active, building FROM embedding_spaces ORDER BY id"
    ):
        vectors = {
            kind: session.value(f"SELECT count(*) FROM {kind}_vectors WHERE space_id = ?", [space_id])
            for kind in ("chunk", "entity", "relation")
        }
        state = "active" if active else "building" if building else "unused"
        found.append(SpaceFacts(model, fingerprint, dimension, state, vectors))
    return tuple(found)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
