"""Answers a question: what is found for it, then the text as it is written, then the whole answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from localrag.answering.question import clean_question
from localrag.answering.types import Answer, AnswerText, AskEvent, Found
from localrag.answering.writing import Writing
from localrag.engine.types import Embedder, EmbeddingSpace, TextKind
from localrag.engines import Engines
from localrag.errors import NothingIndexed
from localrag.retrieval.search import Retriever, check_mode
from localrag.retrieval.types import Retrieved
from localrag.settings import Settings
from localrag.stopping import wait_for
from localrag.store.database import Store
from localrag.store.rows import SpaceRow


class Answerer:
    """Answers questions from one file."""

    def __init__(self, store: Store, engines: Engines, settings: Settings) -> None:
        self._store = store
        self._engines = engines
        self._settings = settings

    def retrieve(self, question: str, mode: str, cancel: threading.Event | None = None) -> Retrieved:
        """What is found for a question, without asking the language model.

        Raises `UsageError` for an empty question or an unknown mode, `NothingIndexed`, `Cancelled`.
        """
        check_mode(mode)
        text = clean_question(question)
        if not self._store.chunks.count().total:
            raise _nothing_indexed(len(self._store.documents.list()))
        embedder = _FittingEmbedder(self._engines, self._store.vectors.active_space(), cancel)
        retrieved = Retriever(self._store, embedder, self._settings.retrieval).retrieve(text, mode)
        return replace(retrieved, notes=(*retrieved.notes, *embedder.notes()))

    def stream(
        self, question: str, mode: str = "mix", cancel: threading.Event | None = None
    ) -> Generator[AskEvent, None, None]:
        """What is found, then the answer piece by piece; the last event is the `Answer`.

        Raises as `retrieve` does, and `ModelNotFound`, `PromptTooLong`, `EngineError`.
        """
        began = time.monotonic()
        retrieved = self.retrieve(question, mode, cancel)
        seconds = {"retrieval": time.monotonic() - began}
        yield Found(retrieved)
        writing = Writing(self._store, self._engines, self._settings, retrieved, cancel)
        parts: list[str] = []
        for event in writing.events():
            if isinstance(event, AnswerText):
                seconds.setdefault("first_text", time.monotonic() - began)
                parts.append(event.text)
            yield event
        seconds["total"] = time.monotonic() - began
        yield Answer(
            question=retrieved.question,
            answer="".join(parts),
            abstained=writing.abstained,
            mode=mode,
            model=writing.model,
            coverage=retrieved.coverage,
            citations=writing.citations(),
            language=writing.language,
            seconds=seconds,
            retrieved=retrieved,
        )


def _nothing_indexed(documents: int) -> NothingIndexed:
    if documents:
        return NothingIndexed(
            "There is no text in the knowledge base: its documents are empty or could not be read.",
            "See localrag status for the reasons.",
        )
    return NothingIndexed("There is nothing in the knowledge base yet.", "Put texts in: localrag add FOLDER")


class _FittingEmbedder:
    """The embedding model that made a file's vectors, if it is here, else that of the settings.

    It is looked for at its first use, and not waited for once it is told to stop.
    """

    def __init__(self, engines: Engines, space: SpaceRow | None, cancel: threading.Event | None) -> None:
        self._engines = engines
        self._space = space
        self._cancel = cancel
        self._used: Embedder | None = None

    @property
    def space(self) -> EmbeddingSpace:
        return wait_for(lambda: self._embedder().space, self._cancel)

    def embed(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
        return wait_for(lambda: self._embedder().embed(texts, kind), self._cancel)

    def close(self) -> None:
        """The engines close it."""

    def notes(self) -> tuple[str, ...]:
        """What to tell if another model than the one in the settings was used."""
        named = self._engines.named_embedder
        if not named or self._space is None or self._used is None or self._engines.is_configured(self._used):
            return ()
        return (
            f"The settings name the embedding model {named}; this knowledge base has the vectors of "
            f"{self._space.model}, so that one was used. localrag reembed makes new vectors.",
        )

    def _embedder(self) -> Embedder:
        if self._used is None:
            engines = self._engines
            self._used = engines.embedder if self._space is None else engines.embedder_of(self._space)
        return self._used
