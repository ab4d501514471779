"""What the commands for entities, relations, aliases and tags share: telling, the log, taking back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from localrag.cli import output
from localrag.cli.invocation import Invocation, json_option, kb_option, pass_invocation

if TYPE_CHECKING:
    from localrag.curating import Decided, LogEntry
    from localrag.kb import KnowledgeBase

Row = TypeVar("Row")

LISTED = 50
"""Rows that a list shows unless told otherwise."""

limit_option = click.option(
    "--limit",
    type=click.IntRange(min=1, max=1_000_000),
    default=LISTED,
    show_default=True,
    metavar="N",
    help="How many at most.",
)
"""Adds `--limit N`."""


def tell(invocation: Invocation, decided: Decided, command: str) -> None:
    """Say what was decided, what it moved, and how to take it back."""
    if invocation.json:
        output.put_json(asdict(decided))
        return
    output.say(f"{decided.sentence} {_moved(decided)}")
    output.say(f"Take it back: localrag {command} undo {decided.id}")


def tell_all(invocation: Invocation, made: Sequence[Decided], command: str) -> None:
    """Say what several decisions did, one after the other."""
    if invocation.json:
        output.put_json({"decisions": [asdict(decided) for decided in made]})
        return
    for decided in made:
        tell(invocation, decided, command)


def tell_undone(invocation: Invocation, decided: Decided) -> None:
    """Say what was taken back."""
    if invocation.json:
        output.put_json(asdict(decided))
        return
    output.say(f"Taken back, decision {decided.id}: {decided.sentence} {_moved(decided)}")


def show_log(invocation: Invocation, entries: list[LogEntry]) -> None:
    """Show decisions, undone ones too."""
    if invocation.json:
        output.put_json({"decisions": [asdict(entry) for entry in entries]})
        return
    if not entries:
        output.say("Nothing was decided yet.")
        return
    output.put_table(
        [("id", "right"), "made", "state", "decision"],
        [
            (str(entry.id), entry.made_at[:16], "undone" if entry.undone_at else "holds", entry.sentence)
            for entry in entries
        ],
    )


class Desk(Protocol):
    """What a person's decisions about one kind of thing have in common."""

    def undo(self, decision: int | None = None) -> Decided:
        """Take back a decision, the last one without an id."""

    def log(self) -> list[LogEntry]:
        """All decisions, undone ones too."""


def add_history(group: click.Group, what: str, desk: Callable[[KnowledgeBase], Desk]) -> None:
    """Give the group of commands `what` the commands `undo` and `log` for the decisions of a desk."""

    @group.command(
        short_help="Take a decision back.",
        help=f"Take back the decision with this ID, or the last one about {what}. The others stay.\n\n"
        f"\b\nExamples:\n  localrag {what} undo\n  localrag {what} undo 7",
    )
    @click.argument("decision", required=False, type=click.IntRange(min=1), metavar="[ID]")
    @kb_option
    @json_option
    @pass_invocation
    def undo(invocation: Invocation, decision: int | None) -> None:
        with invocation.knowledge_base() as kb:
            tell_undone(invocation, desk(kb).undo(decision))

    @group.command(
        short_help=f"Show what was decided about {what}.",
        help=f"Show all decisions about {what}, with their ids.\n\n\b\nExample:\n  localrag {what} log",
    )
    @kb_option
    @json_option
    @pass_invocation
    def log(invocation: Invocation) -> None:
        with invocation.knowledge_base(read_only=True) as kb:
            show_log(invocation, desk(kb).log())


def cut(rows: list[Row], limit: int) -> list[Row]:
    """At most `limit` of the rows; where one was asked for beyond them, says that there are more."""
    if len(rows) > limit:
        output.say(f"These are the first {limit:,}; --limit shows more.")
    return rows[:limit]


def show_rows(invocation: Invocation, name: str, rows: list[dict[str, Any]], empty: str) -> bool:
    """Write rows as JSON, or say that there are none; returns whether a table is still to be shown."""
    if invocation.json:
        output.put_json({name: rows})
        return False
    if not rows:
        output.say(empty)
    return bool(rows)


def _moved(decided: Decided) -> str:
    mentions, others = decided.mentions, decided.relation_mentions
    parts = [output.number(mentions, "mention")] if mentions else []
    if others:
        parts.append(output.number(others, "mention of relations", "mentions of relations"))
    return f"{' and '.join(parts)} moved." if parts else ""
