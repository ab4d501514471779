"""`localrag bench extraction`: how well and how fast entities and relations are found."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from localrag.cli import output
from localrag.cli.bench_output import Labelled, dump_file
from localrag.cli.invocation import Invocation, json_option, pass_invocation
from localrag.cli.progress import Bar
from localrag.cli.stopping import stoppable
from localrag.errors import UsageError

if TYPE_CHECKING:
    from localrag.bench.extraction import Measured
    from localrag.engine.client import WorkerModel
    from localrag.settings import Settings

_PROFILES = ("lightrag", "graphrag", "compact")
_GLEANING = ("off", "once", "until-no")


@click.command("extraction", short_help="How well entities and relations are found.")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the data sets.")
@click.option(
    "--set", "names", metavar="NAME", multiple=True, help="A set; may be given again. Default: all."
)
@click.option("--tier", type=click.Choice(["XS", "S", "M"]), default="S", show_default=True)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Passages of a set at most.")
@click.option(
    "--profile",
    "profiles",
    type=click.Choice(_PROFILES),
    multiple=True,
    help="Profile to read with; may be given again. Default: the one of the settings.",
)
@click.option("--gleaning", type=click.Choice(_GLEANING), help="Look again for what was left out.")
@click.option("--model", metavar="NAME", help="The model that reads; a name or a file.")
@click.option(
    "--typed/--no-typed", default=True, show_default=True, help="Read once more with the set's own types."
)
@click.option("--claims", is_flag=True, help="Read the claims of the passages too, and count them.")
@click.option(
    "--dump",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="What was extracted, as JSONL.",
)
@click.option(
    "--peer",
    "peers",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    multiple=True,
    help="Scores of another program, from scripts/bench-lightrag; the same passages are read again.",
)
@json_option
@pass_invocation
def extraction(
    invocation: Invocation,
    data: Path | None,
    names: tuple[str, ...],
    tier: str,
    limit: int | None,
    profiles: tuple[str, ...],
    gleaning: str | None,
    model: str | None,
    typed: bool,
    claims: bool,
    dump: Path | None,
    peers: tuple[Path, ...],
) -> None:
    """Read sets with marked entities and relations, and compare what is found with what is marked.

    A set is a folder with a file extraction.jsonl. Names count as equal whatever their case, width, article
    and outer punctuation. docs/measurements.md says how each figure is made.

    \b
    Example:
      localrag bench extraction --data ../data --set conll04-en --json
    """
    if data is None:
        raise UsageError("This measure needs data.", "Give the folder of the data sets with --data.")
    from localrag.bench.extraction import Way, as_json, measure_all
    from localrag.bench.extraction_data import find_sets, load_set
    from localrag.bench.extraction_peers import compare, read_peers
    from localrag.extraction.claims import ClaimReader

    golds = [load_set(data, name, tier, limit or 0) for name in dict.fromkeys(names or find_sets(data))]
    others = read_peers(peers)
    settings = invocation.settings()
    own = settings.extraction
    own = replace(own, gleaning=gleaning or own.gleaning)
    reader = ClaimReader(settings.claims, own) if claims else None
    ways = [
        Way(replace(own, profile=profile), settings.chunking, settings.resolution.automatic, reader)
        for profile in dict.fromkeys(profiles or (own.profile,))
    ]
    began = time.monotonic()
    with (
        dump_file(dump) as file,
        stoppable("Stopping.") as stop,
        Bar(quiet=invocation.json) as bar,
        _worker(settings, model) as worker,
    ):
        show = Labelled(bar, "Reading ")
        name = worker.describe().name
        pairs = measure_all(worker, golds, ways, typed=typed, progress=show, cancel=stop.event, dump=file)
        beside, more = compare(others, worker, data, [gold.name for gold in golds], ways[0], show, stop.event)
    if invocation.json:
        about = {
            "model": name,
            "tier": tier,
            "limit": limit,
            "gleaning": own.gleaning,
            "seconds": round(time.monotonic() - began, 1),
        }
        output.put_json(as_json(pairs, about, more, beside))
        return
    _show(pairs)
    _show_peers(beside)


@contextlib.contextmanager
def _worker(settings: Settings, name: str | None) -> Iterator[WorkerModel]:
    """The model that reads. Raises `ModelNotFound` for a name that is none."""
    from localrag.catalogue.installed import find_model
    from localrag.engine.client import WorkerModel
    from localrag.engines import Engines

    path = find_model(name or settings.models.chat, "chat")
    with contextlib.closing(WorkerModel(path, Engines(settings).options())) as worker:
        yield worker


def _show(pairs: list[tuple[Measured, Measured | None]]) -> None:
    """Two tables: what was found, and what must be zero."""
    from localrag.bench.extraction import health, rows

    output.put_table(
        [
            "Set",
            "Profile",
            ("Entities P / R / F1", "right"),
            ("Typed F1", "right"),
            ("Pairs", "right"),
            ("Relation F1", "right"),
            ("Nodes", "right"),
            ("Seconds", "right"),
            ("Tokens", "right"),
        ],
        rows(pairs),
    )
    output.put_table(
        [
            "Set",
            "Profile",
            ("Invented", "right"),
            ("Unusable", "right"),
            ("Orphans", "right"),
            ("Runaway", "right"),
            ("Cut", "right"),
        ],
        health(pairs),
    )


def _show_peers(beside: dict[str, dict[str, dict[str, Any]]]) -> None:
    """A table of other programs and this one on the same passages; nothing if there are none."""
    from localrag.bench.extraction_peers import rows

    if beside:
        output.put_table(
            [
                "Set",
                "Program",
                ("Passages", "right"),
                ("Entity F1", "right"),
                ("Pairs", "right"),
                ("Seconds", "right"),
                ("CPU seconds", "right"),
            ],
            rows(beside),
        )
