"""`localrag reembed`: changes a knowledge base to another embedding model, with progress."""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from localrag.cli import output
from localrag.cli.add import PARTLY_DONE
from localrag.cli.invocation import Invocation, json_option, kb_option, pass_invocation
from localrag.cli.progress import Bar
from localrag.cli.stopping import Stop, stoppable
from localrag.errors import ModelError, UsageError

if TYPE_CHECKING:
    from localrag.kb import KnowledgeBase
    from localrag.reembedding import ReembedEvent, ReembedReport, ReembedStarted
    from localrag.settings import Settings


@click.command(short_help="Change to another embedding model.")
@click.option(
    "--embed-model",
    "model",
    metavar="NAME",
    default="",
    help="Model that makes the new vectors: a name of `localrag models list` or a GGUF file. Without it a "
    "change that was begun goes on, else the model of the settings is taken.",
)
@click.option("--cancel", is_flag=True, help="Drop new vectors that are half made; the old ones stay.")
@click.option(
    "--threads",
    type=click.IntRange(min=0),
    metavar="N",
    help="Threads of the engine; 0 takes the processor's cores.",
)
@kb_option
@json_option
@pass_invocation
def reembed(invocation: Invocation, model: str, cancel: bool, threads: int | None) -> int:
    """Change to another embedding model: make new vectors of everything, then search in them.

    Vectors of two models cannot be compared, so the new ones are made beside the old ones. Until all are
    there, questions are answered as before, also while this runs. Ctrl-c stops, and the same command goes on
    where it stopped. The language model is not needed, and nothing is read again.

    \b
    Examples:
      localrag reembed --embed-model multilingual-e5-small
      localrag reembed --cancel
    """
    if threads is not None:
        invocation.flags["engine.threads"] = threads
    if cancel:
        if model:
            raise UsageError("--cancel drops what was begun, whatever its model is.", "Leave the name out.")
        return _cancel(invocation)
    with invocation.knowledge_base() as kb, stoppable() as stop:
        report = _run(kb, model, stop, quiet=invocation.json)
        building = kb.status().vectors.building
    if invocation.json:
        output.put_json(asdict(report))
    if report.cancelled:
        if building is not None:
            made = f"{building.done:,} of {output.number(building.total, 'new vector')}"
            output.say(f"Stopped. {made} are made and kept; questions use the old ones meanwhile.")
            output.say("Go on with `localrag reembed`.")
        return stop.exit_code
    if not invocation.json:
        output.say(_summary(report))
    note = _settings_note(invocation.settings(), report)
    if note:
        output.warn(note)
    return PARTLY_DONE if report.left_out else 0


def _cancel(invocation: Invocation) -> int:
    with invocation.knowledge_base() as kb:
        dropped = kb.cancel_reembedding()
    if invocation.json:
        output.put_json({"dropped": asdict(dropped) if dropped is not None else None})
    elif dropped is None:
        output.say("No new vectors are half made; nothing was changed.")
    else:
        gone = output.number(dropped.done, "new vector")
        output.say(f"Dropped {gone} of {dropped.model}. The old ones stay in use.")
    return 0


def _run(kb: KnowledgeBase, model: str, stop: Stop, *, quiet: bool) -> ReembedReport:
    """Make the vectors with progress on stderr."""
    from localrag.reembedding import Reembedded

    with Bar(quiet=quiet) as bar, contextlib.closing(kb.reembed(model, cancel=stop.event)) as events:
        board = _Board(bar)
        for event in events:
            if isinstance(event, Reembedded):
                return event.report
            board.show(event)
    raise AssertionError("the last event is the report")


class _Board:
    """Turns the events into a bar and lines."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._stage = ""

    def show(self, event: ReembedEvent) -> None:
        """Show one event."""
        from localrag import indexing, reembedding

        if isinstance(event, reembedding.ReembedStarted):
            self._bar.note(_outlook(event))
        elif isinstance(event, indexing.Embedded):
            if event.what != self._stage:
                self._stage = event.what
                self._bar.begin(f"New vectors of {event.what}", event.total)
            self._bar.update(event.done, total=event.total)
        elif isinstance(event, indexing.Note):
            self._bar.note(event.text)


def _outlook(event: ReembedStarted) -> str:
    left = output.number(max(event.total - event.done, 0), "vector")
    text = f"Making {left} with {event.model}"
    if event.done:
        text += f"; {event.done:,} are there from before"
    meanwhile = f" Questions use those of {event.before} meanwhile." if event.before else ""
    return f"{text}.{meanwhile} Ctrl-c stops; what is made is kept."


def _summary(report: ReembedReport) -> str:
    if report.already:
        return f"The vectors of this knowledge base were made by {report.model} already; nothing was changed."
    text = f"Made {output.number(report.made, 'vector')} in {output.duration(report.seconds)}."
    if report.left_out:
        text += f" {output.number(report.left_out, 'text')} got none and can be found by their words only."
    gone = f"; those of {report.before} are gone" if report.before else ""
    return f"{text} Questions are searched with {report.model} now{gone}."


def _settings_note(settings: Settings, report: ReembedReport) -> str:
    """What to say if `index` will refuse, because the settings name another model than the file has now."""
    if settings.remote.embed_url:
        named = settings.remote.embed_model
        return "" if named == report.model else _conflict("remote.embed_model", named, report.model)
    from localrag.catalogue.installed import find_embedding_model, find_model

    named = settings.models.embed.strip()
    if not named or named.casefold() == report.model.casefold():
        return ""
    try:
        same = find_model(named, "embed") == find_embedding_model(report.model)
    except ModelError:
        same = False
    return "" if same else _conflict("models.embed", named, report.model)


def _conflict(setting: str, named: str, model: str) -> str:
    return (
        f"The setting {setting} names {named}, but this knowledge base has vectors of {model} now, so "
        "localrag index will refuse it. Change the setting, or leave it out."
    )
