"""A view of the whole file without ids and times, for comparing what two files say."""

from __future__ import annotations

from typing import Any

from localrag.store import Store
from localrag.store.session import Session

CHUNK = (
    "(SELECT d.root || '/' || d.path || '#' || c.ordinal FROM chunks c "
    "JOIN documents d ON d.id = c.document_id WHERE c.id = {})"
)
DOCUMENT = "(SELECT root || '/' || path FROM documents WHERE id = {})"
ENTITY = "(SELECT key FROM entities WHERE id = {})"
RELATION = (
    "(SELECT s.key || ' > ' || t.key FROM relations r JOIN entities s ON s.id = r.source_id "
    "JOIN entities t ON t.id = r.target_id WHERE r.id = {})"
)
CALL = (
    f"(SELECT task || ':' || coalesce({CHUNK.format('chunk_id')}, '') || ':' || output "
    "FROM generations WHERE id = {})"
)
CLAIM = (
    f"(SELECT {CHUNK.format('chunk_id')} || ' ' || type || ' ' || description FROM claims WHERE id = {{}})"
)
COMMUNITY = (
    "(SELECT level || ':' || (SELECT group_concat(key, '|') FROM (SELECT e.key FROM community_members m "
    "JOIN entities e ON e.id = m.entity_id WHERE m.community_id = o.id ORDER BY e.key)) "
    "FROM communities o WHERE o.id = {})"
)
REPORT = f"(SELECT {COMMUNITY.format('community_id')} FROM reports WHERE id = {{}})"
MESSAGE = (
    "(SELECT s.title || ':' || m.text FROM messages m JOIN sessions s ON s.id = m.session_id WHERE m.id = {})"
)
DECISION = "(SELECT kind || arguments FROM decisions WHERE id = {})"

