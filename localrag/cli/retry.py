"""`localrag retry`: lets what failed be tried once more."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from localrag.cli import output
from localrag.cli.add import PARTLY_DONE, report_json
from localrag.cli.invocation import Invocation, json_option, kb_option, pass_invocation
from localrag.cli.progress import Bar
from localrag.cli.stopping import Stop, stoppable

if TYPE_CHECKING:
    from localrag.kb import AddEvent, KnowledgeBase
    from localrag.retrying import RetryReport

_LISTED = 20


@click.command(short_help="Try once more what failed.")
@click.argument("documents", nargs=-1, metavar="[DOCUMENT]...")
@click.option(
    "--all", "everything", is_flag=True, help="Also the passages that are left out, since the engine died."
)
@kb_option
@json_option
@pass_invocation
def retry(invocation: Invocation, documents: tuple[str, ...], everything: bool) -> int:
    """Try once more what could not be read: of each DOCUMENT that is named, or of all.

    Files are read at once. Passages wait for the next `localrag index`, which tries them as if they were new.
    Passages over which the engine died are among them only if their document is named, or with --all.
    `localrag status --failed` lists what there is to try.

    \b
    Examples:
      localrag retry
      localrag retry letters/1911.txt
    """
    with invocation.knowledge_base() as kb, stoppable() as stop:
        report = _retry(kb, documents, stop, everything=everything, quiet=invocation.json)
    if invocation.json:
        output.put_json(_json(report))
    else:
        _tell(report)
    if stop.asked:
        output.say("Stopped. The same command goes on.")
        return stop.exit_code
    return PARTLY_DONE if report.missing or (report.files is not None and report.files.failed) else 0


def _retry(
    kb: KnowledgeBase, documents: tuple[str, ...], stop: Stop, *, everything: bool, quiet: bool
) -> RetryReport:
    with Bar(quiet=quiet) as bar:

        def show(event: AddEvent) -> None:
            if event.done == 1:
                bar.begin("Reading files", event.total)
            bar.update(event.done, event.path, event.total)

        return kb.retry(documents, everything=everything, on_event=show, cancel=stop.event)


def _tell(report: RetryReport) -> None:
    failed = [*report.missing, *(report.files.failed if report.files is not None else ())]
    for path, reason in failed[:_LISTED]:
        output.warn(f"{path}: {reason}")
    if len(failed) > _LISTED:
        output.say(
            f"And {output.number(len(failed) - _LISTED, 'other')}; localrag status --failed lists all."
        )
    read = report.files.added + report.files.changed if report.files is not None else 0
    if read:
        output.say(f"{output.number(read, 'file')} that failed before could be read now.")
    if report.passages:
        passages = output.number(report.passages, "passage")
        documents = output.number(report.documents, "document")
        output.say(f"{passages} of {documents} will be tried again by the next run.")
    if report.left_out:
        passages = output.number(report.left_out, "passage stays", "passages stay")
        output.say(f"{passages} left out, since the engine died: name the document, or use --all.")
    if report.passages or read:
        output.say("Next: localrag index")
    elif not (failed or report.left_out):
        output.say("Nothing has failed.")


def _json(report: RetryReport) -> dict[str, Any]:
    values = asdict(report)
    values["files"] = report_json(report.files) if report.files is not None else None
    values["missing"] = [{"path": path, "reason": reason} for path, reason in report.missing]
    return values
