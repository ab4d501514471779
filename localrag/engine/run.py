"""One call of `run`: requests go to the worker as places become free, and events come back.

A request that was in flight when the worker died goes again, as `suspects.py` says; one that kills the
worker is given up with the reason, and the others go on.
"""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace

from localrag.engine.process import WorkerProcess, refusal
from localrag.engine.protocol import Message
from localrag.engine.supervisor import Supervisor
from localrag.engine.suspects import Flight, Suspects
from localrag.engine.types import Event, GenerationRequest, ProgressEvent, TextEvent
from localrag.engine.wire import failed_generation, generation_of, progress_of, request_message
from localrag.errors import EngineCrashed, EngineError

_QUEUED_AHEAD = 2
"""Requests sent beyond the places of the batch, so that a place is never empty."""

_HEARTBEAT_SECONDS = 0.2
"""A caller gets control at least this often, so that it can stop."""

_MOST_IN_A_ROW = 5
"""When this many requests killed the worker and none came back between them, the engine is at fault."""


class Run:
    """The requests of one call. Used by one thread."""

    def __init__(self, worker: Supervisor, requests: Iterable[GenerationRequest]) -> None:
        self._worker = worker
        self._source = enumerate(requests)
        self._again: deque[Flight] = deque()
        self._suspects = Suspects()
        self._trying = False
        self._flying: dict[int, Flight] = {}
        self._waiting: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._process: WorkerProcess | None = None
        self._last_progress = ProgressEvent("prefill", 0, 0, 0.0, 0.0)
        self._blamed = 0
        self.crashed = ""
        """Why the worker died, if it did."""
        self.refused: EngineError | None = None
        """What the worker refused last, as an error."""

    def events(self) -> Generator[tuple[int, Event]]:
        """Send, wait, hand on, until all is done."""
        try:
            while self._fill():
                try:
                    message = self._waiting.get(timeout=_HEARTBEAT_SECONDS)
                except queue.Empty:
                    if self._process is not None:
                        self._process.end_if_hung()
                    yield -1, self._standing()
                    continue
                yield from self._handle(message)
        finally:
            self._cancel()
            self._worker.trials.leave(self)

    # Sending.

    def _fill(self) -> bool:
        """Send what there is a place for; False if nothing is left to wait for."""
        if self._process is not None and self._flying and not self._process.alive:
            # What it said before it died is heard first, and then the news of its death.
            return True
        process = self._worker.get()
        if process is not self._process:
            if self._flying:
                return True
            self._process = process
            self._waiting = queue.SimpleQueue()
        if self._trying and not self._flying and not self._suspects:
            self._trying = False
            self._worker.trials.leave(self)
        if self._trying or self._suspects:
            return self._try_suspects(process)
        return self._send_fresh(process)

    def _try_suspects(self, process: WorkerProcess) -> bool:
        """Send the next group once the one before is done and no other run tries its own."""
        if not self._flying and self._worker.trials.enter(self):
            self._trying = True
            for flight in self._suspects.take():
                self._send(process, flight)
        return True

    def _send_fresh(self, process: WorkerProcess) -> bool:
        places = int(process.description["sequences"]) + _QUEUED_AHEAD
        while len(self._flying) < places:
            flight = self._again.popleft() if self._again else self._drawn()
            if flight is None:
                break
            if not flight.urgent and self._worker.trials.elsewhere(self):
                self._again.appendleft(flight)
                return True
            self._send(process, flight)
        return bool(self._flying)

    def _drawn(self) -> Flight | None:
        pair = next(self._source, None)
        return None if pair is None else Flight(*pair)

    def _send(self, process: WorkerProcess, flight: Flight) -> None:
        number = process.share(self._waiting, background=not flight.urgent)
        self._flying[number] = flight
        process.send(request_message(number, flight.request))

    # Hearing.

    def _handle(self, message: Message) -> Iterator[tuple[int, Event]]:
        event = message["event"]
        if event == "progress":
            self._last_progress = progress_of(message)
            yield -1, self._last_progress
        elif event == "gone":
            yield from self._after_death()
        elif message["id"] in self._flying:
            flight = self._flying[message["id"]]
            if event == "text":
                flight.shown = True
                yield flight.index, TextEvent(message["segment"], message["text"])
            elif event == "done":
                self._forget(message["id"])
                self._blamed = 0
                yield flight.index, generation_of(message)
            elif event == "refused":
                self._forget(message["id"])
                self.refused = refusal(message)
                yield flight.index, failed_generation(message["error"])

    def _standing(self) -> ProgressEvent:
        """How it goes while nothing is heard."""
        if not self._worker.paused:
            return self._last_progress
        return replace(self._last_progress, phase="idle", prefill_rate=0.0, decode_rate=0.0)

    # Deaths.

    def _after_death(self) -> Iterator[tuple[int, Event]]:
        process = self._process
        assert process is not None
        if process.stopped:
            self._flying.clear()
            raise EngineError("The engine was closed while it worked.")
        self.crashed = process.reason()
        alone = process.pulse.in_hand == 1
        dead = list(self._flying.values())
        self._flying.clear()
        given_up: list[Flight] = []
        suspects: list[Flight] = []
        for flight in dead:
            flight.deaths += 1
            if flight.given_up(alone=alone):
                given_up.append(flight)
            elif flight.urgent:
                self._again.append(flight)
            else:
                suspects.append(flight)
        self._suspects.add(suspects)
        for flight in given_up:
            self._check_engine()
            yield flight.index, failed_generation(self.crashed, deaths=flight.deaths)

    def _check_engine(self) -> None:
        """Raises `EngineCrashed` if so many requests killed it that they cannot be the cause."""
        self._blamed += 1
        if self._blamed >= _MOST_IN_A_ROW:
            raise EngineCrashed(
                f"The engine died over {self._blamed} texts in a row. {self.crashed}",
                "Run localrag doctor; it tests the build, and shows how much memory is free.",
            )

    def _forget(self, number: int) -> None:
        del self._flying[number]
        if self._process is not None:
            self._process.close(number)

    def _cancel(self) -> None:
        for number in list(self._flying):
            if self._process is not None:
                self._process.send({"op": "cancel", "id": number})
            self._forget(number)
