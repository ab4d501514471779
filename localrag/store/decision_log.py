"""The log of decisions as rows, and the resolution that follows from it, kept until the log changes."""

from __future__ import annotations

import secrets
from weakref import WeakKeyDictionary

from localrag.store.curation_rows import Decision, DecisionRow
from localrag.store.decision_json import read
from localrag.store.replay import Resolution
from localrag.store.session import Session
from localrag.store.tag_replay import TagSteps

_COLUMNS = "id, uuid, made_at, undone_at, kind, arguments"
_NOTHING = (Resolution(), TagSteps())
_KEPT: WeakKeyDictionary[Session, tuple[int, tuple[Resolution, TagSteps]]] = WeakKeyDictionary()


def log(session: Session) -> list[DecisionRow]:
    """All decisions in the order in which they are replayed.

    That is the order in which they were made, and not that of ids: logs of several files may be joined.
    Raises `KnowledgeBaseError` if one is damaged or not known to this program.
    """
    return [
        DecisionRow(row[0], row[1], row[2], row[3], read(row[4], row[5]))
        for row in session.rows(f"SELECT {_COLUMNS} FROM decisions ORDER BY made_at, uuid")
    ]


def active(session: Session) -> list[tuple[int, Decision]]:
    """The decisions that hold, with their ids, in their order. Raises as `log` does."""
    return [(row.id, row.decision) for row in log(session) if not row.undone_at]


def resolution(session: Session) -> Resolution:
    """What the active decisions say of names. Costs one short query where nothing was decided meanwhile.

    Raises as `log` does.
    """
    return _said(session)[0]


def tag_steps(session: Session) -> TagSteps:
    """What the active decisions say of tags; as `resolution`."""
    return _said(session)[1]


def _said(session: Session) -> tuple[Resolution, TagSteps]:
    mark = session.value("SELECT decided FROM meta")
    if not mark:
        return _NOTHING
    kept = _KEPT.get(session)
    if kept is None or kept[0] != mark:
        decisions = active(session)
        kept = (mark, (Resolution(decisions), TagSteps(decisions)))
        _KEPT[session] = kept
    return kept[1]


def changed(session: Session) -> None:
    """Say that the log is another one now, within the caller's transaction.

    The mark is drawn at random, so that the one of a change that was rolled back never comes again.
    """
    mark = 1 + secrets.randbits(60) if session.value("SELECT 1 FROM decisions LIMIT 1") else 0
    session.run("UPDATE meta SET decided = ?", [mark])
