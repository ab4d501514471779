"""The engine as everyone else calls it: a language model and an embedder, each in its own worker process.

A worker is started by the first call, and started again by the first call after its death or after it was
ended because it hung. What was in flight then runs once more; a request that kills the worker again, alone,
is given up with the reason (`run.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrag.engine.decisions import decide
from localrag.engine.limits import check_options
from localrag.engine.options import EngineOptions
from localrag.engine.protocol import Message, unpack
from localrag.engine.run import Run
from localrag.engine.supervisor import Supervisor
from localrag.engine.types import (
    INTERACTIVE,
    Decision,
    EmbeddingSpace,
    Event,
    Generation,
    GenerationRequest,
    ModelDescription,
    TextKind,
)
from localrag.engine.types import Message as ChatMessage
from localrag.engine.wire import failed_generation, messages_data
from localrag.errors import EngineCrashed, EngineError

__all__ = ["WorkerEmbedder", "WorkerModel", "failed_generation"]

_EMBED_TOGETHER = 64


class WorkerModel:
    """A `LanguageModel` of llama.cpp in a worker process."""

    def __init__(self, path: Path, options: EngineOptions | None = None) -> None:
        """Nothing is loaded before the first call."""
        chosen = check_options(options or EngineOptions())
        self._worker = Supervisor(
            {"role": "chat", "path": str(path), **asdict(chosen)},
            chosen.hang_seconds,
        )

    def describe(self) -> ModelDescription:
        """What is loaded."""
        values = {key: value for key, value in self._worker.get().description.items() if key != "event"}
        return ModelDescription(**{**values, "notes": tuple(values.get("notes", ()))})

    @property
    def pid(self) -> int | None:
        """Process id of the worker, if one is running."""
        process = self._worker.running
        return process.pid if process is not None else None

    def memory_mb(self) -> int:
        """Resident memory of the worker in MiB."""
        return int(self._worker.ask({"op": "memory"})["counts"][0])

    def stats(self) -> dict[str, Any]:
        """What the worker holds (jobs, free sequences, prefixes, live objects) and where its time went."""
        return dict(self._worker.ask({"op": "stats"})["counts"])

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special tokens off."""
        return [int(n) for n in self._worker.ask({"op": "count", "texts": list(texts)})["counts"]]

    def count_prompt(self, messages: Sequence[ChatMessage]) -> int:
        """Tokens of the whole prompt as the model's template renders it."""
        answer = self._worker.ask({"op": "prompt_tokens", "messages": messages_data(messages)})
        return int(answer["counts"][0])

    def pause_background(self) -> None:
        """Let background work stand still, with all that it has in the cache; questions are answered.

        It does not wait, may be called from any thread and more than once, and holds for a worker that is
        started later too.
        """
        self._worker.pause(True)

    def resume_background(self) -> None:
        """Let background work go on where it stands."""
        self._worker.pause(False)

    def stream(self, request: GenerationRequest) -> Generator[Event]:
        """One request; its last event is the `Generation`. Closing the iterator cancels it.

        Raises `PromptTooLong` before any work if the prompt does not fit, `EngineCrashed` if the worker dies
        over it.
        """
        run = Run(self._worker, [request])
        for _, event in run.events():
            if isinstance(event, Generation) and event.finish == "error":
                if event.deaths:
                    raise EngineCrashed(run.crashed, "Ask again.")
                raise run.refused or EngineError(event.error)
            yield event

    def run(self, requests: Iterable[GenerationRequest]) -> Generator[tuple[int, Event]]:
        """Many requests in one batch; yields (index, event) as they come, progress with index -1."""
        return Run(self._worker, requests).events()

    def decide(
        self, messages: Sequence[ChatMessage], options: Sequence[str], *, priority: int = INTERACTIVE
    ) -> Decision:
        """How likely each option is as the answer's beginning; nothing is written."""
        return decide(self.stream, messages, options, priority)

    def close(self) -> None:
        """Stop the worker."""
        self._worker.close()


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
        chosen = check_options(options or EngineOptions())
        self._prefixes = {"query": query_prefix, "passage": passage_prefix}
        self._worker = Supervisor(
            {
                "role": "embed",
                "path": str(path),
                "limit": limit,
                **asdict(chosen),
            },
            chosen.hang_seconds,
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
            unpack(self._worker.ask(_embed(prefix, group))["vectors"], dimension)
            for group in _groups(texts, _EMBED_TOGETHER)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, dimension), dtype=np.float32)

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids as they are embedded, ends included, without prefix."""
        answer = self._worker.ask({"op": "token_ids", "texts": list(texts)})
        return [[int(token) for token in ids] for ids in answer["counts"]]

    @property
    def pid(self) -> int | None:
        """Process id of the worker, if one is running."""
        process = self._worker.running
        return process.pid if process is not None else None

    def memory_mb(self) -> int:
        """Resident memory of the worker in MiB."""
        return int(self._worker.ask({"op": "memory"})["counts"][0])

    def close(self) -> None:
        """Stop the worker."""
        self._worker.close()


def _groups(texts: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), size):
        yield texts[start : start + size]


def _embed(prefix: str, texts: Sequence[str]) -> Message:
    return {"op": "embed", "texts": [prefix + text for text in texts]}
