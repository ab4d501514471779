"""One worker process as the parent sees it: start, send, listen, notice its death or hang, stop.

Nothing here waits for a worker that does not listen: messages are written by a thread of their own, so that
a worker that stopped reading cannot hold up those who would notice.
"""

from __future__ import annotations

import contextlib
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
from localrag.engine.watchdog import DEFAULT_SECONDS, Pulse
from localrag.errors import EngineCrashed, EngineError, LocalragError

_START_SECONDS = 300.0
_STOP_SECONDS = 3.0
_LOOK_SECONDS = 0.5

GONE: Message = {"event": "gone"}
"""Put into every waiting queue when the worker dies."""

_SIGNS_OF_LIFE = frozenset({"progress", "text", "done", "alive", "vectors"})
"""Events that only a worker sends whose model is running. Its listener answers even while the model hangs."""


class WorkerProcess:
    """A running worker. Messages with an `id` go to the queue that asked for it."""

    def __init__(self, start: Message, hang_seconds: float = DEFAULT_SECONDS) -> None:
        """Start a worker; it can be spoken to after `wait_ready`.

        One that is silent for `hang_seconds` while it has work is ended; 0 waits for ever.
        """
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
        self._hang_seconds = hang_seconds
        self._hung = False
        self._outbox: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._next = 0
        self._dead = threading.Event()
        self._last_words: deque[str] = deque(maxlen=20)
        self._ready: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self.description: Message = {}
        """What the worker says of its model; empty until it is loaded."""
        self.pulse = Pulse()
        """What it has in hand, and its signs of life."""
        self.stopped = False
        """Whether it was ended on purpose."""
        threading.Thread(target=self._listen, daemon=True, name="engine-listener").start()
        self._drainer = threading.Thread(target=self._drain, daemon=True, name="engine-stderr")
        self._drainer.start()
        threading.Thread(target=self._write, daemon=True, name="engine-writer").start()
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
        if self._hung:
            return f"The engine gave no sign of life for {self._hang_seconds:g} seconds and was ended."
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
        self._drainer.join(_STOP_SECONDS)
        words = f": {self._last_words[-1]}" if self._last_words else ""
        return f"The engine ended with code {code}{words}."

    def open(self, *, background: bool = False) -> tuple[int, queue.SimpleQueue[Message]]:
        """A fresh id and the queue on which its messages arrive; `GONE` if the worker dies.

        Background work may stand still for long, by `pause`.
        """
        with self._lock:
            self._next += 1
            waiting: queue.SimpleQueue[Message] = queue.SimpleQueue()
            if self._dead.is_set():
                waiting.put(GONE)
            self._queues[self._next] = waiting
            self.pulse.begin(self._next, background=background)
            return self._next, waiting

    def share(self, waiting: queue.SimpleQueue[Message], *, background: bool = False) -> int:
        """A fresh id whose messages go to a queue that is in use already."""
        number, own = self.open(background=background)
        with self._lock:
            self._queues[number] = waiting
            if not own.empty():
                waiting.put(GONE)
        return number

    def close(self, number: int) -> None:
        """Nobody waits for this id any more."""
        with self._lock:
            self._queues.pop(number, None)
        self.pulse.end(number)

    def send(self, message: Message) -> None:
        """Send a message, without waiting; a dead worker is noticed by those who wait for an answer."""
        self._outbox.put(message)

    def pause(self, paused: bool) -> None:
        """Let background work stand still, or go on."""
        self.pulse.pause(paused)
        self.send({"op": "pause", "paused": paused})

    def end_if_hung(self) -> None:
        """End it if it hangs. Whoever waits for it calls this once a second or oftener."""
        if self.pulse.overdue(self._hang_seconds):
            self._hung = True
            self.kill()

    def ask(self, message: Message) -> Message:
        """Send a message and wait for its one answer.

        Raises `EngineCrashed` if the worker dies, `EngineError` if it refuses.
        """
        number, waiting = self.open()
        try:
            self.send({**message, "id": number})
            answer: Message = {"event": "progress"}
            while answer["event"] in ("progress", "alive"):
                try:
                    answer = waiting.get(timeout=_LOOK_SECONDS)
                except queue.Empty:
                    self.end_if_hung()
        finally:
            self.close(number)
        if answer["event"] == "gone":
            raise EngineCrashed(self.reason())
        if answer["event"] == "refused":
            raise refusal(answer)
        return answer

    def stop(self) -> None:
        """End the worker: ask, then insist."""
        self.stopped = True
        self.send({"op": "stop"})
        try:
            self._process.wait(timeout=_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        self._dead.set()
        self._outbox.put(None)

    def kill(self) -> None:
        """End the worker at once."""
        self._process.kill()
        self._process.wait()
        self._dead.set()

    def _write(self) -> None:
        """Write what is sent, until the worker is gone."""
        try:
            while (message := self._outbox.get()) is not None:
                self._writer.send(message)
        except (OSError, ValueError):
            self._dead.set()
        finally:
            with contextlib.suppress(OSError):
                # Closing flushes, and there may be nobody left to read.
                self._writer.close()

    def _listen(self) -> None:
        stream: Any = self._process.stdout
        try:
            while (message := receive(stream)) is not None:
                self._hand_on(message)
        finally:
            # Whatever ended the listening: nobody may wait for a worker that nobody hears.
            self._dead.set()
            self.pulse.freeze()
            self._ready.put(GONE)
            self._to_all(GONE)
            self._outbox.put(None)
            stream.close()

    def _hand_on(self, message: Message) -> None:
        if message["event"] in _SIGNS_OF_LIFE:
            self.pulse.beat()
        if message["event"] in ("ready", "failed"):
            self._ready.put(message)
        elif message["event"] == "progress":
            self._to_all(message)
        elif message["event"] == "alive":
            return
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


def refusal(answer: Message) -> EngineError:
    """The error that a worker's refusal stands for: the same class if the engine's callers know it."""
    found = getattr(errors, answer.get("kind", ""), EngineError)
    cls = found if isinstance(found, type) and issubclass(found, EngineError) else EngineError
    return cls(answer["error"], answer.get("hint", ""))


def _error_named(kind: str, message: str, hint: str) -> LocalragError:
    found = getattr(errors, kind, EngineError)
    cls = found if isinstance(found, type) and issubclass(found, LocalragError) else EngineError
    return cls(message, hint)
