"""The reranker as everyone else calls it: a model in its own worker process, started at the first call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from localrag.engine.limits import check_options
from localrag.engine.options import EngineOptions
from localrag.engine.supervisor import Supervisor
from localrag.errors import EngineError


class WorkerReranker:
    """A model with rank pooling of llama.cpp in a worker process. Safe to call from several threads."""

    def __init__(self, path: Path, options: EngineOptions | None = None) -> None:
        """Nothing is loaded before the first call."""
        chosen = check_options(options or EngineOptions())
        self._worker = Supervisor(
            {"role": "rerank", "path": str(path), **asdict(chosen)}, chosen.hang_seconds
        )

    @property
    def name(self) -> str:
        """The model's name; starts the worker if it is not running."""
        return str(self._worker.get().description["name"])

    @property
    def fingerprint(self) -> str:
        """Stable identity of the model's file; starts the worker if it is not running."""
        return str(self._worker.get().description["fingerprint"])

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the question, in their order; higher is better, of one question only.

        Long texts are cut. Raises `EngineError`, and `ModelInvalid` if the model does not rank texts.
        """
        if not texts:
            return []
        answer = self._worker.ask({"op": "rank", "question": question, "texts": list(texts)})
        scores = [float(score) for score in answer["counts"]]
        if len(scores) != len(texts):
            raise EngineError(f"The reranker gave {len(scores)} scores for {len(texts)} texts.")
        return scores

    def close(self) -> None:
        """Stop the worker. May be called twice."""
        self._worker.close()
