"""The terminal application: opens a knowledge base, shows faults, and ends cleanly whatever is going on."""

from __future__ import annotations

import asyncio
import copy
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ScreenStackError, SystemCommand
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen

from localrag.plain import plain_lines
from localrag.settings import Settings
from localrag.tui import clipboard, messages
from localrag.tui.doings import Doings
from localrag.tui.guide import Standing
from localrag.tui.leaving import CLOSE_SECONDS, WayOut
from localrag.tui.model_choice import choose_model, job_ended, measure_model
from localrag.tui.model_jobs import ModelJobs
from localrag.tui.palette import commands, leave_file
from localrag.tui.places import PLACES, make_screen
from localrag.tui.preferences import dress
from localrag.tui.reports import tell_of_addition, tell_of_index_run
from localrag.tui.screens.opening import OpeningScreen
from localrag.tui.screens.place import PlaceScreen
from localrag.tui.session import Session, SharedEngines
from localrag.tui.widgets.places import PlaceBar
from localrag.tui.words import Fault
from localrag.tui.work import TRACEBACK_VARIABLE, in_background, plain_lane, unexpected

if TYPE_CHECKING:
    from localrag.engines import Engines

_FAULT_SECONDS = 12.0
_NOTE_SECONDS = 5.0
_MOST_NOTES = 3
_WIDTHS = [(0, "-narrow"), (76, "-medium"), (110, "-wide")]
_HEIGHTS = [(0, "-tiny"), (16, "-low"), (22, "-tall")]
_OPENING = "opening"
_REFRESH_SECONDS = 1.0
"""How often the state is read anew while something is being added or read."""


