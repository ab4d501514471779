"""`localrag claims`: reads what texts claim of whom, shows it by time and kind, and where texts disagree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import click

from localrag.cli import output
from localrag.cli.add import PARTLY_DONE
from localrag.cli.curating import cut, limit_option, show_rows
from localrag.cli.invocation import Invocation, engine_options, json_option, kb_option, pass_invocation
from localrag.cli.machine import measure_first, tell_notes
from localrag.cli.progress import Bar
from localrag.cli.stopping import Stop, stoppable
from localrag.errors import NothingIndexed

if TYPE_CHECKING:
    from localrag.claiming import Wanted
    from localrag.indexing.claim_events import ClaimsFailed, ClaimsReport
    from localrag.kb import KnowledgeBase
    from localrag.store.claim_rows import ClaimCount, Contradiction, PlacedClaim

Command = TypeVar("Command", bound=Callable[..., Any])

_FAILURES = 20


def _test_options(command: Command) -> Command:
    """Add `--type` and `--status`."""
    kind = click.option("--type", "types", multiple=True, metavar="TYPE", help="Claims of this type.")
    status = click.option(
        "--status", "statuses", multiple=True, metavar="STATUS", help="TRUE, FALSE or SUSPECTED."
    )
    return kind(status(command))


@click.group(short_help="Read what texts claim of whom, and compare it.")
def claims() -> None:
    """Read what texts claim of whom: that it is so, that it is not, or that it is suspected, and when it was.

    Each claim has its words in the text as quotes. They are read from the passages that `localrag index` has
    read, about whom and of which kind you say. Of an option that is given several times, one has to fit.

    \b
    Examples:
      localrag claims extract
      localrag claims extract --entities "Norvell Shipping" --about "fines and inquiries"
      localrag claims timeline "Norvell Shipping"
      localrag claims contradictions
    """


@claims.command(short_help="Let the model read claims.")
@click.option(
    "--entities",
    multiple=True,
    metavar="SPEC",
    help="Whom claims are about: a name or type of entities, or several parted by commas. Without it: all.",
)
@click.option("--about", default="", metavar="TEXT", help="Which claims count, in words.")
@click.option("--type", "types", multiple=True, metavar="TYPE", help="The only types; without it any.")
@click.option("--document", "documents", multiple=True, metavar="PATH", help="Only this document.")
@click.option("--folder", default="", metavar="FOLDER", help="Only documents in this folder.")
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
    folder: str,
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

    with invocation.knowledge_base() as kb, stoppable() as stop:
        if not kb.status().chunks.read:
            raise NothingIndexed(
                "No passage was read yet, so nobody is known whom claims could be about.",
                "Next: localrag index",
            )
        found = tuple(kb.claims.document(path) for path in documents)
        wanted = Wanted(
            entities=tuple(part.strip() for text in entities for part in text.split(",") if part.strip()),
            about=about,
            types=types,
            filter=Filter(documents=found, tags=tags, folder=folder),
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


@claims.command("list", short_help="List claims by time.")
@click.option("--entity", default="", metavar="NAME", help="About or concerning this entity.")
@_test_options
@click.option("--from", "since", default="", metavar="TIME", help="Not before this day, month or year.")
@click.option("--to", "until", default="", metavar="TIME", help="Not after it.")
@click.option("--document", "documents", multiple=True, metavar="PATH", help="Made by this document.")
@limit_option
@kb_option
@json_option
@pass_invocation
def list_claims(
    invocation: Invocation,
    entity: str,
    types: tuple[str, ...],
    statuses: tuple[str, ...],
    since: str,
    until: str,
    documents: tuple[str, ...],
    limit: int,
) -> None:
    """List claims by time, those without a date last; with --from or --to only those with a date.

    \b
    Examples:
      localrag claims list --status SUSPECTED
      localrag claims list --entity "Karin Voss" --from 2015 --to "March 2017"
    """
    with invocation.knowledge_base(read_only=True) as kb:
        found = kb.claims.list(
            entity,
            types=types,
            statuses=statuses,
            since=since,
            until=until,
            documents=documents,
            limit=limit + 1,
        )
        rows = cut(found, limit)
    if show_rows(invocation, "claims", [_json(row) for row in rows], _none()):
        _put(rows)


@claims.command(short_help="Show what is claimed of an entity, by time.")
@click.argument("entity")
@limit_option
@kb_option
@json_option
@pass_invocation
def timeline(invocation: Invocation, entity: str, limit: int) -> None:
    """Show the claims about ENTITY and those that concern it, by time; those without a date last.

    \b
    Example:
      localrag claims timeline "Norvell Shipping"
    """
    with invocation.knowledge_base(read_only=True) as kb:
        found = kb.claims.timeline(entity, limit + 1)
        rows = cut([*found.claims], limit)
    if invocation.json:
        about = {"id": found.entity.id, "name": found.entity.name}
        output.put_json({"entity": about, "claims": [_json(row) for row in rows]})
    elif rows:
        _put(rows)
    else:
        output.say(f"Nothing is claimed of {found.entity.name}. {_none()}")


@claims.command(short_help="Show claims that do not agree.")
@click.option("--entity", default="", metavar="NAME", help="Only those about or concerning this entity.")
@limit_option
@kb_option
@json_option
@pass_invocation
def contradictions(invocation: Invocation, entity: str, limit: int) -> None:
    """Show pairs of claims of one type about the same entities that have another status or other days.

    A claim that is TRUE in one place and FALSE in another comes first. Other days need not be a
    contradiction: what happened twice looks the same.

    \b
    Example:
      localrag claims contradictions --entity "Karin Voss"
    """
    with invocation.knowledge_base(read_only=True) as kb:
        rows = cut([*kb.claims.contradictions(entity, limit + 1)], limit)
    if show_rows(invocation, "contradictions", [_pair_json(row) for row in rows], "No claims disagree."):
        for row in rows:
            claim = row.first.claim
            output.put_text(f"{_about(row.first)}: {claim.type} ({' and '.join(row.differs)} differ)")
            for side in (row.first, row.second):
                output.put_text(f"  {side.claim.status:<9} {_dates(side) or 'undated'}  {_place(side)}")
                for quote in side.claim.quotes:
                    output.put_text(f"    “{' '.join(quote.split())}”")


@claims.command(short_help="List documents that make claims.")
@_test_options
@limit_option
@kb_option
@json_option
@pass_invocation
def documents(invocation: Invocation, types: tuple[str, ...], statuses: tuple[str, ...], limit: int) -> None:
    """List the documents that make claims of these types and statuses, those with the most first.

    \b
    Example:
      localrag claims documents --status FALSE
    """
    with invocation.knowledge_base(read_only=True) as kb:
        rows = cut([*kb.claims.documents(types, statuses, limit + 1)], limit)
    _put_counts(invocation, "documents", "document", rows)


@claims.command(short_help="List entities that claims are about.")
@_test_options
@limit_option
@kb_option
@json_option
@pass_invocation
def entities(invocation: Invocation, types: tuple[str, ...], statuses: tuple[str, ...], limit: int) -> None:
    """List the entities that claims of these types and statuses are about, those with the most first.

    \b
    Example:
      localrag claims entities --type FRAUD --status SUSPECTED
    """
    with invocation.knowledge_base(read_only=True) as kb:
        rows = cut([*kb.claims.entities(types, statuses, limit + 1)], limit)
    _put_counts(invocation, "entities", "entity", rows)


@claims.command(short_help="List what claims were read for.")
@kb_option
@json_option
@pass_invocation
def sets(invocation: Invocation) -> None:
    """List the sets of claims: each was read with other options of `localrag claims extract`.

    \b
    Example:
      localrag claims sets
    """
    with invocation.knowledge_base(read_only=True) as kb:
        rows = kb.claims.sets()
    if show_rows(invocation, "sets", [asdict(row) for row in rows], _none()):
        output.put_table(
            [("set", "right"), "entities", "about", "types", ("passages", "right"), ("claims", "right")],
            [
                (
                    str(row.number),
                    ", ".join(row.entities) or "all",
                    row.about,
                    ", ".join(row.types) or "any",
                    f"{row.passages:,}",
                    f"{row.claims:,}",
                )
                for row in rows
            ],
        )


@claims.command(short_help="Delete a set of claims.")
@click.argument("number", type=click.IntRange(min=1), metavar="SET")
@kb_option
@json_option
@pass_invocation
def drop(invocation: Invocation, number: int) -> None:
    """Delete the claims of SET, a number of `localrag claims sets`. Texts and entities stay as they are.

    \b
    Example:
      localrag claims drop 2
    """
    with invocation.knowledge_base() as kb:
        gone = kb.claims.drop(number)
    if invocation.json:
        output.put_json({"claims": gone})
    else:
        output.say(f"{output.number(gone, 'claim')} deleted.")


def _none() -> str:
    return "There are no such claims; localrag claims extract reads them."


def _put(rows: list[PlacedClaim]) -> None:
    output.put_table(
        [("id", "right"), "when", "subject", "object", "type", "status", "claim", "place"],
        [
            (
                f"#{row.claim.id}",
                _dates(row),
                row.claim.subject,
                row.claim.object,
                row.claim.type,
                row.claim.status,
                row.claim.description,
                _place(row),
            )
            for row in rows
        ],
    )


def _put_counts(invocation: Invocation, name: str, column: str, rows: list[ClaimCount]) -> None:
    listed = [{"id": row.id, "name": row.name, "claims": row.claims} for row in rows]
    if show_rows(invocation, name, listed, _none()):
        output.put_table([column, ("claims", "right")], [(row.name, f"{row.claims:,}") for row in rows])


def _about(row: PlacedClaim) -> str:
    claim = row.claim
    return f"{claim.subject} → {claim.object}" if claim.object else claim.subject


def _dates(row: PlacedClaim) -> str:
    """When it was: a day, a month or a year where the two days make one."""
    start, end = row.claim.start_date, row.claim.end_date
    if start == end:
        return start
    if start[5:] == "01-01" and end == f"{start[:4]}-12-31":
        return start[:4]
    return f"{start or '…'} – {end or '…'}"


def _place(row: PlacedClaim) -> str:
    page = f", page {row.page}" if row.page is not None else ""
    return f"{row.document}{page}, passage {row.ordinal + 1}"


def _json(row: PlacedClaim) -> dict[str, Any]:
    values = asdict(row.claim)
    return values | {
        "document": row.document,
        "document_id": row.document_id,
        "passage": row.ordinal + 1,
        "page": row.page,
        "spans": [list(span) for span in row.spans],
    }


def _pair_json(row: Contradiction) -> dict[str, Any]:
    return {"differs": list(row.differs), "first": _json(row.first), "second": _json(row.second)}
