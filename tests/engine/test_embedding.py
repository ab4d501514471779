"""The embedding worker: unit vectors, batches equal to singles, limits kept, bad models refused."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import pytest

from localrag.engine.client import WorkerEmbedder, WorkerModel
from localrag.errors import EngineError, ModelInvalid
from tests.engine.random_model import build_embedder

TEXTS = ["the ferry leaves at noon", "a keeper lights the lamp", "zzz", "the " * 200, "harbour", "x\0y"]


def test_vectors_have_length_one_and_the_models_dimension(embedder: WorkerEmbedder) -> None:
    vectors = embedder.embed(TEXTS, "passage")
    assert vectors.shape == (len(TEXTS), embedder.space.dimension)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_a_batch_gives_what_single_calls_give(embedder: WorkerEmbedder) -> None:
    together = embedder.embed(TEXTS * 15, "passage")
    apart = np.concatenate([embedder.embed([text], "passage") for text in TEXTS])
    assert float((together[: len(TEXTS)] * apart).sum(axis=1).min()) > 0.9999


def test_texts_beyond_the_limit_are_cut_and_keep_their_end(embedder: WorkerEmbedder) -> None:
    (ids,) = embedder.token_ids(["the " * 600])
    assert len(ids) == embedder.space.limit
    assert ids[0] == 2
    assert ids[-1] == 3


def test_questions_carry_their_prefix(embedder: WorkerEmbedder) -> None:
    asked = embedder.embed(["the lamp"], "query")
    told = embedder.embed(["ask the lamp"], "passage")
    assert float((asked * told).sum()) > 0.9999


def test_an_empty_text_is_refused(embedder: WorkerEmbedder) -> None:
    with pytest.raises(EngineError, match="empty"):
        embedder.embed(["fine", "  "], "passage")
    assert embedder.embed(["fine"], "passage").shape[0] == 1


def test_nothing_gives_nothing(embedder: WorkerEmbedder) -> None:
    assert embedder.embed([], "passage").shape == (0, embedder.space.dimension)


def test_the_space_changes_with_prefix_and_limit(
    random_embedder_gguf: Path, embedder: WorkerEmbedder
) -> None:
    other = WorkerEmbedder(random_embedder_gguf, query_prefix="other ", limit=64)
    try:
        assert other.space.fingerprint != embedder.space.fingerprint
    finally:
        other.close()


def test_a_model_without_pooling_is_refused(tmp_path: Path) -> None:
    path = build_embedder(tmp_path / "none.gguf", pooling=gguf.PoolingType.NONE)
    with pytest.raises(ModelInvalid):
        WorkerEmbedder(path).space  # noqa: B018


def test_the_two_kinds_of_worker_do_not_mix(random_embedder_gguf: Path) -> None:
    with pytest.raises(ModelInvalid, match="embedding"):
        WorkerModel(random_embedder_gguf).describe()
