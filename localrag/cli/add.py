"""`localrag add`: puts files and folders into the knowledge base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from localrag.cli import output
from localrag.cli.invocation import Invocation, json_option, kb_option, pass_invocation
from localrag.cli.progress import Bar
from localrag.cli.stopping import Stop, stoppable
from localrag.errors import DocumentError

if TYPE_CHECKING:
    from localrag.kb import AddEvent, AddReport, KnowledgeBase

PARTLY_DONE = 5
_LISTED = 20
_NAMED = 3


@click.command(short_help="Put files and folders in.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...")
@kb_option
@json_option
@pass_invocation
def add(invocation: Invocation, paths: tuple[Path, ...]) -> int:
    """Put files and whole folders into the knowledge base.

    Reads .txt and .md files in any common encoding. Adding something again costs nothing if it is unchanged,
    and replaces it if it changed. No model is needed for this.

    \b
    Example:
      localrag add letters/ report.md
    """
    with invocation.knowledge_base() as kb, stoppable() as stop:
        report = add_paths(kb, paths, stop, quiet=invocation.json)
        if invocation.json:
            output.put_json(report_json(report))
        if stop.asked:
            output.say("Stopped. What was put in is kept; the same command goes on.")
            return stop.exit_code
        if report.chunks and not invocation.json:
            output.say("Next: localrag index")
        return PARTLY_DONE if report.failed else 0


def add_paths(kb: KnowledgeBase, paths: Sequence[Path], stop: Stop, *, quiet: bool) -> AddReport:
    """Add `paths` with progress on stderr and say what became of them.

    Raises `DocumentError` if not one file of them could be read.
    """
    with Bar(quiet=quiet) as bar:
        bar.begin("Adding", 0)

        def show(event: AddEvent) -> None:
            bar.update(event.done, event.path, event.total)

        report = kb.add(paths, on_event=show, cancel=stop.event)
    _tell(report)
    if report.failed and not (report.added or report.changed or report.unchanged):
        raise DocumentError(
            "None of these files could be read.", "The reasons are above; localrag status shows them again."
        )
    return report


def report_json(report: AddReport) -> dict[str, Any]:
    """The report for programs."""
    values = asdict(report)
    for name in ("failed", "skipped"):
        values[name] = [{"path": path, "reason": reason} for path, reason in values[name]]
    return values


def _tell(report: AddReport) -> None:
    for path, reason in report.failed[:_LISTED]:
        output.warn(f"{path}: {reason}")
    if len(report.failed) > _LISTED:
        output.say(f"And {output.number(len(report.failed) - _LISTED, 'other')}; localrag status lists all.")
    reasons: dict[str, list[str]] = {}
    for path, reason in report.skipped:
        reasons.setdefault(reason, []).append(path)
    for reason, paths in list(reasons.items())[:_LISTED]:
        more = f" and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else ""
        output.say(f"Skipped {', '.join(paths[:_NAMED])}{more}: {reason}")
    if len(reasons) > _LISTED:
        output.say(f"Skipped others for {len(reasons) - _LISTED:,} other reasons; --json lists all.")
    counts = (
        (report.added, "added"),
        (report.changed, "changed"),
        (report.unchanged, "unchanged"),
        (len(report.failed), "failed"),
        (len(report.skipped), "skipped"),
    )
    told = ", ".join(f"{count:,} {word}" for count, word in counts if count) or "nothing there"
    output.say(f"Files: {told}. New chunks: {report.chunks:,}.")
