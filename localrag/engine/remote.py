"""A `LanguageModel` at a server that the settings name: many requests at a time, cancelled at once.

What to say to the server is the dialect's affair (`remote_llama.py`, `remote_openai.py`). A server that
cannot be had ends the run, since no other request would fare better; a request that it answers wrongly fails
alone.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from localrag.engine.decisions import decide
from localrag.engine.programs import offered
from localrag.engine.remote_waiting import Stop
from localrag.engine.remote_writing import Emit
from localrag.engine.types import (
    INTERACTIVE,
    Decision,
    Event,
    Generation,
    GenerationRequest,
    Message,
    ModelDescription,
    ProgressEvent,
)
from localrag.engine.weighed_program import WeighedRecords
from localrag.errors import Cancelled, EngineError, LocalragError, PromptTooLong, RemoteUnreachable

_HEARTBEAT_SECONDS = 0.2
_ANY_PLACE = -1


class Dialect(Protocol):
    """How one kind of server is spoken to. Safe to use from several threads."""

    def describe(self, stop: Stop | None = None) -> ModelDescription:
        """What the server serves, and how many requests it takes at a time."""

    def count(self, texts: Sequence[str], stop: Stop | None = None) -> list[int]:
        """Tokens of each text."""

    def count_prompt(self, messages: Sequence[Message], stop: Stop | None = None) -> int:
        """Tokens of a whole prompt."""

    def write(
        self, request: GenerationRequest, about: ModelDescription, stop: Stop, emit: Emit, place: int
    ) -> Generation:
        """One output, checked; `place` tells requests of one run apart, -1 is none of them."""

    def close(self) -> None:
        """Close idle connections; a later call opens new ones."""


class RemoteModel:
    """A language model at a server. Nothing is sent before the first call."""

    def __init__(self, dialect: Dialect, parallel: int = 0) -> None:
        """`parallel` requests at a time; 0 takes what the server tells."""
        self._dialect = dialect
        self._parallel = parallel
        self._lock = threading.Lock()
        self._about: ModelDescription | None = None
        self._stops: set[Stop] = set()

    def describe(self) -> ModelDescription:
        """What the server says of its model; asked once."""
        with self._lock:
            if self._about is None:
                self._about = self._dialect.describe()
            return self._about

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special tokens off."""
        return self._dialect.count(texts)

    def count_prompt(self, messages: Sequence[Message]) -> int:
        """Tokens of the whole prompt as the server's template renders it."""
        return self._dialect.count_prompt(messages)

    def stream(self, request: GenerationRequest) -> Iterator[Event]:
        """One request; its last event is the `Generation`. Closing the iterator cancels it.

        Raises `PromptTooLong` before any work, `RemoteUnreachable` and `RemoteRefused`.
        """
        about = self.describe()
        self._check_length(request, about)
        calls = _Calls(self._dialect, about, self._stops)
        try:
            calls.start(0, request, _ANY_PLACE)
            while True:
                got = calls.wait()
                if got is None:
                    # Lets the caller stop; it says nothing new.
                    yield ProgressEvent("prefill", 1, 0, 0.0, 0.0)
                    continue
                _, event = got
                if isinstance(event, LocalragError):
                    raise event
                yield event
                if isinstance(event, Generation):
                    return
        finally:
            calls.stop()

    def run(self, requests: Iterable[GenerationRequest]) -> Generator[tuple[int, Event]]:
        """Many requests, as many at a time as the server takes; yields (index, event) as they come.

        Raises `RemoteUnreachable` if the server is gone. A request that it refuses or answers wrongly ends
        with a `Generation` that says so.
        """
        about = self.describe()
        places = list(range(self._parallel or about.sequences))
        source = enumerate(requests)
        calls = _Calls(self._dialect, about, self._stops)
        flying: dict[int, int] = {}
        try:
            while True:
                while places:
                    pair = next(source, None)
                    if pair is None:
                        break
                    flying[pair[0]] = places.pop(0)
                    calls.start(pair[0], pair[1], flying[pair[0]], self._check_length)
                if not flying:
                    return
                got = calls.wait()
                if got is None:
                    yield -1, calls.progress(len(flying))
                    continue
                index, event = got
                if isinstance(event, RemoteUnreachable):
                    raise event
                if isinstance(event, ProgressEvent):
                    yield -1, event
                    continue
                ended: Event = _failed(event) if isinstance(event, LocalragError) else event
                if isinstance(ended, Generation):
                    places.append(flying.pop(index))
                    calls.done(ended)
                yield index, ended
        finally:
            calls.stop()

    def decide(
        self, messages: Sequence[Message], options: Sequence[str], *, priority: int = INTERACTIVE
    ) -> Decision:
        """How likely each option is; raises `RemoteRefused` where the server tells no probabilities."""
        return decide(self.stream, messages, options, priority)

    def close(self) -> None:
        """End the calls that run. May be called twice; a later call connects again."""
        for stop in list(self._stops):
            stop.stop()
        self._dialect.close()

    def _check_length(self, request: GenerationRequest, about: ModelDescription) -> None:
        total = self._dialect.count_prompt(request.messages)
        if total + request.max_tokens > about.n_ctx:
            raise PromptTooLong(
                f"The prompt has {total} tokens and up to {request.max_tokens} may be written; "
                f"the server's context holds {about.n_ctx}.",
                "Ask with fewer words, set retrieval.context_tokens to less, or give the server more.",
            )


