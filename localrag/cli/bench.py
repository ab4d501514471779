"""`localrag bench`: measures this installation on open data or generated data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from localrag.cli import output
from localrag.cli.bench_answers import answers
from localrag.cli.bench_extraction import extraction
from localrag.cli.bench_retrieval import retrieval
from localrag.cli.invocation import Invocation, json_option, pass_invocation
from localrag.cli.progress import Bar
from localrag.cli.stopping import stoppable
from localrag.errors import Cancelled, UsageError

if TYPE_CHECKING:
    from localrag.bench.engine import EngineRow
    from localrag.bench.store import StoreRow

_SET = "hotpotqa-en"
_PROFILES = ("compact", "lightrag")
_MOST = 100_000_000


@click.group(short_help="Measure speed and quality.")
def bench() -> None:
    """Measure how fast and how well this installation works.

    All but `store` need open data sets in a folder; localrag ships none. docs/measurements.md holds results
    and the commands that gave them.

    \b
    Example:
      localrag bench engine --data ../data --passages 10
    """


bench.add_command(answers)
bench.add_command(extraction)
bench.add_command(retrieval)


@bench.command("engine", short_help="How fast passages are read.")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the data sets.")
@click.option("--set", "set_name", default=_SET, show_default=True, help="Set whose passages are read.")
@click.option("--tier", type=click.Choice(["XS", "S", "M"]), default="XS", show_default=True)
@click.option("--passages", type=click.IntRange(1), default=40, show_default=True, help="How many at most.")
@click.option("--model", metavar="NAME", help="The model that reads; a name or a file.")
@click.option(
    "--profile",
    type=click.Choice((*_PROFILES, "graphrag")),
    multiple=True,
    help="Profile to measure; may be given again. Default: compact and lightrag.",
)
@click.option(
    "--compare/--no-compare", default=True, show_default=True, help="Measure the high-level class too."
)
@click.option(
    "--waits/--no-waits", default=True, show_default=True, help="Measure how long a question waits too."
)
@click.option("--sequences", type=click.IntRange(1, 200), help="Texts read together.")
@json_option
@pass_invocation
def engine(
    invocation: Invocation,
    data: Path | None,
    set_name: str,
    tier: str,
    passages: int,
    model: str | None,
    profile: tuple[str, ...],
    compare: bool,
    waits: bool,
    sequences: int | None,
) -> None:
    """Read passages of an open set and count records, tokens and seconds.

    \b
    Example:
      localrag bench engine --data ../data --passages 10 --json
    """
    folder = _needed(data)
    from localrag.bench.data import passages as load
    from localrag.bench.engine import as_json, bench_settings, compact_requests, high_level, measure
    from localrag.bench.latency import measure as latencies
    from localrag.catalogue.installed import find_model
    from localrag.engine.client import WorkerModel
    from localrag.engines import Engines

    texts = load(folder, set_name, tier, passages)
    settings = invocation.settings()
    path = find_model(model or settings.models.chat, "chat")
    rows: list[EngineRow] = []
    comparison = latency = None
    with stoppable("Stopping.") as stop, Bar(quiet=invocation.json) as bar:
        for name in profile or _PROFILES:
            bar.begin(f"Reading passages ({name})", len(texts))

            def show(done: int, _total: int) -> None:
                bar.update(done)

            # Each row has a worker of its own: its memory is that row's.
            options = Engines(settings).options()
            worker = WorkerModel(path, replace(options, sequences=sequences or options.sequences))
            try:
                row = measure(worker, texts, bench_settings(settings.extraction, name), show, stop.event)
                threads = worker.describe().threads
            finally:
                worker.close()
            if row is None:
                raise Cancelled("The measure was stopped.")
            rows.append(row)
        if compare and rows[0].profile == "compact":
            bar.begin("The same with the high-level class", 1)
            comparison = high_level(path, texts, settings.extraction, threads)
        if waits:
            bar.begin("How long a question waits", 1)
            background = compact_requests(texts, settings.extraction)
            latency = latencies(path, Engines(settings).options(), background)
    if invocation.json:
        output.put_json(as_json(rows, comparison, latency))
        return
    for row in rows:
        output.put_facts(_facts(row))
    if comparison is not None:
        output.put_facts(
            [
                ("High-level class", f"{comparison.seconds_per_passage:.2f} s a passage, one after another"),
                ("Faster by", f"{comparison.seconds_per_passage / rows[0].seconds_per_passage:.1f} times"),
            ]
        )
    if latency is not None:
        output.put_facts(
            [
                ("First word", f"{latency.first_word_idle:.2f} s idle, {latency.first_word_busy:.2f} s busy"),
                (
                    "After a cold start",
                    f"{latency.first_word_kept_prefix:.2f} s with the fixed part kept, "
                    f"{latency.first_word_new_prefix:.2f} s without",
                ),
                (
                    "An answer from documents",
                    f"{latency.first_word_answer:.2f} s to its first word, "
                    f"{latency.answer_read_tokens:,} tokens read anew",
                ),
                ("A stop", f"{latency.stop_reading:.2f} s reading, {latency.stop_writing:.2f} s writing"),
            ]
        )


@bench.command("reuse", short_help="Whether kept passages answer as well as read ones.")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the data sets.")
@click.option("--set", "set_name", default=_SET, show_default=True, help="Set with questions.")
@click.option("--tier", type=click.Choice(["XS", "S", "M"]), default="S", show_default=True)
@click.option("--questions", type=click.IntRange(1), default=20, show_default=True, help="How many at most.")
@click.option("--passages", type=click.IntRange(1, 20), default=5, show_default=True, help="Before each.")
@click.option("--model", metavar="NAME", help="The model that answers; a name or a file.")
@json_option
@pass_invocation
def reuse(
    invocation: Invocation,
    data: Path | None,
    set_name: str,
    tier: str,
    questions: int,
    passages: int,
    model: str | None,
) -> None:
    """An experiment: put the kept cache of passages together instead of reading them again.

    \b
    Example:
      localrag bench reuse --data ../data --questions 20 --json
    """
    folder = _needed(data)
    from localrag.bench.reuse import measure
    from localrag.catalogue.installed import find_model

    path = find_model(model or invocation.settings().models.chat, "chat")
    found = measure(path, folder, set_name, tier, questions, passages)
    if invocation.json:
        output.put_json(found.as_json())
        return
    output.put_facts(
        [
            (
                name,
                f"first word {way.first_seconds:.2f} s, answers contain {way.contains:.0%}, F1 {way.f1:.2f}",
            )
            for name, way in (("Read again", found.reading), ("Kept and moved", found.shifting))
        ]
    )


@bench.command("store", short_help="How fast the file stores and searches.")
@click.option(
    "--sizes",
    default="10000,100000,1000000",
    show_default=True,
    metavar="N,N,…",
    help="Chunks of the files that are measured.",
)
@click.option(
    "--keep", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Keep the files here."
)
@json_option
@pass_invocation
def store(invocation: Invocation, sizes: str, keep: Path | None) -> None:
    """Store generated texts and vectors and search them, at several sizes.

    Needs no data and no model. A million chunks take about 12 GB of disk and half an hour; without --keep all
    of it is removed at the end.

    \b
    Example:
      localrag bench store --sizes 10000,100000 --json
    """
    from localrag.bench.store import as_json, measure

    wanted = _sizes(sizes)
    with stoppable("Stopping.") as stop, Bar(quiet=invocation.json) as bar:
        shown = ""

        def show(text: str, done: int, total: int) -> None:
            nonlocal shown
            if text != shown:
                bar.begin(text, total)
                shown = text
            bar.update(done)

        rows = measure(wanted, keep, show, stop.event)
    if invocation.json:
        output.put_json(as_json(rows))
        return
    for row in rows:
        output.put_facts(_store_facts(row))


def _sizes(text: str) -> list[int]:
    """Numbers of chunks. Raises `UsageError` for what is none."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isascii() and part.isdigit() and 0 < int(part) <= _MOST for part in parts):
        raise UsageError(
            "--sizes takes whole numbers with commas between them.", "For example: --sizes 10000,100000"
        )
    return [int(part) for part in parts]


