"""Keeps one worker process: starts it when it is needed, and again by the first call after its death."""

from __future__ import annotations

import threading

from localrag.engine.process import WorkerProcess
from localrag.engine.protocol import Message
from localrag.engine.suspects import Trials
from localrag.engine.watchdog import DEFAULT_SECONDS
from localrag.errors import EngineCrashed


class Supervisor:
    """The worker of one model. Safe for several threads."""

    def __init__(self, start: Message, hang_seconds: float = DEFAULT_SECONDS) -> None:
        """`start` is the worker's first message; after `hang_seconds` of silence at work it is ended."""
        self._start = start
        self._hang_seconds = hang_seconds
        self._lock = threading.Lock()
        self._process: WorkerProcess | None = None
        self._pausing = threading.Lock()
        self._paused = False
        self.trials = Trials()
        """Who tries suspects after a death."""

    def get(self) -> WorkerProcess:
        """The running worker. Raises what keeps it from starting."""
        with self._lock:
            if self._process is None or not self._process.alive:
                self._process = WorkerProcess(self._start, self._hang_seconds)
                if self._paused:
                    self._process.pause(True)
                self._process.wait_ready()
            return self._process

    @property
    def running(self) -> WorkerProcess | None:
        """The worker if one is alive, without starting it."""
        with self._lock:
            return self._process if self._process is not None and self._process.alive else None

    @property
    def paused(self) -> bool:
        """Whether background work stands still."""
        return self._paused

    def pause(self, paused: bool) -> None:
        """Let background work stand still, or go on; a worker that starts later is told as well."""
        # The other lock is held while a model loads, for which nobody should wait here. Whichever of the two
        # sides comes second, here or in `get`, sees what the first has set.
        with self._pausing:
            self._paused = paused
            process = self._process
            if process is not None:
                process.pause(paused)

    def ask(self, message: Message) -> Message:
        """Ask for something that can be asked twice: once more in a fresh worker if it dies over it.

        Raises `EngineCrashed` at the second death or if it was closed meanwhile, `EngineError` if it refuses.
        """
        process = self.get()
        try:
            return process.ask(message)
        except EngineCrashed:
            if process.stopped:
                raise
        return self.get().ask(message)

    def close(self) -> None:
        """Stop it; one that is still loading is ended at once, and the call that waits for it fails."""
        loading = self._process
        if loading is not None and not loading.description:
            loading.kill()
        with self._lock:
            if self._process is not None:
                self._process.stop()
            self._process = None
