"""`localrag claims documents | entities | sets | drop`: what has claims, and what they were read for."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from localrag.cli import output
from localrag.cli.claims_showing import kind_options
from localrag.cli.curating import cut, limit_option, show_rows
from localrag.cli.invocation import Invocation, json_option, kb_option, pass_invocation

if TYPE_CHECKING:
    from localrag.store.claim_rows import ClaimCount


@click.command(short_help="List documents that make claims.")
@kind_options
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
        none = "" if rows else kb.claims.why_none(types, narrowed=bool(statuses))
    _put_counts(invocation, "documents", "document", rows, none)


@click.command(short_help="List entities that claims are about.")
@kind_options
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
        none = "" if rows else kb.claims.why_none(types, narrowed=bool(statuses))
    _put_counts(invocation, "entities", "entity", rows, none)


@click.command(short_help="List what claims were read for.")
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
    none = "No claims were read yet; localrag claims extract reads them."
    if show_rows(invocation, "sets", [asdict(row) for row in rows], none):
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


@click.command(short_help="Delete a set of claims.")
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


def _put_counts(invocation: Invocation, name: str, column: str, rows: list[ClaimCount], none: str) -> None:
    listed = [{"id": row.id, "name": row.name, "claims": row.claims} for row in rows]
    if show_rows(invocation, name, listed, none):
        output.put_table([column, ("claims", "right")], [(row.name, f"{row.claims:,}") for row in rows])
