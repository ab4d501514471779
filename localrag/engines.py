"""Holds the two models of a run, each found by the settings and started at its first use."""

from __future__ import annotations

import json
import threading

from localrag.catalogue.entries import Role
from localrag.catalogue.installed import embedding_profile, find_model
from localrag.engine.types import Embedder, EngineOptions, Generation, GenerationRequest, LanguageModel
from localrag.errors import ModelError
from localrag.settings import Settings
from localrag.store.rows import GenerationRow


class Engines:
    """The model that reads and answers, and the one that makes vectors. Safe to use from several threads.

    Those that are given are used as they are; others are found by the settings when they are first needed,
    and their workers start at the first call.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        model: LanguageModel | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self._settings = settings or Settings()
        self._lock = threading.RLock()
        self._model = model
        self._embedder = embedder

    @property
    def model(self) -> LanguageModel:
        """The language model. Raises `ModelNotFound` or, if its file is damaged, `ModelInvalid`."""
        with self._lock:
            if self._model is None:
                self._model = self._found_model()
            return self._model

    @property
    def embedder(self) -> Embedder:
        """The embedding model. Raises as `model` does."""
        with self._lock:
            if self._embedder is None:
                self._embedder = self._found_embedder()
            return self._embedder

    def has_model(self) -> bool:
        """Whether `model` can be had, without starting it."""
        with self._lock:
            return self._model is not None or _is_installed(self._settings.models.chat, "chat")

    def has_embedder(self) -> bool:
        """Whether `embedder` can be had, without starting it."""
        with self._lock:
            return self._embedder is not None or _is_installed(self._settings.models.embed, "embed")

    def close(self) -> None:
        """Stop the workers. May be called twice; a later use starts them again."""
        with self._lock:
            held = (self._model, self._embedder)
        for engine in held:
            if engine is not None:
                engine.close()

    def _found_model(self) -> LanguageModel:
        from localrag.engine.client import WorkerModel

        return WorkerModel(find_model(self._settings.models.chat, "chat"), self._options())

    def _found_embedder(self) -> Embedder:
        from localrag.engine.client import WorkerEmbedder

        path = find_model(self._settings.models.embed, "embed")
        profile = embedding_profile(path)
        return WorkerEmbedder(
            path,
            self._options(),
            query_prefix=profile.query_prefix,
            passage_prefix=profile.passage_prefix,
            limit=profile.limit,
        )

    def _options(self) -> EngineOptions:
        engine = self._settings.engine
        return EngineOptions(
            n_ctx=engine.n_ctx,
            sequences=engine.sequences,
            threads=engine.threads,
            batch=engine.batch,
            gpu_layers=engine.gpu_layers,
        )


def _is_installed(name: str, role: Role) -> bool:
    try:
        find_model(name, role)
    except ModelError:
        return False
    return True


def generation_row(request: GenerationRequest, generation: Generation, prompt: str) -> GenerationRow:
    """A call for the journal; `prompt` is the hash of its kept prompt."""
    parameters = {
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "seed": request.seed,
        "program": request.program.kind,
        "shared_tokens": generation.shared_tokens,
        "forced_tokens": generation.forced_tokens,
        "tokens_sha256": generation.prompt_hash,
    }
    return GenerationRow(
        task=request.task,
        prompt_hash=prompt,
        model=generation.model,
        parameters=json.dumps(parameters),
        prompt_tokens=generation.prompt_tokens,
        output_tokens=generation.output_tokens,
        milliseconds=generation.milliseconds,
        finish=generation.finish,
        output=generation.text,
    )


def instructions(request: GenerationRequest) -> str:
    """The part of a prompt that the journal keeps: what is the same for every text and question.

    The rest is documents' text, which is in the file anyway and goes when its document is deleted.
    """
    return "\n\n".join(
        "".join(piece.text for piece in message.pieces if piece.shared) for message in request.messages
    ).strip()
