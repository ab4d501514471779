"""The terminal application: opens a knowledge base, shows faults, and ends cleanly whatever is going on."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from localrag.plain import plain
from localrag.settings import Settings
from localrag.tui.screens.dialogs import Confirm
from localrag.tui.screens.main import MainScreen
from localrag.tui.screens.opening import OpeningScreen
from localrag.tui.session import Session, SharedEngines
from localrag.tui.words import Fault
from localrag.tui.work import TRACEBACK_VARIABLE, in_background, plain_lane, unexpected

if TYPE_CHECKING:
    from localrag.engines import Engines

CLOSE_SECONDS = 5.0
"""How long stopping may take; then the application ends all the same."""

LAST_RESORT_SECONDS = 2 * CLOSE_SECONDS + 3.0
"""How long the process may live after the system asked it to end; longer than everything that is bounded."""

_FAULT_SECONDS = 12.0
_WIDTHS = [(0, "-narrow"), (76, "-medium"), (110, "-wide")]
_HEIGHTS = [(0, "-tiny"), (16, "-low"), (22, "-tall")]


class LocalragApp(App[None]):
    """The application. Screens own what is shown; this owns the session, the engines and the way out."""

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
    ) -> None:
        """`kb` is opened at once; without it the files of `folder` (the current one) are offered.

        `engines` replaces those that the settings name, for tests. With `signals` a request of the system
        to end is obeyed like ctrl+q.
        """
        super().__init__()
        self.settings = settings
        self.folder = folder or Path.cwd()
        self.files = plain_lane("files")
        self.session: Session | None = None
        self._kb = kb
        self._engines = SharedEngines(settings, engines)
        self._signals = signals
        self._leaving = False

    def on_mount(self) -> None:
        """Show the first screen."""
        if self._signals and sys.platform != "win32":
            loop = asyncio.get_running_loop()
            for name in (signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(name, self._leave_for, name)
        if self._kb is not None:
            self._open(self._kb, create=False)
        else:
            self.push_screen(OpeningScreen(self.files, self.folder))

    @on(OpeningScreen.Chosen)
    def _chosen(self, event: OpeningScreen.Chosen) -> None:
        if self.session is None:
            self._open(event.path, create=event.create)

    def _open(self, path: Path, *, create: bool) -> None:
        self.session = Session(path, self.settings, self._engines, create=create)
        self._show(MainScreen(self.session))

    def leave_session(self, fault: Fault) -> None:
        """Go back to the opening screen, since the knowledge base cannot be used."""
        session, self.session = self.session, None
        if session is not None:
            in_background(lambda: session.close(CLOSE_SECONDS, with_engines=False))
        self._show(OpeningScreen(self.files, self.folder, fault))

    def _show(self, screen: Screen[None]) -> None:
        if isinstance(self.screen, (MainScreen, OpeningScreen)):
            self.switch_screen(screen)
        else:
            self.push_screen(screen)

    def show_fault(self, fault: Fault) -> None:
        """Tell what went wrong, in a notification."""
        self.notify(fault.text, severity="error", timeout=_FAULT_SECONDS, markup=False)

    def action_help(self) -> None:
        """Explain what has the focus."""
        from localrag.tui.screens.help import HelpScreen, help_of, keys_of

        self.push_screen(HelpScreen(help_of(self.focused or self.screen), keys_of(self.screen)))

    async def action_quit(self) -> None:
        """End; asks first while something is being stored. A second time it ends without asking."""
        session = self.session
        if isinstance(self.screen, Confirm) or self._leaving or session is None:
            self._leave()
        elif session.indexing or session.adding:
            doing = "Indexing" if session.indexing else "Adding"
            question = f"{doing} is still running. Stop it and quit? What is done so far is kept."
            self.push_screen(Confirm(question, "Stop and quit", "Keep going"), self._leave_if)
        else:
            self._leave()

    def _leave_if(self, sure: bool | None) -> None:
        if sure:
            self._leave()

    def _leave_for(self, number: signal.Signals) -> None:
        """Leave because the system asks; end the process for certain.

        With the terminal gone, Textual waits for ever for its last words to be written.
        """
        last_resort = threading.Timer(LAST_RESORT_SECONDS, os._exit, (128 + number,))
        last_resort.daemon = True
        last_resort.start()
        self._leave()

    def _leave(self) -> None:
        """Close the session in a thread, and end when that is done or takes too long."""
        if self._leaving:
            self.exit()
            return
        self._leaving = True
        if self.session is None:
            self.exit()
            return
        self.notify("Closing", timeout=CLOSE_SECONDS, markup=False)
        session, loop = self.session, asyncio.get_running_loop()

        def close() -> None:
            session.close(CLOSE_SECONDS)
            with contextlib.suppress(RuntimeError):  # the loop has ended already
                loop.call_soon_threadsafe(self.exit)

        in_background(close)
        self.set_timer(CLOSE_SECONDS + 1, self.exit)

    def shut_down(self) -> None:
        """Stop what still runs after the application has ended, however it ended; takes a bounded time."""
        self.files.close()
        if self.session is not None:
            self.session.close(CLOSE_SECONDS)
        else:
            in_background(self._engines.close).join(CLOSE_SECONDS)

    def _fatal_error(self) -> None:
        """Called by Textual for an error in the screens: one line after the terminal is restored."""
        if os.environ.get(TRACEBACK_VARIABLE):
            super()._fatal_error()
            return
        said = plain(f"{type(self._exception).__name__}: {self._exception}")
        words = f"localrag met an error that it did not expect: {said}\n"
        hint = f"Set {TRACEBACK_VARIABLE}=1 and try again to see where, for a report."
        self._exit_renderables.append(Text(words + hint))
        self._close_messages_no_wait()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The commands of the palette: every action by its name, and Textual's choice of a theme."""
        yield SystemCommand("Help", "Explain the screen and its keys", self.action_help)
        yield SystemCommand("Quit", "End localrag", self.action_quit)
        yield SystemCommand("Theme", "Choose the colours", self.action_change_theme)
        if isinstance(screen, MainScreen):
            if screen.session.indexing:
                yield SystemCommand("Stop indexing", "What was read is kept", screen.action_stop_index)
            else:
                yield SystemCommand("Index", "Let the model read what was added", screen.action_index)
            yield SystemCommand("Add", "Add a file or a folder", screen.action_add)
            yield SystemCommand("Stop the answer", "What was written is kept", screen.action_back)
            yield SystemCommand("New conversation", "Clear the screen", screen.action_new)
            yield SystemCommand("Documents", "Show or hide the documents", screen.action_documents)


def run(kb: Path | None, settings: Settings) -> None:
    """Open the application in this terminal; returns when it has ended and everything is stopped.

    `kb` is opened at once, else the person chooses. The terminal is restored whatever happens. Raises
    `SystemExit` with code 1 after an error in the application itself, which has been told by then.
    """
    app = LocalragApp(kb, settings, signals=threading.current_thread() is threading.main_thread())
    try:
        app.run()
    finally:
        app.shut_down()
        if os.environ.get(TRACEBACK_VARIABLE):
            print(*unexpected, sep="\n", file=sys.stderr, end="")
    if app.return_code:
        raise SystemExit(app.return_code)
