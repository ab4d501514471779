"""The place of checks: what localrag needs on this machine, and the knowledge base that is open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Static

from localrag.settings import Settings
from localrag.tui.screens.dialogs import Confirm, Reader
from localrag.tui.screens.mending import MEND, mended_words
from localrag.tui.screens.place import STYLES, PlaceScreen
from localrag.tui.widgets.checks import ChecksPane
from localrag.tui.widgets.models import end_words

if TYPE_CHECKING:
    from textual._path import CSSPathType

    from localrag.checkup import CheckResult
    from localrag.kb import KnowledgeBase
    from localrag.tui.model_jobs import JobState
    from localrag.tui.words import Fault


class DoctorScreen(PlaceScreen):
    """All checks, run when the place is first visited and whenever a person asks for it."""

    HELP = """
    Here stands whether everything that localrag needs is in order: Python, SQLite, the build of llama.cpp
    (which runs the models), the models, memory, disk, settings, and the open knowledge base. **m** measures
    how fast this machine runs the model; where a check found damage in the file, **f** mends it.
    """

    PLACE = "doctor"
    CSS_PATH: ClassVar[CSSPathType] = [STYLES / "doctor.tcss", STYLES / "panes.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "measure", "Measure", id="doctor.measure", tooltip="Measure this machine's speed"),
        Binding("f", "mend", "Mend file", id="doctor.mend", show=False, tooltip="Mend the knowledge base"),
        Binding("escape", "stop", "Stop", id="doctor.stop", show=False, tooltip="Stop measuring"),
    ]

    def compose_body(self) -> Iterable[Widget]:
        """The checks and what can be done."""
        yield ChecksPane(checks_of(self.session.settings, self.app.folder, self.session.path))
        yield Static("", id="doctor-doing", markup=False)
        with Horizontal(id="doctor-buttons"):
            yield Button("Again", id="check", compact=True)
            yield Button("Copy report", id="copy", compact=True)
            yield Button("Measure", id="measure", compact=True)
            yield Button("Mend file", id="mend", compact=True)
            yield Button("Models", id="models", compact=True)

    def on_mount(self) -> None:
        """Begin to check."""
        self._show_ways(())
        self.app.model_jobs.moved.subscribe(self, self._show_job)
        self._show_job(self.app.model_jobs.state)
        self.checks.lines.focus()
        self.checks.action_check()

    @property
    def checks(self) -> ChecksPane:
        """The list."""
        return self.query_one(ChecksPane)

    @on(ChecksPane.Ended)
    def _ended(self, event: ChecksPane.Ended) -> None:
        event.stop()
        self._show_ways(event.results)

    @on(ChecksPane.Shown)
    def _shown(self, event: ChecksPane.Shown) -> None:
        event.stop()

    def _show_job(self, state: JobState | None) -> None:
        """Say how far measuring is, or how it ended."""
        end = self.app.model_jobs.last
        words = state.words if state else end_words(end) if end and end.kind == "measure" else ""
        doing = self.query_one("#doctor-doing", Static)
        doing.update(Content(words))
        doing.display = bool(words)

    def _show_ways(self, results: tuple[CheckResult, ...]) -> None:
        """Offer what would help; measuring is always possible."""
        ways = {result.mend for result in results}
        self.query_one("#mend").display = "repair" in ways
        self.query_one("#models").display = "models" in ways

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        match event.button.id:
            case "check":
                self.checks.action_check()
            case "copy":
                self.checks.action_copy()
            case "measure":
                self.action_measure()
            case "mend":
                self.action_mend()
            case _:
                self.app.action_go("models")
        if self.is_current:
            self.checks.lines.focus()

    def action_measure(self) -> None:
        """Measure how fast this machine runs the model that answers."""
        settings = self.session.settings
        if settings.remote.url:
            self.notify("A server runs the model, so there is nothing to measure here.", markup=False)
            return

        def find(_: KnowledgeBase) -> str:
            from localrag.catalogue.installed import find_model

            return str(find_model(settings.models.chat, "chat"))

        def measure(path: str) -> None:
            self.app.measure_model(path)
            if self.app.model_jobs.active:
                self.notify("Measuring. It takes about half a minute; escape stops it.", markup=False)

        self.session.look(self, find, measure)

    def action_stop(self) -> None:
        """Stop measuring."""
        self.app.model_jobs.stop()

    def action_mend(self) -> None:
        """Mend the open file, after asking."""
        if self.session.index_run.active or self.session.additions.active:
            words = "Stop what is being read or added first, then mend the file."
            self.notify(words, severity="warning", markup=False)
            return

        def job(kb: KnowledgeBase) -> tuple[str, str]:
            from localrag.filing import repair

            return mended_words(repair(kb.path))

        def done(found: tuple[str, str]) -> None:
            # Whatever has the file open reads it anew.
            self.session.take_settings(self.session.settings)
            self.checks.action_check()
            self.app.push_screen(Reader(found[0], "", found[1]))

        def failed(fault: Fault) -> None:
            self.app.show_fault(fault)

        def begin(sure: bool | None) -> None:
            if sure:
                self.notify("Mending the file. This can take a while.", markup=False)
                self.session.change(self, job, done, failed)

        self.app.push_screen(Confirm(MEND, "Mend it", "Leave it"), begin)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Stopping is for when something goes on."""
        return self.app.model_jobs.active if action == "stop" else super().check_action(action, parameters)


def checks_of(
    settings: Settings, folder: Path, path: Path
) -> Callable[[Callable[[str], None]], Iterator[CheckResult]]:
    """The checks of a session: of the machine, and of its file."""

    def checks(tell: Callable[[str], None]) -> Iterator[CheckResult]:
        from localrag.checkup.machine import check_knowledge_base
        from localrag.checkup.run import run_checks

        yield from run_checks(lambda: settings, folder, tell)
        tell("Looking through the knowledge base.")
        yield check_knowledge_base(path)

    return checks
