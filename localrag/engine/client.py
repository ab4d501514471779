"""The engine as everyone else calls it: a language model and an embedder, each in its own worker process.

A worker is started by the first call and started again by the first call after its death. What was in
flight when it died is run once more; what was in flight at two deaths is given up with the reason.
"""

from __future__ import annotations

import hashlib
import queue
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrag.engine.process import WorkerProcess
from localrag.engine.programs import to_dict
from localrag.engine.protocol import Message, unpack
from localrag.engine.types import (
    EmbeddingSpace,
    EngineOptions,
    Event,
    Generation,
    GenerationRequest,
    ModelDescription,
    ProgressEvent,
    Segment,
    TextEvent,
    TextKind,
)
from localrag.engine.types import Message as ChatMessage
from localrag.errors import EngineCrashed, EngineError, PromptTooLong

_QUEUED_AHEAD = 2
"""Requests sent beyond the places of the batch, so that a place is never empty."""

_DEATHS = 2
"""A request that was in flight at this many deaths of the worker is given up."""

_EMBED_TOGETHER = 64

_HEARTBEAT_SECONDS = 0.2
"""A caller gets control at least this often, so that it can stop."""


class _Worker:
    """Starts a worker when it is needed, again after a death; safe for several threads."""

    def __init__(self, start: Message) -> None:
        self._start = start
        self._lock = threading.Lock()
        self._process: WorkerProcess | None = None

    def get(self) -> WorkerProcess:
        """The running worker."""
        with self._lock:
            if self._process is None or not self._process.alive:
                self._process = WorkerProcess(self._start)
                self._process.wait_ready()
            return self._process

    @property
    def running(self) -> WorkerProcess | None:
        """The worker if one is alive, without starting it."""
        with self._lock:
            return self._process if self._process is not None and self._process.alive else None

    def close(self) -> None:
        """Stop it; one that is still loading is ended at once, and the call that waits for it fails."""
        loading = self._process
        if loading is not None and not loading.description:
            loading.kill()
        with self._lock:
            if self._process is not None:
                self._process.stop()
            self._process = None


class WorkerModel:
    """A `LanguageModel` of llama.cpp in a worker process."""

    def __init__(self, path: Path, options: EngineOptions | None = None) -> None:
        """Nothing is loaded before the first call."""
        chosen = options or EngineOptions()
        self._worker = _Worker(
            {
                "role": "chat",
                "path": str(path),
                "n_ctx": chosen.n_ctx,
                "sequences": chosen.sequences,
                "threads": chosen.threads,
                "batch": chosen.batch,
                "gpu_layers": chosen.gpu_layers,
            }
        )

    def describe(self) -> ModelDescription:
        """What is loaded."""
        values = {key: value for key, value in self._worker.get().description.items() if key != "event"}
        return ModelDescription(**values)

    @property
    def pid(self) -> int | None:
        """Process id of the worker, if one is running."""
        process = self._worker.running
        return process.pid if process is not None else None

    def memory_mb(self) -> int:
        """Resident memory of the worker in MiB."""
        return int(self._worker.get().ask({"op": "memory"})["counts"][0])

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special tokens off."""
        return [int(n) for n in self._worker.get().ask({"op": "count", "texts": list(texts)})["counts"]]

    def count_prompt(self, messages: Sequence[ChatMessage]) -> int:
        """Tokens of the whole prompt as the model's template renders it."""
        answer = self._worker.get().ask({"op": "prompt_tokens", "messages": _messages(messages)})
        return int(answer["counts"][0])

    def stream(self, request: GenerationRequest) -> Iterator[Event]:
        """One request; its last event is the `Generation`. Closing the iterator cancels it.

        Raises `PromptTooLong` before any work if the prompt does not fit, `EngineCrashed` if the worker dies.
        """
        total = self.count_prompt(request.messages)
        room = self.describe().n_ctx
        if total + request.max_tokens > room:
            raise PromptTooLong(
                f"The prompt has {total} tokens and up to {request.max_tokens} may be written; "
                f"the context holds {room}.",
                "Ask with fewer words, or set retrieval.context_tokens to less.",
            )
        run = _Run(self._worker, [request])
        for _, event in run.events():
            if isinstance(event, Generation) and event.finish == "error":
                raise EngineCrashed(run.crashed, "Ask again.") if run.crashed else EngineError(event.error)
            yield event

    def run(self, requests: Iterable[GenerationRequest]) -> Generator[tuple[int, Event]]:
        """Many requests in one batch; yields (index, event) as they come, progress with index -1."""
        return _Run(self._worker, requests).events()

    def close(self) -> None:
        """Stop the worker."""
        self._worker.close()


