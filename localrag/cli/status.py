"""`localrag status`: what the knowledge base holds and how much of it the model has read."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from localrag.cli import output
from localrag.cli.ask import coverage_sentence
from localrag.cli.invocation import Invocation, json_option, kb_option, pass_invocation

if TYPE_CHECKING:
    from localrag.kb import Status
    from localrag.store.rows import DocumentRow

LISTED = 30


@click.command(short_help="Show the documents and how much is read.")
@click.option("--all", "everything", is_flag=True, help=f"List all documents, not the first {LISTED}.")
@kb_option
@json_option
@pass_invocation
def status(invocation: Invocation, everything: bool) -> None:
    """Show the documents with their state, and how much of them the model has read.

    Documents that could not be read come first, each with the reason.

    \b
    Examples:
      localrag status
      localrag status --json | jq .coverage
    """
    with invocation.knowledge_base(read_only=True) as kb:
        state = kb.status()
    if invocation.json:
        output.put_json(_json(state))
        return
    output.put_facts(_facts(state))
    if not state.documents:
        output.say("There are no documents yet. Next: localrag add FILE-OR-FOLDER")
        return
    documents = sorted(state.documents, key=lambda row: (row.status != "failed", row.path))
    shown = documents if everything else documents[:LISTED]
    output.put_table(
        ["document", "state", ("chunks", "right"), ("read", "right"), "reason"],
        [(row.path, row.status, f"{row.chunks:,}", f"{row.read:,}", row.reason) for row in shown],
    )
    if len(shown) < len(documents):
        output.say(f"And {output.number(len(documents) - len(shown), 'other')}; --all lists them.")
    sentence = coverage_sentence(state.coverage)
    if sentence:
        output.say(sentence)


def _facts(state: Status) -> list[tuple[str, str]]:
    chunks, graph, vectors = state.chunks, state.graph, state.vectors
    read = f"{chunks.read:,} of {chunks.total:,}"
    if chunks.failed:
        read += f", {chunks.failed:,} failed"
    made = (
        f"{vectors.chunks:,} of {chunks.total:,} chunks, by {vectors.model}" if vectors.model else "none yet"
    )
    facts = [
        ("Knowledge base", f"{state.path} ({output.size(state.size)}{', read-only' * _locked(state.path)})"),
        ("Documents", f"{len(state.documents):,}"),
        ("Chunks read", read),
        ("Entities", f"{graph.entities:,}"),
        ("Relations", f"{graph.relations:,}"),
        ("Vectors", made),
    ]
    if state.journal.rejected:
        facts.append(("Rejected", f"{state.journal.rejected:,} of {state.journal.parsed:,} records"))
    return facts


def _locked(path: Path) -> bool:
    """Whether the file cannot be written. `status` itself opens every file for reading only."""
    return not (os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK))


def _json(state: Status) -> dict[str, Any]:
    return {
        "path": str(state.path),
        "size": state.size,
        "read_only": _locked(state.path),
        "revision": state.revision,
        "coverage": asdict(state.coverage),
        "chunks": asdict(state.chunks),
        "graph": asdict(state.graph),
        "vectors": asdict(state.vectors),
        "journal": asdict(state.journal),
        "documents": [_document(row) for row in state.documents],
    }


def _document(row: DocumentRow) -> dict[str, Any]:
    names = ("path", "root", "status", "reason", "title", "language", "media_type", "sha256")
    counts = ("size", "characters", "chunks", "read", "failed")
    return {"id": row.id} | {name: getattr(row, name) for name in (*names, *counts)}
