"""`localrag entities`: looks through the entities and decides about them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from localrag.cli import output
from localrag.cli.curating import add_history, cut, limit_option, show_rows, tell, tell_all
from localrag.cli.invocation import Invocation, json_option, kb_option, pass_invocation

if TYPE_CHECKING:
    from localrag.curating import EntityView, Merged
    from localrag.store.browse import Variant
    from localrag.store.graph_rows import EntityRow

_RELATIONS = 10
_NUMBER = click.IntRange(min=1, max=1_000_000)


@click.group(short_help="Look through the entities; merge, split, rename, delete.")
def entities() -> None:
    """Look through the entities that were found in the texts, and put right what was read wrongly.

    An entity is named by its name, an alias, or its number as in '#12'. What you decide holds for all that is
    read later, survives the deletion of documents, and can be taken back at any time; the texts and what was
    read stay as they are.

    \b
    Examples:
      localrag entities list --search lind
      localrag entities merge "M. Lind" --into "Marta Lind"
      localrag entities undo
    """


@entities.command("list", short_help="List entities, those in most passages first.")
@click.option("--search", default="", metavar="TEXT", help="Only those with this in a name or alias.")
@click.option("--type", "kind", default="", metavar="TYPE", help="Only those of this type.")
@limit_option
@kb_option
@json_option
@pass_invocation
def list_entities(invocation: Invocation, search: str, kind: str, limit: int) -> None:
    """List entities, those in most passages first.

    \b
    Examples:
      localrag entities list
      localrag entities list --type person --search lind
    """
    with invocation.knowledge_base(read_only=True) as kb:
        rows = cut(kb.entities.list(search, kind, limit + 1), limit)
    none = (
        "No entity is like that." if search or kind else "There are no entities; localrag index finds them."
    )
    if show_rows(invocation, "entities", [_json(row) for row in rows], none):
        output.put_table(
            [("id", "right"), "entity", "type", ("passages", "right"), "description"],
            [
                (f"#{row.id}", row.name, row.type, f"{row.mentions:,}", _short(_description(row)))
                for row in rows
            ],
        )


@entities.command(short_help="Show an entity and what it is made of.")
@click.argument("name")
@kb_option
@json_option
@pass_invocation
def show(invocation: Invocation, name: str) -> None:
    """Show an entity: its aliases, relations, and the names, types and documents of its mentions.

    \b
    Example:
      localrag entities show "Marta Lind"
    """
    with invocation.knowledge_base(read_only=True) as kb:
        view = kb.entities.show(name)
    if invocation.json:
        output.put_json(_view_json(view))
        return
    row, variants = view.entity, view.variants
    output.put_facts(
        [
            ("Entity", f"{row.name} (#{row.id})"),
            ("Type", row.type),
            ("Passages", f"{row.mentions:,}"),
            ("Description", _description(row)),
            ("Aliases", ", ".join(alias.name for alias in view.aliases) or "none"),
            ("Merged", "; ".join(map(_merged, view.merged[:20])) or "none"),
            *(
                (label, ", ".join(f"{item.text} ({_mentions(item)})" for item in items[:20]))
                for label, items in (
                    ("Written as", variants.names),
                    ("Types read", variants.types),
                    ("Documents", variants.documents),
                )
            ),
        ]
    )
    if view.relations:
        output.put_table(
            ["from", "to", "keywords", ("passages", "right")],
            [
                (item.source, item.target, item.keywords, f"{item.weight:,}")
                for item in view.relations[:_RELATIONS]
            ],
        )


@entities.command(short_help="Make several entities one.")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--into", required=True, metavar="NAME", help="The one that stays, with its name and type.")
@kb_option
@json_option
@pass_invocation
def merge(invocation: Invocation, names: tuple[str, ...], into: str) -> None:
    """Make NAME... part of the entity that --into names. Their names become its aliases.

    \b
    Example:
      localrag entities merge "M. Lind" "Mrs. Lind" --into "Marta Lind"
    """
    with invocation.knowledge_base() as kb:
        tell(invocation, kb.entities.merge(names, into), "entities")


@entities.command(short_help="Show which entities may be one; accept or reject.")
@click.option("--accept", multiple=True, type=_NUMBER, metavar="N", help="Merge the pair with this number.")
@click.option(
    "--reject", multiple=True, type=_NUMBER, metavar="N", help="Keep the pair with this number apart."
)
@limit_option
@kb_option
@json_option
@pass_invocation
def suggest(invocation: Invocation, accept: tuple[int, ...], reject: tuple[int, ...], limit: int) -> None:
    """List pairs of entities that may be one but are not surely, the likeliest first.

    What surely is one was merged by `index`; `entities show` tells what and why. The options may be given
    several times and mean the numbers of this list; it is numbered anew after each decision.

    \b
    Examples:
      localrag entities suggest
      localrag entities suggest --accept 1 --accept 3 --reject 2
    """
    if accept or reject:
        with invocation.knowledge_base() as kb:
            made = kb.entities.judge(accept, reject)
        tell_all(invocation, made, "entities")
        return
    with invocation.knowledge_base(read_only=True) as kb:
        rows = cut(list(kb.entities.suggestions(limit + 1)), limit)
    none = "Nothing is suggested: no two entities look like one that are not merged."
    if show_rows(invocation, "suggestions", [asdict(row) for row in rows], none):
        output.put_table(
            [("n", "right"), "name", "may be", ("score", "right"), "why"],
            [
                (str(row.number), row.name, row.into, f"{row.score:.2f}", "; ".join(row.evidence))
                for row in rows
            ],
        )


@entities.command("keep-apart", short_help="Never take two names for one by itself.")
@click.argument("one", metavar="NAME")
@click.argument("other", metavar="OTHER")
@kb_option
@json_option
@pass_invocation
def keep_apart(invocation: Invocation, one: str, other: str) -> None:
    """Never merge NAME and OTHER without being told so, and part them if they were merged by `index`.

    \b
    Example:
      localrag entities keep-apart Lind "Ida Lind"
    """
    with invocation.knowledge_base() as kb:
        tell(invocation, kb.entities.keep_apart(one, other), "entities")


@entities.command(short_help="Part two entities that were read as one.")
@click.argument("name")
@click.option("--into", required=True, metavar="NEW", help="Name of the entity that the mentions go to.")
@click.option("--name", "names", multiple=True, metavar="WRITTEN", help="Mentions that are written so.")
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Mentions of this type.")
@click.option("--document", "documents", multiple=True, metavar="PATH", help="Mentions in this document.")
@kb_option
@json_option
@pass_invocation
def split(
    invocation: Invocation,
    name: str,
    into: str,
    names: tuple[str, ...],
    types: tuple[str, ...],
    documents: tuple[str, ...],
) -> None:
    """Let some mentions of NAME mean the entity that --into names, which may be new.

    The options may be given several times: one of each kind that is given has to fit. `entities show` tells
    how a name is written, of which types and where.

    \b
    Examples:
      localrag entities split Mercury --into "Mercury (planet)" --type place
      localrag entities split Lind --into "Ida Lind" --document mill.txt
    """
    with invocation.knowledge_base() as kb:
        made = kb.entities.split(name, into, names=names, types=types, documents=documents)
        tell(invocation, made, "entities")


@entities.command(short_help="Give an entity another name.")
@click.argument("name")
@click.argument("new")
@kb_option
@json_option
@pass_invocation
def rename(invocation: Invocation, name: str, new: str) -> None:
    """Show the entity NAME as NEW. Both names mean it from now on.

    \b
    Example:
      localrag entities rename Lind "Marta Lind"
    """
    with invocation.knowledge_base() as kb:
        tell(invocation, kb.entities.rename(name, new), "entities")


@entities.command(short_help="Give an entity another type.")
@click.argument("name")
@click.argument("type")
@kb_option
@json_option
@pass_invocation
def retype(invocation: Invocation, name: str, type: str) -> None:  # noqa: A002
    """Give the entity NAME the type TYPE, whatever was read.

    \b
    Example:
      localrag entities retype "Kvern Works" organization
    """
    with invocation.knowledge_base() as kb:
        tell(invocation, kb.entities.retype(name, type), "entities")


@entities.command(short_help="Describe an entity in your own words.")
@click.argument("name")
@click.option(
    "--description", required=True, metavar="TEXT", help="Your words; empty for those of the texts."
)
@kb_option
@json_option
@pass_invocation
def edit(invocation: Invocation, name: str, description: str) -> None:
    """Describe the entity NAME in place of what was read.

    \b
    Example:
      localrag entities edit "Marta Lind" --description "An engineer from Halden."
    """
    with invocation.knowledge_base() as kb:
        tell(invocation, kb.entities.edit(name, description), "entities")


@entities.command(short_help="Let an entity be none.")
@click.argument("name")
@kb_option
@json_option
@pass_invocation
def delete(invocation: Invocation, name: str) -> None:
    """Let NAME be no entity, whoever mentions it now or later. The texts stay as they are.

    Nothing is lost: `undo` brings the entity back with all its mentions.

    \b
    Example:
      localrag entities delete "Figure 3"
    """
    with invocation.knowledge_base() as kb:
        tell(invocation, kb.entities.delete(name), "entities")


add_history(entities, "entities", lambda kb: kb.entities)


def _description(row: EntityRow) -> str:
    return row.summary or " ".join(row.descriptions)


def _merged(item: Merged) -> str:
    where = f" in {item.document}" if item.document else ""
    return f"{item.name}{where} ({'; '.join(item.evidence)})"


def _mentions(item: Variant) -> str:
    return output.number(item.mentions, "mention")


def _short(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:99]}…"


def _json(row: EntityRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "type": row.type,
        "passages": row.mentions,
        "description": _description(row),
    }


def _view_json(view: EntityView) -> dict[str, Any]:
    return _json(view.entity) | {
        "aliases": [alias.name for alias in view.aliases],
        "variants": asdict(view.variants),
        "relations": [asdict(item) for item in view.relations],
        "merged": [asdict(item) for item in view.merged],
    }
