"""Which remote engine the settings mean, where text goes by it, what the doctor says, and remote vectors."""

from __future__ import annotations

import logging
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localrag.checkup.machine import check_models
from localrag.checkup.remote import check_remote
from localrag.engine.programs import Choice
from localrag.engine.remote import RemoteModel
from localrag.engine.remote_address import KEY_VARIABLE, parse_address
from localrag.engine.remote_choice import notices, remote_embedder, remote_model
from localrag.engine.remote_embedder import RemoteEmbedder
from localrag.engine.scripted import ScriptedEmbedder
from localrag.engine.types import Generation, GenerationRequest, Message, Piece
from localrag.engines import Engines
from localrag.errors import EngineError, RemoteRefused, SettingsError
from localrag.indexing.events import ChunkFailed, ChunkRead
from localrag.kb import KnowledgeBase
from localrag.sections import RemoteSettings
from localrag.settings import Settings, load_settings
from tests.engine.remote_servers import MODEL, Handler, llama, llama_tokens, running, vllm

# Addresses.


@pytest.mark.parametrize(
    ("url", "reach", "shown"),
    [
        ("http://127.0.0.1:8080", "machine", "http://127.0.0.1:8080"),
        ("http://localhost:8080/v1/", "machine", "http://localhost:8080"),
        ("http://[::1]:8080", "machine", "http://[::1]:8080"),
        ("http://[::ffff:127.0.0.1]", "machine", "http://[::ffff:127.0.0.1]:80"),
        ("http://192.168.1.9:8000/llm", "network", "http://192.168.1.9:8000/llm"),
        ("http://10.1.2.3", "network", "http://10.1.2.3:80"),
        ("http://[fd00::7]:1", "network", "http://[fd00::7]:1"),
        ("https://models.example.org", "elsewhere", "https://models.example.org:443"),
        # A name is looked up nowhere, so nobody knows where it leads.
        ("https://localhost.example.org", "elsewhere", "https://localhost.example.org:443"),
        ("https://gpu-box", "elsewhere", "https://gpu-box:443"),
        ("https://8.8.8.8", "elsewhere", "https://8.8.8.8:443"),
        ("https://0.0.0.0", "elsewhere", "https://0.0.0.0:443"),
    ],
)
def test_addresses_are_judged_by_how_far_text_travels(url: str, reach: str, shown: str) -> None:
    address = parse_address(url, "remote.url")
    assert (address.reach, address.shown) == (reach, shown)
    assert (address.notice == "") == (reach == "machine")
    if reach == "elsewhere":
        assert address.notice.startswith("TEXT OF YOUR DOCUMENTS")
        assert shown in address.notice


@pytest.mark.parametrize(
    "url",
    ["", "localhost:8080", "ftp://x", "http://", "http://x:99999", "http://a/?k=v", "https://a/#b"],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match=r"remote\.url"):
        parse_address(url, "remote.url")


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(SettingsError) as caught:
        parse_address("https://me:s3cret@example.org", "remote.url")
    assert "s3cret" not in str(caught.value)
    assert KEY_VARIABLE in caught.value.hint


def test_plain_http_to_far_away_must_be_allowed() -> None:
    with pytest.raises(SettingsError, match="unencrypted"):
        parse_address("http://models.example.org", "remote.url")
    address = parse_address("http://models.example.org", "remote.url", plain_http=True)
    assert "unencrypted" in address.notice


# Settings.


def test_nothing_is_remote_by_itself() -> None:
    settings = Settings()
    assert (settings.remote.url, settings.remote.embed_url) == ("", "")
    assert notices(settings.remote) == ()
    assert not list(check_remote(settings))


def test_settings_have_bounds_and_the_key_is_none_of_them() -> None:
    environment = {
        "LOCALRAG_REMOTE__URL": "http://127.0.0.1:1",
        "LOCALRAG_REMOTE__PARALLEL": "3",
        KEY_VARIABLE: "k",
    }
    settings = load_settings(environment=environment)
    assert (settings.remote.url, settings.remote.parallel) == ("http://127.0.0.1:1", 3)
    assert "k" not in vars(settings.remote).values()
    for name, value in (("dialect", "grpc"), ("retries", "99"), ("silence", "0"), ("context", "5")):
        with pytest.raises(SettingsError):
            load_settings(environment={f"LOCALRAG_REMOTE__{name.upper()}": value})


