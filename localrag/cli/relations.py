"""`localrag relations`: looks through the relations and decides about them."""

from __future__ import annotations

from dataclasses import asdict
from itertools import pairwise

import click

from localrag.cli import output
from localrag.cli.curating import add_history, cut, limit_option, show_rows, tell
from localrag.cli.invocation import Invocation, json_option, kb_option, pass_invocation
from localrag.errors import UsageError


@click.group(short_help="Look through the relations; merge, reverse, split, delete.")
def relations() -> None:
    """Look through the relations that were found in the texts, and put right what was read wrongly.

    A relation is named by the names of its two ends. What you decide holds for all that is read later, and
    can be taken back at any time.

    \b
    Examples:
      localrag relations list --entity "Marta Lind"
      localrag relations reverse "Halden Bridge" "Marta Lind"
    """


@relations.command("list", short_help="List relations, those in most passages first.")
@click.option("--entity", default="", metavar="NAME", help="Only those of this entity.")
@limit_option
@kb_option
@json_option
@pass_invocation
def list_relations(invocation: Invocation, entity: str, limit: int) -> None:
    """List relations, those in most passages first.

    \b
    Example:
      localrag relations list --entity "Marta Lind"
    """
    with invocation.knowledge_base(read_only=True) as kb:
        rows = cut(kb.relations.list(entity, limit + 1), limit)
    if show_rows(invocation, "relations", [asdict(row) for row in rows], "There are no relations."):
        output.put_table(
            ["from", "to", "keywords", ("passages", "right")],
            [(row.source, row.target, row.keywords, f"{row.weight:,}") for row in rows],
        )


@relations.command(short_help="Show a relation and where it comes from.")
@click.argument("source")
@click.argument("target")
@kb_option
@json_option
@pass_invocation
def show(invocation: Invocation, source: str, target: str) -> None:
    """Show the relation from SOURCE to TARGET.

    \b
    Example:
      localrag relations show "Marta Lind" "Halden Bridge"
    """
    with invocation.knowledge_base(read_only=True) as kb:
        view = kb.relations.show(source, target)
    row = view.relation
    if invocation.json:
        output.put_json(asdict(row) | {"documents": list(view.documents)})
        return
    output.put_facts(
        [
            ("Relation", f"{row.source} → {row.target}"),
            ("Keywords", row.keywords),
            ("Description", row.description),
            ("Passages", f"{row.weight:,}"),
            ("Documents", ", ".join(view.documents)),
        ]
    )


@relations.command(short_help="Make several relations one.")
@click.argument("names", nargs=-1, required=True, metavar="SOURCE TARGET...")
@click.option(
    "--into", nargs=2, required=True, metavar="SOURCE TARGET", help="The relation that they become."
)
@kb_option
@json_option
@pass_invocation
def merge(invocation: Invocation, names: tuple[str, ...], into: tuple[str, str]) -> None:
    """Make one or more relations, each given by two names, part of the one that --into names.

    \b
    Example:
      localrag relations merge "Ida Lind" Halden --into "Ida Lind" "Halden Museum"
    """
    if len(names) % 2:
        raise UsageError("A relation is given by two names; the last one lacks its target.")
    pairs = [pair for place, pair in enumerate(pairwise(names)) if place % 2 == 0]
    with invocation.knowledge_base() as kb:
        tell(invocation, kb.relations.merge(pairs, into), "relations")


@relations.command(short_help="Let a relation go the other way.")
@click.argument("source")
@click.argument("target")
@kb_option
@json_option
@pass_invocation
def reverse(invocation: Invocation, source: str, target: str) -> None:
    """Turn the relation from SOURCE to TARGET round.

    \b
    Example:
      localrag relations reverse "Halden Bridge" "Marta Lind"
    """
    with invocation.knowledge_base() as kb:
        tell(invocation, kb.relations.reverse(source, target), "relations")


@relations.command(short_help="Let part of a relation be between others.")
@click.argument("source")
@click.argument("target")
@click.option("--into", nargs=2, required=True, metavar="SOURCE TARGET", help="Where the mentions go.")
@click.option("--keyword", "keywords", multiple=True, metavar="WORD", help="Mentions with this keyword.")
@click.option("--document", "documents", multiple=True, metavar="PATH", help="Mentions in this document.")
@kb_option
@json_option
@pass_invocation
def split(
    invocation: Invocation,
    source: str,
    target: str,
    into: tuple[str, str],
    keywords: tuple[str, ...],
    documents: tuple[str, ...],
) -> None:
    """Let some mentions of the relation from SOURCE to TARGET be about the two that --into names.

    \b
    Example:
      localrag relations split Lind Halden --into "Ida Lind" Halden --keyword museum
    """
    with invocation.knowledge_base() as kb:
        made = kb.relations.split(source, target, into, keywords=keywords, documents=documents)
        tell(invocation, made, "relations")


@relations.command(short_help="Describe a relation in your own words.")
@click.argument("source")
@click.argument("target")
@click.option("--keywords", metavar="WORDS", help="Keywords parted by commas; empty for those of the texts.")
@click.option("--description", metavar="TEXT", help="A description; empty for that of the texts.")
@kb_option
@json_option
@pass_invocation
def edit(
    invocation: Invocation, source: str, target: str, keywords: str | None, description: str | None
) -> None:
    """Give the relation from SOURCE to TARGET other keywords or another description.

    \b
    Example:
      localrag relations edit "Marta Lind" "Halden Bridge" --keywords "design, 1931"
    """
    with invocation.knowledge_base() as kb:
        made = kb.relations.edit(source, target, keywords=keywords, description=description)
        tell(invocation, made, "relations")


@relations.command(short_help="Let a relation be none.")
@click.argument("source")
@click.argument("target")
@kb_option
@json_option
@pass_invocation
def delete(invocation: Invocation, source: str, target: str) -> None:
    """Let there be no relation from SOURCE to TARGET, whoever says it now or later.

    Nothing is lost: `undo` brings it back.

    \b
    Example:
      localrag relations delete "Marta Lind" "Kvern Works"
    """
    with invocation.knowledge_base() as kb:
        tell(invocation, kb.relations.delete(source, target), "relations")


add_history(relations, "relations", lambda kb: kb.relations)