class _Calls:
    """The requests of one run, each in a thread of its own."""

    def __init__(self, dialect: Dialect, about: ModelDescription, stops: set[Stop]) -> None:
        self._dialect = dialect
        self._about = about
        self._stop = Stop()
        self._stops = stops
        self._stops.add(self._stop)
        self._heard: queue.SimpleQueue[tuple[int, Event | LocalragError]] = queue.SimpleQueue()
        self._written = 0
        self._read = 0
        self._milliseconds = 0

    def start(self, index: int, request: GenerationRequest, place: int, check: object = None) -> None:
        """Begin a request; `check` may refuse it first."""

        def work() -> None:
            def emit(event: Event) -> None:
                self._heard.put((index, event))

            try:
                if callable(check):
                    check(request, self._about)
                result: Event | LocalragError = self._dialect.write(
                    _without_weighing(request), self._about, self._stop, emit, place
                )
            except LocalragError as error:
                result = error
            except Exception as error:  # noqa: BLE001  # a thread's error must reach the caller
                result = EngineError(f"A remote call failed: {type(error).__name__}: {error}.")
            self._heard.put((index, result))

        threading.Thread(target=work, name=f"localrag-remote-{index}", daemon=True).start()

    def wait(self) -> tuple[int, Event | LocalragError] | None:
        """The next event; None if nothing came for a moment. Raises `Cancelled` after `close`."""
        try:
            return self._heard.get(timeout=_HEARTBEAT_SECONDS)
        except queue.Empty:
            self._stop.check()
            return None

    def done(self, generation: Generation) -> None:
        """Count a result."""
        self._written += generation.output_tokens
        self._read += generation.prompt_tokens - generation.shared_tokens
        self._milliseconds += generation.milliseconds

    def progress(self, running: int) -> ProgressEvent:
        """How it goes, over the requests that are done."""
        seconds = self._milliseconds / 1000 / max(running, 1)
        written = self._written / seconds if seconds else 0.0
        read = self._read / seconds if seconds else 0.0
        return ProgressEvent("decode" if self._written else "prefill", running, 0, read, written)

    def stop(self) -> None:
        """End what runs."""
        self._stop.stop()
        self._stops.discard(self._stop)


def _without_weighing(request: GenerationRequest) -> GenerationRequest:
    """A server tells no scores, so it is offered the likely names and chooses itself."""
    if isinstance(request.program, WeighedRecords):
        return replace(request, program=offered(request.program))
    return request


def _failed(error: LocalragError) -> Generation:
    finish = "cancelled" if isinstance(error, Cancelled) else "error"
    return Generation(
        "", (), "cancelled" if finish == "cancelled" else "error", 0, 0, 0, 0, 0, "", "", str(error)
    )
