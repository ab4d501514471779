"""Decisions of another file: those that are not known here join the log, in the order of their making."""

from __future__ import annotations

from collections.abc import Mapping

from localrag.store.curation_rows import DocumentRef
from localrag.store.decision_json import read, written
from localrag.store.decisions import following
from localrag.store.row_copies import RowCopier

Moves = Mapping[tuple[str, str], DocumentRef]
"""Where documents of the other file, by their root and path there, are here."""


def join_decisions(rows: RowCopier, moves: Moves) -> int:
    """Join the logs, within the transactions of both files; returns how many entries are new or taken back.

    A decision that was taken back in one of the files is taken back. Raises `KnowledgeBaseError` if one is
    damaged.
    """
    target = rows.target
    count = 0
    for uuid, kind, arguments, made_at, undone_at in rows.source.rows(
        "SELECT uuid, kind, arguments, made_at, undone_at FROM decisions ORDER BY made_at, uuid"
    ):
        known = target.row("SELECT id, undone_at FROM decisions WHERE uuid = ?", [uuid])
        if known is None:
            target.insert(
                "INSERT INTO decisions (uuid, kind, arguments, made_at, undone_at) VALUES (?, ?, ?, ?, ?)",
                [uuid, kind, _moved(kind, arguments, moves), made_at, undone_at],
            )
            count += 1
        elif undone_at and not known[1]:
            target.run("UPDATE decisions SET undone_at = ? WHERE id = ?", [undone_at, known[0]])
            count += 1
    return count


def _moved(kind: str, arguments: str, moves: Moves) -> str:
    """The arguments with the documents named by the places that they have here."""
    return written(following(read(kind, arguments), moves))
