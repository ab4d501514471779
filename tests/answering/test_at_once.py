"""What is found is shown at once, also before the embedding model is loaded."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from localrag.answering.options import AskOptions
from localrag.answering.types import Found
from localrag.engine.scripted import ScriptedEmbedder
from localrag.engine.types import EmbeddingSpace, ModelDescription, TextKind
from localrag.engines import Engines
from localrag.kb import KnowledgeBase
from localrag.settings import Settings
from tests.answering.helpers import QUESTION
from tests.conftest import DESCRIBED, reader

FRESH = AskOptions(fresh=True, mode="mix")


class Loading(ScriptedEmbedder):
    """Is not there before it is let go on, as a model that is loaded from disk."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()
        self.loaded = threading.Event()
        self.pid: int | None = None

    @property
    def space(self) -> EmbeddingSpace:
        # As a worker's: its process is there before the model is loaded.
        self.pid = 1
        self.begun.set()
        assert self.loaded.wait(20)
        return super().space

    def embed(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
        assert self.loaded.wait(20)
        return super().embed(texts, kind)


def waiting(embedder: Loading) -> Engines:
    """Engines whose embedding model is one that they found themselves."""
    engines = Engines(Settings(), reader("It is so."))
    engines._embedder = embedder
    return engines


def test_words_are_searched_while_the_embedding_model_loads(kb: KnowledgeBase) -> None:
    embedder = Loading()
    with KnowledgeBase.open(kb.path, settings=DESCRIBED, engines=waiting(embedder)) as opened:
        events = opened.stream(QUESTION, options=FRESH)
        first = next(events)
        # Nothing is there to embed with, and yet the passages are.
        assert not embedder.loaded.is_set()
        assert isinstance(first, Found)
        assert not first.final
        assert first.retrieved.passages[0].document == "bridge.md"
        assert first.retrieved.entities
        assert first.retrieved.notes == ()
        assert embedder.begun.wait(5), "it is loaded meanwhile"
        embedder.loaded.set()
        second = next(events)
        assert isinstance(second, Found)
        assert second.final
        assert any("vector" in passage.sources for passage in second.retrieved.passages)
        assert not any("vector" in passage.sources for passage in first.retrieved.passages)
        events.close()
        # Now that it runs, there is nothing to wait for.
        found = [event for event in opened.stream(QUESTION, options=FRESH) if isinstance(event, Found)]
    assert [event.final for event in found] == [True]


def test_an_embedding_model_that_is_there_is_not_gone_before(kb: KnowledgeBase) -> None:
    found = [event for event in kb.stream(QUESTION, options=FRESH) if isinstance(event, Found)]
    assert [event.final for event in found] == [True]


def test_without_vectors_no_embedding_model_is_loaded(empty_kb: KnowledgeBase, library: Path) -> None:
    empty_kb.add([library])
    embedder = Loading()
    with KnowledgeBase.open(empty_kb.path, settings=DESCRIBED, engines=waiting(embedder)) as opened:
        found = [event for event in opened.stream(QUESTION, options=FRESH) if isinstance(event, Found)]
    assert [event.final for event in found] == [True]
    assert not embedder.begun.is_set()


def test_the_language_model_is_loaded_while_the_texts_are_searched(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = threading.Event()
    model = reader("It is so.")
    describe = model.describe

    def described() -> ModelDescription:
        if threading.current_thread().name == "localrag-warm-up":
            loaded.set()
        return describe()

    monkeypatch.setattr(model, "describe", described)
    engines = Engines(DESCRIBED, model, ScriptedEmbedder())
    with KnowledgeBase.open(kb.path, settings=DESCRIBED, engines=engines) as opened:
        events = opened.stream(QUESTION, options=FRESH)
        assert isinstance(next(events), Found)
        assert loaded.wait(5)
        events.close()
