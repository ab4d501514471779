"""Summaries of another file, where they sum up all that is said here.

What only that file knew of keeps its summary. Where both files say something, the summary that is here stays
and is marked for renewal, as after any new reading.
"""

from __future__ import annotations

from localrag.store.merge_calls import CallMerger
from localrag.store.report_rows import SummaryKind
from localrag.store.row_copies import Ids, RowCopier
from localrag.store.upkeep import entity_text, relation_text, text_hash

_NAMED: dict[SummaryKind, str] = {
    "entity": "SELECT key, id, {} FROM entities",
    "relation": "SELECT s.key || char(0) || t.key, r.id, {} FROM relations r "
    "JOIN entities s ON s.id = r.source_id JOIN entities t ON t.id = r.target_id",
}
"""Rows with what names them in any file."""

_TABLES: dict[SummaryKind, tuple[str, str]] = {
    "entity": ("entities", "mentions"),
    "relation": ("relations", "relation_mentions"),
}


def join_summaries(rows: RowCopier, calls: CallMerger, chunks: Ids) -> int:
    """Bring summaries over, within the transactions of both files; returns how many.

    What was read has to be here and in its place.
    """
    count = 0
    for kind in _TABLES:
        table, mentions = _TABLES[kind]
        prefix = "" if kind == "entity" else "r."
        here: dict[str, tuple[int, str]] = {
            name: (row_id, summary)
            for name, row_id, summary in rows.target.rows(_NAMED[kind].format(f"{prefix}summary"))
        }
        columns = ", ".join(f"{prefix}{name}" for name in ("summary", "dirty", "generation_id"))
        said_in = f"SELECT DISTINCT chunk_id FROM {mentions} WHERE {kind}_id = ?"
        for name, there, summary, dirty, call in rows.source.rows(_NAMED[kind].format(columns)):
            row_id, present = here.get(name, (0, ""))
            if not row_id or not summary or present:
                continue
            said_there = {chunks.get(chunk) for chunk in rows.source.column(said_in, [there])}
            if said_there != set(rows.target.column(said_in, [row_id])):
                continue
            rows.target.run(
                f"UPDATE {table} SET summary = ?, dirty = ?, generation_id = ? WHERE id = ?",
                [summary, dirty, calls.bring(call), row_id],
            )
            text = (entity_text if kind == "entity" else relation_text)(rows.target, row_id)
            rows.target.run(f"UPDATE {table} SET text_hash = ? WHERE id = ?", [text_hash(text), row_id])
            count += 1
    return count
