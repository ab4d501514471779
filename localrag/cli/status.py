"""`localrag status`: what the knowledge base holds and how much of it the model has read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from localrag.cli import output
from localrag.cli.ask import coverage_sentence
from localrag.cli.invocation import Invocation, json_option, kb_option, pass_invocation

if TYPE_CHECKING:
    from localrag.kb import Status
    from localrag.store.failure_rows import FailedFile, FailedPassage
    from localrag.store.rows import DocumentRow

LISTED = 30


@click.command(short_help="Show the documents and how much is read.")
@click.option("--all", "everything", is_flag=True, help=f"List all documents, not the first {LISTED}.")
@click.option("--failed", "only_failed", is_flag=True, help="List only what failed: files, and passages.")
@kb_option
@json_option
@pass_invocation
def status(invocation: Invocation, everything: bool, only_failed: bool) -> None:
    """Show the documents with their state, and how much of them the model has read.

    Documents that could not be read come first, each with the reason. With --failed, every file and every
    passage that failed is listed with how often it was tried and whether it will be tried again.

    \b
    Examples:
      localrag status
      localrag status --failed
      localrag status --json | jq .coverage
    """
    with invocation.knowledge_base(read_only=True) as kb:
        state = kb.status()
        failures = kb.failures()
    if invocation.json:
        output.put_json(_json(state, *failures))
        return
    if only_failed:
        put_failures(*failures)
        return
    output.put_facts(_facts(state, failures[1]))
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
    if any(row.status == "failed" for row in documents) or state.chunks.failed:
        output.say("localrag status --failed tells what failed, localrag retry tries it once more.")
    sentence = coverage_sentence(state.coverage)
    if sentence:
        output.say(sentence)


def put_failures(files: Sequence[FailedFile], passages: Sequence[FailedPassage]) -> None:
    """Write the files and passages that failed to stdout, and what can be done to stderr."""
    if not (files or passages):
        output.say("Nothing has failed.")
        return
    if files:
        output.put_table(
            ["file", ("tries", "right"), "in it", "reason"],
            [
                (row.path, f"{row.attempts:,}", "an earlier text" if row.kept else "nothing", row.reason)
                for row in files
            ],
        )
    if passages:
        output.put_table(
            ["document", ("passage", "right"), ("tries", "right"), "next", "reason"],
            [
                (row.path, f"{row.ordinal + 1:,}", f"{row.attempts:,}", what_next(row), row.reason)
                for row in passages
            ],
        )
    output.say("localrag retry tries them once more.")


def what_next(row: FailedPassage) -> str:
    """What becomes of a failed passage, in a few words."""
    if row.left_out:
        return "left out: the engine died"
    return "tried by the next run" if row.waits else "given up"


def _facts(state: Status, failed: Sequence[FailedPassage]) -> list[tuple[str, str]]:
    chunks, graph, vectors = state.chunks, state.graph, state.vectors
    read = f"{chunks.read:,} of {chunks.total:,}"
    if chunks.failed:
        waits, left_out = sum(row.waits for row in failed), sum(row.left_out for row in failed)
        parts = ((waits, "tried again by the next run"), (left_out, "left out, since the engine died"))
        told = [f"{count:,} {what}" for count, what in parts if count]
        read += f", {chunks.failed:,} failed" + (f" ({'; '.join(told)})" if told else "")
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
    if (new := vectors.building) is not None:
        made = f"{new.done:,} of {new.total:,} vectors of the new model, {new.model}"
        facts.append(("Change of model", f"{made}; localrag reembed goes on"))
    if state.journal.rejected:
        facts.append(("Rejected", f"{state.journal.rejected:,} of {state.journal.parsed:,} records"))
    return facts


def _locked(path: Path) -> bool:
    """Whether the file cannot be written. `status` itself opens every file for reading only."""
    return not (os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK))


def _json(state: Status, files: Sequence[FailedFile], passages: Sequence[FailedPassage]) -> dict[str, Any]:
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
        "failed_files": [asdict(row) for row in files],
        "failed_passages": [asdict(row) for row in passages],
    }


def _document(row: DocumentRow) -> dict[str, Any]:
    names = ("path", "root", "status", "reason", "title", "language", "media_type", "sha256")
    counts = ("size", "characters", "chunks", "read", "failed")
    return {"id": row.id} | {name: getattr(row, name) for name in (*names, *counts)}
