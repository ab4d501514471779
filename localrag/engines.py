"""Holds the two models of a run, each found by the settings, here or at a server, and started when used."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from localrag.catalogue.entries import Role
from localrag.catalogue.installed import embedding_profile, find_embedding_model, find_model
from localrag.engine.options import EngineOptions
from localrag.engine.programs import Decide
from localrag.engine.types import Embedder, Generation, GenerationRequest, LanguageModel, Pausable
from localrag.errors import Cancelled, ModelError, SettingsError
from localrag.pausing import Pause
from localrag.retrieval.rerank import Reranking
from localrag.settings import Settings
from localrag.stopping import POLL
from localrag.store.rows import GenerationRow
from localrag.store.space_rows import SpaceFields

if TYPE_CHECKING:
    from localrag.engine.gguf import GgufInfo
    from localrag.engine.measuring import Measured
    from localrag.engine.tuned import Tuning

REMOTE_POOLING = "remote"
"""What the space of vectors made at a server says of their pooling."""

MEASURING = "Measuring this machine (once, about 20 s)..."
"""Told before the first measurement."""


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
        others: Mapping[str, Embedder] | None = None,
        reranker: Reranking | None = None,
    ) -> None:
        """`others` are further embedding models by name, for files whose vectors they made; `reranker` puts
        passages in order."""
        self._settings = settings or Settings()
        self._lock = threading.RLock()
        self._measuring = threading.Lock()
        self._model = model
        self._model_given = model is not None
        self._embedder = embedder
        self._embedder_given = embedder is not None
        self._others = dict(others or {})
        self._reranker = reranker
        self._inspected: tuple[tuple[Path, int, int, int], GgufInfo] | None = None
        self.background = Pause()
        """Whether indexing stands still; switched by `pause_background` and `resume_background`."""

    def pause_background(self) -> None:
        """Let indexing stand still where it is, while questions are answered. Does not wait."""
        self.background.pause()
        self._tell(self._model)

    def resume_background(self) -> None:
        """Let indexing go on."""
        self.background.resume()
        self._tell(self._model)

    def _tell(self, model: object) -> None:
        """Tell a model that can keep background work in place; with others, indexing hands out nothing."""
        if isinstance(model, Pausable):
            if self.background.paused:
                model.pause_background()
            else:
                model.resume_background()

    @property
    def model(self) -> LanguageModel:
        """The language model. Raises `ModelNotFound` or, if its file is damaged, `ModelInvalid`."""
        with self._lock:
            if self._model is None:
                self._model = self._found_model()
                self._tell(self._model)
            return self._model

    @property
    def embedder(self) -> Embedder:
        """The embedding model. Raises as `model` does."""
        with self._lock:
            if self._embedder is None:
                self._embedder = self._found_embedder()
            return self._embedder

    @property
    def has_reranker(self) -> bool:
        """Whether a model that ranks passages was given, or is named by the settings."""
        return self._reranker is not None or bool(self._settings.models.reranker.strip())

    @property
    def reranker(self) -> Reranking:
        """The model that ranks passages. Raises `ModelNotFound` or `ModelInvalid`."""
        with self._lock:
            if self._reranker is None:
                from localrag.catalogue.rerankers import find_reranker
                from localrag.engine.reranker import WorkerReranker

                self._reranker = WorkerReranker(find_reranker(self._settings.models.reranker), self.options())
            return self._reranker

    @property
    def named_embedder(self) -> str:
        """The embedding model that the settings ask for; empty if they leave the choice to us."""
        remote = self._settings.remote
        return remote.embed_model if remote.embed_url else self._settings.models.embed.strip()

    def is_configured(self, embedder: Embedder) -> bool:
        """Whether this is the embedding model of the settings."""
        return embedder is self._embedder

    def embedder_named(self, name: str) -> Embedder:
        """An embedding model of this machine, by name or path, whatever the settings say.

        Raises `ModelNotFound` and `ModelInvalid`.
        """
        with self._lock:
            if name in self._others:
                return self._others[name]
            return self._embedder_at(find_model(name, "embed"))

    def embedder_of(self, space: SpaceFields) -> Embedder:
        """The embedding model that made the vectors of a space, if it is here; else that of the settings.

        Raises as `embedder` does, and `EngineError` if the model cannot be started.
        """
        other = None if space.pooling == REMOTE_POOLING else self._other(space.model)
        if other is not None and other.space.fingerprint == space.fingerprint:
            return other
        return self.embedder

    def embedder_for(self, active: SpaceFields | None) -> Embedder:
        """The embedding model to work with on a file that is searched by vectors of `active`, or has none.

        The one that the settings name; where they name none, the one that made the file's vectors. Raises as
        `embedder_of` does.
        """
        return self.embedder if active is None or self.named_embedder else self.embedder_of(active)

    def _other(self, name: str) -> Embedder | None:
        with self._lock:
            if name in self._others:
                return self._others[name]
            path = find_embedding_model(name)
            return self._embedder_at(path) if path is not None else None

    def _embedder_at(self, path: Path) -> Embedder:
        """The model in a file, one worker for each file; called with the lock held."""
        if self._configured_path() == path:
            return self.embedder
        key = str(path)
        if key not in self._others:
            self._others[key] = self._worker_embedder(path)
        return self._others[key]

    def _configured_path(self) -> Path | None:
        """The file of `embedder`, if it is one that we looked for on this machine."""
        if self._embedder_given or self._settings.remote.embed_url:
            return None
        try:
            return find_model(self._settings.models.embed, "embed")
        except ModelError:
            # Who needs that model is told when it is used.
            return None

    def has_model(self) -> bool:
        """Whether `model` can be had, without starting it."""
        with self._lock:
            if self._model is not None or self._settings.remote.url:
                return True
            return _is_installed(self._settings.models.chat, "chat")

    def has_embedder(self) -> bool:
        """Whether `embedder` can be had, without starting it."""
        with self._lock:
            if self._embedder is not None or self._settings.remote.embed_url:
                return True
            return _is_installed(self._settings.models.embed, "embed")

    def embedder_waits(self) -> bool:
        """Whether an embedding model of this machine has to be loaded before it can be used."""
        with self._lock:
            held = [self._embedder, *self._others.values()]
            given = self._embedder_given or bool(self._settings.remote.embed_url)
        return not given and all(getattr(item, "pid", None) is None for item in held)

    def needs_measuring(self) -> bool:
        """Whether the language model was never measured on this machine, and the settings want it to be.

        False if there is no model, or one that was given or is in use already.
        """
        with self._lock:
            if self._model is not None or self._settings.engine.tune == "off" or not self._is_local():
                return False
        from localrag.engine.measuring import is_due

        try:
            return is_due(find_model(self._settings.models.chat, "chat"), self.options())
        except ModelError:
            # Who needs the model is told when it is started.
            return False

    def measure(
        self, tell: Callable[[str], None] = lambda text: None, cancel: threading.Event | None = None
    ) -> Measured:
        """Measure the language model on this machine and keep the result; `tell` hears of every step.

        Raises `Cancelled` when `cancel` is set, and as starting the model does. Takes half a minute at most,
        the loading of a large model not counted.
        """
        from localrag.engine.measuring import measure

        path = find_model(self._settings.models.chat, "chat")
        return measure(path, self.options(), tell=tell, cancel=cancel)

    def measure_first(
        self, tell: Callable[[str], None] = lambda text: None, cancel: threading.Event | None = None
    ) -> Measured | None:
        """`measure` if `needs_measuring`, told of beforehand; None if it was not needed.

        If another thread is measuring it waits for that. Raises as `measure` does.
        """
        while not self._measuring.acquire(timeout=POLL):
            if cancel is not None and cancel.is_set():
                raise Cancelled("Stopped.", "What was done before is kept.")
        try:
            if not self.needs_measuring():
                return None
            tell(MEASURING)
            return self.measure(tell, cancel)
        finally:
            self._measuring.release()

    def measured(self) -> tuple[str, Tuning | None]:
        """Fingerprint of the language model that would be used, and what is known of its speed here, without
        starting it; empty and None for a server's, for one that was given, and for none."""
        with self._lock:
            if not self._is_local():
                return "", None
        from localrag.engine.client import WorkerModel
        from localrag.engine.gguf import inspect
        from localrag.engine.tuned import stored, subject

        if self._model is not None and not isinstance(self._model, WorkerModel):
            return "", None
        try:
            path = find_model(self._settings.models.chat, "chat")
            file = path.stat()
            seen = (path, file.st_ino, file.st_size, file.st_mtime_ns)
            # Every question asks for this, and to read a header takes about 50 ms.
            info = self._inspected[1] if self._inspected and self._inspected[0] == seen else inspect(path)
            self._inspected = (seen, info)
            return info.fingerprint, stored(subject(info, self.options()))
        except (ModelError, OSError):
            # Who needs the model is told when it is started.
            return "", None

    def notes(self) -> tuple[str, ...]:
        """What a person should know of how the language model runs here; nothing before it has started."""
        from localrag.engine.client import WorkerModel
        from localrag.engine.remote_choice import notices

        model = self._model
        said: tuple[str, ...] = ()
        if model is not None or self._embedder is not None:
            # An address that cannot be used is told where it is used.
            with contextlib.suppress(SettingsError):
                said = notices(self._settings.remote)
        if isinstance(model, WorkerModel) and model.pid is not None:
            return (*said, *model.describe().notes)
        return said

    def find_again(self) -> None:
        """Find the models anew at their next use, since other files are there now; workers are stopped, so
        nothing may be using them. Models that were given stay."""
        dropped: list[LanguageModel | Embedder | Reranking | None] = []
        with self._lock:
            if not self._model_given:
                dropped.append(self._model)
                self._model = None
            if not self._embedder_given:
                dropped += [self._embedder, *self._others.values()]
                self._embedder = None
                self._others.clear()
        for engine in dropped:
            if engine is not None:
                engine.close()

    def close(self) -> None:
        """Stop the workers. May be called twice; a later use starts them again."""
        with self._lock:
            held = (self._model, self._embedder, self._reranker, *self._others.values())
        for engine in held:
            if engine is not None:
                engine.close()

    def _found_model(self) -> LanguageModel:
        if self._settings.remote.url:
            from localrag.engine.remote_choice import remote_model

            return remote_model(self._settings.remote)
        from localrag.engine.client import WorkerModel

        return WorkerModel(find_model(self._settings.models.chat, "chat"), self.options())

    def _found_embedder(self) -> Embedder:
        if self._settings.remote.embed_url:
            from localrag.engine.remote_choice import remote_embedder

            return remote_embedder(self._settings.remote)
        return self._worker_embedder(find_model(self._settings.models.embed, "embed"))

    def _worker_embedder(self, path: Path) -> Embedder:
        from localrag.engine.client import WorkerEmbedder

        profile = embedding_profile(path)
        return WorkerEmbedder(
            path,
            self.options(),
            query_prefix=profile.query_prefix,
            passage_prefix=profile.passage_prefix,
            limit=profile.limit,
        )

    def _is_local(self) -> bool:
        """Whether the language model runs on this machine."""
        return not self._settings.remote.url

    def options(self) -> EngineOptions:
        """How workers are started, as the settings say."""
        engine = self._settings.engine
        return EngineOptions(
            n_ctx=engine.n_ctx,
            sequences=engine.sequences,
            threads=engine.threads,
            batch=engine.batch,
            gpu_layers=engine.gpu_layers,
            width=engine.width,
            prefix_mb=engine.prefix_mb,
            ubatch=engine.ubatch,
            kv_type=engine.kv_type,
            flash_attention=engine.flash_attention,
            devices=engine.devices,
            split_mode=engine.split_mode,
            tensor_split=tuple(float(share) for share in engine.tensor_split),
            main_gpu=engine.main_gpu,
            chat_template=self._settings.models.chat_template,
            hang_seconds=engine.hang_seconds,
        )


def _is_installed(name: str, role: Role) -> bool:
    try:
        find_model(name, role)
    except ModelError:
        return False
    return True


def generation_row(request: GenerationRequest, generation: Generation, prompt: str) -> GenerationRow:
    """A call for the journal; `prompt` is the hash of its kept prompt."""
    parameters: dict[str, object] = {
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "seed": request.seed,
        "program": request.program.kind,
        "shared_tokens": generation.shared_tokens,
        "forced_tokens": generation.forced_tokens,
        "weighed_tokens": generation.weighed_tokens,
        "tokens_sha256": generation.prompt_hash,
    }
    if isinstance(request.program, Decide) and generation.probabilities:
        parameters["probabilities"] = dict(
            zip(request.program.options, generation.probabilities, strict=True)
        )
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
