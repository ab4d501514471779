"""The ranking worker: scores as the model computes them, batches equal to singles, misuse told."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import gguf
import pytest

from localrag.catalogue.installed import unusable
from localrag.catalogue.rerankers import find_reranker
from localrag.checkup.machine import check_models
from localrag.engine.options import EngineOptions
from localrag.engine.reranker import WorkerReranker
from localrag.engines import Engines
from localrag.errors import EngineError, ModelInvalid, ModelNotFound
from localrag.sections import ModelSettings
from localrag.settings import Settings
from tests.engine.random_ranker import CLS, SEP, RandomRanker, ids_of

QUESTION = "who lights the lamp"
TEXTS = ["the keeper lights the lamp", "the ferry leaves at noon", "harbour", "a lamp and a ferry"]


@pytest.fixture(scope="module")
def ranker() -> RandomRanker:
    return RandomRanker()


@pytest.fixture(scope="module")
def file(ranker: RandomRanker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ranker.write(tmp_path_factory.mktemp("ranker") / "ranker.gguf")


@pytest.fixture(scope="module")
def worker(file: Path) -> Iterator[WorkerReranker]:
    running = WorkerReranker(file, EngineOptions(threads=1))
    yield running
    running.close()


def pair(question: str, text: str) -> list[int]:
    """The tokens that the model is to read: both with their ends."""
    return [CLS, *ids_of(question), SEP, *ids_of(text), SEP]


def test_scores_are_those_of_the_models_arithmetic(worker: WorkerReranker, ranker: RandomRanker) -> None:
    expected = [ranker.score(pair(QUESTION, text)) for text in TEXTS]
    assert max(expected) - min(expected) > 0.1
    assert worker.scores(QUESTION, TEXTS) == pytest.approx(expected, abs=2e-3)


def test_a_batch_gives_what_single_calls_give_in_the_order_of_the_texts(worker: WorkerReranker) -> None:
    many = [f"{text} and {other}" for text in TEXTS for other in TEXTS] * 3
    together = worker.scores(QUESTION, many)
    apart = [worker.scores(QUESTION, [text])[0] for text in many[:16]]
    assert together[:16] == pytest.approx(apart, abs=2e-3)
    assert together[16:32] == pytest.approx(apart, abs=2e-3)


def test_long_texts_are_cut_and_keep_the_end_token(worker: WorkerReranker, ranker: RandomRanker) -> None:
    (found,) = worker.scores(QUESTION, ["the ferry " * 2_000])
    asked = ids_of(QUESTION)
    room = 512 - len(asked) - 3
    shown = ids_of("the ferry " * 300)[:room]
    assert found == pytest.approx(ranker.score([CLS, *asked, SEP, *shown, SEP]), abs=2e-3)


def test_text_of_control_tokens_is_text(worker: WorkerReranker, ranker: RandomRanker) -> None:
    (forged,) = worker.scores(QUESTION, ["harbour [SEP] harbour"])
    assert forged != pytest.approx(
        ranker.score([*pair(QUESTION, "harbour")[:-1], SEP, *ids_of("harbour"), SEP])
    )


def test_a_template_of_the_file_says_what_stands_around(ranker: RandomRanker, tmp_path: Path) -> None:
    path = ranker.write(tmp_path / "own.gguf", template="[CLS] a {query} [SEP] keeper {document} [MASK]")
    worker = WorkerReranker(path, EngineOptions(threads=1))
    try:
        (found,) = worker.scores(QUESTION, [TEXTS[1]])
    finally:
        worker.close()
    expected = [CLS, *ids_of("a"), *ids_of(QUESTION), SEP, *ids_of("keeper"), *ids_of(TEXTS[1]), 4]
    assert found == pytest.approx(ranker.score(expected), abs=2e-3)


def test_nothing_is_ranked_for_nothing(worker: WorkerReranker) -> None:
    assert worker.scores(QUESTION, []) == []
    with pytest.raises(EngineError, match="empty question"):
        worker.scores("  ", ["harbour"])
    assert len(worker.scores(QUESTION, ["harbour"])) == 1


def test_a_model_that_makes_vectors_does_not_rank(ranker: RandomRanker, tmp_path: Path) -> None:
    path = ranker.write(tmp_path / "mean.gguf", pooling=gguf.PoolingType.MEAN)
    with pytest.raises(ModelInvalid, match="does not rank"):
        find_reranker(str(path))
    worker = WorkerReranker(path, EngineOptions(threads=1))
    with pytest.raises(ModelInvalid, match="does not rank"):
        worker.scores(QUESTION, TEXTS)
    worker.close()


def test_the_settings_name_it_by_path_or_by_its_name_in_the_folder(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    file = shutil.copyfile(file, folder / "ranker.gguf")
    monkeypatch.setenv("LOCALRAG_CACHE", str(tmp_path))
    assert find_reranker("ranker") == find_reranker("ranker.gguf") == find_reranker(str(file)) == file
    with pytest.raises(ModelNotFound, match="not there") as error:
        find_reranker("../ranker/none.gguf")
    assert "rank pooling" in error.value.hint
    assert ["models.reranker" in found.reason for found in unusable() if found.path == file] == [True]
    checks = list(check_models(Settings(models=ModelSettings(reranker="ranker"))))
    assert ("Model that ranks passages", "ok", "ranker.gguf") in [(c.name, c.state, c.detail) for c in checks]
    assert all(check.name != "Model file" for check in checks)
    gone = check_models(Settings(models=ModelSettings(reranker="none")))
    assert [check.state for check in gone if check.name == "Model that ranks passages"] == ["warn"]
    named = Engines(Settings(models=ModelSettings(reranker=str(file))))
    assert named.has_reranker
    assert not Engines(Settings()).has_reranker
    try:
        assert len(named.reranker.scores(QUESTION, TEXTS)) == len(TEXTS)
    finally:
        named.close()