def test_the_engines_take_the_server_that_is_named(caplog: pytest.LogCaptureFixture) -> None:
    with running(llama()) as standin:
        remote = RemoteSettings(url=standin.url, embed_url=standin.url, embed_model="m")
        engines = Engines(Settings(remote=remote))
        assert engines.has_model()
        assert engines.has_embedder()
        assert isinstance(engines.model, RemoteModel)
        assert isinstance(engines.embedder, RemoteEmbedder)
        assert not standin.calls
        messages = (Message("user", (Piece("Is it?"),)),)
        request = GenerationRequest("t", messages, Choice(("yes", "no")), 20)
        *_, result = engines.model.stream(request)
        assert isinstance(result, Generation)
        assert result.text in ("yes", "no")
        assert engines.notes() == ()
        engines.close()
    assert not caplog.records


def test_text_that_leaves_the_machine_is_said_loudly(caplog: pytest.LogCaptureFixture) -> None:
    remote = RemoteSettings(url="https://models.example.org", embed_url="http://192.168.7.7", embed_model="m")
    engines = Engines(Settings(remote=remote))
    with caplog.at_level(logging.WARNING, "localrag"):
        assert engines.model
        assert engines.embedder
    said = [record.getMessage() for record in caplog.records]
    assert "LEAVE THIS MACHINE: they go to https://models.example.org:443" in said[0]
    assert "go to http://192.168.7.7:80, in your network, unencrypted" in said[1]
    assert list(engines.notes()) == said
    checks = {check.detail: check.state for check in check_remote(replace_retries(remote, "https://[::2]"))}
    assert any("LEAVE THIS MACHINE" in detail and state == "warn" for detail, state in checks.items())


def replace_retries(remote: RemoteSettings, url: str) -> Settings:
    """Settings whose servers cannot be asked: the dialect is right and the model's name is missing."""
    return Settings(remote=replace(remote, url="", embed_url=url, embed_model=""))


def test_an_embedding_server_needs_the_name_of_its_model() -> None:
    with pytest.raises(SettingsError, match="embed_model"):
        remote_embedder(RemoteSettings(embed_url="http://127.0.0.1:1"))


def test_the_key_comes_from_the_environment_alone() -> None:
    with running(llama()) as standin:
        settings = RemoteSettings(url=standin.url)
        remote_model(settings, {KEY_VARIABLE: " abc "}).describe()
        assert {headers["Authorization"] for headers in standin.headers} == {"Bearer abc"}
        standin.headers.clear()
        remote_model(settings, {}).describe()
        assert all("Authorization" not in headers for headers in standin.headers)
    with pytest.raises(SettingsError, match=KEY_VARIABLE) as caught:
        remote_model(settings, {KEY_VARIABLE: "ä\nb"})
    assert "ä" not in str(caught.value)


def test_the_doctor_asks_the_servers() -> None:
    with running(vllm()) as standin:
        settings = Settings(remote=RemoteSettings(url=standin.url, dialect="openai"))
        assert [(c.state, c.detail) for c in check_remote(settings)] == [
            ("ok", f"{MODEL}, 4,096 tokens of context, 16 requests at a time")
        ]
        # A model on this machine is not missed.
        assert all(check.name != "Model that reads and answers" for check in check_models(settings))
    gone = [check.state for check in check_remote(settings)]
    assert gone == ["fail"]
    refused = Settings(remote=RemoteSettings(url="http://models.example.org"))
    assert ["unencrypted" in check.detail for check in check_remote(refused)] == [True]


# Vectors.


def vectors(handler: Handler, path: str, body: Any) -> None:
    """Vectors of length 5 that tell the order, sent the other way round."""
    if path == "/tokenize":
        handler.json({"tokens": llama_tokens(body["content"], special=body["parse_special"])})
        return
    data = [
        {"index": index, "embedding": [3.0, 4.0 + len(text), 0.0]} for index, text in enumerate(body["input"])
    ]
    handler.json({"data": data[::-1], "model": body["model"]})


def embedder(url: str, **more: Any) -> RemoteEmbedder:
    settings = RemoteSettings(embed_url=url, embed_model="minilm", retries=0, **more)
    return remote_embedder(settings, {})


def test_vectors_are_unit_vectors_in_the_order_of_the_texts() -> None:
    with running(vectors) as standin:
        made = embedder(standin.url, embed_query_prefix="query: ")
        got = made.embed([f"{'x' * n}<|im_end|>" for n in range(1, 71)], "passage")
        assert got.shape == (70, 3)
        assert got.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(got, axis=1), 1, rtol=1e-6)
        assert got[0][0] == pytest.approx(3 / math.hypot(3, 15))
        assert got[69][0] == pytest.approx(3 / math.hypot(3, 84))
        # In several calls; texts are tokens, and a control token in them is text.
        sent = [body["input"] for body in standin.bodies("/v1/embeddings")]
        assert [len(texts) for texts in sent] == [1, 32, 32, 6]
        assert all(type(token) is int and token > 1000 for token in sent[1][0])
        assert len(made.embed(["a"], "query")) == 1
        assert len(standin.bodies("/v1/embeddings")[-1]["input"][0]) == len("query: a")
        assert made.embed([], "query").shape == (0, 3)


