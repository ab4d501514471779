"""`localrag index`: lets the model read what was added, with progress, and stops cleanly."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from localrag.cli import output
from localrag.cli.add import PARTLY_DONE, add_paths, report_json
from localrag.cli.estimating import MORE, as_json, budget_end, budget_of, in_words
from localrag.cli.following import follow, sync_paths, tell_sync
from localrag.cli.invocation import (
    Invocation,
    NamedPath,
    engine_options,
    entity_types_option,
    gleaning_option,
    json_option,
    kb_option,
    pass_invocation,
)
from localrag.cli.machine import measure_first, tell_notes
from localrag.cli.progress import Bar
from localrag.cli.stopping import Stop, stoppable
from localrag.cli.summaries import Board as SummaryBoard
from localrag.errors import Cancelled, NothingIndexed, UsageError

if TYPE_CHECKING:
    from localrag.indexing import Budget, IndexEvent, IndexReport, Progress
    from localrag.kb import KnowledgeBase, SyncReport
    from localrag.watching import Watch


def _claims_too(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.ensure_object(Invocation).flags["claims.at_index"] = True


@click.command(short_help="Let the model read what was added.")
@click.argument("paths", nargs=-1, type=NamedPath(), metavar="[PATH]...")
@click.option("--watch", is_flag=True, help="Follow the folders: sync and read every change until ctrl-c.")
@click.option("--poll", is_flag=True, help="With --watch: look at the files in turns (network drives).")
@click.option("--minutes", type=float, metavar="N", help="Stop after so many minutes.")
@click.option(
    "--budget-tokens", type=int, metavar="N", help="Stop before the model has read and written more tokens."
)
@click.option(
    "--claims",
    is_flag=True,
    expose_value=False,
    callback=_claims_too,
    help="Read claims too, of all that is read; see `localrag claims`.",
)
@click.option("--estimate", is_flag=True, help="Only say what it would take: calls, tokens, time.")
@entity_types_option
@gleaning_option
@engine_options
@kb_option
@json_option
@pass_invocation
def index(
    invocation: Invocation,
    paths: tuple[Path, ...],
    watch: bool,
    poll: bool,
    minutes: float | None,
    budget_tokens: int | None,
    estimate: bool,
) -> int:
    """Let the model read what was added: it makes vectors, and finds entities and relations.

    PATHs are added first. Chunks that connect most are read first, and every chunk is kept as soon as it is
    read: ctrl-c stops within a second, and the same command goes on where it stopped. With --minutes or
    --budget-tokens it stops by itself, with the part that is most useful; one chunk at least is read, however
    small the budget is. Chunks that failed are tried once more by the next run.

    \b
    Examples:
      localrag index
      localrag index letters/ --threads 4
      localrag index --estimate
      localrag index --minutes 20
      localrag index --watch
    """
    if (watch and invocation.json) or (poll and not watch):
        raise UsageError("--watch does not go with --json." if watch else "--poll needs --watch.")
    budget = budget_of(minutes, budget_tokens, watch=watch, estimate=estimate)
    if estimate:
        return _estimate(invocation, paths)
    with invocation.knowledge_base() as kb, stoppable() as stop:
        result: dict[str, Any] = {}
        partly = False
        if paths:
            added = add_paths(kb, paths, stop, quiet=invocation.json)
            result["add"] = report_json(added)
            partly = bool(added.failed)
        elif not (kb.status().documents or (watch and kb.followed())):
            raise NothingIndexed("There is nothing to read yet.", "Put texts in: localrag add FILE-OR-FOLDER")
        kb.ensure_not_indexing()
        if watch and not stop.asked:
            _watch(kb, stop, poll=poll)
            return stop.exit_code
        if _unread(kb):
            measure_first(kb, stop, quiet=invocation.json)
        report = None if stop.asked else _read(kb, stop, quiet=invocation.json, budget=budget)
        tell_notes(kb)
        coverage = kb.status().coverage
    if invocation.json:
        output.put_json(result | (asdict(report) if report is not None else {"cancelled": True}))
    elif report is not None and not report.cancelled:
        if report.read or report.failed or not (report.reason and report.left):
            output.say(_summary(report))
        if report.reason:
            output.say(budget_end(report))
    if stop.asked:
        read = output.number(coverage.read, "chunk is", "chunks are")
        output.say(f"Stopped. {read} read and kept, {coverage.total - coverage.read:,} are left.")
        output.say("The same command goes on from here.")
        return stop.exit_code
    return PARTLY_DONE if partly or (report is not None and report.failed) else 0


def _estimate(invocation: Invocation, paths: tuple[Path, ...]) -> int:
    """Say what reading what was added would take, and do nothing."""
    settings = invocation.settings()
    more = settings.summaries.at_index
    if paths:
        raise UsageError("--estimate adds nothing.", "Add the files first: localrag add FILE-OR-FOLDER")
    with invocation.knowledge_base(read_only=True) as kb:
        found, empty = kb.estimate(), not kb.status().chunks.total
    if invocation.json:
        output.put_json(as_json(found))
    elif empty:
        output.put_text("The knowledge base is empty. Next: localrag add FILE-OR-FOLDER")
    elif not (found.chunks or found.claim_chunks):
        output.put_text("Everything that was added is read already.")
    else:
        text = f"{output.number(found.chunks, 'chunk')} to read. {in_words(found)}"
        output.put_text(text + (f" {MORE}" if more else ""))
    return 0


def _watch(kb: KnowledgeBase, stop: Stop, *, poll: bool) -> None:
    """Sync and read after every change. What changes while the model reads is put in without waiting."""
    before: SyncReport | None = None

    def bring_in() -> None:
        nonlocal before
        report = sync_paths(kb, (), stop)
        tell_sync(report, before=before)
        before = report

    def work(watch: Watch) -> None:
        news = True

        def look() -> None:
            nonlocal news
            if watch.changed():
                watch.take()
                bring_in()
                news = True

        bring_in()
        while news and _unfinished(kb) and not stop.asked:
            news = False
            if _unread(kb):
                measure_first(kb, stop, quiet=False)
            report = _read(kb, stop, quiet=False, between=look)
            tell_notes(kb)
            if report is not None and not report.cancelled and (report.read or report.failed):
                output.say(_summary(report))

    follow(kb, stop, work, poll=poll)


def _unread(kb: KnowledgeBase) -> bool:
    """Whether there is anything for the model to read."""
    coverage = kb.status().coverage
    return coverage.read < coverage.total


def _unfinished(kb: KnowledgeBase) -> bool:
    """Whether there is anything to read, or a vector of a chunk to make."""
    state = kb.status()
    return _unread(kb) or state.vectors.chunks < state.chunks.total


def _read(
    kb: KnowledgeBase,
    stop: Stop,
    *,
    quiet: bool,
    between: Callable[[], None] = lambda: None,
    budget: Budget | None = None,
) -> IndexReport | None:
    """Run the reading with progress on stderr; None if it ended without a report.

    `between` is called after every event.
    """
    report: IndexReport | None = None
    with (
        contextlib.suppress(Cancelled),
        Bar(quiet=quiet) as bar,
        contextlib.closing(kb.index(stop.event, budget)) as events,
    ):
        board = _Board(bar)
        for event in events:
            report = board.show(event) or report
            between()
    return report


class _Board:
    """Turns the events of reading into a bar and lines."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._stage = ""
        self._reading = "Reading"
        self._summaries = SummaryBoard(bar)

    def show(self, event: IndexEvent) -> IndexReport | None:
        """Show one event; returns the report when it is the last."""
        from localrag import indexing

        if isinstance(event, indexing.Started):
            if event.chunks_to_read:
                documents = output.number(event.documents, "document")
                chunks = output.number(event.chunks_to_read, "chunk")
                self._bar.note(f"Reading {chunks} of {documents}. Ctrl-c stops; what is read is kept.")
            if event.estimate is not None:
                self._bar.note(in_words(event.estimate))
            if event.chunks_to_read:
                self._begin("Reading", event.chunks_to_read)
                self._bar.update(0, "starting the model")
        elif isinstance(event, indexing.Embedded):
            self._begin(f"Vectors of {event.what}", event.total)
            self._bar.update(event.done)
        elif isinstance(event, indexing.ClaimsStarted):
            self._reading = "Reading claims"
            self._begin(self._reading, event.chunks)
        elif isinstance(event, indexing.Progress):
            self._begin(self._reading, event.total)
            self._bar.update(event.read, _pace(event) or "starting the model")
        elif isinstance(event, indexing.ChunkFailed):
            self._bar.note(f"{event.document}: chunk {event.ordinal + 1} could not be read: {event.reason}")
        elif isinstance(event, indexing.ClaimsFailed):
            self._bar.note(
                f"{event.document}: claims of chunk {event.ordinal + 1} could not be read: {event.reason}"
            )
        elif isinstance(event, indexing.Note):
            self._bar.note(event.text)
        elif isinstance(event, indexing.Finished):
            return event.report
        elif isinstance(event, indexing.SummaryEvent):
            self._stage = ""
            self._summaries.show(event)
        return None

    def _begin(self, stage: str, total: int) -> None:
        if stage != self._stage:
            self._stage = stage
            self._bar.begin(stage, total)


