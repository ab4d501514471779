"""Fixtures of the engine's tests: workers with models of random weights, built once a session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localrag.engine.client import WorkerEmbedder, WorkerModel
from localrag.engine.options import EngineOptions
from tests.engine.random_model import build, build_embedder


@pytest.fixture(scope="session")
def random_gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A language model of random weights."""
    return build(tmp_path_factory.mktemp("random") / "random.gguf")


@pytest.fixture(scope="session")
def random_embedder_gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An embedding model of random weights."""
    return build_embedder(tmp_path_factory.mktemp("random") / "embedder.gguf")


@pytest.fixture(scope="module")
def model(random_gguf: Path) -> Iterator[WorkerModel]:
    """A running worker; a test that kills it leaves a worker that starts again."""
    worker = WorkerModel(random_gguf, EngineOptions(n_ctx=8192, sequences=6, threads=1))
    yield worker
    worker.close()


@pytest.fixture(scope="module")
def embedder(random_embedder_gguf: Path) -> Iterator[WorkerEmbedder]:
    """A running embedding worker."""
    worker = WorkerEmbedder(random_embedder_gguf, EngineOptions(threads=1), query_prefix="ask ", limit=64)
    yield worker
    worker.close()
