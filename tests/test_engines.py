"""The two models of a run: found by the settings, made once, shared by threads, started late."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import pytest

from localrag.catalogue.installed import EmbeddingProfile
from localrag.engine.options import EngineOptions, options_of
from localrag.engine.programs import CitedText
from localrag.engine.scripted import ScriptedEmbedder, ScriptedModel
from localrag.engine.types import Generation, GenerationRequest, Message, Piece
from localrag.engines import Engines, generation_row
from localrag.errors import ModelInvalid, ModelNotFound
from localrag.sections import EngineSettings, ModelSettings, RemoteSettings
from localrag.settings import Settings


class Made:
    """Stands for a worker and remembers what it was made of."""

    count = 0

    def __init__(self, path: Path, options: EngineOptions, **rest: Any) -> None:
        type(self).count += 1
        self.path, self.options, self.rest = path, options, rest
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Workers that are not started, and model files that need not exist; gives what was looked for."""
    wanted: list[tuple[str, str]] = []

    def find(name: str, role: str) -> Path:
        wanted.append((name, role))
        return Path(f"{role}.gguf")

    Made.count = 0
    monkeypatch.setattr("localrag.engines.find_model", find)
    monkeypatch.setattr(
        "localrag.engines.embedding_profile",
        lambda path: EmbeddingProfile("mean", "query: ", "passage: ", 256),
    )
    monkeypatch.setattr("localrag.engine.client.WorkerModel", Made)
    monkeypatch.setattr("localrag.engine.client.WorkerEmbedder", Made)
    return wanted


def test_given_ones_are_used_as_they_are(workers: list[tuple[str, str]]) -> None:
    model, embedder = ScriptedModel(), ScriptedEmbedder()
    engines = Engines(Settings(), model, embedder)
    assert engines.model is model
    assert engines.embedder is embedder
    assert engines.has_model()
    assert engines.has_embedder()
    assert workers == []


def test_found_by_the_settings_and_made_once(workers: list[tuple[str, str]]) -> None:
    settings = Settings(
        models=ModelSettings(chat="big", embed="small"),
        engine=EngineSettings(threads=3, sequences=4, n_ctx=4096, batch=256, gpu_layers=-1),
    )
    engines = Engines(settings)
    model: Any = engines.model
    embedder: Any = engines.embedder
    assert workers == [("big", "chat"), ("small", "embed")]
    assert (model.path, model.options) == (
        Path("chat.gguf"),
        EngineOptions(n_ctx=4096, sequences=4, threads=3, batch=256, gpu_layers=-1),
    )
    assert embedder.options == model.options
    assert embedder.path == Path("embed.gguf")
    assert embedder.rest == {"query_prefix": "query: ", "passage_prefix": "passage: ", "limit": 256}
    assert engines.model is model
    assert engines.embedder is embedder
    assert Made.count == 2


def test_asking_whether_there_is_one_makes_none(workers: list[tuple[str, str]]) -> None:
    engines = Engines()
    assert engines.has_model()
    assert engines.has_embedder()
    assert Made.count == 0


