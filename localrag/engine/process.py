"""One worker process as the parent sees it: start, send, listen, notice its death, stop."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections import deque
from typing import Any

from localrag import errors
from localrag.engine.protocol import Message, Writer, receive
from localrag.errors import EngineCrashed, EngineError, LocalragError

_START_SECONDS = 300.0
_STOP_SECONDS = 3.0
_LONGEST_WAIT = 600.0

GONE: Message = {"event": "gone"}
"""Put into every waiting queue when the worker dies."""


class WorkerProcess:
    """A running worker. Messages with an `id` go to the queue that asked for it."""

    def __init__(self, start: Message) -> None:
        """Start a worker; it can be spoken to after `wait_ready`."""
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        # libgomp's threads spin at barriers: one other busy process would cost most of the speed.
        environment.setdefault("GOMP_SPINCOUNT", "1000")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "localrag.engine.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._writer = Writer(self._process.stdin)  # type: ignore[arg-type]
        self._lock = threading.Lock()
        self._queues: dict[int, queue.SimpleQueue[Message]] = {}
        self._next = 0
        self._dead = threading.Event()
        self._last_words: deque[str] = deque(maxlen=20)
        self._ready: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self.description: Message = {}
        """What the worker says of its model; empty until it is loaded."""
        threading.Thread(target=self._listen, daemon=True, name="engine-listener").start()
        threading.Thread(target=self._drain, daemon=True, name="engine-stderr").start()
        # A worker that died at once is noticed by `wait_ready`.
        self.send(start)

    def wait_ready(self) -> None:
        """Wait until the model is loaded.

        Raises the error that the worker reports, or `EngineCrashed` if it dies, hangs or is ended while
        loading.
        """
        try:
            message = self._ready.get(timeout=_START_SECONDS)
        except queue.Empty:
            self.kill()
            raise EngineCrashed(f"The engine was not ready after {_START_SECONDS:.0f} seconds.") from None
        except BaseException:
            self.kill()
            raise
        if message["event"] == "failed":
            self.stop()
            raise _error_named(message["kind"], message["message"], message["hint"])
        if message["event"] == "gone":
            raise EngineCrashed(self.reason(), "Run localrag doctor; it tests the build.")
        self.description = message

    @property
    def alive(self) -> bool:
        """Whether it can still be spoken to."""
        return not self._dead.is_set()

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def reason(self) -> str:
        """Why it died, in a sentence."""
        try:
            code = self._process.wait(timeout=_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            return "The engine does not answer."
        if code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"signal {-code}"
            hint = " (often: no memory left)" if name == "SIGKILL" else ""
            return f"The engine was ended by {name}{hint}."
        words = f": {self._last_words[-1]}" if self._last_words else ""
        return f"The engine ended with code {code}{words}."

    def open(self) -> tuple[int, queue.SimpleQueue[Message]]:
        """A fresh id and the queue on which its messages arrive; `GONE` if the worker dies."""
        with self._lock:
            self._next += 1
            waiting: queue.SimpleQueue[Message] = queue.SimpleQueue()
            if self._dead.is_set():
                waiting.put(GONE)
            self._queues[self._next] = waiting
            return self._next, waiting

    def share(self, waiting: queue.SimpleQueue[Message]) -> int:
        """A fresh id whose messages go to a queue that is in use already."""
        number, own = self.open()
        with self._lock:
            self._queues[number] = waiting
            if not own.empty():
                waiting.put(GONE)
        return number

    def close(self, number: int) -> None:
        """Nobody waits for this id any more."""
        with self._lock:
            self._queues.pop(number, None)

    def send(self, message: Message) -> None:
        """Send a message; a dead worker is noticed by those who wait for an answer."""
        try:
            self._writer.send(message)
        except (OSError, ValueError):
            self._dead.set()

    def ask(self, message: Message) -> Message:
        """Send a message and wait for its one answer.

        Raises `EngineCrashed` if the worker dies, `EngineError` if it refuses.
        """
        number, waiting = self.open()
        try:
            self.send({**message, "id": number})
            answer: Message = {"event": "progress"}
            while answer["event"] == "progress":
                try:
                    answer = waiting.get(timeout=_LONGEST_WAIT)
                except queue.Empty:
                    # The next call gets a fresh worker instead of this one.
                    self.kill()
                    raise EngineCrashed("The engine does not answer.") from None
        finally:
            self.close(number)
        if answer["event"] == "gone":
            raise EngineCrashed(self.reason())
        if answer["event"] == "refused":
            raise EngineError(answer["error"])
        return answer

    def stop(self) -> None:
        """End the worker: ask, then insist."""
        self.send({"op": "stop"})
        try:
            self._process.wait(timeout=_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        self._dead.set()
        self._close_pipes()

    def kill(self) -> None:
        """End the worker at once."""
        self._process.kill()
        self._process.wait()
        self._dead.set()

    def _close_pipes(self) -> None:
        try:
            if self._process.stdin is not None:
                self._process.stdin.close()
        except OSError:
            # Closing flushes, and there is nobody left to read.
            return

    def _listen(self) -> None:
        stream: Any = self._process.stdout
        try:
            while (message := receive(stream)) is not None:
                self._hand_on(message)
        finally:
            # Whatever ended the listening: nobody may wait for a worker that nobody hears.
            self._dead.set()
            self._ready.put(GONE)
            self._to_all(GONE)
            stream.close()

    def _hand_on(self, message: Message) -> None:
        if message["event"] in ("ready", "failed"):
            self._ready.put(message)
        elif message["event"] == "progress":
            self._to_all(message)
        else:
            with self._lock:
                waiting = self._queues.get(message["id"])
            if waiting is not None:
                waiting.put(message)

    def _to_all(self, message: Message) -> None:
        with self._lock:
            queues = {id(waiting): waiting for waiting in self._queues.values()}
        for waiting in queues.values():
            waiting.put(message)

    def _drain(self) -> None:
        stream: Any = self._process.stderr
        for line in stream:
            self._last_words.append(line.decode("utf-8", "replace").strip())
        stream.close()


def _error_named(kind: str, message: str, hint: str) -> LocalragError:
    found = getattr(errors, kind, EngineError)
    cls = found if isinstance(found, type) and issubclass(found, LocalragError) else EngineError
    return cls(message, hint)
