"""Answers a question: what is found for it, then the text as it is written, then the whole answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Sequence

import numpy as np
from numpy.typing import NDArray

from localrag.answering.question import clean_question
from localrag.answering.types import Answer, AnswerText, AskEvent, Found
from localrag.answering.writing import Writing
from localrag.engine.types import EmbeddingSpace, TextKind
from localrag.engines import Engines
from localrag.errors import NothingIndexed
from localrag.retrieval.search import Retriever, check_mode
from localrag.retrieval.types import Retrieved
from localrag.settings import Settings
from localrag.stopping import wait_for
from localrag.store.database import Store


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
        embedder = _LazyEmbedder(self._engines, cancel)
        return Retriever(self._store, embedder, self._settings.retrieval).retrieve(text, mode)

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


class _LazyEmbedder:
    """An embedder that is looked for at its first use, and not waited for once it is told to stop."""

    def __init__(self, engines: Engines, cancel: threading.Event | None) -> None:
        self._engines = engines
        self._cancel = cancel

    @property
    def space(self) -> EmbeddingSpace:
        return wait_for(lambda: self._engines.embedder.space, self._cancel)

    def embed(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
        return wait_for(lambda: self._engines.embedder.embed(texts, kind), self._cancel)

    def close(self) -> None:
        """The engines close it."""
