"""Making a decision and taking one back, for all screens that offer it: done in a thread, told in words."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from textual.screen import Screen

from localrag.plain import plain
from localrag.tui.words import Fault

if TYPE_CHECKING:
    from localrag.curating import Decided, LogEntry
    from localrag.kb import KnowledgeBase
    from localrag.tui.session import Session

_SECONDS = 6.0


def decide(
    screen: Screen[None],
    session: Session,
    job: Callable[[KnowledgeBase], Decided],
    then: Callable[[], object] | None = None,
    refused: Callable[[], object] | None = None,
) -> None:
    """Make a decision, and say what it did and how it is taken back, or why it cannot be made."""

    def done(decided: Decided) -> None:
        words = f"{plain(decided.sentence)} {moved(decided)}".strip()
        screen.notify(f"{words}\nu takes it back.", timeout=_SECONDS, markup=False)
        if then is not None:
            then()

    def failed(fault: Fault) -> None:
        refuse(screen, fault)
        if refused is not None:
            refused()

    session.change(screen, job, done, failed)


def take_back(
    screen: Screen[None], session: Session, number: int, then: Callable[[], object] | None = None
) -> None:
    """Take a decision back, and say so."""

    def done(decided: Decided) -> None:
        words = f"Taken back: {plain(decided.sentence)} {moved(decided)}".strip()
        screen.notify(words, timeout=_SECONDS, markup=False)
        if then is not None:
            then()

    session.change(screen, lambda kb: kb.entities.undo(number), done, lambda fault: refuse(screen, fault))


def refuse(screen: Screen[None], fault: Fault) -> None:
    """Say why something could not be done; hints that name commands of the command line are left out."""
    words = fault.message if "localrag " in fault.hint else fault.text
    screen.notify(words, severity="error", timeout=_SECONDS, markup=False)


def decisions(kb: KnowledgeBase) -> list[LogEntry]:
    """All decisions about entities, relations and aliases, the newest first."""
    entries = [*kb.entities.log(), *kb.relations.log(), *kb.aliases.log()]
    return sorted(entries, key=lambda entry: (entry.made_at, entry.id), reverse=True)


def last_decision(kb: KnowledgeBase) -> LogEntry | None:
    """The newest decision that holds."""
    return next((entry for entry in decisions(kb) if not entry.undone_at), None)


def moved(decided: Decided) -> str:
    """What a decision moved, in words; empty if nothing."""
    parts = [
        f"{count:,} {word if count == 1 else plural}"
        for count, word, plural in (
            (decided.mentions, "mention", "mentions"),
            (decided.relation_mentions, "mention of a relation", "mentions of relations"),
        )
        if count
    ]
    return f"{' and '.join(parts)} moved." if parts else ""


def when(made_at: str) -> str:
    """A time of the log as it was here."""
    try:
        return f"{datetime.fromisoformat(made_at).astimezone():%Y-%m-%d %H:%M}"
    except ValueError:
        return plain(made_at[:16])
