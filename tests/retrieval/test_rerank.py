"""A reranker puts the best passages in order, and what goes wrong with it is told."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from localrag.engine.scripted import ScriptedEmbedder
from localrag.errors import Cancelled, EngineCrashed
from localrag.retrieval.search import Retriever, Tools
from localrag.retrieval.types import RetrievalOptions
from localrag.sections import RetrievalSettings
from localrag.store.database import Store

QUESTION = "What happened at the river Orla?"


class Prefers:
    """Ranks texts with a word first."""

    def __init__(self, word: str, error: Exception | None = None) -> None:
        self._word = word
        self._error = error
        self.read: list[str] = []

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        if self._error:
            raise self._error
        assert question == QUESTION
        self.read += texts
        return [5.0 if self._word in text else -5.0 for text in texts]

    def close(self) -> None:
        pass


def ask(store: Store, model: Prefers, **options: bool) -> tuple[list[str], tuple[str, ...]]:
    retriever = Retriever(store, ScriptedEmbedder(), RetrievalSettings(), Tools(reranker=lambda: model))
    found = retriever.retrieve(QUESTION, RetrievalOptions(mode="naive", **options))  # type: ignore[arg-type]
    return [passage.document for passage in found.passages], found.notes


@pytest.mark.parametrize(("word", "document"), [("museum", "mill.txt"), ("granite", "bridge.md")])
def test_its_order_counts_most(store: Store, word: str, document: str) -> None:
    model = Prefers(word)
    documents, notes = ask(store, model)
    assert documents[0] == document
    assert len(model.read) > 1
    assert notes == ()


def test_it_can_be_left_out(store: Store) -> None:
    model = Prefers("museum")
    ask(store, model, rerank=False)
    assert model.read == []


def test_a_reranker_that_fails_leaves_the_order_and_is_told(store: Store) -> None:
    before, _ = ask(store, Prefers(""), rerank=False)
    documents, (note,) = ask(store, Prefers("", EngineCrashed("The engine died.")))
    assert documents == before
    assert note == "The reranker cannot be used (The engine died)."


def test_a_stop_is_no_note(store: Store) -> None:
    with pytest.raises(Cancelled):
        ask(store, Prefers("", Cancelled("Stopped.")))


def test_its_scores_are_in_the_trace(store: Store) -> None:
    tools = Tools(reranker=lambda: Prefers("museum"))
    found = Retriever(store, None, RetrievalSettings(), tools).retrieve(QUESTION, "naive")
    places = {item.id: item.places for item in found.trace.candidates["chunk"]}
    best = found.passages[0]
    assert places[best.chunk_id]["rerank"].score == 5.0
    assert "rerank" in found.trace.milliseconds
    assert "rerank" in best.sources
