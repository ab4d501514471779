"""`localrag summarize`: lets the model sum up what many passages say of one thing, with progress."""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from localrag.cli import output
from localrag.cli.add import PARTLY_DONE
from localrag.cli.invocation import Invocation, engine_options, json_option, kb_option, pass_invocation
from localrag.cli.progress import Bar
from localrag.cli.stopping import Stop, stoppable

if TYPE_CHECKING:
    from localrag.indexing.summary_events import SummariesPlanned
    from localrag.kb import KnowledgeBase
    from localrag.summarising import SummariseEvent, SummaryReport

_LISTED = 20


@click.command(short_help="Sum up what many passages say of one thing.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Write at most N summaries.")
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True, max=1e6, max_open=True),
    metavar="M",
    help="Stop after about M minutes.",
)
@engine_options
@kb_option
@json_option
@pass_invocation
def summarize(invocation: Invocation, limit: int | None, minutes: float | None) -> int:
    """Let the model sum up what many passages say of an entity or a relation.

    Short lists of descriptions need no model and are read joined; the settings of the section `summaries` say
    what is short. What is connected most comes first, and only what changed since the last time. Ctrl-c
    stops, and the same command goes on where it stopped. Questions work without summaries, too.

    \b
    Examples:
      localrag summarize
      localrag summarize --limit 20 --minutes 10
    """
    with invocation.knowledge_base() as kb, stoppable() as stop:
        report = _run(kb, stop, limit, minutes, quiet=invocation.json)
    if invocation.json:
        output.put_json(asdict(report))
    else:
        output.say(_summary(report))
    if report.cancelled:
        return stop.exit_code
    return PARTLY_DONE if report.failed else 0


def _run(
    kb: KnowledgeBase, stop: Stop, limit: int | None, minutes: float | None, *, quiet: bool
) -> SummaryReport:
    """Write the summaries with progress on stderr."""
    from localrag.summarising import Summarised

    made = kb.summarize(limit=limit, minutes=minutes, cancel=stop.event)
    with Bar(quiet=quiet) as bar, contextlib.closing(made) as events:
        board = Board(bar)
        for event in events:
            if isinstance(event, Summarised):
                return event.report
            board.show(event)
    raise AssertionError("the last event is the report")


class Board:
    """Turns the events of summaries, and of the vectors behind them, into a bar and lines."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._stage = ""
        self._failed = 0

    def show(self, event: SummariseEvent) -> None:
        """Show one event."""
        from localrag import indexing
        from localrag.indexing import summary_events

        if isinstance(event, summary_events.SummariesPlanned):
            if event.total:
                self._bar.note(_outlook(event))
                self._begin("Summaries", event.total)
                self._bar.update(0, "starting the model")
        elif isinstance(event, summary_events.SummaryWritten):
            self._bar.update(event.done, event.name, event.total)
        elif isinstance(event, summary_events.SummaryFailed):
            self._failed += 1
            if self._failed <= _LISTED:
                self._bar.note(f"{event.name}: no summary. {event.reason}")
            self._bar.update(event.done, event.name, event.total)
        elif isinstance(event, summary_events.SummaryPace):
            if event.seconds_left is not None:
                left = f"about {output.duration(event.seconds_left)} left"
                self._bar.update(event.done, left, event.total)
        elif isinstance(event, indexing.Embedded):
            self._begin(f"Vectors of {event.what}", event.total)
            self._bar.update(event.done)
        elif isinstance(event, indexing.Note):
            self._bar.note(event.text)

    def _begin(self, stage: str, total: int) -> None:
        if stage != self._stage:
            self._stage = stage
            self._bar.begin(stage, total)


def _outlook(event: SummariesPlanned) -> str:
    text = f"Writing {output.number(event.total, 'summary', 'summaries')}"
    if event.waiting > event.total:
        text += f" of {event.waiting:,} that wait"
    return f"{text}. Ctrl-c stops; what is written is kept."


def _summary(report: SummaryReport) -> str:
    if report.cancelled:
        return (
            f"Stopped. {output.number(report.written, 'summary is', 'summaries are')} written and kept, "
            f"{report.left:,} are left. The same command goes on from here."
        )
    if not (report.written or report.failed or report.left):
        return "No descriptions are so many or so long that they need a summary."
    text = (
        f"Wrote {output.number(report.written, 'summary', 'summaries')} in "
        f"{output.number(report.calls, 'call')} of the model and {output.duration(report.seconds)}."
    )
    if report.failed:
        text += f" {report.failed:,} could not be written; the descriptions stay as they are."
    if report.left:
        text += f" {report.left:,} wait; the same command goes on with them."
    return text
