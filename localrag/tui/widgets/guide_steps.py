"""The first steps of the guided start: the machine, the models, the file; and what all steps have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Button, Input, Static

from localrag.plain import plain
from localrag.tui.guide import STEPS, Standing
from localrag.tui.messages import PathChecked, send
from localrag.tui.model_facts import ModelsView
from localrag.tui.paths import chosen_file
from localrag.tui.widgets.checks import ChecksPane
from localrag.tui.widgets.models import ModelsPane
from localrag.tui.widgets.path_input import PathInput
from localrag.tui.words import size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from localrag.checkup import CheckResult
    from localrag.tui.app import LocalragApp


class StepBody(Vertical):
    """What all steps have: what the step is for, and a line that says how it stands."""

    app: LocalragApp
    NAME = ""

    def compose(self) -> ComposeResult:
        """What it is for, then what there is to do."""
        about = next(step.about for step in STEPS if step.name == self.NAME)
        yield Static(about, classes="guide-about", markup=False)
        yield from self.compose_step()
        yield Static("", classes="guide-said", markup=False)

    def compose_step(self) -> ComposeResult:
        """The widgets of this step."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Nothing is said yet."""
        self.say("")

    def show(self, standing: Standing) -> None:
        """Take how it stands now; called while the step is shown, again and again."""

    def begin(self) -> None:
        """The step is shown now: put the cursor where it is needed."""

    def say(self, words: str, *, bad: bool = False) -> None:
        """Say something below."""
        said = self.query_one(".guide-said", Static)
        said.update(Content(plain(words)))
        said.display = bool(words)
        said.set_class(bad, "-bad")


class MachineStep(StepBody):
    """Checks what is there before anything is set up."""

    NAME = "machine"

    @dataclass
    class Checked(Message):
        """All checks have ended."""

        well: bool
        """Whether nothing failed."""

    def compose_step(self) -> ComposeResult:
        """The checks."""
        folder = self.app.folder

        def checks(tell: Callable[[str], None]) -> Iterator[CheckResult]:
            from localrag.checkup.run import machine_checks

            return machine_checks(folder, tell)

        yield ChecksPane(checks)

    def begin(self) -> None:
        """Check, once."""
        pane = self.query_one(ChecksPane)
        if not pane.results:
            pane.action_check()
        pane.lines.focus()

    @on(ChecksPane.Ended)
    def _ended(self, event: ChecksPane.Ended) -> None:
        event.stop()
        self.post_message(self.Checked(all(result.state != "fail" for result in event.results)))


class ModelsStep(StepBody):
    """Fetches what is recommended, or takes a file that was brought."""

    NAME = "models"

    @dataclass
    class Looked(Message):
        """The models were looked at."""

        view: ModelsView
        """What is there."""

    def compose_step(self) -> ComposeResult:
        """One button for most, the list for who wants to choose."""
        yield Button("Fetch what is recommended", id="fetch-all", variant="primary", compact=True)
        yield ModelsPane()

    def begin(self) -> None:
        """The button if there is something to fetch, else the list."""
        button = self.query_one("#fetch-all", Button)
        (button if button.display else self.pane.lines).focus()

    @property
    def pane(self) -> ModelsPane:
        """The list."""
        return self.query_one(ModelsPane)

    @on(ModelsPane.Looked)
    def _looked(self, event: ModelsPane.Looked) -> None:
        event.stop()
        button = self.query_one("#fetch-all", Button)
        wanted = [row for row in event.view.wanted if not self.app.model_jobs.is_asked_for(row.name)]
        had_focus = button.has_focus
        button.display = bool(wanted)
        button.label = f"Fetch the recommended models ({size(sum(row.size - row.fetched for row in wanted))})"
        if had_focus and not wanted:
            self.pane.lines.focus()
        if not event.view.missing:
            self.say("A model for every job is here.")
        elif not wanted and not self.app.model_jobs.active:
            self.say("Without a network: bring GGUF files on a stick, press a, and name each file.")
        self.post_message(self.Looked(event.view))

    @on(Button.Pressed, "#fetch-all")
    def _fetch_all(self, event: Button.Pressed) -> None:
        event.stop()
        view = self.pane.view
        if view is not None:
            self.pane.ask_to_pull(list(view.wanted))


class FileStep(StepBody):
    """Makes the knowledge base, or opens one."""

    NAME = "file"

    @dataclass
    class Chosen(Message):
        """A knowledge base is to be opened or made."""

        path: Path
        """Its file."""

        create: bool
        """Whether it does not exist yet."""

    def compose_step(self) -> ComposeResult:
        """A line for the name."""
        yield Static("", id="guide-file", markup=False)
        yield PathInput(
            self.app.files, self.app.folder, fits=lambda path: path.suffix == ".localrag", id="guide-name"
        )
        with Horizontal(classes="guide-buttons"):
            yield Button("Make it", id="make", variant="primary", compact=True)

    def on_mount(self) -> None:
        """Suggest a name."""
        self.query_one(Input).value = "notes"

    def show(self, standing: Standing) -> None:
        """Say which file is open."""
        session = self.app.session
        open_now = standing.file and session is not None
        self.query_one(Input).display = not open_now
        self.query_one("#make").display = not open_now
        if open_now and session is not None:
            words = f"{plain(session.path.name)} is open. The palette (ctrl+p) opens another one."
        else:
            words = f"Its name, or the path of a file to open. It is kept in {plain(str(self.app.folder))}."
        self.query_one("#guide-file", Static).update(Content(words))

    def begin(self) -> None:
        """The cursor stands behind the name."""
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.say("")

    @on(PathInput.Offered)
    def _offered(self, event: PathInput.Offered) -> None:
        event.stop()
        self.say("  ".join(event.names))

    @on(Input.Submitted)
    @on(Button.Pressed, "#make")
    def _make(self, event: Message) -> None:
        event.stop()
        text, folder = self.query_one(Input).value, self.app.folder

        def job(_: None) -> None:
            path, create = chosen_file(text, folder)
            problem = "" if path else "Type a name."
            if path is not None and create and not path.parent.is_dir():
                problem = f"There is no folder {path.parent}."
                path = None
            send(self, PathChecked(path, problem, create))

        self.app.files.submit(job, lambda fault: send(self, PathChecked(None, fault.message)))

    @on(PathChecked)
    def _checked(self, message: PathChecked) -> None:
        message.stop()
        if message.path is None:
            self.say(message.problem, bad=True)
        else:
            self.post_message(self.Chosen(message.path, message.create))
