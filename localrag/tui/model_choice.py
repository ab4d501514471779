"""What the application does about models: choosing one, measuring it, telling how a job ended."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from localrag.plain import plain
from localrag.tui.messages import call
from localrag.tui.words import Fault

if TYPE_CHECKING:
    from localrag.settings import Settings
    from localrag.tui.app import LocalragApp
    from localrag.tui.model_jobs import JobEnd

BUSY = Fault(
    "The model cannot be changed while it works.",
    "Wait for the answer or stop the index run, then try again.",
)


def is_working(app: LocalragApp) -> bool:
    """Whether a model of this run is being used now."""
    session = app.session
    return session is not None and (session.questions.active or session.index_run.active)


def choose_model(
    app: LocalragApp, setting: str, value: str, done: Callable[[Fault | None, str], object]
) -> None:
    """Use another model from now on, and keep that in the settings file; `done` is told how it went."""
    if is_working(app):
        done(BUSY, "")
        return
    key = setting.partition(".")[2]
    origin = app.settings.origin(setting)

    def job(_: None) -> None:
        from localrag.settings import check_value, settings_file
        from localrag.settings_writing import write_setting

        changed = check_value(app.settings, setting, value)
        write_setting(settings_file(), setting, value)
        words = f"{plain(value.rpartition('/')[2])} is used from now on."
        if origin.startswith("variable"):
            words += f" But {origin} names another one and counts more at the next start."
        if key == "embed":
            words += " Vectors that another model made stay in use until localrag reembed makes new ones."
        call(app, lambda: _take_over(app, changed, lambda: done(None, words)))

    app.files.submit(job, lambda fault: call(app, lambda: done(fault, "")))


def _take_over(app: LocalragApp, settings: Settings, done: Callable[[], object]) -> None:
    app.settings = settings
    if app.session is not None:
        app.session.take_settings(settings)
        app.session.look_for_models()
    else:
        app.take_settings(settings)
    done()


def measure_model(app: LocalragApp, name: str) -> None:
    """Measure how fast a model is on this machine, as a job that can be stopped."""
    if is_working(app):
        app.show_fault(
            Fault("The machine cannot be measured while a model works.", "Try again when it has ended.")
        )
        return
    settings = replace(app.settings, models=replace(app.settings.models, chat=name))

    def measure(tell: Callable[[str], None], cancel: threading.Event) -> str:
        from localrag.engine.tuned import in_words
        from localrag.engines import Engines
        from localrag.errors import EngineError

        with contextlib.closing(Engines(settings)) as engines:
            measured = engines.measure(tell, cancel)
        if measured.tuning.failed:
            raise EngineError(f"The machine could not be measured. {measured.tuning.failed}")
        return f"{in_words(measured.tuning)} {measured.note}".strip()

    app.model_jobs.measure(name, measure)


def job_ended(app: LocalragApp, end: JobEnd) -> None:
    """Take over what a job has brought, and say so to a person who is elsewhere."""
    from localrag.tui.widgets.models import ModelsPane, end_words

    if end.kind in ("pull", "add", "remove") and not end.stopped:
        if not is_working(app):
            app.files.submit(
                lambda _: app.engines.get().find_again(),
                lambda fault: call(app, lambda: app.show_fault(fault)),
            )
        if app.session is not None:
            app.session.look_for_models()
    if not app.screen.query(ModelsPane):
        severity = "error" if end.fault else "information"
        app.notify(end_words(end), severity=severity, markup=False)  # type: ignore[arg-type]
