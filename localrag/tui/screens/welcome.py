"""The guided start: six steps from nothing to the first answer, to be left and taken up at any moment."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Button, ContentSwitcher, Static

from localrag.tui.guide import STEPS, Standing, first_open, state_word
from localrag.tui.screens.place import STYLES
from localrag.tui.widgets.guide_later_steps import BODIES, QuestionStep
from localrag.tui.widgets.guide_steps import FileStep, MachineStep, ModelsStep, StepBody
from localrag.tui.widgets.keys import KeyLine

if TYPE_CHECKING:
    from textual._path import CSSPathType

    from localrag.tui.app import LocalragApp

_SECONDS = 0.4
"""How often it is looked how things stand."""


class StepLine(Static):
    """A step in the list at the left."""

    @dataclass
    class Chosen(Message):
        """The step was clicked."""

        step: str
        """Its name."""

    def __init__(self, step: str) -> None:
        super().__init__(classes="guide-step", markup=False)
        self.step = step

    def on_click(self) -> None:
        """Go there."""
        self.post_message(self.Chosen(self.step))


class WelcomeScreen(Screen[None]):
    """All steps; which one is next follows from what is there, so nothing has to be remembered."""

    HELP = """
    Six steps from nothing to the first answer. **alt+→** and **alt+←**, the buttons or a click go from step
    to step, in any order; **escape** leaves. Nothing is lost by leaving: what is done is done, and the
    palette (**ctrl+p**, *Guided start*) takes it up where it stands.
    """

    CSS_PATH: ClassVar[CSSPathType] = [STYLES / "welcome.tcss", STYLES / "panes.tcss"]
    app: LocalragApp
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", id="guide.leave", tooltip="Leave; it can be taken up again"),
        Binding("alt+right,ctrl+right", "step(1)", "Next", id="guide.next", tooltip="Go to the next step"),
        Binding(
            "alt+left,ctrl+left",
            "step(-1)",
            "Back",
            id="guide.back",
            show=False,
            tooltip="Go to the step before",
        ),
    ]

    def __init__(self, step: str = "") -> None:
        """Begins with `step`, or where things stand."""
        super().__init__()
        self.BINDING_GROUP_TITLE = "Guided start"
        self._step = ""
        self._first = step
        self._moved = bool(step)

    def compose(self) -> ComposeResult:
        """The list of steps, the body of one, the way on."""
        yield Static("Guided start", id="guide-title", markup=False)
        with Horizontal(id="guide"):
            with Vertical(id="guide-steps"):
                for step in STEPS:
                    yield StepLine(step.name)
            with Vertical(id="guide-body"):
                yield Static("", id="guide-step-title", markup=False)
                with ContentSwitcher(id="guide-switch"):
                    for body in BODIES:
                        yield body(id=f"step-{body.NAME}", classes="guide-step-body")
        with Horizontal(id="guide-ways"):
            yield Button("Back", id="back", compact=True)
            yield Button("Next", id="next", compact=True)
            yield Button("Leave", id="leave", compact=True)
            yield Static("", id="guide-doing", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Go to the first step that is open."""
        self._look()
        at_the_top = self.app.session is None and not self.standing.checked
        self._go(self._first or (STEPS[0].name if at_the_top else first_open(self.standing)))
        self.set_interval(_SECONDS, self._look)

    @property
    def standing(self) -> Standing:
        """How things stand; the application keeps it from one visit to the next."""
        return self.app.guide

    @property
    def step(self) -> str:
        """The step that is shown."""
        return self._step

    @property
    def body(self) -> StepBody:
        """The body that is shown."""
        return self.query_one(f"#step-{self._step}", StepBody)

    # How things stand

    def _look(self) -> None:
        """Take note of what is there; nothing here can block."""
        status = self.app.doings.status if self.app.session is not None else None
        standing = replace(
            self.standing,
            answers=self.standing.models or (status is not None and self.app.doings.missing is None),
            file=status is not None,
            documents=len(status.documents) if status else 0,
            read=status.coverage.read if status else 0,
            total=status.coverage.total if status else 0,
        )
        self._take(standing)

    def _take(self, standing: Standing) -> None:
        self.app.guide = standing
        for number, line in enumerate(self.query(StepLine), 1):
            word = state_word(standing, line.step)
            title = next(step.title for step in STEPS if step.name == line.step)
            mark = "›" if line.step == self._step else " "
            line.update(Content(f"{mark} {number} {title:<16}{word}"))
            line.set_class(line.step == self._step, "-shown")
            line.set_class(word == "done", "-done")
        if self._step:
            self.body.show(standing)
        job = self.app.model_jobs.state
        doing = job.words if job is not None and self._step != "models" else ""
        self.query_one("#guide-doing", Static).update(Content(doing))
        next_button = self.query_one("#next", Button)
        done = bool(self._step) and standing.done(self._step)
        next_button.variant = "primary" if done else "default"

    @on(MachineStep.Checked)
    def _checked(self, event: MachineStep.Checked) -> None:
        self._take(replace(self.standing, checked=event.well))

    @on(ModelsStep.Looked)
    def _models(self, event: ModelsStep.Looked) -> None:
        self._take(replace(self.standing, models=not event.view.missing))
        if not self._moved and self._step == "models" and self.standing.models:
            # It was not known when the guide was opened.
            self._go(first_open(self.standing))

    # Going on

    def _go(self, step: str) -> None:
        self._step = step
        number = next(n for n, item in enumerate(STEPS) if item.name == step)
        title = f"Step {number + 1} of {len(STEPS)}: {STEPS[number].title}"
        self.query_one("#guide-step-title", Static).update(title)
        self.query_one(ContentSwitcher).current = f"step-{step}"
        self.query_one("#back", Button).disabled = number == 0
        last = number == len(STEPS) - 1
        self.query_one("#next", Button).disabled = last
        self._take(self.standing)
        self.call_after_refresh(self.body.begin)

    def action_step(self, by: int) -> None:
        """Go to the next step or the one before, whether this one is done or not."""
        self._moved = True
        names = [step.name for step in STEPS]
        place = names.index(self._step) + by
        if 0 <= place < len(names):
            self._go(names[place])

    @on(StepLine.Chosen)
    def _chosen(self, event: StepLine.Chosen) -> None:
        self._moved = True
        self._go(event.step)

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        match event.button.id:
            case "back":
                self.action_step(-1)
            case "next":
                self.action_step(1)
            case "leave":
                self.action_leave()

    @on(FileStep.Chosen)
    def _open(self, event: FileStep.Chosen) -> None:
        """Open the file; the guide goes on above it."""
        if self.app.session is None:
            self.dismiss()
            self.app.guide_into(event.path, create=event.create)

    @on(QuestionStep.Asked)
    def _ask(self, event: QuestionStep.Asked) -> None:
        """Ask where answers are read, and be done."""
        app = self.app
        app.guide = replace(app.guide, asked=True)
        self.dismiss()
        app.ask_in_place(event.text)

    def action_leave(self) -> None:
        """Leave; what is done is done."""
        if self.standing.documents and self.standing.models:
            words = "The guided start can be taken up again from the palette, ctrl+p."
        else:
            words = "The guided start goes on where it stands whenever you like: ctrl+p, Guided start."
        self.app.notify(words, markup=False)
        self.dismiss()
