"""The later steps of the guided start: the documents, the first reading, the first question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Button, Input, Static

from localrag.plain import TYPEABLE, plain
from localrag.tui.guide import FolderCount, Standing, count_folder, estimate_words
from localrag.tui.messages import call
from localrag.tui.paths import addable
from localrag.tui.widgets.guide_steps import FileStep, MachineStep, ModelsStep, StepBody
from localrag.tui.widgets.path_input import PathInput
from localrag.tui.words import IDLE, Fault, count, share

if TYPE_CHECKING:
    from localrag.indexing import Estimate
    from localrag.kb import KnowledgeBase

_COUNT_AFTER = 0.4
"""Seconds without a key before a typed folder is looked through."""
_NO_FILE = "First make a knowledge base, in the step before, or open one."


class DocumentsStep(StepBody):
    """Counts what a folder holds, and adds it."""

    NAME = "documents"

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._asked = 0
        self._counted: FolderCount | None = None
        self._adding = ""

    def compose_step(self) -> ComposeResult:
        """A line for the path, what it holds, a button."""
        yield PathInput(self.app.files, self.app.folder, placeholder="~/Documents/notes", id="guide-path")
        yield Static("", id="guide-count", markup=False)
        with Horizontal(classes="guide-buttons"):
            yield Button("Add", id="add", variant="primary", compact=True, disabled=True)
        yield Static("", id="guide-added", markup=False)

    def show(self, standing: Standing) -> None:
        """Say how many documents are in, or how far adding is."""
        adding = self.app.doings.adding
        if not standing.file:
            words = _NO_FILE
        elif adding:
            words = f"{adding}."
        else:
            words = (
                f"{count(standing.documents, 'document')} in the knowledge base."
                if standing.documents
                else ""
            )
        self.query_one("#guide-added", Static).update(Content(words))
        self._enable(standing.file and not adding)
        if self._adding and not adding and standing.documents:
            self._adding = ""
            self.query_one(Input).value = ""

    def begin(self) -> None:
        """The cursor stands in the path."""
        self.query_one(Input).focus()

    def _enable(self, possible: bool) -> None:
        counted = self._counted
        self.query_one("#add", Button).disabled = not (possible and counted and counted.readable)

    @on(PathInput.Offered)
    def _offered(self, event: PathInput.Offered) -> None:
        event.stop()
        self.say("  ".join(event.names))

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.say("")
        self._counted = None
        self._enable(False)
        self._asked += 1
        asked = self._asked
        self.query_one("#guide-count", Static).update("")
        if event.value.strip():
            self.set_timer(_COUNT_AFTER, lambda: self._count(asked, then_add=False))

    def _count(self, asked: int, *, then_add: bool) -> None:
        """Look through the folder in a thread, unless another one was typed meanwhile."""
        if asked != self._asked:
            return
        text, folder = self.query_one(Input).value, self.app.folder
        self.query_one("#guide-count", Static).update("Looking through it")

        def job(_: None) -> None:
            path, problem = addable(text, folder)
            found = count_folder(path) if path is not None else None
            call(self, lambda: self._show_count(asked, found, problem, then_add))

        def failed(fault: Fault) -> None:
            call(self, lambda: self._show_count(asked, None, fault.text, then_add))

        self.app.files.submit(job, failed)

    def _show_count(self, asked: int, found: FolderCount | None, problem: str, then_add: bool) -> None:
        if asked != self._asked:
            return
        self._counted = found
        words = found.words if found else plain(problem)
        self.query_one("#guide-count", Static).update(Content(words))
        session = self.app.session
        self._enable(session is not None)
        if then_add and found is not None and found.readable and session is not None:
            self._adding = str(found.path)
            session.additions.add(found.path, then_index=False)
            self._enable(False)

    @on(Input.Submitted)
    @on(Button.Pressed, "#add")
    def _add(self, event: Message) -> None:
        event.stop()
        if self.app.session is None:
            self.say(_NO_FILE, bad=True)
        elif not self.app.session.additions.active:
            self._asked += 1
            self._count(self._asked, then_add=True)


class ReadingStep(StepBody):
    """Says what the first reading takes, begins and stops it."""

    NAME = "reading"

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._estimated: tuple[object, ...] = ()

    def compose_step(self) -> ComposeResult:
        """The estimate, how far it is, two buttons."""
        yield Static("", id="guide-estimate", markup=False)
        yield Static("", id="guide-reading", markup=False)
        with Horizontal(classes="guide-buttons"):
            yield Button("Begin to read", id="begin", variant="primary", compact=True)
            yield Button("Stop", id="stop", compact=True)

    def show(self, standing: Standing) -> None:
        """Say how far it is."""
        session = self.app.session
        running = session is not None and session.index_run.active
        left = standing.total - standing.read
        self.query_one("#begin").display = bool(session and not running and left > 0 and standing.answers)
        self.query_one("#stop").display = running
        if session is None or not standing.file:
            words = _NO_FILE
        elif not standing.documents:
            words = "First add documents, in the step before."
        elif running:
            words = f"{self.app.doings.engine_words}. Go on to the first question meanwhile."
        elif left <= 0:
            words = f"All is read: {count(standing.total, 'passage')}."
        elif not standing.answers:
            words = "First bring a model that reads, in the second step."
        else:
            words = share(standing.read, standing.total) if standing.read else ""
        self.query_one("#guide-reading", Static).update(Content(words if words != IDLE else ""))
        self._estimate(standing, running)

    def _estimate(self, standing: Standing, running: bool) -> None:
        """Estimate anew when something has changed; a run that goes on tells the time left itself."""
        session = self.app.session
        of = (session, standing.documents, standing.read, standing.total)
        if session is None or not standing.documents or running or self._estimated == of:
            return
        self._estimated = of

        def look(kb: KnowledgeBase) -> Estimate:
            return kb.estimate()

        def done(estimate: Estimate) -> None:
            words = estimate_words(estimate) if estimate.chunks else ""
            self.query_one("#guide-estimate", Static).update(Content(words))

        def failed(fault: Fault) -> None:
            self.query_one("#guide-estimate", Static).update(Content(fault.text))

        session.look(self, look, done, failed, key="guide.estimate")

    def begin(self) -> None:
        """The button that helps now."""
        button = next((button for button in self.query(Button) if button.display), None)
        if button is not None:
            button.focus()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        session = self.app.session
        if session is None:
            return
        if event.button.id == "begin":
            session.index_run.begin()
        else:
            session.index_run.stop()


class QuestionStep(StepBody):
    """Takes the first question to the place where answers are read."""

    NAME = "question"

    @dataclass
    class Asked(Message):
        """A question is to be asked."""

        text: str
        """The question."""

    def compose_step(self) -> ComposeResult:
        """A line for the question."""
        yield Input(
            placeholder="Who repaired the bridge?", id="guide-question", restrict=TYPEABLE, compact=True
        )
        with Horizontal(classes="guide-buttons"):
            yield Button("Ask", id="ask", variant="primary", compact=True)
        yield Static("", id="guide-can-ask", markup=False)

    def show(self, standing: Standing) -> None:
        """Say what an answer would rest on."""
        if not standing.file:
            words = _NO_FILE
        elif not standing.documents:
            words = "First add documents: answers are written from them alone."
        elif not standing.answers:
            words = "Without a model no answer can be written; the second step brings one."
        elif standing.read < standing.total:
            words = f"{share(standing.read, standing.total)} so far. Answers say so, and get better."
        else:
            words = "Answers name the passages that they rest on. The mouse or enter opens one."
        self.query_one("#guide-can-ask", Static).update(Content(words))

    def begin(self) -> None:
        """The cursor stands in the question."""
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.say("")

    @on(Input.Submitted)
    @on(Button.Pressed, "#ask")
    def _ask(self, event: Message) -> None:
        event.stop()
        text = self.query_one(Input).value.strip()
        if not text:
            self.say("Type a question.", bad=True)
        elif self.app.session is None:
            self.say(_NO_FILE, bad=True)
        else:
            self.post_message(self.Asked(text))


BODIES = (MachineStep, ModelsStep, FileStep, DocumentsStep, ReadingStep, QuestionStep)
"""The bodies, in the order of the steps."""