def test_long_texts_are_cut_with_their_last_token_kept() -> None:
    with running(vectors) as standin:
        embedder(standin.url).embed(["a" * 600 + "z"], "passage")
        sent = standin.bodies("/v1/embeddings")[-1]["input"][0]
        assert len(sent) == 512
        assert sent[-1] == llama_tokens("z", special=False)[0]


def test_the_openai_dialect_sends_texts_defused() -> None:
    with running(vectors) as standin:
        embedder(standin.url, dialect="openai").embed(["a <|im_end|>"], "passage")
        assert standin.bodies("/v1/embeddings")[-1]["input"] == ["a ‹|im_end|›"]
        assert not standin.bodies("/tokenize")


def test_a_space_is_known_by_model_prefixes_and_dimension() -> None:
    with running(vectors) as standin:
        one = embedder(standin.url).space
        assert (one.model, one.dimension) == ("minilm", 3)
        assert embedder(standin.url).space == one
        assert embedder(standin.url, embed_passage_prefix="p: ").space.fingerprint != one.fingerprint
        assert embedder(standin.url, dialect="openai").space.fingerprint != one.fingerprint


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "another number"),
        ([{"index": 0, "embedding": [1.0]}] * 2, "told apart"),
        ([{"index": 0, "embedding": [1.0]}, {"index": 5, "embedding": [1.0]}], "told apart"),
        ([{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}], "one length"),
        ([{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": "x"}], "one length"),
        ([{"index": 0, "embedding": []}, {"index": 1, "embedding": []}], "one length"),
        ([{"index": 0, "embedding": [0.0, 0.0]}, {"index": 1, "embedding": [1.0, 0.0]}], "no length"),
        ([{"index": 0, "embedding": [float("nan")]}, {"index": 1, "embedding": [1.0]}], "not a number"),
    ],
)
def test_what_are_no_vectors_is_refused(data: list[Any], said: str) -> None:
    def answer(handler: Handler, path: str, body: Any) -> None:
        if len(body["input"]) == 1:
            handler.json({"data": [{"index": 0, "embedding": [1.0] * max(len(data[-1:]), 1)}]})
        else:
            handler.json({"data": data})

    with running(answer) as standin, pytest.raises(EngineError, match=said):
        embedder(standin.url, dialect="openai")._embed(["a", "b"], 0)


def test_another_model_behind_the_name_is_noticed_by_its_dimension() -> None:
    sizes = iter([3, 4])

    def answer(handler: Handler, path: str, body: Any) -> None:
        handler.json({"data": [{"index": 0, "embedding": [1.0] * next(sizes)}]})

    with running(answer) as standin, pytest.raises(RemoteRefused, match="length 4 instead of 3"):
        embedder(standin.url, dialect="openai").embed(["a"], "passage")


def test_an_empty_text_has_no_vector() -> None:
    with running(vectors) as standin, pytest.raises(EngineError, match="empty text"):
        embedder(standin.url).embed(["a", " "], "passage")


def read_and_asked(kind: str, seed: int, path: Path, library: Path) -> int:
    """Read a library at a server of dice and ask it something; how many entities the dice named."""
    server = llama if kind == "llama-server" else vllm
    with running(server(seed, n_ctx=60_000)) as standin:
        remote = RemoteSettings(url=standin.url, dialect=kind, retries=0)
        engines = Engines(Settings(remote=remote), embedder=ScriptedEmbedder())
        with KnowledgeBase.create(path, engines=engines) as kb:
            kb.add([library])
            events = list(kb.index())
            read = [event for event in events if isinstance(event, ChunkRead)]
            assert read
            assert not [event for event in events if isinstance(event, ChunkFailed)]
            # What the budget cut is the only thing that cannot be stored.
            assert all("cut off" in reject.reason for reject in kb._store.journal.rejects(100))
            answer = kb.ask("Who built the Halden Bridge?")
            assert answer.model.startswith(MODEL)
            assert all(citation.text for citation in answer.citations)
        engines.close()
    return sum(len(event.entities) for event in read)


@pytest.mark.parametrize("kind", ["llama-server", "openai"])
def test_a_library_is_read_and_asked_at_a_server(kind: str, tmp_path: Path, library: Path) -> None:
    """The whole way: every record that a server of dice writes is stored, and citations are real."""
    seeds = range(1, 9)
    # Dice may end every list at once, but not eight times running.
    assert any(read_and_asked(kind, seed, tmp_path / f"{seed}.localrag", library) for seed in seeds)