class _Run:
    """The requests of one call of `run`."""

    def __init__(self, worker: _Worker, requests: Iterable[GenerationRequest]) -> None:
        self._worker = worker
        self._source = enumerate(requests)
        self._again: list[tuple[int, GenerationRequest]] = []
        self._flying: dict[int, tuple[int, GenerationRequest]] = {}
        self._deaths: dict[int, int] = {}
        self._waiting: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._process: WorkerProcess | None = None
        self._last_progress = ProgressEvent("prefill", 0, 0, 0.0, 0.0)
        self.crashed = ""
        """Why the worker died, if it did."""

    def events(self) -> Generator[tuple[int, Event]]:
        """Send, wait, hand on, until all is done."""
        try:
            while True:
                self._fill()
                if not self._flying:
                    return
                try:
                    message = self._waiting.get(timeout=_HEARTBEAT_SECONDS)
                except queue.Empty:
                    yield -1, self._last_progress
                    continue
                yield from self._handle(message)
        finally:
            self._cancel()

    def _fill(self) -> None:
        process = self._worker.get()
        if process is not self._process:
            self._process = process
            self._waiting = queue.SimpleQueue()
        places = int(process.description["sequences"]) + _QUEUED_AHEAD
        while len(self._flying) < places:
            pair = self._again.pop(0) if self._again else next(self._source, None)
            if pair is None:
                return
            number = process.share(self._waiting)
            self._flying[number] = pair
            process.send(_request(number, pair[1]))

    def _handle(self, message: Message) -> Iterator[tuple[int, Event]]:
        event = message["event"]
        if event == "progress":
            self._last_progress = _progress(message)
            yield -1, self._last_progress
        elif event == "gone":
            yield from self._after_death()
        elif message["id"] in self._flying:
            index = self._flying[message["id"]][0]
            if event == "text":
                yield index, TextEvent(message["segment"], message["text"])
            elif event == "done":
                self._forget(message["id"])
                yield index, _generation(message)
            elif event == "refused":
                self._forget(message["id"])
                yield index, failed_generation(message["error"])

    def _after_death(self) -> Iterator[tuple[int, Event]]:
        reason = self._process.reason() if self._process is not None else "The engine is gone."
        self.crashed = reason
        for number, (index, request) in list(self._flying.items()):
            self._forget(number)
            self._deaths[index] = self._deaths.get(index, 0) + 1
            if self._deaths[index] >= _DEATHS or request.stream:
                yield index, failed_generation(reason)
            else:
                self._again.append((index, request))

    def _forget(self, number: int) -> None:
        del self._flying[number]
        if self._process is not None:
            self._process.close(number)

    def _cancel(self) -> None:
        for number in list(self._flying):
            if self._process is not None:
                self._process.send({"op": "cancel", "id": number})
            self._forget(number)


class WorkerEmbedder:
    """An `Embedder` of llama.cpp in a worker process."""

    def __init__(
        self,
        path: Path,
        options: EngineOptions | None = None,
        *,
        query_prefix: str = "",
        passage_prefix: str = "",
        limit: int = 512,
    ) -> None:
        """Prefixes and limit belong to the model (see the catalogue). Nothing is loaded before a call."""
        chosen = options or EngineOptions()
        self._prefixes = {"query": query_prefix, "passage": passage_prefix}
        self._worker = _Worker(
            {
                "role": "embed",
                "path": str(path),
                "threads": chosen.threads,
                "gpu_layers": chosen.gpu_layers,
                "limit": limit,
            }
        )

    @property
    def space(self) -> EmbeddingSpace:
        """Identity of the vectors: model file, pooling, prefixes, limit and normalisation together."""
        about = self._worker.get().description
        parts = [about["fingerprint"], about["pooling"], *self._prefixes.values(), str(about["limit"]), "nfc"]
        return EmbeddingSpace(
            fingerprint="sha256:" + hashlib.sha256("\0".join(parts).encode()).hexdigest(),
            model=about["name"],
            dimension=int(about["dimension"]),
            pooling=about["pooling"],
            query_prefix=self._prefixes["query"],
            passage_prefix=self._prefixes["passage"],
            limit=int(about["limit"]),
        )

    def embed(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
        """Unit vectors of shape (len(texts), dimension)."""
        dimension = int(self._worker.get().description["dimension"])
        prefix = self._prefixes[kind]
        if any(not text.strip() for text in texts):
            raise EngineError("An empty text has no vector.")
        parts = [
            unpack(self._ask([prefix + text for text in group])["vectors"], dimension)
            for group in _groups(texts, _EMBED_TOGETHER)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, dimension), dtype=np.float32)

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids as they are embedded, ends included, without prefix."""
        answer = self._worker.get().ask({"op": "token_ids", "texts": list(texts)})
        return [[int(token) for token in ids] for ids in answer["counts"]]

    @property
    def pid(self) -> int | None:
        """Process id of the worker, if one is running."""
        process = self._worker.running
        return process.pid if process is not None else None

    def memory_mb(self) -> int:
        """Resident memory of the worker in MiB."""
        return int(self._worker.get().ask({"op": "memory"})["counts"][0])

    def close(self) -> None:
        """Stop the worker."""
        self._worker.close()

    def _ask(self, texts: list[str]) -> Message:
        message = {"op": "embed", "texts": texts}
        try:
            return self._worker.get().ask(message)
        except EngineCrashed:
            # Once more in a fresh process; a second death is reported.
            return self._worker.get().ask(message)


def failed_generation(reason: str) -> Generation:
    """The result of a request that the engine could not finish."""
    return Generation("", (), "error", 0, 0, 0, 0, 0, "", "", reason)


def _groups(texts: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), size):
        yield texts[start : start + size]


def _messages(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    return [asdict(message) for message in messages]


def _request(number: int, request: GenerationRequest) -> Message:
    return {
        "op": "generate",
        "id": number,
        "messages": _messages(request.messages),
        "program": to_dict(request.program),
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "seed": request.seed,
        "priority": request.priority,
        "stream": request.stream,
    }


def _generation(message: Message) -> Generation:
    values = {key: value for key, value in message.items() if key not in ("event", "id", "segments")}
    segments = tuple(Segment(name, text) for name, text in message["segments"])
    return Generation(segments=segments, **values)


def _progress(message: Message) -> ProgressEvent:
    return ProgressEvent(**{key: value for key, value in message.items() if key != "event"})
