"""`localrag bench answers`: whether answers are right, and what retrieval has to do with it."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from localrag.cli import output
from localrag.cli.bench_output import Labelled, dump_file
from localrag.cli.invocation import Invocation, json_option, pass_invocation
from localrag.cli.progress import Bar
from localrag.cli.stopping import stoppable
from localrag.errors import UsageError

if TYPE_CHECKING:
    from localrag.bench.answers import Row
    from localrag.settings import Settings

_CONTROLS = ("none", "chunks", "gold", "localrag")


@click.command("answers", short_help="Whether answers are right, and rightly cited.")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the data sets.")
@click.option(
    "--set",
    "names",
    metavar="NAME",
    multiple=True,
    help="A set; may be given again. Default: one of each kind and language.",
)
@click.option(
    "--tier",
    type=click.Choice(["XS", "S", "M"]),
    help="Default: S, but all questions where they name hops or a level.",
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Questions of a set at most.")
@click.option(
    "--control",
    "controls",
    metavar="NAME,…",
    default=",".join(_CONTROLS),
    show_default=True,
    help="What the model gets to read.",
)
@click.option("--mode", metavar="NAME", default="auto", show_default=True, help="How localrag searches.")
@click.option("--style", type=click.Choice(["strict", "flexible"]), help="Default: that of the settings.")
@click.option("--model", metavar="NAME", help="The model that answers; a name or a file.")
@click.option("--graph", is_flag=True, help="Let the model read the passages before localrag is asked.")
@click.option(
    "--together", type=click.IntRange(1, 64), default=8, show_default=True, help="Questions asked at once."
)
@click.option("--fresh", is_flag=True, help="Ask again what an earlier call was answered.")
@click.option(
    "--dump",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="What was answered, as JSONL.",
)
@json_option
@pass_invocation
def answers(
    invocation: Invocation,
    data: Path | None,
    names: tuple[str, ...],
    tier: str | None,
    limit: int | None,
    controls: str,
    mode: str,
    style: Literal["strict", "flexible"] | None,
    model: str | None,
    graph: bool,
    together: int,
    fresh: bool,
    dump: Path | None,
) -> None:
    """Ask the questions of open sets and compare what is answered with the right answers.

    Each question is asked in four ways: `none` lets the model answer without reading anything, `chunks` lays
    the five best passages by words and vectors before it, `gold` those that the set names, and `localrag` is
    the product as it comes. Answers are kept in the cache folder, so that a call that was stopped goes on.
    Sets of claims tell how well sentences without support are found. docs/measurements.md says how each
    figure is made.

    \b
    Example:
      localrag bench answers --data ../data --set hotpotqa-en --json
    """
    if data is None:
        raise UsageError("This measure needs data.", "Give the folder of the data sets with --data.")
    wanted = _chosen(controls)
    from localrag.bench.answers import Asked, as_json, measure, measure_checks, split
    from localrag.bench.answers_asking import How
    from localrag.bench.answers_data import load_answer_sets
    from localrag.bench.answers_run import Pace
    from localrag.engines import Engines
    from localrag.retrieval.search import check_mode

    check_mode(mode)
    questions, claims = split(data, names)
    sets = load_answer_sets(data, questions, tier, limit or 0) if questions or not names else []
    settings = _settings(invocation, model)
    began = time.monotonic()
    with (
        dump_file(dump) as file,
        stoppable("Stopping.") as stop,
        Bar(quiet=invocation.json) as bar,
        contextlib.closing(Engines(settings)) as engines,
    ):
        asked = Asked(sets, [How(name, settings, style, mode) for name in wanted], graph)
        pace = Pace(together, fresh, stop.event, Labelled(bar))
        rows = measure(asked, settings, engines, pace, file) if sets else []
        name = engines.model.describe().name if sets else ""
        checks = measure_checks(data, claims, file)
    figures = {**as_json(rows), "checks": checks}
    if invocation.json:
        about = {
            "model": name,
            "style": style or settings.answering.style,
            "mode": mode,
            "graph": graph,
            "tiers": {one.name: one.tier for one in sets},
            "limit": limit,
            "together": together,
            "seconds": round(time.monotonic() - began, 1),
        }
        output.put_json({**about, **figures})
        return
    _show(rows)
    _show_differences(figures)
    _show_checks(checks)


def _chosen(text: str) -> list[str]:
    """The ways that are named. Raises `UsageError` for what is none."""
    wanted = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    for name in wanted:
        if name not in _CONTROLS:
            raise UsageError(f"There is no control {name!r}.", f"Controls: {', '.join(_CONTROLS)}.")
    if not wanted:
        raise UsageError("--control takes names with commas between them.", f"For example: {_CONTROLS[-1]}")
    return sorted(wanted, key=_CONTROLS.index)


def _settings(invocation: Invocation, model: str | None) -> Settings:
    """The settings with another model, if one is named."""
    settings = invocation.settings()
    return replace(settings, models=replace(settings.models, chat=model)) if model else settings


def _show(rows: list[Row]) -> None:
    """A table of all ways on all sets."""
    if not rows:
        return
    lines = []
    for row in rows:
        told = row.figures()
        lines.append(
            [
                row.data.name,
                row.control,
                *(_cell(told[name]) for name in ("em", "f1", "contains")),
                f"{_cell(told['refused_unanswerable'])} / {_cell(told['refused_answerable'])}",
                f"{_cell(told['citation_precision'])} / {_cell(told['citation_recall'])}",
                str(told["dangling"]),
                _cell(told["context_recall"]),
                f"{told['seconds']:.1f}",
                "–" if told["first_word"] is None else f"{told['first_word']:.1f}",
            ]
        )
    output.put_table(
        [
            "Set",
            "Control",
            ("EM", "right"),
            ("F1", "right"),
            ("Contains", "right"),
            ("Refused rightly / wrongly", "right"),
            ("Citations P / R", "right"),
            ("Dangling", "right"),
            ("Passages read", "right"),
            ("Seconds", "right"),
            ("First word", "right"),
        ],
        lines,
    )


def _show_differences(figures: dict[str, Any]) -> None:
    """What the ways differ by in F1, and how much of the way to the right passages is gone."""
    lines = []
    for name, pairs in figures["differences"].items():
        gone = figures["closed"].get(name, {}).get("f1")
        for pair, found in pairs.items():
            one, other = pair.split("-")
            if told := found["f1"]:
                lines.append(
                    [
                        name,
                        f"{one} less {other}",
                        f"{told['mean']:+.3f}",
                        f"{told['low']:+.3f} to {told['high']:+.3f}",
                        _cell(gone) if pair == "localrag-chunks" else "",
                    ]
                )
    if lines:
        output.put_table(
            [
                "Set",
                "Difference in F1",
                ("Mean", "right"),
                ("90 % of the samples", "right"),
                ("Gap closed", "right"),
            ],
            lines,
        )


def _show_checks(checks: dict[str, dict[str, float]]) -> None:
    """How well claims with and without support are told apart."""
    lines = [
        [
            name,
            f"{told['claims']:.0f}",
            *(f"{told[key]:.3f}" for key in ("sentence_f1", "accuracy", "macro_f1")),
        ]
        for name, told in checks.items()
        if told
    ]
    if lines:
        output.put_table(
            [
                "Check of citations",
                ("Claims", "right"),
                ("Sentence F1", "right"),
                ("Accuracy", "right"),
                ("Macro F1", "right"),
            ],
            lines,
        )


def _cell(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