QUERIES = {
    "documents": "SELECT root, path, sha256, size, mtime, media_type, title, language, status, reason, "
    "attempts, characters, text FROM documents",
    "chunks": f"SELECT {CHUNK.format('chunks.id')}, char_start, char_end, heading, page, tokens, "
    "language, state, attempts, error, left_out, text FROM chunks",
    "generations": f"SELECT {CHUNK.format('chunk_id')}, task, prompt_hash, model, parameters, "
    "prompt_tokens, output_tokens, milliseconds, finish, parsed, output FROM generations",
    "generation_sources": f"SELECT {CALL.format('generation_id')}, {CHUNK.format('chunk_id')} "
    "FROM generation_sources",
    "rejects": f"SELECT {CALL.format('generation_id')}, kind, text, reason FROM rejects",
    "entities": "SELECT key, name, type, dirty, text_hash, summary, description, "
    f"{CALL.format('entities.generation_id')} FROM entities",
    "mentions": f"SELECT {CHUNK.format('chunk_id')}, {ENTITY.format('entity_id')}, "
    f"{CALL.format('mentions.generation_id')}, key, name, char_start, char_end, type, description "
    "FROM mentions",
    "relations": f"SELECT {RELATION.format('relations.id')}, dirty, text_hash, keywords, description, "
    f"summary, {CALL.format('relations.generation_id')}, {ENTITY.format('source_id')}, "
    f"{ENTITY.format('target_id')} FROM relations",
    "relation_mentions": f"SELECT {CHUNK.format('chunk_id')}, {RELATION.format('relation_id')}, "
    f"{CALL.format('relation_mentions.generation_id')}, source_key, target_key, keywords, description, "
    "strength, char_start, char_end FROM relation_mentions",
    "claims": f"SELECT {CHUNK.format('chunk_id')}, {CALL.format('claims.generation_id')}, subject_key, "
    f"object_key, {ENTITY.format('subject_id')}, {ENTITY.format('object_id')}, type, status, start_date, "
    "end_date, description FROM claims",
    "claim_quotes": f"SELECT {CLAIM.format('claim_id')}, char_start, char_end FROM claim_quotes",
    "communities": f"SELECT {COMMUNITY.format('communities.id')}, level, {COMMUNITY.format('parent_id')}, "
    "input_hash, dirty FROM communities",
    "community_members": f"SELECT {COMMUNITY.format('community_id')}, {ENTITY.format('entity_id')} "
    "FROM community_members",
    "reports": f"SELECT {COMMUNITY.format('community_id')}, {CALL.format('reports.generation_id')}, "
    "made_from, dirty, title, rating, rating_reason, summary, findings, cut, language FROM reports",
    "report_sources": f"SELECT {REPORT.format('report_id')}, finding, kind, CASE kind "
    f"WHEN 'entity' THEN {ENTITY.format('row_id')} WHEN 'relation' THEN {RELATION.format('row_id')} "
    f"ELSE {CLAIM.format('row_id')} END FROM report_sources",
    "zero_names": "SELECT key FROM zero_names",
    "zero_places": f"SELECT {CHUNK.format('chunk_id')}, (SELECT key FROM zero_names WHERE id = name_id), "
    "kind, char_start, char_end FROM zero_places",
    "zero_documents": f"SELECT {DOCUMENT.format('document_id')}, rules FROM zero_documents",
    "prompts": "SELECT hash, text FROM prompts",
    "embedding_spaces": "SELECT fingerprint, model, dimension, pooling, query_prefix, passage_prefix, "
    "token_limit, active, building FROM embedding_spaces",
    "chunk_vectors": f"SELECT {CHUNK.format('chunk_id')}, text_hash, vec, "
    "(SELECT fingerprint FROM embedding_spaces WHERE id = space_id) FROM chunk_vectors",
    "entity_vectors": f"SELECT {ENTITY.format('entity_id')}, text_hash, vec, "
    "(SELECT fingerprint FROM embedding_spaces WHERE id = space_id) FROM entity_vectors",
    "relation_vectors": f"SELECT {RELATION.format('relation_id')}, text_hash, vec, "
    "(SELECT fingerprint FROM embedding_spaces WHERE id = space_id) FROM relation_vectors",
    "roots": "SELECT path, include, exclude, gitignore FROM roots",
    "copies": f"SELECT {DOCUMENT.format('document_id')}, root, path, size, mtime FROM copies",
    "decisions": "SELECT kind, arguments, undone_at <> '' FROM decisions",
    "unresolved": f"SELECT {DOCUMENT.format('document_id')} FROM unresolved",
    "name_features": "SELECT feature, key FROM name_features",
    "document_merges": f"SELECT {DOCUMENT.format('document_id')}, key, into_key, score, kind, said "
    "FROM document_merges",
    "name_links": "SELECT key, into_key, score, kind, said, documents, together, neighbours FROM name_links",
    "name_merges": "SELECT key, into_key, score, kind, said FROM name_merges",
    "entity_aliases": f"SELECT {ENTITY.format('entity_id')}, entity_key, key, name, "
    f"{DECISION.format('decision_id')}, {CHUNK.format('chunk_id')} FROM entity_aliases",
    "tags": f"SELECT {DOCUMENT.format('document_id')}, tag, name, {DECISION.format('decision_id')} FROM tags",
    "sessions": "SELECT title FROM sessions",
    "messages": "SELECT (SELECT title FROM sessions WHERE id = session_id), "
    f"{CALL.format('messages.generation_id')}, role, state, details, text FROM messages",
    "citations": f"SELECT {MESSAGE.format('message_id')}, number, label, kind, "
    f"{DOCUMENT.format('document_id')}, {CHUNK.format('citations.chunk_id')}, path, page, char_start, "
    "char_end, gone, text FROM citations",
    "answers": f"SELECT key, {CALL.format('answers.generation_id')}, question, answer FROM answers",
    "traces": f"SELECT {MESSAGE.format('message_id')}, trace FROM traces",
    "trace_sources": f"SELECT {MESSAGE.format('message_id')}, {CHUNK.format('trace_sources.chunk_id')} "
    "FROM trace_sources",
}
"""For each table what it says; ids are written as what they stand for."""

NOT_SAID = {
    "documents": {"added_at"},
    "generations": {"created_at"},
    "reports": {"made_at"},
    "sessions": {"created_at", "changed_at"},
    "messages": {"created_at"},
    "answers": {"created_at", "revision"},
    "roots": {"added_at", "synced_at"},
    "decisions": {"uuid", "made_at"},
    **{f"{kind}_vectors": {"seq", "mark"} for kind in ("chunk", "entity", "relation")},
}
"""Columns that are ids, times and numbers that count changes, beside `id` itself."""

BOOKKEEPING = ("meta", "_sqlite_migrations", "sqlite_sequence")
"""Tables of which nothing is said here: identity, times, counters."""

WORDS = ("chunk_words", "chunk_codes")


def logical_rows(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """Everything in the file but ids, times and the revision."""
    return logical_rows_of(store._session)


def logical_rows_of(session: Session) -> dict[str, list[tuple[Any, ...]]]:
    """As `logical_rows`, for a connection."""
    found = {name: sorted(session.rows(sql), key=repr) for name, sql in QUERIES.items()}
    for table in WORDS:
        session.database.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{table}_terms "
            f"USING fts5vocab('main', '{table}', 'instance')"
        )
        found[table] = sorted(
            session.rows(f"SELECT {CHUNK.format('doc')}, term, offset FROM temp.{table}_terms"), key=repr
        )
    return found
