"""`localrag bench`: measures this installation on open data or generated data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from localrag.cli import output
from localrag.cli.invocation import Invocation, json_option, pass_invocation
from localrag.cli.progress import Bar
from localrag.cli.stopping import stoppable
from localrag.errors import Cancelled, UsageError

if TYPE_CHECKING:
    from localrag.bench.engine import EngineRow

_SET = "hotpotqa-en"


@click.group(short_help="Measure speed and quality.")
def bench() -> None:
    """Measure how fast and how well this installation works.

    The measures need open data sets in a folder; localrag ships none. docs/measurements.md holds results and
    the commands that gave them.

    \b
    Example:
      localrag bench engine --data ../data --passages 10
    """


@bench.command("engine", short_help="How fast passages are read.")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the data sets.")
@click.option("--set", "set_name", default=_SET, show_default=True, help="Set whose passages are read.")
@click.option("--tier", type=click.Choice(["XS", "S", "M"]), default="XS", show_default=True)
@click.option("--passages", type=click.IntRange(1), default=40, show_default=True, help="How many at most.")
@click.option("--model", metavar="NAME", help="The model that reads; a name or a file.")
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
    sequences: int | None,
) -> None:
    """Read passages of an open set and count records, tokens and seconds.

    \b
    Example:
      localrag bench engine --data ../data --passages 10 --json
    """
    if data is None:
        raise UsageError("This measure needs data.", "Give the folder of the data sets with --data.")
    from localrag.bench.data import passages as load
    from localrag.bench.engine import as_json, measure
    from localrag.catalogue.installed import find_model
    from localrag.engine.client import WorkerModel
    from localrag.engine.types import EngineOptions

    texts = load(data, set_name, tier, passages)
    settings = invocation.settings()
    path = find_model(model or settings.models.chat, "chat")
    worker = WorkerModel(
        path,
        EngineOptions(
            n_ctx=settings.engine.n_ctx,
            sequences=sequences or settings.engine.sequences,
            threads=settings.engine.threads,
            batch=settings.engine.batch,
            gpu_layers=settings.engine.gpu_layers,
        ),
    )
    with stoppable("Stopping.") as stop, Bar(quiet=invocation.json) as bar:
        bar.begin("Reading passages", len(texts))

        def show(done: int, _total: int) -> None:
            bar.update(done)

        try:
            row = measure(worker, texts, settings.extraction, show, stop.event)
        finally:
            worker.close()
    if row is None:
        raise Cancelled("The measure was stopped.")
    if invocation.json:
        output.put_json(as_json([row]))
    else:
        output.put_facts(_facts(row))


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
        ("Memory", f"{row.peak_rss_mb:,} MiB worker, {row.parent_rss_mb:,} MiB parent"),
    ]
