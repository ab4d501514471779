"""One index run from beginning to end: vectors of the chunks, their reading, vectors of what was found.

Every batch of vectors and every chunk read is one transaction, so whatever ends the run, the next one
starts behind the last of them.
"""

from __future__ import annotations

import contextlib
import shlex
import threading
import time
from collections.abc import Generator, Iterator

from localrag.engine.types import Embedder
from localrag.engines import Engines
from localrag.errors import Cancelled, EngineError, ModelError
from localrag.extraction.extractor import Extractor
from localrag.indexing.events import ChunkFailed, ChunkRead, Finished, IndexEvent, IndexReport, Note, Started
from localrag.indexing.reading import ReadingStage
from localrag.indexing.vectors import REEMBED, VectorStage
from localrag.prompts.personal import own_prompts
from localrag.runlock import Unlockable, only_run
from localrag.settings import Settings
from localrag.stopping import wait_for
from localrag.store.database import Store
from localrag.store.sqlite import read_only_error


def index(
    store: Store, engines: Engines, settings: Settings, cancel: threading.Event | None = None
) -> Generator[IndexEvent, None, None]:
    """Embed and read what is new, then embed the entities and relations found; events come as it happens.

    When `cancel` is set it stops within half a second and ends with `Finished` as always.
    Raises `KnowledgeBaseReadOnly`, `SettingsError` and `PromptError` at once; while it is iterated, before
    anything is done, `KnowledgeBaseBusy` if another program indexes the file, `EmbeddingSpaceMismatch` if the
    embedding model is another than the file's, and `ModelNotFound` or `ModelInvalid` if the settings name one
    that cannot be had; `ModelNotFound` if there is something to read and no model, after the vectors;
    `EngineError` if the engine as a whole fails. What was stored is kept.
    """
    if store.read_only:
        raise read_only_error(store.path)
    return _Run(store, engines, settings, cancel).events()


def reembed_command(settings: Settings) -> str:
    """The command that makes vectors of the model in these settings, as a shell takes it."""
    named = settings.models.embed.strip()
    if not named or settings.remote.embed_url:
        return REEMBED
    return f"{REEMBED} --embed-model {shlex.quote(named)}"


class _Run:
    """One run of `index`."""

    def __init__(
        self, store: Store, engines: Engines, settings: Settings, cancel: threading.Event | None
    ) -> None:
        self._store = store
        self._engines = engines
        self._settings = settings
        self._embedder_named = bool(settings.models.embed)
        self._active = store.vectors.active_space()
        # Before anything is done, so that a setting without meaning is told at once.
        self._extractor = Extractor(settings.extraction, own_prompts(settings))
        self._cancel = cancel
        self._began = time.monotonic()
        self._read = 0
        self._failed = 0
        self._left_out = 0
        self._rejects = 0

    def events(self) -> Generator[IndexEvent, None, None]:
        """The whole run."""
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(only_run(self._store.path))
            except Unlockable as error:
                yield Note(f"Another program that indexes this file would not be noticed: {error}")
            yield from self._whole()

    def _whole(self) -> Iterator[IndexEvent]:
        cancelled = False
        try:
            yield from self._work()
        except Cancelled:
            cancelled = True
        graph = self._store.graph.counts()
        yield Finished(
            IndexReport(
                read=self._read,
                failed=self._failed,
                entities=graph.entities,
                relations=graph.relations,
                rejects=self._rejects,
                seconds=time.monotonic() - self._began,
                cancelled=cancelled,
                left_out=self._left_out,
            )
        )

    def _work(self) -> Iterator[IndexEvent]:
        vectors, note = self._vectors()
        pending = [(row.document_id, row.tokens) for row in self._store.chunks.pending()]
        to_embed = vectors.missing("chunk") if vectors is not None else 0
        yield Started(len(pending), to_embed, len({document for document, _ in pending}))
        if note is not None:
            yield note
        if vectors is not None:
            yield from vectors.run("chunk")
        if pending:
            yield from self._reading(len(pending), sum(tokens for _, tokens in pending))
        if vectors is not None:
            if pending and not vectors.given_up:
                # Also those of what another program, or a watch, put in meanwhile.
                yield from vectors.run("chunk")
            yield from vectors.run("entity")
            yield from vectors.run("relation")
            if problem := self._store.vectors.prepare():
                yield Note(f"Searching will be slower than it could be. {problem}")

    def _vectors(self) -> tuple[VectorStage | None, Note | None]:
        """The vectors' stage, or why there is none: reading is worth it without vectors too.

        A model that a person named is another matter: a name that fits none is told at once.
        """
        try:
            embedder = wait_for(self._embedder, self._cancel)
            fix = reembed_command(self._settings)
            pause = self._engines.background
            return VectorStage(self._store, embedder, self._cancel, pause, fix=fix), None
        except Cancelled:
            raise
        except (EngineError, ModelError) as error:
            if self._embedder_named and isinstance(error, ModelError):
                raise
            text = f"No vectors are made, so questions will search words and names only. {error}"
            return None, Note(text)

    def _embedder(self) -> Embedder:
        """The model that the settings name; where they name none, the one that made the file's vectors."""
        if self._active is None or self._engines.named_embedder:
            return self._engines.embedder
        return self._engines.embedder_of(self._active)

    def _reading(self, total: int, tokens: int) -> Iterator[IndexEvent]:
        stage = ReadingStage(
            self._store, self._extractor, self._engines.model, self._cancel, self._engines.background
        )
        for event in stage.run(total, tokens):
            if isinstance(event, ChunkRead):
                self._read += 1
                self._rejects += event.rejects
            elif isinstance(event, ChunkFailed):
                self._failed += 1
                self._left_out += event.left_out
            yield event
