"""What all questions have in common is made once for each model, and made again if what was kept is bad."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from localrag.engine.scripted import ScriptedEmbedder
from localrag.engine.types import EmbeddingSpace, TextKind
from localrag.retrieval.ordinary import QUESTIONS, ordinary_question


class Counted:
    """An embedder that counts its calls; `name` makes another model of it."""

    def __init__(self, name: str = "one") -> None:
        self._inner = ScriptedEmbedder()
        self._name = name
        self.calls = 0

    @property
    def space(self) -> EmbeddingSpace:
        space = self._inner.space
        return EmbeddingSpace(f"sha256:{self._name}", self._name, space.dimension, space.pooling)

    def embed(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
        assert kind == "query"
        self.calls += 1
        return self._inner.embed(texts, kind)

    def close(self) -> None:
        self._inner.close()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOCALRAG_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_it_is_the_mean_and_is_made_once_for_each_model() -> None:
    embedder, other = Counted(), Counted("two")
    first = ordinary_question(embedder)
    assert np.allclose(first, ScriptedEmbedder().embed(QUESTIONS, "query").mean(axis=0), atol=1e-6)
    assert np.array_equal(ordinary_question(Counted()), first)
    assert np.array_equal(ordinary_question(embedder), first)
    assert embedder.calls == 1
    ordinary_question(other)
    assert other.calls == 1


def test_a_damaged_file_is_made_again(cache: Path) -> None:
    embedder = Counted()
    first = ordinary_question(embedder)
    (path,) = cache.rglob("*.question")
    for damage in (b"", b"\0" * 3, np.full(len(first), np.nan, dtype="<f4").tobytes()):
        path.write_bytes(damage)
        assert np.array_equal(ordinary_question(embedder), first)
    assert embedder.calls == 4


def test_a_cache_that_cannot_be_written_costs_only_time(cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    embedder = Counted()
    assert np.array_equal(ordinary_question(embedder), ordinary_question(embedder))
    assert embedder.calls == 2
