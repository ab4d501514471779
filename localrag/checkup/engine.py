"""Checks of how the chosen model will run: settings, template, measurement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from localrag.checkup.base import CheckResult
from localrag.errors import LocalragError

if TYPE_CHECKING:
    from localrag.engine.tuned import Tuning
    from localrag.settings import Settings

_AGAIN = "Measure it again: localrag tune-machine"


def check_engine(settings: Settings) -> Iterator[CheckResult]:
    """Whether model and engine settings fit together, and what was measured; nothing without a model.

    No model is loaded for it.
    """
    from localrag.catalogue.installed import find_model
    from localrag.engine import tuned
    from localrag.engine.gguf import inspect
    from localrag.engine.kinds import check_file, memory_of
    from localrag.engine.kv_cache import plan
    from localrag.engine.templates import choose_template
    from localrag.engines import Engines

    if settings.remote.url:
        return
    try:
        path = find_model(settings.models.chat, "chat")
    except LocalragError:
        return  # said by the check of the models
    options = Engines(settings).options()
    try:
        info = inspect(path)
        check_file(info)
        template = choose_template(info, options.chat_template)
        known = tuned.stored(tuned.subject(info, options))
        cache = plan(
            info,
            kv_type=options.kv_type,
            flash_attention=options.flash_attention,
            tuned=known.kv_type if known is not None else "",
        )
    except LocalragError as error:
        yield CheckResult("Model and engine", "fail", error.message, error.hint)
        return
    kept = {
        "attention": "all its layers look at all words",
        "window": f"part of its layers look back {info.sliding_window:,} words only",
    }
    detail = (
        f"{info.architecture}, {kept.get(memory_of(info), 'with a running state')}; cache {cache.kv_type}"
    )
    if template.note:
        yield CheckResult(
            "Model and engine", "warn", f"{detail}. {template.note}", "Choose an instruct model."
        )
    else:
        yield CheckResult("Model and engine", "ok", f"{detail}. {cache.note}".rstrip(". "))
    yield _measurement(settings, known)


def _measurement(settings: Settings, known: Tuning | None) -> CheckResult:
    """What was measured of this machine."""
    from localrag.engine import tuned

    name = "Measurement"
    damage = tuned.damage()
    if damage:
        return CheckResult(name, "warn", damage, _AGAIN, "measure")
    if known is None:
        when = "never" if settings.engine.tune == "off" else "when the model is first used"
        return CheckResult(name, "ok", f"none of this model on this machine; it is made {when} by itself")
    words = f"{tuned.in_words(known)} {known.measured_at}".strip()
    if known.failed:
        return CheckResult(name, "warn", words, _AGAIN, "measure")
    if known.others > tuned.BUSY:
        busy = f"{words}; other programs took {known.others:.0%} of the processor"
        return CheckResult(name, "warn", busy, _AGAIN, "measure")
    return CheckResult(name, "ok", words)
