"""`localrag add`: puts files and folders into the knowledge base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from localrag.cli import output
from localrag.cli.following import pattern_change, pattern_options, tell_failed, tell_skipped
from localrag.cli.invocation import Invocation, NamedPath, json_option, kb_option, pass_invocation
from localrag.cli.progress import Bar
from localrag.cli.stopping import Stop, stoppable
from localrag.errors import DocumentError

if TYPE_CHECKING:
    from localrag.kb import AddEvent, AddReport, KnowledgeBase, PatternChange

PARTLY_DONE = 5
_LISTED = 20


@click.command(short_help="Put files and folders in.")
@click.argument("paths", nargs=-1, required=True, type=NamedPath(), metavar="PATH...")
@pattern_options
@kb_option
@json_option
@pass_invocation
def add(
    invocation: Invocation,
    paths: tuple[Path, ...],
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    gitignore: bool | None,
    all_files: bool,
) -> int:
    """Put files and whole folders into the knowledge base, and follow them.

    Reads .txt and .md files in any common encoding. Adding something again costs nothing if it is unchanged,
    and replaces it if it changed; `localrag sync` does so for everything that was added, and also finds what
    was moved or deleted. No model is needed for this.

    \b
    Examples:
      localrag add letters/ report.md
      localrag add notes/ --include '*.md' --exclude 'drafts/**'
    """
    patterns = pattern_change(include, exclude, gitignore, all_files)
    with invocation.knowledge_base() as kb, stoppable() as stop:
        report = add_paths(kb, paths, stop, quiet=invocation.json, patterns=patterns)
        if invocation.json:
            output.put_json(report_json(report))
        if stop.asked:
            output.say("Stopped. What was put in is kept; the same command goes on.")
            return stop.exit_code
        if report.chunks and not invocation.json:
            output.say("Next: localrag index")
        return PARTLY_DONE if report.failed else 0


def add_paths(
    kb: KnowledgeBase,
    paths: Sequence[Path],
    stop: Stop,
    *,
    quiet: bool,
    patterns: PatternChange | None = None,
) -> AddReport:
    """Add `paths` with progress on stderr and say what became of them.

    Raises `DocumentError` if not one file of them could be read.
    """
    with Bar(quiet=quiet) as bar:
        bar.begin("Adding", 0)

        def show(event: AddEvent) -> None:
            bar.update(event.done, event.path, event.total)

        report = kb.add(paths, on_event=show, cancel=stop.event, patterns=patterns)
    _tell(report)
    held = report.added or report.changed or report.unchanged or report.copied or report.moved
    if report.failed and not held:
        raise DocumentError(
            "None of these files could be read.", "The reasons are above; localrag status shows them again."
        )
    return report


def report_json(report: AddReport) -> dict[str, Any]:
    """The report for programs."""
    values = asdict(report)
    for name, second in (("failed", "reason"), ("skipped", "reason"), ("copied", "of"), ("moved", "from")):
        values[name] = [{"path": path, second: other} for path, other in values[name]]
    return values


def _tell(report: AddReport) -> None:
    tell_failed(report.failed)
    for path, first in report.copied[:_LISTED]:
        output.say(f"{path} has the content of {first}; it is kept once, with both places.")
    if len(report.copied) > _LISTED:
        output.say(f"And {output.number(len(report.copied) - _LISTED, 'other copy', 'other copies')}.")
    tell_skipped(report.skipped)
    for note in report.notes[:_LISTED]:
        output.warn(note)
    counts = (
        (report.added, "added"),
        (report.changed, "changed"),
        (len(report.moved), "moved"),
        (len(report.copied), "with the content of another"),
        (report.unchanged, "unchanged"),
        (len(report.failed), "failed"),
        (len(report.skipped), "skipped"),
    )
    told = ", ".join(f"{count:,} {word}" for count, word in counts if count) or "nothing there"
    output.say(f"Files: {told}. New chunks: {report.chunks:,}.")
