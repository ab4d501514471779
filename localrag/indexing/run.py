"""One index run from beginning to end: vectors of the chunks, their reading, vectors of what was found.

Every batch of vectors and every chunk read is one transaction, so whatever ends the run, the next one
starts behind the last of them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator

from localrag.engines import Engines
from localrag.errors import Cancelled, EngineError, KnowledgeBaseReadOnly, ModelError
from localrag.extraction.extractor import Extractor
from localrag.indexing.events import ChunkFailed, ChunkRead, Finished, IndexEvent, IndexReport, Note, Started
from localrag.indexing.reading import ReadingStage
from localrag.indexing.vectors import VectorStage
from localrag.settings import Settings
from localrag.store.database import Store


def index(
    store: Store, engines: Engines, settings: Settings, cancel: threading.Event | None = None
) -> Generator[IndexEvent, None, None]:
    """Embed and read what is new, then embed the entities and relations found; events come as it happens.

    When `cancel` is set it stops within half a second and ends with `Finished` as always.
    Raises `KnowledgeBaseReadOnly` and `SettingsError` at once; while it is iterated, before anything is done,
    `EmbeddingSpaceMismatch` if the embedding model is another than the file's, and `ModelNotFound` or
    `ModelInvalid` if the settings name one that cannot be had; `ModelNotFound` if there is something to read
    and no model, after the vectors; `EngineError` if the engine as a whole fails. What was stored is kept.
    """
    if store.read_only:
        raise KnowledgeBaseReadOnly(
            f"{store.path.name} can be asked but not changed.", "Open it where it can be written."
        )
    return _Run(store, engines, settings, cancel).events()


class _Run:
    """One run of `index`."""

    def __init__(
        self, store: Store, engines: Engines, settings: Settings, cancel: threading.Event | None
    ) -> None:
        self._store = store
        self._engines = engines
        self._embedder_named = bool(settings.models.embed)
        # Before anything is done, so that a setting without meaning is told at once.
        self._extractor = Extractor(settings.extraction)
        self._cancel = cancel
        self._began = time.monotonic()
        self._read = 0
        self._failed = 0
        self._left_out = 0
        self._rejects = 0

    def events(self) -> Generator[IndexEvent, None, None]:
        """The whole run."""
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
            yield from vectors.run("entity")
            yield from vectors.run("relation")

    def _vectors(self) -> tuple[VectorStage | None, Note | None]:
        """The vectors' stage, or why there is none: reading is worth it without vectors too.

        A model that a person named is another matter: a name that fits none is told at once.
        """
        try:
            pause = self._engines.background
            return VectorStage(self._store, self._engines.embedder, self._cancel, pause), None
        except Cancelled:
            raise
        except (EngineError, ModelError) as error:
            if self._embedder_named and isinstance(error, ModelError):
                raise
            text = f"No vectors are made, so questions will search words and names only. {error}"
            return None, Note(text)

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
