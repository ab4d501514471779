"""`localrag tune-machine`: measures a model on this machine; and the measurement before the first use."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from localrag.cli import output
from localrag.cli.invocation import Invocation, json_option, pass_invocation
from localrag.cli.progress import Bar
from localrag.cli.stopping import Stop, stoppable
from localrag.errors import Cancelled, EngineError, UsageError

if TYPE_CHECKING:
    from localrag.engine.measuring import Measured
    from localrag.engine.tuned import Tuning
    from localrag.kb import KnowledgeBase


@click.command("tune-machine", short_help="Measure how this machine runs a model best.")
@click.option(
    "--model",
    metavar="NAME",
    help="Model to measure: a name of `localrag models list` or a GGUF file.",
)
@json_option
@pass_invocation
def tune_machine(invocation: Invocation, model: str | None) -> int:
    """Measure threads, steps, texts read together and cache type, and keep what is best for this machine.

    This happens by itself when a model is first used, and takes under half a minute for a small one; repeat
    it when the machine was busy then, or after a change of it. Values that the settings give are not
    measured. The result holds for one model, one build of llama.cpp and one processor.

    \b
    Examples:
      localrag tune-machine
      localrag tune-machine --model qwen2.5-coder-0.5b-instruct --json
    """
    from localrag.engines import Engines

    if model is not None:
        invocation.flags["models.chat"] = model
    settings = invocation.settings()
    if settings.remote.url:
        raise UsageError(
            "The settings name a server for the language model, so there is nothing to measure here.",
            "Clear remote.url to use a model on this machine.",
        )
    with (
        stoppable("Stopping.") as stop,
        Bar(quiet=invocation.json) as bar,
        contextlib.closing(Engines(settings)) as engines,
    ):
        bar.begin("Measuring this machine", 0)
        measured = engines.measure(_counted(bar), stop.event)
    if invocation.json:
        output.put_json(_as_json(measured))
    if measured.note:
        output.warn(measured.note)
    if measured.tuning.failed:
        raise EngineError(f"The machine could not be measured. {measured.tuning.failed}")
    if not invocation.json:
        _put(measured)
    return 0


def measure_first(kb: KnowledgeBase, stop: Stop, *, quiet: bool) -> None:
    """Before the engine first starts: measure the machine if that was never done, with a line about it.

    When the person stops it, whoever looks at `stop` next knows.
    """
    if stop.asked or not kb.status().documents:
        return
    from localrag.engines import MEASURING

    with contextlib.suppress(Cancelled), Bar(quiet=quiet) as bar:
        steps = _counted(bar)

        def tell(text: str) -> None:
            if text == MEASURING:
                bar.note(text)
                bar.begin("Measuring this machine", 0)
            else:
                steps(text)

        found = kb.measure_machine(tell, stop.event)
        if found:
            bar.note(found)


def tell_notes(kb: KnowledgeBase) -> None:
    """Say what a person should know of how the language model ran."""
    for note in kb.engine_notes():
        output.warn(note)


def _counted(bar: Bar) -> Callable[[str], None]:
    """Shows step after step beside the bar."""
    done = 0

    def tell(text: str) -> None:
        nonlocal done
        done += 1
        bar.update(done, text)

    return tell


def _as_json(measured: Measured) -> dict[str, Any]:
    return {
        "chosen": chosen(measured.tuning),
        **asdict(measured.tuning),
        "devices": [dict(zip(("name", "description", "kind"), d, strict=True)) for d in measured.devices],
    }


def chosen(tuning: Tuning) -> dict[str, int | str]:
    """The values that a measurement chose, by the name of their setting."""
    return {
        "threads": tuning.threads,
        "sequences": tuning.sequences,
        "batch": tuning.batch,
        "width": tuning.width,
        "kv_type": tuning.kv_type,
    }


def _put(measured: Measured) -> None:
    """The table of what was measured, then what was chosen and why."""
    tuning = measured.tuning
    rows = [
        (
            "reading",
            f"{r.tokens} tokens",
            str(r.threads),
            r.kv_type,
            f"{1000 * r.tokens / r.rate:,.0f}",
            r.rate,
        )
        for r in tuning.reads
    ]
    rows += [
        ("writing", f"{w.sequences} texts", str(w.threads), w.kv_type, f"{w.milliseconds:,.0f}", w.rate)
        for w in tuning.writes
    ]
    output.put_table(
        [
            "what",
            ("a step", "right"),
            ("threads", "right"),
            "cache",
            ("ms", "right"),
            ("tokens/s", "right"),
        ],
        [(*row[:5], f"{row[5]:,.1f}") for row in rows],
        title=f"{tuning.model_name}, measured in {output.duration(tuning.seconds)}",
    )
    output.put_facts((f"engine.{name}", str(value)) for name, value in chosen(tuning).items())
    for reason in tuning.reasons:
        output.put_text(reason)
    for name, description, kind in measured.devices:
        output.put_text(f"Device {name}: {description} ({kind})")
