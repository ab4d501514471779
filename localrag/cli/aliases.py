"""`localrag aliases`: other names of entities."""

from __future__ import annotations

from dataclasses import asdict

import click

from localrag.cli import output
from localrag.cli.curating import add_history, cut, limit_option, show_rows, tell
from localrag.cli.invocation import Invocation, json_option, kb_option, pass_invocation


@click.group(short_help="Give entities other names, or take these away.")
def aliases() -> None:
    """Let further names mean an entity, in questions and in all that is read later.

    \b
    Examples:
      localrag aliases add "Marta Lind" "the bridge builder"
      localrag aliases list "Marta Lind"
    """


@aliases.command("list", short_help="List the other names of entities.")
@click.argument("entity", default="", required=False, metavar="[NAME]")
@limit_option
@kb_option
@json_option
@pass_invocation
def list_aliases(invocation: Invocation, entity: str, limit: int) -> None:
    """List the other names of all entities, or of NAME, and who gave them.

    \b
    Example:
      localrag aliases list "Marta Lind"
    """
    with invocation.knowledge_base(read_only=True) as kb:
        rows = cut(kb.aliases.list(entity, limit + 1), limit)
    if show_rows(invocation, "aliases", [asdict(row) for row in rows], "There are no aliases."):
        output.put_table(
            ["alias", "entity", "given by"],
            [
                (
                    row.name,
                    row.entity,
                    "a text" if row.decision_id is None else f"decision {row.decision_id}",
                )
                for row in rows
            ],
        )


@aliases.command(short_help="Let a name mean an entity.")
@click.argument("entity", metavar="NAME")
@click.argument("alias")
@kb_option
@json_option
@pass_invocation
def add(invocation: Invocation, entity: str, alias: str) -> None:
    """Let ALIAS mean the entity NAME.

    \b
    Example:
      localrag aliases add "Marta Lind" "the bridge builder"
    """
    with invocation.knowledge_base() as kb:
        tell(invocation, kb.aliases.add(entity, alias), "aliases")


@aliases.command(short_help="Let a name not mean an entity.")
@click.argument("entity", metavar="NAME")
@click.argument("alias")
@kb_option
@json_option
@pass_invocation
def remove(invocation: Invocation, entity: str, alias: str) -> None:
    """Let ALIAS not mean the entity NAME, be it added or said by a text.

    \b
    Example:
      localrag aliases remove "Marta Lind" "the bridge builder"
    """
    with invocation.knowledge_base() as kb:
        tell(invocation, kb.aliases.remove(entity, alias), "aliases")


add_history(aliases, "aliases", lambda kb: kb.aliases)
