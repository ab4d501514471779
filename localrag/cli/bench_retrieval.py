"""`localrag bench retrieval`: whether the passages that a question needs are found."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from localrag.cli import output
from localrag.cli.bench_output import Labelled, dump_file
from localrag.cli.invocation import Invocation, json_option, pass_invocation
from localrag.cli.progress import Bar
from localrag.cli.stopping import stoppable
from localrag.errors import UsageError

if TYPE_CHECKING:
    from localrag.bench.retrieval import Row


@click.command("retrieval", short_help="Whether what questions need is found.")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the data sets.")
@click.option(
    "--set", "names", metavar="NAME", multiple=True, help="A set; may be given again. Default: all."
)
@click.option("--tier", type=click.Choice(["XS", "S", "M"]), default="M", show_default=True)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Questions of a set at most.")
@click.option("--graph", is_flag=True, help="Let the model read the passages first, and measure that too.")
@click.option(
    "--latency",
    "sizes",
    type=click.IntRange(1, 10_000_000),
    metavar="CHUNKS",
    multiple=True,
    help="Measure how long finding takes among so many generated chunks; may be given again.",
)
@click.option(
    "--dump",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="What was ranked, as JSONL.",
)
@json_option
@pass_invocation
def retrieval(
    invocation: Invocation,
    data: Path | None,
    names: tuple[str, ...],
    tier: str,
    limit: int | None,
    graph: bool,
    sizes: tuple[int, ...],
    dump: Path | None,
) -> None:
    """Ask the questions of open sets and count which of the passages that they need are ranked first.

    A set is a folder with the files corpus.jsonl and questions.jsonl. Two sets with the same questions in two
    languages are also asked crosswise. The knowledge bases are made once and kept in the cache folder; with
    --graph the model reads them first, which may be stopped and goes on with the next call. --latency needs
    no data and measures time alone.

    \b
    Example:
      localrag bench retrieval --data ../data --set hotpotqa-en --json
      localrag bench retrieval --latency 10000
    """
    if sizes:
        _latency(invocation, sizes)
        return
    if data is None:
        raise UsageError(
            "This measure needs data.", "Give the folder of the data sets with --data, or --latency 10000."
        )
    from localrag.bench.retrieval import as_json, measure
    from localrag.bench.retrieval_data import crossings, load_sets
    from localrag.engines import Engines

    sets = load_sets(data, names, tier, limit or 0)
    settings = invocation.settings()
    began = time.monotonic()
    with (
        dump_file(dump) as file,
        stoppable("Stopping.") as stop,
        Bar(quiet=invocation.json) as bar,
        contextlib.closing(Engines(settings)) as engines,
    ):
        rows = measure(
            sets,
            crossings(sets),
            settings,
            engines,
            graph=graph,
            on_step=Labelled(bar),
            cancel=stop.event,
            dump=file,
        )
    if invocation.json:
        about = {"tier": tier, "limit": limit, "seconds": round(time.monotonic() - began, 1)}
        output.put_json({**about, **as_json(rows)})
        return
    _show(rows)


def _latency(invocation: Invocation, sizes: tuple[int, ...]) -> None:
    """Measure how long finding takes, with the embedding model if there is one."""
    from localrag.bench.retrieval_speed import as_json, measure
    from localrag.engines import Engines

    with (
        stoppable("Stopping.") as stop,
        Bar(quiet=invocation.json) as bar,
        contextlib.closing(Engines(invocation.settings())) as engines,
    ):
        embedder = engines.embedder if engines.has_embedder() else None
        rows = measure(sizes, embedder, Labelled(bar), stop.event)
    if invocation.json:
        output.put_json({"latency": as_json(rows)})
        return
    output.put_table(
        [
            ("Chunks", "right"),
            ("Embedding", "right"),
            ("Ranking", "right"),
            ("Together", "right"),
            ("Slowest of 20", "right"),
            ("First", "right"),
        ],
        [
            [
                f"{row.chunks:,}",
                "" if row.embedding_ms is None else f"{row.embedding_ms:.1f} ms",
                f"{row.ranking_ms:.1f} ms",
                f"{row.total_ms:.1f} ms",
                f"{row.slow_ms:.1f} ms",
                f"{row.first_ms:.0f} ms",
            ]
            for row in rows
        ],
    )


def _show(rows: list[Row]) -> None:
    """A table of all methods on all sets."""
    lines = []
    for row in rows:
        figures, passing = row.figures(), row.passing()
        kept = f"{passing['passages']:.1f} / {passing['recall']:.3f}" if passing else ""
        lines.append([row.name, row.method, *(f"{value:.3f}" for value in figures.values()), kept])
    output.put_table(
        [
            "Set",
            "Method",
            ("R@2", "right"),
            ("R@5", "right"),
            ("R@10", "right"),
            ("All@8", "right"),
            ("Passed on / recall", "right"),
        ],
        lines,
    )
