"""`localrag search`: what is found for a question, without asking the model for an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from localrag.cli import output
from localrag.cli.answer_page import mode_sentence
from localrag.cli.asking import Asked, question_options
from localrag.cli.invocation import Invocation, engine_options, json_option, kb_option, pass_invocation
from localrag.cli.question import question_from, shortened
from localrag.cli.stopping import stoppable

if TYPE_CHECKING:
    from localrag.retrieval.types import Passage, Retrieved

_FIRST = 240


@click.command(short_help="Show what is found for a question, without the model.")
@click.argument("question", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(1, 1000), metavar="N", help="Most passages.")
@click.option("--full", is_flag=True, help="Print passages in full, not their beginning.")
@question_options
@engine_options
@kb_option
@json_option
@pass_invocation
def search(
    invocation: Invocation, question: tuple[str, ...], limit: int | None, full: bool, asked: Asked
) -> None:
    """Show the passages, entities and relations that are found for QUESTION; no model writes.

    Only the embedding model is used. The question - is read from stdin.

    \b
    Examples:
      localrag search "Who built the bridge?"
      localrag search --tag work --from 2024 --limit 3 heating costs
      localrag search --mode path --json "How are Anna and Berta connected?"
    """
    text = question_from(question)
    with invocation.knowledge_base() as kb, stoppable("Stopping.") as stop:
        options = asked.options(kb, limit=limit, keywords="words")
        found = kb.search(text, options=options, cancel=stop.event)
    if invocation.json:
        output.put_json(as_json(found))
        return
    _put_passages(found.passages, full=full)
    if found.entities:
        output.put_table(
            ["entity", "type", "what is said of it"],
            [(item.name, item.type, shortened(item.description)) for item in found.entities],
        )
    if found.relations:
        output.put_table(
            ["from", "to", "what is said of it"],
            [(item.source, item.target, shortened(item.description)) for item in found.relations],
        )
    if found.empty:
        output.say("Nothing was found.")
    output.say(mode_sentence(found))
    for note in found.notes:
        output.say(note)


def as_json(found: Retrieved) -> dict[str, Any]:
    """What was found, for programs."""
    return {
        "question": found.question,
        "mode": found.mode,
        "asked": found.asked or found.mode,
        "why": found.why,
        "keywords": {
            "high": list(found.keywords.high),
            "low": list(found.keywords.low),
            "by": found.keywords.by,
        },
        "coverage": {"read": found.coverage.read, "total": found.coverage.total},
        "passages": [
            {
                "document": item.document,
                "base": item.base,
                "heading": item.heading,
                "page": item.page,
                "start": item.start,
                "end": item.end,
                "score": item.score,
                "sources": list(item.sources),
                "text": item.text,
            }
            for item in found.passages
        ],
        "entities": [
            {
                "name": item.name,
                "base": item.base,
                "type": item.type,
                "description": item.description,
                "score": item.score,
            }
            for item in found.entities
        ],
        "relations": [
            {
                "source": item.source,
                "target": item.target,
                "base": item.base,
                "keywords": item.keywords,
                "description": item.description,
                "score": item.score,
            }
            for item in found.relations
        ],
        "notes": list(found.notes),
        "milliseconds": {name: round(value, 2) for name, value in found.trace.milliseconds.items()},
    }


def _put_passages(passages: Sequence[Passage], *, full: bool) -> None:
    for number, passage in enumerate(passages, start=1):
        page = f", page {passage.page}" if passage.page is not None else ""
        base = f"{passage.base}: " if passage.base else ""
        heading = f" › {passage.heading}" if passage.heading else ""
        by = f" ({', '.join(passage.sources)})" if passage.sources else ""
        output.put_text(" ".join(f"{number}. {base}{passage.document}{heading}{page}{by}".split()))
        text = passage.text if full else shortened(passage.text, _FIRST)
        output.put_text("\n".join(f"    {line}".rstrip() for line in text.splitlines()) + "\n")
