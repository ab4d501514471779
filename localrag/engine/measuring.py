"""Measures a model on this machine from the parent's side: in a worker of its own, stopped at any moment."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from localrag.engine.gguf import inspect
from localrag.engine.machine import OtherPrograms
from localrag.engine.options import EngineOptions
from localrag.engine.process import WorkerProcess
from localrag.engine.protocol import Message
from localrag.engine.tuned import BUSY, Subject, Tuning, from_message, save, stored, subject
from localrag.engine.tuning import SECONDS
from localrag.errors import EngineCrashed, EngineError
from localrag.stopping import wait_for

_LONGEST: Final = 5.0
"""The measurement may take so many times its budget before it counts as hanging."""

_POLL: Final = 0.1

_LOOK: Final = 0.3
"""Seconds for which the other programs are watched."""


@dataclass(frozen=True)
class Measured:
    """A measurement that was made now."""

    tuning: Tuning
    """What was found."""

    devices: tuple[tuple[str, str, str], ...] = ()
    """Name, description and kind of the devices of this build."""

    note: str = ""
    """Why the result could not be kept; empty if it was."""


def find_stored(path: Path, options: EngineOptions) -> Tuning | None:
    """The kept measurement of a model with these options. Raises as `inspect` does for a bad file."""
    return stored(subject(inspect(path), options))


def is_due(path: Path, options: EngineOptions) -> bool:
    """Whether a measurement would help: the options leave numbers open and no good one is kept.

    One that was made while other programs were busy is due again as soon as they are not.
    """
    if options.sequences and options.threads:
        return False
    known = find_stored(path, options)
    if known is None:
        return True
    if known.failed or known.others <= BUSY:
        return False
    others = OtherPrograms()
    time.sleep(_LOOK)
    return others.share() < BUSY / 2


def measure(
    path: Path,
    options: EngineOptions,
    *,
    tell: Callable[[str], None] = lambda text: None,
    cancel: threading.Event | None = None,
    seconds: float = SECONDS,
) -> Measured:
    """Measure a model and keep the result; `tell` hears of every time taken.

    A worker that dies or hangs gives a result without values that says why, and that is kept too, so that it
    is not tried again at every start. Raises `Cancelled` when `cancel` is set, and `ModelInvalid`,
    `ModelNotFound` or `SettingsError` if the model cannot be loaded so; nothing is kept then.
    """
    info = inspect(path)
    about = subject(info, options)
    began = time.monotonic()
    worker = WorkerProcess({"role": "tune", "path": str(path), **asdict(options)})
    devices: tuple[tuple[str, str, str], ...] = ()
    try:
        wait_for(worker.wait_ready, cancel)
        devices = tuple((name, text, kind) for name, text, kind in worker.description["devices"])
        tuning = from_message(_ask(worker, seconds - (time.monotonic() - began), tell, cancel)["tuning"])
    except (EngineCrashed, EngineError) as error:
        if type(error) not in (EngineCrashed, EngineError):
            raise
        tuning = Tuning(info.name, failed=str(error))
    finally:
        worker.kill()
    return Measured(tuning, devices, _keep(about, tuning))


def _ask(
    worker: WorkerProcess, seconds: float, tell: Callable[[str], None], cancel: threading.Event | None
) -> Message:
    """Let the worker measure; its answer."""
    number, answers = worker.open()
    worker.send({"op": "tune", "id": number, "seconds": seconds})
    longest = SECONDS * _LONGEST
    latest = time.monotonic() + longest

    def next_message() -> Message:
        while time.monotonic() < latest:
            try:
                return answers.get(timeout=_POLL)
            except queue.Empty:
                if cancel is not None and cancel.is_set():
                    break
        raise EngineCrashed(f"The measurement did not end within {longest:.0f} seconds.")

    while True:
        message = wait_for(next_message, cancel)
        if message["event"] == "step":
            tell(message["text"])
        elif message["event"] == "tuned":
            return message
        elif message["event"] == "gone":
            raise EngineCrashed(worker.reason())
        elif message["event"] == "refused":
            raise EngineError(message["error"])


def _keep(about: Subject, tuning: Tuning) -> str:
    try:
        save(about, tuning)
    except OSError as error:
        return f"The result could not be kept, so it is measured again next time: {error.strerror or error}."
    return ""