class LocalragApp(WayOut):
    """The application. Places own what is shown; this owns the session, the engines and the way out.

    Each place is a mode with a stack of screens of its own, made when it is first visited.
    """

    TITLE = "localrag"
    CSS_PATH = Path(__file__).parent / "localrag.tcss"
    HORIZONTAL_BREAKPOINTS = _WIDTHS
    VERTICAL_BREAKPOINTS = _HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1,question_mark", "help", "Help", id="app.help", tooltip="Explain the screen and its keys"),
        Binding("ctrl+q,f10", "quit", "Quit", id="app.quit", priority=True, tooltip="End localrag"),
        Binding(
            "ctrl+p,f9",
            "command_palette",
            "Commands",
            id="app.palette",
            show=False,
            priority=True,
            tooltip="All commands, by name",
        ),
    ]

    def __init__(
        self,
        kb: Path | None,
        settings: Settings,
        engines: Engines | None = None,
        *,
        folder: Path | None = None,
        signals: bool = False,
        troubles: Sequence[str] = (),
    ) -> None:
        """`kb` is opened at once; without it the files of `folder` (the current one) are offered.

        `engines` replaces those that the settings name, for tests. With `signals` a request of the system
        to end is obeyed like ctrl+q. `troubles` is what of the person's settings could not be used.
        """
        super().__init__()
        self.settings = settings
        self.folder = folder or Path.cwd()
        self.files = plain_lane("files")
        self.copying = plain_lane("clipboard")
        self.model_jobs = ModelJobs(self, lambda end: job_ended(self, end))
        self.session: Session | None = None
        self.doings = Doings()
        self._kb = kb
        self.engines = SharedEngines(settings, engines)
        self._signals = signals

        self._index_again = False
        self._note_times: list[float] = []
        self._guiding = False
        self.guide = Standing()
        self._noted: tuple[Session, int] | None = None
        self.setting_troubles = tuple(troubles)
        """What of the person's settings could not be used when they were last read."""
        self.usual_theme = self.theme

    def on_mount(self) -> None:
        """Show the first screen."""
        if self._signals and sys.platform != "win32":
            loop = asyncio.get_running_loop()
            for name in (signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(name, self._leave_for, name)
        dress(self, self.setting_troubles)
        self.set_interval(_REFRESH_SECONDS, self._refresh_while_busy)
        if self._kb is not None:
            self._open(self._kb, create=False)
        else:
            self._show_opening(None)

    @on(OpeningScreen.Chosen)
    def _chosen(self, event: OpeningScreen.Chosen) -> None:
        if self.session is None:
            self._open(event.path, create=event.create)

    def _open(self, path: Path, *, create: bool) -> None:
        self.doings = Doings()
        session = self.session = Session(path, self.settings, self.engines, create=create)
        for item in PLACES:
            self.add_mode(item.name, partial(make_screen, item, session))
        self.switch_mode("ask")
        # From here on what the session says belongs to this session only.
        session.open(lambda message: messages.send(self, messages.Said(session, message)))

    def leave_session(self, fault: Fault | None = None) -> None:
        """Go back to the opening screen, for instance since the knowledge base cannot be used."""
        session, self.session = self.session, None
        if session is None:
            return
        in_background(lambda: session.close(CLOSE_SECONDS, with_engines=False))
        self._note_recent(session)
        self._show_opening(fault, session.path if fault else None)
        for item in PLACES:
            self.remove_mode(item.name)

    def _show_opening(self, fault: Fault | None, failed: Path | None = None) -> None:
        if _OPENING in self._modes:
            self.remove_mode(_OPENING)
        self.add_mode(_OPENING, lambda: OpeningScreen(self.files, self.folder, fault, failed))
        self.switch_mode(_OPENING)

    # What the session tells

    @on(messages.Said)
    def _said(self, event: messages.Said) -> None:
        """Take note, and give a copy to every place that has been visited: a message has one addressee."""
        message = event.message
        if event.session is not self.session:
            return
        if isinstance(message, messages.OpenFailed):
            self.leave_session(message.fault)
            return
        self.doings.take(message)
        for screen in self.visited():
            screen.post_message(copy.copy(message))
        self._answer_to(event.session, message)

    def _answer_to(self, session: Session, message: Message) -> None:
        """What is done wherever the person is."""
        if isinstance(message, messages.Opened):
            self._note_recent(session)
            if self._guiding:
                self.action_guided_start("documents")
        elif isinstance(message, messages.Refreshed):
            self._note_recent(session)
        elif isinstance(message, messages.WentWrong):
            self.show_fault(message.fault)
        elif isinstance(message, messages.IndexNote):
            self._tell_note(message.text)
        elif isinstance(message, messages.AddEnded):
            session.refresh()
            tell_of_addition(self, message)
            if (
                message.then_index
                and message.report is not None
                and message.report.added + message.report.changed
            ):
                self._index_again = session.index_run.active
                session.index_run.begin()
        elif isinstance(message, messages.IndexEnded):
            session.refresh()
            tell_of_index_run(self, message)
            again, self._index_again = self._index_again, False
            if (
                again
                and message.fault is None
                and message.report is not None
                and not message.report.cancelled
            ):
                session.index_run.begin()

    def _note_recent(self, session: Session) -> None:
        """Remember the file for the opening screen, with as many documents as it was last seen to have."""
        if self.doings.status is None:
            return
        from localrag.tui.recent import note

        path, documents = session.path, len(self.doings.status.documents)
        if self._noted == (session, documents):
            return
        self._noted = (session, documents)
        self.files.submit(lambda _: note(path, documents), self._show_fault_later)

    def _show_fault_later(self, fault: Fault) -> None:
        """Called in a thread."""
        messages.call(self, lambda: self.show_fault(fault))

    def choose_model(self, setting: str, value: str, done: Callable[[Fault | None, str], object]) -> None:
        """Use another model from now on; `done` is told what came of it."""
        choose_model(self, setting, value, done)

    def measure_model(self, name: str) -> None:
        """Measure how fast a model is on this machine."""
        measure_model(self, name)

    def action_guided_start(self, step: str = "") -> None:
        """Set up step by step, from `step` or from wherever this stands now."""
        from localrag.tui.screens.welcome import WelcomeScreen

        self._guiding = False
        if not isinstance(self.screen, WelcomeScreen):
            self.push_screen(WelcomeScreen(step))

    def ask_in_place(self, text: str) -> None:
        """Ask a question where answers are read, from wherever the person is."""
        from localrag.tui.screens.ask import AskScreen
        from localrag.tui.widgets.question import Question

        self.action_go("ask")
        for screen in self.visited():
            if isinstance(screen, AskScreen):
                screen.question.focus()
                screen.question.post_message(Question.Asked(text))

    def guide_into(self, path: Path, *, create: bool) -> None:
        """Open a knowledge base for the guided start, which goes on there."""
        self._guiding = True
        self._open(path, create=create)

    def _tell_note(self, text: str) -> None:
        """Show a note of a run; of many at once only the first few, since a flood would hold up the keys."""
        now = time.monotonic()
        self._note_times = [moment for moment in self._note_times if now - moment < _NOTE_SECONDS]
        self._note_times.append(now)
        if len(self._note_times) <= _MOST_NOTES:
            self.notify(text, severity="warning", timeout=_NOTE_SECONDS, markup=False)
        elif len(self._note_times) == _MOST_NOTES + 1:
            words = "There is more to know of the run: the place of indexing (f4) lists it all."
            self.notify(words, severity="warning", timeout=_NOTE_SECONDS, markup=False)

    def visited(self) -> list[PlaceScreen]:
        """The screens of the places that have been shown since the knowledge base was opened."""
        stacks = (self._screen_stacks.get(item.name, []) for item in PLACES)
        return [screen for stack in stacks for screen in stack if isinstance(screen, PlaceScreen)]

    def _refresh_while_busy(self) -> None:
        session = self.session
        if session is not None and (session.index_run.active or session.additions.active):
            session.refresh()

    def take_settings(self, settings: Settings) -> None:
        """Use other settings while no knowledge base is open."""
        in_background(lambda: self.engines.take(settings))

    def action_change_theme(self) -> None:
        """Choose the colours, in place of Textual's own list, which keeps nothing."""
        from localrag.tui.screens.colours import ColoursDialog

        self.push_screen(ColoursDialog())

    # Where the person goes

    def action_go(self, name: str) -> None:
        """Show a place."""
        if self.session is not None:
            self.switch_mode(name)

    def action_places(self) -> None:
        """Choose a place by its letter."""
        from localrag.tui.screens.menu import PlacesMenu

        self.push_screen(PlacesMenu(), self._go_if)

    def _go_if(self, name: str | None) -> None:
        if name:
            self.action_go(name)

    @on(PlaceBar.Chosen)
    def _place_clicked(self, event: PlaceBar.Chosen) -> None:
        if event.place:
            self.action_go(event.place)
        else:
            self.action_places()

    async def action_new_conversation(self) -> None:
        """Begin a new conversation, from wherever the person is."""
        from localrag.tui.screens.ask import AskScreen

        self.action_go("ask")
        if isinstance(self.screen, AskScreen):
            await self.screen.action_new()

    def show_fault(self, fault: Fault) -> None:
        """Tell what went wrong, in a notification."""
        self.notify(fault.text, severity="error", timeout=_FAULT_SECONDS, markup=False)

    async def on_event(self, event: events.Event) -> None:
        """Drop keys that come when the screens have gone: at the end they would be taken for an error."""
        if isinstance(event, events.Paste):
            # At the door, so that no box has to think of it.
            event.text = plain_lines(event.text)
        if isinstance(event, events.Key):
            try:
                self.screen  # noqa: B018  # raises where there is none
            except ScreenStackError:
                return
        await super().on_event(event)

    def copy_to_clipboard(self, text: str) -> None:
        """Copy by the terminal's own way and by a program of this machine, since either may do nothing."""
        super().copy_to_clipboard(text.encode("utf-8", "replace").decode())

        def job(_: None) -> None:
            clipboard.copy(text, os.environ)

        if not self.is_headless:
            self.copying.submit(job, lambda fault: None)

    def action_help_quit(self) -> None:
        """Ctrl+c with nothing selected: say how to quit, for that is what many people mean by it."""
        words = "Press ctrl+q or f10 to quit. Ctrl+c copies what is selected; nothing is."
        self.notify(words, title="Nothing was copied", markup=False)

    def action_help(self) -> None:
        """Explain what has the focus."""
        from localrag.tui.screens.help import HelpScreen, help_of, keys_of

        self.push_screen(HelpScreen(help_of(self.focused or self.screen), keys_of(self.screen)))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The commands of the palette."""
        return commands(self, screen)

    def action_leave_file(self) -> None:
        """Close this knowledge base and choose another; asks first while something is being stored."""
        leave_file(self)


def run(kb: Path | None, settings: Settings, troubles: Sequence[str] = ()) -> None:
    """Open the application in this terminal; returns when it has ended and everything is stopped.

    `kb` is opened at once, else the person chooses; `troubles` is told at the start. The terminal is restored
    whatever happens. Raises `SystemExit` with code 1 after an error in the application itself, which has been
    told by then.
    """
    signals = threading.current_thread() is threading.main_thread()
    app = LocalragApp(kb, settings, signals=signals, troubles=troubles)
    try:
        app.run()
    finally:
        app.shut_down()
        if os.environ.get(TRACEBACK_VARIABLE):
            print(*unexpected, sep="\n", file=sys.stderr, end="")
    if app.return_code:
        raise SystemExit(app.return_code)
