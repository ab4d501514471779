"""`localrag tag`: tags of documents."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from localrag.cli import output
from localrag.cli.curating import show_rows
from localrag.cli.invocation import Invocation, json_option, kb_option, pass_invocation

if TYPE_CHECKING:
    from localrag.curating import Tagged


@click.group(short_help="Tag documents.")
def tag() -> None:
    """Give documents tags. They stay when a document is changed, moved, or deleted and added again.

    \b
    Examples:
      localrag tag add work report.md letters/june.md
      localrag tag list
    """


@tag.command(short_help="Give documents a tag.")
@click.argument("tag")
@click.argument("documents", nargs=-1, required=True, metavar="DOCUMENT...")
@kb_option
@json_option
@pass_invocation
def add(invocation: Invocation, tag: str, documents: tuple[str, ...]) -> None:
    """Give DOCUMENT... the tag TAG. Upper and lower case are the same.

    \b
    Example:
      localrag tag add work report.md
    """
    with invocation.knowledge_base() as kb:
        made = kb.tags.add(tag, documents)
    _tell(invocation, made, "tagged with", "carried it already")


@tag.command(short_help="Take a tag off documents.")
@click.argument("tag")
@click.argument("documents", nargs=-1, required=True, metavar="DOCUMENT...")
@kb_option
@json_option
@pass_invocation
def remove(invocation: Invocation, tag: str, documents: tuple[str, ...]) -> None:
    """Take the tag TAG off DOCUMENT...

    \b
    Example:
      localrag tag remove work report.md
    """
    with invocation.knowledge_base() as kb:
        made = kb.tags.remove(tag, documents)
    _tell(invocation, made, "no longer tagged with", "did not carry it")


@tag.command("list", short_help="List the tags with their documents.")
@click.argument("document", default="", required=False, metavar="[DOCUMENT]")
@kb_option
@json_option
@pass_invocation
def list_tags(invocation: Invocation, document: str) -> None:
    """List all tags with their documents, or the tags of DOCUMENT.

    \b
    Example:
      localrag tag list
    """
    with invocation.knowledge_base(read_only=True) as kb:
        rows = kb.tags.list(document)
    listed = [{"tag": row.tag, "documents": list(row.documents)} for row in rows]
    if show_rows(invocation, "tags", listed, "There are no tags."):
        output.put_table(["tag", "documents"], [(row.tag, ", ".join(row.documents)) for row in rows])


def _tell(invocation: Invocation, made: Tagged, done: str, not_done: str) -> None:
    if invocation.json:
        output.put_json(asdict(made))
        return
    if made.documents:
        output.say(f"{', '.join(made.documents)}: {done} “{made.tag}”.")
    if made.unchanged:
        output.say(f"{', '.join(made.unchanged)}: {not_done}.")
