"""The way out of the application: asking first, then stopping everything in bounded time."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading

from rich.text import Text
from textual.app import App
from textual.css.query import NoMatches

from localrag.plain import plain
from localrag.tui.model_jobs import ModelJobs
from localrag.tui.screens.dialogs import Confirm
from localrag.tui.session import Session, SharedEngines
from localrag.tui.work import TRACEBACK_VARIABLE, Lane, in_background

CLOSE_SECONDS = 5.0
"""How long stopping may take; then the application ends all the same."""

LAST_RESORT_SECONDS = 2 * CLOSE_SECONDS + 3.0
"""How long the process may live after the system asked it to end; longer than everything that is bounded."""


class WayOut(App[None]):
    """An application that ends cleanly whatever is going on."""

    session: Session | None
    """The open knowledge base."""

    engines: SharedEngines
    """The engines of this run."""

    model_jobs: ModelJobs
    """What is done with model files."""

    files: Lane[None]
    """Disk work without a knowledge base."""

    copying: Lane[None]
    """Copies to the clipboard."""

    leaving = False
    """Whether the end has begun."""

    async def action_quit(self) -> None:
        """End; asks first while something is being stored. A second time it ends without asking."""
        session = self.session
        if isinstance(self.screen, Confirm) or self.leaving:
            self._leave()
        elif session is not None and (session.index_run.active or session.additions.active):
            doing = "Indexing" if session.index_run.active else "Adding"
            question = f"{doing} is still running. Stop it and quit? What is done so far is kept."
            self.push_screen(Confirm(question, "Stop and quit", "Keep going"), self._leave_if)
        elif self.model_jobs.active:
            question = "A model is being fetched or checked. Stop and quit? What was fetched is kept."
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
        if self.leaving:
            self.exit()
            return
        self.leaving = True
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
        self.copying.close()
        self.model_jobs.close(CLOSE_SECONDS)
        if self.session is not None:
            self.session.close(CLOSE_SECONDS)
        else:
            in_background(self.engines.close).join(CLOSE_SECONDS)

    def _handle_exception(self, error: Exception) -> None:
        """Called by Textual. A place that is put up while the application ends does not get its widgets any
        more, so it misses them: that is no error."""
        if isinstance(error, NoMatches) and not self._running:
            return
        super()._handle_exception(error)

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
