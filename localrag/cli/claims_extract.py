"""`localrag claims extract`: lets the model read claims."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from localrag.cli import output
from localrag.cli.add import PARTLY_DONE
from localrag.cli.invocation import Invocation, engine_options, json_option, kb_option, pass_invocation
from localrag.cli.machine import measure_first, tell_notes
from localrag.cli.progress import Bar
from localrag.cli.stopping import Stop, stoppable
from localrag.errors import NothingIndexed, UsageError

if TYPE_CHECKING:
    from localrag.claiming import Wanted
    from localrag.indexing.claim_events import ClaimsFailed, ClaimsReport
    from localrag.kb import KnowledgeBase

_FAILURES = 20


@click.command(short_help="Let the model read claims.")
@click.option(
    "--entities",
    multiple=True,
    metavar="SPEC",
    help="Whom claims are about: a name or type of entities, or several parted by commas. Without it: all.",
)
@click.option("--about", default="", metavar="TEXT", help="Which claims count, in words.")
@click.option("--type", "types", multiple=True, metavar="TYPE", help="The only types; without it any.")
@click.option("--document", "documents", multiple=True, metavar="PATH", help="Only this document.")
@click.option("--folder", metavar="FOLDER", help="Only documents in this folder.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only documents with this tag.")
@click.option("--again", is_flag=True, help="Also passages that were read with the same options before.")
@engine_options
@kb_option
@json_option
@pass_invocation
def extract(
    invocation: Invocation,
    entities: tuple[str, ...],
    about: str,
    types: tuple[str, ...],
    documents: tuple[str, ...],
    folder: str | None,
    tags: tuple[str, ...],
    again: bool,
) -> int:
    """Let the model read the claims of the passages that were indexed.

    Every passage is kept as soon as it is read: ctrl-c stops within a second, and the same command goes on.
    Other options make another set of claims beside those that are there; `localrag claims sets` lists them.

    \b
    Examples:
      localrag claims extract
      localrag claims extract --entities organization --about "breaches of rules" --folder letters
      localrag claims extract --type FINE --type INQUIRY
    """
    from localrag.claiming import Wanted
    from localrag.store.filters import Filter

    specs = _specs(entities)
    if folder is not None and not folder.strip():
        raise UsageError("An empty text is no folder.", "Leave --folder out for all documents.")
    with invocation.knowledge_base() as kb, stoppable() as stop:
        if not kb.status().chunks.read:
            kb.ensure_not_indexing()
            raise NothingIndexed(
                "No passage was read yet, so nobody is known whom claims could be about.",
                "Next: localrag index",
            )
        found = tuple(kb.claims.document(path) for path in documents)
        wanted = Wanted(
            entities=specs,
            about=about,
            types=types,
            filter=Filter(documents=found, tags=tags, folder=folder or ""),
            again=again,
        )
        report, failed = _extract(kb, wanted, stop, quiet=invocation.json)
        tell_notes(kb)
    if invocation.json:
        values = asdict(report) if report is not None else {"cancelled": True}
        output.put_json(values | {"failures": [asdict(event) for event in failed]})
    elif report is not None:
        _tell(report)
    if stop.asked:
        output.say("Stopped. The same command goes on from here.")
        return stop.exit_code
    return PARTLY_DONE if failed else 0


def _specs(given: tuple[str, ...]) -> tuple[str, ...]:
    """Names and types out of what was given. Raises `UsageError` for a text that holds none."""
    for text in given:
        if not text.replace(",", "").strip():
            raise UsageError(
                f"{text!r} names no entity.", "Leave --entities out for claims about all of them."
            )
    return tuple(part.strip() for text in given for part in text.split(",") if part.strip())


def _extract(
    kb: KnowledgeBase, wanted: Wanted, stop: Stop, *, quiet: bool
) -> tuple[ClaimsReport | None, list[ClaimsFailed]]:
    from localrag.indexing.claim_events import ClaimsFailed, ClaimsFinished, ClaimsRead, ClaimsStarted
    from localrag.indexing.events import Note, Progress

    failed: list[ClaimsFailed] = []
    events = kb.extract_claims(wanted, stop.event)
    measure_first(kb, stop, quiet=quiet)
    claims = done = 0
    with Bar(quiet=quiet) as bar:
        for event in events:
            if isinstance(event, ClaimsStarted):
                bar.begin("Reading claims", event.chunks)
            elif isinstance(event, ClaimsRead):
                claims += event.claims
                done += 1
                bar.update(done + len(failed), output.number(claims, "claim"))
            elif isinstance(event, ClaimsFailed):
                failed.append(event)
                if len(failed) <= _FAILURES:
                    bar.note(f"{event.document}, passage {event.ordinal + 1}: {event.reason}")
            elif isinstance(event, Progress) and event.seconds_left is not None:
                left = output.duration(event.seconds_left)
                bar.update(event.read, f"{output.number(claims, 'claim')}, about {left} left", event.total)
            elif isinstance(event, Note):
                bar.note(event.text)
            elif isinstance(event, ClaimsFinished):
                return event.report, failed
    return None, failed


def _tell(report: ClaimsReport) -> None:
    if not (report.read or report.failed or report.cancelled):
        output.say("Every passage was read for these claims before; --again reads them anew.")
        return
    passages = output.number(report.read, "passage")
    output.say(f"{output.number(report.claims, 'claim')} in {passages}, {output.duration(report.seconds)}.")
    if report.undated:
        output.say(f"{output.number(report.undated, 'claim')} lost a date that the quoted words do not name.")
    if report.swapped:
        output.say(f"In {output.number(report.swapped, 'claim')} start and end were exchanged.")
    if report.rejects:
        output.say(f"{output.number(report.rejects, 'record')} could not be kept.")
    if report.failed:
        output.say(
            f"{output.number(report.failed, 'passage')} could not be read; the same command tries again."
        )
    if report.claims and not report.cancelled:
        output.say("Next: localrag claims list")
