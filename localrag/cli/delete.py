"""`localrag delete`: takes documents out, with all that rests on them alone."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from localrag.cli import output
from localrag.cli.invocation import Invocation, json_option, kb_option, pass_invocation
from localrag.errors import UsageError

if TYPE_CHECKING:
    from localrag.kb import Deleted
    from localrag.store.report_rows import Footprint

_LISTED = 20


@click.command(short_help="Take documents out, with all that they said.")
@click.argument("documents", nargs=-1, required=True, metavar="DOCUMENT...")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@kb_option
@json_option
@pass_invocation
def delete(invocation: Invocation, documents: tuple[str, ...], yes: bool, dry_run: bool) -> None:
    """Take each DOCUMENT out of the knowledge base, and exactly what it said.

    A DOCUMENT is a path as `localrag status` shows it, an id such as 12, a folder with a slash at its end, or
    a pattern in quotes. Entities, relations and claims that no other document speaks of go with it.
    Summaries, reports and kept answers that rested on it go too; the bare facts stand in for them. What was
    said in conversations stays. The files themselves are not touched, so `localrag sync` brings documents of
    a followed folder back, unless --exclude keeps them out.

    \b
    Examples:
      localrag delete letters/1911.txt
      localrag delete "drafts/*.md" --dry-run
      localrag delete drafts/ --yes
    """
    with invocation.knowledge_base() as kb:
        if dry_run or not yes:
            trial = kb.delete_documents(documents, dry_run=True)
            if dry_run:
                _show(trial, as_json=invocation.json)
                return
            _ask(trial)
        done = kb.delete_documents(documents)
    _show(done, as_json=invocation.json)


def _ask(trial: Deleted) -> None:
    """Say what would go, and ask. Raises `UsageError` where nobody can answer, `click.Abort` on no."""
    what = output.number(len(trial.documents), "document")
    if not _can_ask():
        raise UsageError(f"This deletes {what}.", "Look with --dry-run, then say so with --yes.")
    for row in trial.documents[:_LISTED]:
        output.say(row.path)
    if len(trial.documents) > _LISTED:
        output.say(f"and {output.number(len(trial.documents) - _LISTED, 'other')}")
    for name, value in _facts(trial.gone):
        output.say(f"{name}: {value}")
    click.confirm(f"Delete {what} and all of this?", abort=True, err=True)


def _can_ask() -> bool:
    """Whether a person is there to answer."""
    return sys.stdin.isatty() and output.is_terminal(sys.stderr)


def _show(deleted: Deleted, *, as_json: bool) -> None:
    if as_json:
        output.put_json(_json(deleted))
        return
    rows = [(str(row.id), place) for row in deleted.documents for place in deleted.places[row.id]]
    output.put_table([("id", "right"), "document"], rows)
    output.put_facts(_facts(deleted.gone))
    what = output.number(len(deleted.documents), "document")
    output.say(f"{what} would be deleted." if deleted.dry_run else f"Deleted {what}.")


def _facts(gone: Footprint) -> list[tuple[str, str]]:
    """What goes, without what is none."""
    counts = (
        ("Passages", gone.passages),
        ("Entities that nothing else speaks of", gone.entities),
        ("Relations that nothing else speaks of", gone.relations),
        ("Mentions", gone.mentions),
        ("Claims", gone.claims),
        ("Summaries that rested on them", gone.summaries),
        ("Reports that rested on them", gone.reports),
        ("Kept answers", gone.answers),
        ("Citations whose source is gone", gone.citations),
    )
    return [(name, f"{count:,}") for name, count in counts if count]


def _json(deleted: Deleted) -> dict[str, Any]:
    return {
        "dry_run": deleted.dry_run,
        "documents": [
            {"id": row.id, "path": row.path, "root": row.root, "places": list(deleted.places[row.id])}
            for row in deleted.documents
        ],
        "gone": asdict(deleted.gone),
    }
