"""`localrag claims`: what texts claim of whom, by time and kind, and where texts disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from localrag.cli import output
from localrag.cli.claims_extract import extract
from localrag.cli.claims_sets import documents, drop, entities, sets
from localrag.cli.claims_showing import (
    about,
    claim_json,
    dates,
    kind_options,
    place,
    put_claim,
    put_claims,
    quoted,
)
from localrag.cli.curating import cut, limit_option, show_rows
from localrag.cli.invocation import Invocation, json_option, kb_option, pass_invocation

if TYPE_CHECKING:
    from localrag.store.claim_rows import Contradiction


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


for _command in (extract, documents, entities, sets, drop):
    claims.add_command(_command)


@claims.command("list", short_help="List claims by time.")
@click.option("--entity", metavar="NAME", help="About or concerning this entity.")
@kind_options
@click.option("--from", "since", metavar="TIME", help="Not before this day, month or year.")
@click.option("--to", "until", metavar="TIME", help="Not after it.")
@click.option("--document", "documents", multiple=True, metavar="PATH", help="Made by this document.")
@limit_option
@kb_option
@json_option
@pass_invocation
def list_claims(
    invocation: Invocation,
    entity: str | None,
    types: tuple[str, ...],
    statuses: tuple[str, ...],
    since: str | None,
    until: str | None,
    documents: tuple[str, ...],
    limit: int,
) -> None:
    """List claims by time, those without a date last; with --from or --to only those with a date.

    Under each stand the first words of the text that say so; `localrag claims show` has all of them.

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
        narrowed = entity is not None or since is not None or until is not None
        none = "" if rows else kb.claims.why_none(types, narrowed=narrowed or bool(statuses or documents))
    if show_rows(invocation, "claims", [claim_json(row) for row in rows], none):
        put_claims(rows)


@claims.command(short_help="Show a claim with all of its quotes.")
@click.argument("number", type=click.IntRange(min=1), metavar="ID")
@kb_option
@json_option
@pass_invocation
def show(invocation: Invocation, number: int) -> None:
    """Show the claim with the number ID of `localrag claims list`, with all of the words that say so.

    \b
    Example:
      localrag claims show 3
    """
    with invocation.knowledge_base(read_only=True) as kb:
        row = kb.claims.get(number)
    if invocation.json:
        output.put_json(claim_json(row))
    else:
        put_claim(row)


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
        none = "" if rows else kb.claims.why_none(narrowed=True)
    if invocation.json:
        about = {"id": found.entity.id, "name": found.entity.name}
        output.put_json({"entity": about, "claims": [claim_json(row) for row in rows]})
    elif rows:
        put_claims(rows)
    else:
        output.say(f"Nothing is claimed of {found.entity.name}. {none}")


@claims.command(short_help="Show claims that do not agree.")
@click.option("--entity", metavar="NAME", help="Only those about or concerning this entity.")
@limit_option
@kb_option
@json_option
@pass_invocation
def contradictions(invocation: Invocation, entity: str | None, limit: int) -> None:
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
            output.put_text(f"{about(row.first)}: {claim.type} ({' and '.join(row.differs)} differ)")
            for side in (row.first, row.second):
                output.put_text(f"  {side.claim.status:<9} {dates(side) or 'undated'}  {place(side)}")
                for quote in side.claim.quotes:
                    output.put_text(f"    {quoted(quote)}")


def _pair_json(row: Contradiction) -> dict[str, Any]:
    return {"differs": list(row.differs), "first": claim_json(row.first), "second": claim_json(row.second)}