@pytest.mark.parametrize(
    "error", [ModelNotFound("Not here.", "Pull it."), ModelInvalid("Broken.", "Pull it.")]
)
def test_a_missing_model_is_an_error_only_when_it_is_used(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def nothing(name: str, role: str) -> Path:
        raise error

    monkeypatch.setattr("localrag.engines.find_model", nothing)
    engines = Engines()
    assert not engines.has_model()
    assert not engines.has_embedder()
    for use in (lambda: engines.model, lambda: engines.embedder):
        with pytest.raises(type(error)) as raised:
            use()
        assert raised.value is error
    engines.close()


def test_a_model_that_is_pulled_later_is_found(
    workers: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    there: list[Path] = []

    def find(name: str, role: str) -> Path:
        if not there:
            raise ModelNotFound("Not here.")
        return there[0]

    monkeypatch.setattr("localrag.engines.find_model", find)
    engines = Engines()
    assert not engines.has_model()
    there.append(Path("new.gguf"))
    assert engines.has_model()
    model: Any = engines.model
    assert model.path == Path("new.gguf")


def test_close_stops_what_was_made_and_may_be_called_twice(workers: list[tuple[str, str]]) -> None:
    engines = Engines()
    engines.close()
    model: Any = engines.model
    engines.close()
    engines.close()
    assert model.closed == 2
    assert Made.count == 1


def test_models_are_found_again_when_files_have_changed(
    workers: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    engines = Engines()
    model: Any = engines.model
    embedder: Any = engines.embedder
    monkeypatch.setattr("localrag.engines.find_model", lambda name, role: Path(f"better-{role}.gguf"))
    engines.find_again()
    found: Any = engines.model
    assert (model.closed, embedder.closed) == (1, 1)
    assert found.path == Path("better-chat.gguf")
    given = ScriptedModel()
    engines = Engines(Settings(), given, ScriptedEmbedder())
    engines.find_again()
    assert engines.model is given


def test_threads_get_the_same_model(workers: list[tuple[str, str]]) -> None:
    engines = Engines()
    barrier = threading.Barrier(8)
    seen: list[object] = []

    def work() -> None:
        barrier.wait(10)
        seen.append(engines.model)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(seen) == 8
    assert len({id(model) for model in seen}) == 1
    assert Made.count == 1


def test_a_call_becomes_a_row_of_the_journal() -> None:
    request = GenerationRequest(
        "answer", (Message("user", (Piece("Who?"),)),), CitedText(2), 50, temperature=0.5, seed=7
    )
    generation = Generation("It [1].", (), "stop", 100, 60, 9, 3, 1_234, "sha256:m", "tokens")
    row = generation_row(request, generation, "prompt")
    assert (row.task, row.prompt_hash, row.model, row.finish) == ("answer", "prompt", "sha256:m", "stop")
    assert (row.prompt_tokens, row.output_tokens, row.milliseconds, row.output) == (100, 9, 1_234, "It [1].")
    assert json.loads(row.parameters) == {
        "max_tokens": 50,
        "temperature": 0.5,
        "seed": 7,
        "program": "cited",
        "shared_tokens": 60,
        "forced_tokens": 3,
        "weighed_tokens": 0,
        "tokens_sha256": "tokens",
    }


def test_all_settings_of_the_engine_reach_the_workers() -> None:
    engine = EngineSettings(
        n_ctx=4096,
        sequences=4,
        threads=3,
        batch=256,
        width=32,
        ubatch=128,
        kv_type="q8_0",
        flash_attention="on",
        gpu_layers=7,
        devices=("CUDA0",),
        split_mode="row",
        tensor_split=("3", "1"),
        main_gpu=1,
    )
    options = Engines(Settings(ModelSettings(chat_template="plain"), engine)).options()
    for item in fields(options):
        if item.name in ("prefix_mb", "hang_seconds", "extra"):
            continue
        assert getattr(options, item.name) != getattr(EngineOptions(), item.name), item.name
    assert options.tensor_split == (3.0, 1.0)
    # What goes through the worker's pipe comes out as it was.
    assert options_of(json.loads(json.dumps(asdict(options)))) == options


SPACE = ScriptedEmbedder(32, "there").space


def test_the_model_that_made_a_files_vectors_is_used_if_it_is_here() -> None:
    configured, there = ScriptedEmbedder(), ScriptedEmbedder(32, "there")
    engines = Engines(Settings(), None, configured, {"there": there})
    assert engines.embedder_of(SPACE) is there
    assert engines.embedder_of(configured.space) is configured
    assert engines.is_configured(configured)
    assert not engines.is_configured(there)
    # The same name alone is not enough, and what a server made is the server's.
    assert engines.embedder_of(ScriptedEmbedder(16, "there").space) is configured
    assert engines.embedder_of(replace(SPACE, pooling="remote")) is configured
    assert engines.embedder_named("there") is there


def test_embedders_are_made_once_for_each_file_and_closed(
    workers: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def find(name: str, role: str) -> Path:
        return Path(f"{name or 'best'}.gguf")

    monkeypatch.setattr("localrag.engines.find_model", find)
    engines = Engines(Settings(models=ModelSettings(embed="small")))
    other: Any = engines.embedder_named("big")
    small: Any = engines.embedder
    again: list[object] = [engines.embedder_named("big"), engines.embedder_named("small")]
    assert [id(embedder) for embedder in again] == [id(other), id(small)]
    assert Made.count == 2
    assert other.rest == {"query_prefix": "query: ", "passage_prefix": "passage: ", "limit": 256}
    engines.close()
    assert (other.closed, small.closed) == (1, 1)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        (Settings(), ""),
        (Settings(models=ModelSettings(embed=" e5 ")), "e5"),
        (Settings(remote=RemoteSettings(embed_url="http://127.0.0.1:1", embed_model="served")), "served"),
    ],
)
def test_which_embedding_model_the_settings_ask_for(settings: Settings, named: str) -> None:
    assert Engines(settings).named_embedder == named
