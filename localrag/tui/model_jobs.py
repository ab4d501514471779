"""Brings, checks and removes model files, one job after the other in an owned thread, wherever the person is.

A job outlives the screen that asked for it. What is fetched and checked is kept when it is stopped, so asking
for the same model again goes on from there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from textual.dom import DOMNode
from textual.signal import Signal

from localrag.plain import plain
from localrag.tui.messages import call
from localrag.tui.words import Fault, duration, size
from localrag.tui.work import plain_lane

if TYPE_CHECKING:
    from localrag.catalogue.pull import PullProgress

Kind = Literal["pull", "verify", "add", "remove", "measure"]

_DOING = {
    "pull": "Fetching",
    "verify": "Checking",
    "add": "Copying",
    "remove": "Removing",
    "measure": "Measuring",
}
_STEPS = {"fetch": "Fetching", "check": "Checking", "convert": "Converting", "copy": "Copying"}
_SECONDS = 0.1
"""Progress is passed on at most so often."""
_RATE_SECONDS = 2.0
"""A rate is told only after so long."""


@dataclass(frozen=True)
class JobState:
    """How far the job in hand is."""

    kind: Kind
    """What is done."""

    name: str
    """The model or file, harmless to show."""

    doing: str
    """What is done now, in a word."""

    text: str = ""
    """More of it, in a few words; may be empty."""

    done: int = 0
    """Bytes done."""

    total: int = 0
    """Bytes in all; 0 while that is not known."""

    rate: float = 0.0
    """Bytes a second, 0 while unknown."""

    stopping: bool = False
    """Whether it was asked to stop."""

    waiting: tuple[str, ...] = ()
    """Names of the models whose turn comes after it."""

    @property
    def words(self) -> str:
        """All of it in a line."""
        if self.stopping:
            return f"Stopping {self.name}"
        parts = [f"{self.doing} {self.name}"]
        if self.total:
            parts.append(f"{size(self.done)} of {size(self.total)}")
        if self.rate:
            parts.append(f"{size(round(self.rate))}/s")
            if self.total > self.done:
                parts.append(f"{duration((self.total - self.done) / self.rate)} left")
        elif self.text and not self.total:
            parts.append(self.text)
        if self.waiting:
            parts.append(f"then {', '.join(self.waiting)}")
        return " · ".join(parts)


@dataclass(frozen=True)
class JobEnd:
    """How a job ended."""

    kind: Kind
    """What was done."""

    name: str
    """The model or file, harmless to show."""

    words: str = ""
    """What a person is told if it went well."""

    fault: Fault | None = None
    """Why it failed; None if it did not."""

    stopped: bool = False
    """Whether a person stopped it."""


@dataclass(frozen=True)
class _Job:
    kind: Kind
    name: str
    work: Callable[[Callable[[PullProgress], None], threading.Event], str]


class ModelJobs:
    """The jobs of this run of the application. All methods are for its own thread and return at once."""

    def __init__(self, app: DOMNode, ended: Callable[[JobEnd], object]) -> None:
        """`ended` is called in the thread of `app` when a job is over, before the signal is sent."""
        self._app = app
        self._ended = ended
        self._lane = plain_lane("models")
        self._waiting: list[_Job] = []
        self._stop = threading.Event()
        self.state: JobState | None = None
        """The job in hand; None while there is none."""
        self.last: JobEnd | None = None
        """How the last one ended; None before the first and while one goes on."""
        self.moved: Signal[JobState | None] = Signal(app, "model-jobs")
        """Sent in the thread of the application whenever `state` changes."""

    @property
    def active(self) -> bool:
        """Whether a job goes on."""
        return self.state is not None

    def is_asked_for(self, name: str) -> bool:
        """Whether a job for this model goes on or waits."""
        here = [self.state.name] if self.state else []
        return plain(name) in (*here, *(job.name for job in self._waiting))

    def pull(self, name: str) -> None:
        """Fetch a model of the catalogue over the network."""

        def work(progress: Callable[[PullProgress], None], cancel: threading.Event) -> str:
            from localrag.catalogue.pull import pull

            path = pull(name, progress)
            return f"{name} is here and checked: {size(path.stat().st_size)}."

        self._submit(_Job("pull", plain(name), work))

    def add(self, file: Path) -> None:
        """Copy a model file that the person has to the other models."""

        def work(progress: Callable[[PullProgress], None], cancel: threading.Event) -> str:
            from localrag.catalogue.manage import add_model

            model = add_model(file, progress)
            does = {"chat": "reads and answers", "embed": "makes vectors"}[model.role]
            return f"{model.name} is here; it {does}."

        self._submit(_Job("add", plain(file.name), work))

    def verify(self, name: str) -> None:
        """Read a model's file in full and compare it with what it should be."""

        def work(progress: Callable[[PullProgress], None], cancel: threading.Event) -> str:
            from localrag.catalogue.manage import verify_model
            from localrag.errors import ModelInvalid

            result = verify_model(name, progress)
            if not result.ok:
                again = "Fetch it again, or remove it and add a good copy."
                raise ModelInvalid(f"{result.name} is damaged: {result.reason}.", again)
            known = "whole and unchanged" if result.expected else "whole, as far as the file itself tells"
            return f"{result.name} is {known}."

        self._submit(_Job("verify", plain(name), work))

    def remove(self, name: str) -> None:
        """Delete a model's file."""

        def work(progress: Callable[[PullProgress], None], cancel: threading.Event) -> str:
            from localrag.catalogue.manage import remove_model

            model = remove_model(name)
            return f"{model.name} was removed: {size(model.size)} are free again."

        self._submit(_Job("remove", plain(name), work))

    def measure(self, name: str, measure: Callable[[Callable[[str], None], threading.Event], str]) -> None:
        """Measure a model on this machine by a function that hears of steps and says what came of it."""

        def work(progress: Callable[[PullProgress], None], cancel: threading.Event) -> str:
            def tell(text: str) -> None:
                if self.state is not None:
                    state = replace(self.state, text=plain(text))
                    call(self._app, lambda: self._show(state))

            return measure(tell, cancel)

        self._submit(_Job("measure", plain(name), work))

    def stop(self) -> None:
        """Stop the job in hand and forget those that wait; what was fetched and checked is kept."""
        if self.state is not None:
            self._waiting.clear()
            self._stop.set()
            self._show(replace(self.state, stopping=True, waiting=()))

    def close(self, seconds: float) -> bool:
        """End; blocks for at most so long. Whether it has ended."""
        self._waiting.clear()
        self._stop.set()
        self._lane.close()
        return self._lane.join(time.monotonic() + seconds)

    def _submit(self, job: _Job) -> None:
        if self.state is not None:
            if not self.is_asked_for(job.name):
                self._waiting.append(job)
                self._show(replace(self.state, waiting=self._names()))
            return
        self._begin(job)

    def _begin(self, job: _Job) -> None:
        cancel = self._stop = threading.Event()
        self.last = None
        self._show(JobState(job.kind, job.name, _DOING[job.kind], waiting=self._names()))
        teller = _Teller(job, cancel, lambda state: call(self._app, lambda: self._show(state)))

        def run(_: None) -> None:
            from localrag.errors import Cancelled

            try:
                words = job.work(teller.tell, cancel)
            except Cancelled:
                self._tell_end(JobEnd(job.kind, job.name, stopped=True))
            else:
                self._tell_end(JobEnd(job.kind, job.name, plain(words)))

        def on_fault(fault: Fault) -> None:
            # Stopping makes what is under way fail; that is no news.
            stopped = cancel.is_set()
            self._tell_end(JobEnd(job.kind, job.name, fault=None if stopped else fault, stopped=stopped))

        self._lane.submit(run, on_fault)

    def _tell_end(self, end: JobEnd) -> None:
        """Called in the lane's thread."""
        call(self._app, lambda: self._end(end))

    def _end(self, end: JobEnd) -> None:
        self.last = end
        self.state = None
        self._ended(end)
        if self._waiting:
            self._begin(self._waiting.pop(0))
        else:
            self.moved.publish(None)

    def _show(self, state: JobState) -> None:
        self.state = replace(state, waiting=self._names(), stopping=state.stopping or self._stop.is_set())
        self.moved.publish(self.state)

    def _names(self) -> tuple[str, ...]:
        return tuple(job.name for job in self._waiting)


class _Teller:
    """Turns progress into states, not too often, and raises `Cancelled` when a stop was asked for."""

    def __init__(self, job: _Job, cancel: threading.Event, show: Callable[[JobState], None]) -> None:
        self._job = job
        self._cancel = cancel
        self._show = show
        self._step = ""
        self._began = (0.0, 0)
        self._shown = 0.0

    def tell(self, progress: PullProgress) -> None:
        """Called in the lane's thread."""
        from localrag.errors import Cancelled

        if self._cancel.is_set():
            raise Cancelled("Stopped.")
        now = time.monotonic()
        if progress.step != self._step:
            self._step, self._began, self._shown = progress.step, (now, progress.bytes_done), 0.0
        if now - self._shown < _SECONDS and progress.bytes_done < progress.bytes_total:
            return
        self._shown = now
        seconds = now - self._began[0]
        rate = (progress.bytes_done - self._began[1]) / seconds if seconds >= _RATE_SECONDS else 0.0
        self._show(
            JobState(
                self._job.kind,
                self._job.name,
                _STEPS[progress.step],
                plain(progress.text),
                progress.bytes_done,
                progress.bytes_total,
                rate,
            )
        )
