"""Brings the folded names of a file in step with the rules of this program, once after it is opened to write.

Rules only grow coarser, and folding twice is folding once, so keys are folded anew as they are, everywhere by
the same function: what belonged together before still does. Then all that was read is given its place again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from localrag.errors import KnowledgeBaseError
from localrag.graph.names import VERSION, fold
from localrag.store import merges_upkeep
from localrag.store.decision_json import read
from localrag.store.resolution import reassign
from localrag.store.session import Session

_KEYS = (
    ("mentions", "key"),
    ("relation_mentions", "source_key"),
    ("relation_mentions", "target_key"),
    ("claims", "subject_key"),
    ("claims", "object_key"),
    ("entity_aliases", "entity_key"),
    ("entity_aliases", "key"),
)
"""Columns that hold folded names as they were read or decided."""

_ARGUMENTS = frozenset({"key", "keys", "into", "alias", "pair", "pairs"})
"""Fields of decisions that hold folded names."""


def prepare(session: Session) -> None:
    """Fold all names anew if the rules were others when they were stored; one transaction."""
    if session.value("SELECT names_version FROM meta") == VERSION:
        return
    with session.transaction():
        # Looked at again: another program may have done it while this one waited.
        if session.value("SELECT names_version FROM meta") != VERSION:
            changed = _refold(session)
            session.run("UPDATE meta SET names_version = ?", [VERSION])
            if changed:
                reassign(session)
                merges_upkeep.make_anew(session)
                session.touch()


def _refold(session: Session) -> bool:
    """Fold the keys of all tables; returns whether any is another one now."""
    changed = 0
    for table, column in _KEYS:
        updates = [
            (after, before)
            for before in session.column(f"SELECT DISTINCT {column} FROM {table} WHERE {column} <> ''")
            if (after := fold(before) or before) != before
        ]
        session.run_many(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", updates)
        changed += len(updates)
    # What a passage calls its entity by itself is no other name.
    session.run("DELETE FROM entity_aliases WHERE key = entity_key AND chunk_id IS NOT NULL")
    for entity_id, before in session.rows("SELECT id, key FROM entities ORDER BY id"):
        after = fold(before) or before
        if after != before:
            changed += 1
            # Where the new key is taken, the mentions go over to that entity.
            session.run("UPDATE OR IGNORE entities SET key = ? WHERE id = ?", [after, entity_id])
    return changed + _refold_decisions(session) > 0


def _refold_decisions(session: Session) -> int:
    """Fold the keys in the log; what decides nothing any more, since two keys are one now, is taken out."""
    changed = 0
    for row_id, kind, arguments in session.rows("SELECT id, kind, arguments FROM decisions ORDER BY id"):
        values = _without_self(_folded(json.loads(arguments)))
        after = json.dumps(values, ensure_ascii=True)
        if after == arguments:
            continue
        changed += 1
        try:
            read(kind, after)
        except KnowledgeBaseError:
            session.run("DELETE FROM decisions WHERE id = ?", [row_id])
            continue
        session.run("UPDATE decisions SET arguments = ? WHERE id = ?", [after, row_id])
    return changed


def _folded(values: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a decision with their keys folded."""
    return {
        name: _each(value, lambda key: fold(key) or key) if name in _ARGUMENTS else value
        for name, value in values.items()
    }


def _each(value: Any, change: Callable[[str], str]) -> Any:
    """Texts changed, in lists too."""
    if isinstance(value, list):
        return [_each(item, change) for item in value]
    return change(value) if isinstance(value, str) else value


def _without_self(values: dict[str, Any]) -> dict[str, Any]:
    """A merge of entities without those that are the one that they go to, each once."""
    keys, names, into = values.get("keys"), values.get("names"), values.get("into")
    if not isinstance(keys, list) or not isinstance(names, list) or not isinstance(into, str):
        return values
    kept = {key: name for key, name in reversed(list(zip(keys, names, strict=False))) if key != into}
    ordered = [key for key in dict.fromkeys(keys) if key in kept]
    return values | {"keys": ordered, "names": [kept[key] for key in ordered]}
