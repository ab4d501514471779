"""Searches for one question with whatever models there are, and at once without any."""

from __future__ import annotations

import threading
from dataclasses import replace

from localrag.answering.fitting import FittingEmbedder
from localrag.answering.options import AskOptions
from localrag.bases import Bases
from localrag.engines import Engines
from localrag.errors import NothingIndexed
from localrag.prompts.personal import own_prompts
from localrag.retrieval.search import Tools, check_mode
from localrag.retrieval.several import Base, SeveralRetriever
from localrag.retrieval.types import BYPASS, RetrievalOptions, Retrieved
from localrag.settings import Settings
from localrag.store.database import Store


class Search:
    """Searches for one question."""

    def __init__(
        self,
        store: Store,
        engines: Engines,
        settings: Settings,
        options: AskOptions,
        cancel: threading.Event | None,
    ) -> None:
        check_mode(options.mode)
        self._store = store
        self._engines = engines
        self._settings = settings
        self._options = options
        self._cancel = cancel

    def check(self) -> None:
        """Raise `NothingIndexed` if there is no text, unless none is wanted."""
        if self._options.mode != BYPASS and not self._store.chunks.count().total:
            raise _nothing_indexed(len(self._store.documents.list()))

    def found(self, text: str, bases: Bases) -> Retrieved:
        """What is found for a clean question. Raises as `check`, and `Cancelled`."""
        self.check()
        embedders = {name: self._embedder(bases.store(name)) for name in bases.names}
        retriever = SeveralRetriever(
            [Base(name, bases.store(name), embedder) for name, embedder in embedders.items()],
            self._settings.retrieval,
            self._tools(),
        )
        retrieved = retriever.retrieve(text, self._wanted())
        return replace(retrieved, notes=(*retrieved.notes, *embedders[""].notes()))

    def waits(self) -> bool:
        """Whether `found` has to wait for the embedding model to be loaded."""
        space = self._store.vectors.active_space()
        return space is not None and self._options.mode != BYPASS and self._engines.embedder_waits()

    def at_once(self, text: str, bases: Bases) -> Retrieved:
        """What words and names alone find, without any model. Raises as `check`."""
        self.check()
        every = [Base(name, bases.store(name), None) for name in bases.names]
        wanted = replace(self._wanted(), keywords="words", rerank=False)
        retrieved = SeveralRetriever(every, self._settings.retrieval).retrieve(text, wanted)
        return replace(retrieved, notes=())

    def _wanted(self) -> RetrievalOptions:
        options = self._options
        return RetrievalOptions(
            mode=options.mode,
            filter=options.filter,
            keywords=options.keywords,
            rerank=options.rerank,
            passages=options.limit,
        )

    def _embedder(self, store: Store) -> FittingEmbedder:
        return FittingEmbedder(self._engines, store.vectors.active_space(), self._cancel)

    def _tools(self) -> Tools:
        engines = self._engines
        return Tools(
            model=(lambda: engines.model) if engines.has_model() else None,
            reranker=(lambda: engines.reranker) if engines.has_reranker else None,
            own_prompts=own_prompts(self._settings),
            cancel=self._cancel,
        )


def _nothing_indexed(documents: int) -> NothingIndexed:
    if documents:
        return NothingIndexed(
            "There is no text in the knowledge base: its documents are empty or could not be read.",
            "See localrag status for the reasons.",
        )
    return NothingIndexed("There is nothing in the knowledge base yet.", "Put texts in: localrag add FOLDER")