def _pace(event: Progress) -> str:
    """How fast it goes and how long it will take, as far as that is known."""
    parts = []
    if event.chunks_per_minute:
        parts.append(f"{event.chunks_per_minute:.1f} a minute")
    elif event.prefill_rate:
        parts.append(f"{event.prefill_rate:.0f} tokens a second")
    if event.seconds_left is not None:
        parts.append(f"about {output.duration(event.seconds_left)} left")
    return ", ".join(parts)


def _summary(report: IndexReport) -> str:
    if not (report.read or report.failed):
        nothing = "Nothing was read." if report.left else "Everything that was added is read already."
        return f"{nothing}{_claims(report)}"
    text = f"Read {output.number(report.read, 'chunk')} in {output.duration(report.seconds)}."
    if report.failed:
        text += f" {output.number(report.failed, 'chunk')} could not be read; {_what_next(report)}."
    entities = output.number(report.entities, "entity", "entities")
    relations = output.number(report.relations, "relation")
    return f"{text} The knowledge base has {entities} and {relations} now.{_claims(report)}"


def _claims(report: IndexReport) -> str:
    """What else was done: claims read, summaries written."""
    text = ""
    if report.summaries:
        text = f" {output.number(report.summaries, 'summary', 'summaries')} written."
    if report.claims or report.claims_failed:
        failed = f", {report.claims_failed:,} chunks failed" if report.claims_failed else ""
        text += f" {output.number(report.claims, 'claim')} read{failed}."
    return text


def _what_next(report: IndexReport) -> str:
    """What becomes of the chunks that failed."""
    if report.left_out == report.failed:
        return "left out, since the engine died over it" if report.failed == 1 else "all left out"
    more = "the next run tries once more"
    return f"{report.left_out} left out, and for the others {more}" if report.left_out else more