def _store_facts(row: StoreRow) -> list[tuple[str, str]]:
    return [
        ("Chunks", f"{row.chunks:,}"),
        ("Stored in", f"{row.insert_s:.1f} s"),
        ("Nearest 20 vectors", f"{row.knn_ms:.1f} ms, {row.knn_filtered_ms:.1f} ms of 1 %"),
        ("Full text", f"{row.fulltext_ms:.1f} ms"),
        ("Both together", f"{row.hybrid_ms:.1f} ms, {row.hybrid_filtered_ms:.1f} ms of 1 %"),
        ("First search", f"{row.cold_ms:.0f} ms; {row.first_ms:.0f} ms where the cache must be made"),
        ("Found", f"{row.recall_at_20:.1%} by vectors, {row.fulltext_recall_at_20:.1%} by full text"),
        ("On disk", f"{row.size_mb:,.0f} MB, and {row.cache_mb:,.0f} MB of cache"),
        ("Memory", f"{row.peak_rss_mb:,.0f} MB at most, {row.own_mb:,.0f} MB without what is mapped"),
    ]


def _needed(data: Path | None) -> Path:
    """The folder of the data sets. Raises `UsageError` if none was given."""
    if data is None:
        raise UsageError("This measure needs data.", "Give the folder of the data sets with --data.")
    return data


def _facts(row: EngineRow) -> list[tuple[str, str]]:
    return [
        ("Profile", f"{row.profile}, {row.passages} passages"),
        ("Seconds a passage", f"{row.seconds_per_passage:.2f}"),
        ("Records a passage", f"{row.records_per_passage:.1f} ({row.entities_per_passage:.1f} entities)"),
        ("Well-formed", f"{row.well_formed_share:.1%}, {row.unknown_ends} unknown ends"),
        ("Cut by the budget", f"{row.truncated_share:.1%} of the passages"),
        ("Reading alone", f"{row.prefill_tok_s:.0f} tokens/s"),
        ("Writing, together", f"{row.decode_tok_s:.0f} tokens/s, {row.forced_share:.0%} forced"),
        ("Efficiency", f"{row.efficiency:.2f} of the reading speed"),
        (
            "Time",
            f"{row.reading_share:.0%} reading, {row.writing_share:.0%} writing in steps of "
            f"{row.tokens_per_step:.0f} tokens, {row.grammar_share:.1%} constraints",
        ),
        ("Memory", f"{row.peak_rss_mb:,} MiB worker, {row.parent_rss_mb:,} MiB parent"),
    ]
