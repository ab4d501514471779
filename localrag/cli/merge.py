"""`localrag merge`: joins other knowledge bases into this one."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from localrag.cli import output
from localrag.cli.invocation import Invocation, NamedPath, json_option, kb_option, pass_invocation
from localrag.cli.stopping import stoppable
from localrag.errors import Cancelled

if TYPE_CHECKING:
    from localrag.store.file_rows import MergeReport

LISTED = 10


@click.command(short_help="Join other knowledge bases into this one.")
@click.argument("sources", nargs=-1, required=True, type=NamedPath(), metavar="FILE...")
@click.option("--dry-run", "dry", is_flag=True, help="Only tell what would come over.")
@kb_option
@json_option
@pass_invocation
def merge(invocation: Invocation, sources: tuple[Path, ...], dry: bool) -> int:
    """Join the knowledge bases FILE... into this one: documents with all that was read in them, vectors of
    the same model, decisions and conversations. No model is needed, and FILE is not changed.

    The same content is stored once, under both names. Other content under the same name comes in as
    "merged from FILE/...". Merging the same file again changes nothing.

    \b
    Examples:
      localrag merge laptop.localrag --dry-run
      localrag merge laptop.localrag office.localrag --kb notes.localrag
    """
    reports: list[MergeReport] = []

    def tell(report: MergeReport) -> None:
        reports.append(report)
        if not invocation.json:
            _say(report)

    with invocation.knowledge_base() as kb, stoppable("Stopping; nothing more is joined in.") as stop:
        try:
            kb.merge(sources, dry=dry, cancel=stop.event, on_report=tell)
        except Cancelled as error:
            output.say(error.message)
    if invocation.json:
        output.put_json({"dry_run": dry, "cancelled": stop.asked, "files": [_json(item) for item in reports]})
    return stop.exit_code if stop.asked else 0


def _say(report: MergeReport) -> None:
    for note in report.notes:
        output.warn(f"{report.source.name}: {note}")
    if not report.changed:
        output.say(f"{report.source.name}: everything in it is here already.")
        return
    joined = "would be joined in" if report.dry else "joined in"
    output.say(f"{report.source.name}: {', '.join(_parts(report))} {joined}.")
    for before, after in report.renamed[:LISTED]:
        output.say(
            f"  {before} has other content here; it {'would come' if report.dry else 'came'} in as {after}"
        )
    if len(report.renamed) > LISTED:
        output.say(f"  and {len(report.renamed) - LISTED:,} more")


def _parts(report: MergeReport) -> list[str]:
    counts = (
        (len(report.added), "document", ""),
        (report.places, "further place of known texts", "further places of known texts"),
        (report.readings, "reading of a passage", "readings of passages"),
        (report.summaries, "summary", "summaries"),
        (report.vectors, "vector", ""),
        (report.decisions, "decision", ""),
        (report.conversations, "conversation", ""),
    )
    return [output.number(count, one, many) for count, one, many in counts if count] or ["a few details"]


def _json(report: MergeReport) -> dict[str, Any]:
    renamed = [{"there": before, "here": after} for before, after in report.renamed]
    values = asdict(report) | {"source": str(report.source), "renamed": renamed, "changed": report.changed}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
