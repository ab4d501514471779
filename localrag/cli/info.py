"""`localrag info`: what kind of file the knowledge base is, and what takes its room."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from localrag.cli import output
from localrag.cli.invocation import Invocation, json_option, kb_option, pass_invocation

if TYPE_CHECKING:
    from localrag.store.file_rows import FileFacts, SpaceFacts


@click.command(short_help="Show the file's identity, format and sizes.")
@kb_option
@json_option
@pass_invocation
def info(invocation: Invocation) -> None:
    """Show the file's identity and format, its embedding spaces, and what takes its room.

    `localrag status` tells of the documents in it.

    \b
    Examples:
      localrag info
      localrag info --json | jq .format
    """
    from localrag import filing

    facts, notes = filing.describe(invocation.kb_path())
    for note in notes:
        output.warn(note)
    if invocation.json:
        output.put_json(_json(facts))
        return
    output.put_facts(_facts(facts))
    output.put_table(
        ["what", ("rows", "right"), ("size" if facts.measured else "size, about", "right")],
        [
            (group.name, f"{group.rows:,}" if group.rows else "", output.size(group.size))
            for group in facts.groups
        ],
    )
    if facts.spaces:
        output.put_table(
            ["embedding model", "state", ("dimension", "right"), ("vectors", "right")],
            [
                (space.model, space.state, f"{space.dimension:,}", f"{sum(space.vectors.values()):,}")
                for space in facts.spaces
            ],
        )


def _facts(facts: FileFacts) -> list[tuple[str, str]]:
    free = f", {output.size(facts.free)} of it free" if facts.free else ""
    return [
        ("Knowledge base", f"{facts.path}{' (read-only)' * facts.read_only}"),
        ("Size", f"{output.size(facts.size)}{free}"),
        ("Identity", facts.uuid),
        ("Format", f"{facts.format}"),
        ("Made", f"{facts.created_at} by localrag {facts.created_by}"),
        ("Revision", f"{facts.revision:,}"),
        ("Documents", f"{facts.counts.get('documents', 0):,}"),
        ("Passages", f"{facts.counts.get('chunks', 0):,}"),
        ("Entities", f"{facts.counts.get('entities', 0):,}"),
        ("Relations", f"{facts.counts.get('relations', 0):,}"),
        ("Decisions", f"{facts.counts.get('decisions', 0):,}"),
        ("Conversations", f"{facts.counts.get('sessions', 0):,}"),
    ]


def _json(facts: FileFacts) -> dict[str, Any]:
    return asdict(facts) | {
        "path": str(facts.path),
        "groups": [asdict(group) for group in facts.groups],
        "spaces": [_space(space) for space in facts.spaces],
    }


def _space(space: SpaceFacts) -> dict[str, Any]:
    return asdict(space) | {"vectors": dict(space.vectors)}
