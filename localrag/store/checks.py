"""Looks through the whole file for anything that is not as it was promised."""

from __future__ import annotations

from localrag.store.fulltext import FullText
from localrag.store.session import Session


def problems(session: Session, fulltext: FullText) -> list[str]:
    """What is wrong with the file, one sentence each; an empty list if all is well."""
    found = [f"SQLite: {text}" for text in session.column("PRAGMA integrity_check(20)") if text != "ok"]
    for table, count in _broken_keys(session).items():
        found.append(f"{count} rows of {table} point to rows that are not there.")
    found += _spans(session)
    found += fulltext.problems()
    for sentence, sql in _COUNTED:
        if count := session.value(sql):
            found.append(sentence.format(count))
    return found


_COUNTED = (
    (
        "{} calls of the model do not add up: parsed is not stored + rejected.",
        "SELECT count(*) FROM generations g WHERE parsed <> "
        "(SELECT count(*) FROM mentions WHERE generation_id = g.id) + "
        "(SELECT count(*) FROM relation_mentions WHERE generation_id = g.id) + "
        "(SELECT count(*) FROM rejects WHERE generation_id = g.id)",
    ),
    (
        "{} entities have no mention.",
        "SELECT count(*) FROM entities WHERE id NOT IN (SELECT entity_id FROM mentions)",
    ),
    (
        "{} relations have no mention.",
        "SELECT count(*) FROM relations WHERE id NOT IN (SELECT relation_id FROM relation_mentions)",
    ),
    (
        "{} mentions lie outside of their passage's text.",
        "SELECT count(*) FROM mentions m JOIN chunks c ON c.id = m.chunk_id WHERE NOT "
        "((m.char_start = -1 AND m.char_end = -1) OR "
        "(m.char_start >= 0 AND m.char_start <= m.char_end AND m.char_end <= length(c.text)))",
    ),
    *(
        (
            f"{{}} vectors of {owner} do not have their space's length.",
            f"SELECT count(*) FROM {kind}_vectors v JOIN embedding_spaces s ON s.id = v.space_id "
            "WHERE length(v.vec) <> 4 * s.dimension",
        )
        for kind, owner in (("chunk", "passages"), ("entity", "entities"), ("relation", "relations"))
    ),
)


def _broken_keys(session: Session) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in session.rows("PRAGMA foreign_key_check"):
        counts[row[0]] = counts.get(row[0], 0) + 1
    return counts


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
