"""Tests of `localrag models`, on small files of random weights and a pull that fetches nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from localrag.catalogue import pull as pull_module
from localrag.catalogue.listing import catalogue
from localrag.catalogue.pull import PullProgress
from localrag.cli import stopping
from localrag.errors import PullFailed
from tests.cli.conftest import Run, json_of
from tests.engine.random_model import build, build_embedder

SMALL = "multilingual-e5-small"


@pytest.fixture(scope="module")
def chat_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("stick") / "tiny-chat.gguf")


@pytest.fixture(scope="module")
def embed_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_embedder(tmp_path_factory.mktemp("stick") / "tiny-embed.gguf")


def test_list_shows_what_can_be_pulled(run: Run) -> None:
    result = run("models", "list")
    for entry in catalogue().entries:
        assert (entry.name in result.stdout) is not entry.tests_only
    assert "can be pulled" in result.stdout
    assert "A model is missing." in result.stderr
    rows = json_of(run("models", "list", "--json"))["models"]
    assert all(row["installed"] is False and row["path"] is None for row in rows)
    assert {row["role"] for row in rows} == {"chat", "embed"}


def test_add_list_info_verify_remove(run: Run, chat_file: Path, embed_file: Path) -> None:
    assert "tiny-chat is here; it reads and answers." in run("models", "add", chat_file).stderr
    added = json_of(run("models", "add", embed_file, "--json"))
    assert (added["name"], added["role"]) == ("tiny-embed", "embed")
    assert Path(added["path"]).read_bytes() == embed_file.read_bytes()

    listed = run("models", "list")
    assert "A model is missing" not in listed.stderr
    rows = {row["name"]: row for row in json_of(run("models", "list", "--json"))["models"]}
    assert rows["tiny-chat"]["used"] is True
    assert rows["tiny-chat"]["size"] == chat_file.stat().st_size
    assert rows["tiny-embed"]["used"] is True

    for what in (str(chat_file), "tiny-chat"):
        text = run("models", "info", what).stdout
        assert "reads and answers" in text
        assert "llama" in text
    found = json_of(run("models", "info", "tiny-embed", "--json"))
    assert (found["role"], found["pooling"], found["is_embedding"]) == ("embed", "mean", True)
    assert "pooling mean" in run("models", "info", "tiny-embed").stdout

    assert "tiny-chat: whole" in run("models", "verify").stdout
    assert "Removed tiny-chat" in run("models", "remove", "tiny-chat").stderr
    assert not (Path(added["path"]).parent / "tiny-chat.gguf").exists()
    run("models", "remove", "tiny-chat", code=3)


def test_a_second_model_says_how_to_take_it(run: Run, chat_file: Path, tmp_path: Path) -> None:
    run("models", "add", chat_file)
    other = build(tmp_path / "z-other.gguf", seed=2)
    assert "localrag ask --model z-other" in run("models", "add", other).stderr


def test_verify_notices_a_change(run: Run, chat_file: Path) -> None:
    path = Path(json_of(run("models", "add", chat_file, "--json"))["path"])
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    result = run("models", "verify", "tiny-chat", code=1)
    assert "changed" in result.stdout
    report = json_of(run("models", "verify", "--json", code=1))["models"][0]
    assert report["ok"] is False
    assert report["sha256"] != report["expected"]


def test_verify_without_models(run: Run) -> None:
    assert "localrag models recommend" in run("models", "verify", code=3).stderr


@pytest.mark.parametrize("keep", [0, 3, 100, 20_000])
def test_a_truncated_file_is_refused(run: Run, chat_file: Path, tmp_path: Path, keep: int) -> None:
    broken = tmp_path / "broken\x1b[2J.gguf"
    broken.write_bytes(chat_file.read_bytes()[:keep])
    for command in ("add", "info"):
        result = run("models", command, broken, code=1)
        assert result.stderr.startswith("Error: ")
        assert "\x1b" not in result.output
    assert all(not row["installed"] for row in json_of(run("models", "list", "--json"))["models"])


def test_what_is_no_model_is_refused(run: Run, folder: Path) -> None:
    assert "is a folder" in run("models", "add", folder, code=1).stderr
    run("models", "add", "no-such.gguf", code=3)
    run("models", "info", "no-such.gguf", code=3)


def test_a_file_that_cannot_serve_is_shown_with_the_reason(run: Run, chat_file: Path, tmp_path: Path) -> None:
    models = tmp_path / "cache" / "models"
    models.mkdir(parents=True)
    (models / "half.gguf").write_bytes(chat_file.read_bytes()[:5000])
    result = run("models", "list")
    assert "Note: half.gguf cannot be used: " in result.stderr
    assert json_of(run("models", "list", "--json"))["unusable"][0]["reason"]


def test_recommend_names_a_model_for_each_job(run: Run) -> None:
    found = json_of(run("models", "recommend", "--json"))
    assert found["machine"]["cores"] >= 1
    assert {model["role"] for model in found["models"] if model["obtainable"]} == {"chat", "embed"}
    text = run("models", "recommend").stdout
    assert text.startswith("This machine has ")
    assert "\nTo fetch: localrag models pull " in text


def fake_pull(monkeypatch: pytest.MonkeyPatch, step: Callable[[int], None] = lambda _: None) -> list[str]:
    """Replace the fetching; returns the names that were asked for."""
    asked: list[str] = []

    def pull(name: str, progress: Callable[[PullProgress], None]) -> Path:
        asked.append(name)
        for done in range(0, 101, 20):
            step(done)
            progress(PullProgress(done, 100, "fetch", "fetching"))
        progress(PullProgress(100, 100, "check", "checking the file"))
        return Path("models") / catalogue().get(name).file

    monkeypatch.setattr(pull_module, "pull", pull)
    return asked


def test_pull_brings_all_that_are_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = fake_pull(monkeypatch)
    result = run("models", "pull", SMALL, "all-minilm-l6-v2", SMALL)
    assert asked == [SMALL, "all-minilm-l6-v2"]
    assert result.stdout == ""
    assert result.stderr.count("is here and checked") == 2
    report = json_of(run("models", "pull", SMALL, "--json"))
    assert report["models"][0]["name"] == SMALL


def test_pull_looks_all_names_up_before_it_fetches(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = fake_pull(monkeypatch)
    result = run("models", "pull", SMALL, "no-such-model", code=3)
    assert asked == []
    assert SMALL in result.stderr
    run("models", "pull", code=2)


def test_a_pull_that_fails_says_why(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(done: int) -> None:
        raise PullFailed("There is no way to fetch it.", "Look at the network.")

    fake_pull(monkeypatch, fail)
    result = run("models", "pull", SMALL, code=1)
    assert result.stderr == "Error: There is no way to fetch it.\n  Look at the network.\n"


@pytest.mark.parametrize("pip_dies_too", [False, True])
def test_a_pull_that_is_stopped_is_no_failure(
    run: Run, monkeypatch: pytest.MonkeyPatch, pip_dies_too: bool
) -> None:
    stops: list[stopping.Stop] = []
    made = stopping.Stop

    def make() -> stopping.Stop:
        stops.append(made())
        return stops[-1]

    def step(done: int) -> None:
        if done == 40:
            stops[-1].event.set()
            if pip_dies_too:
                raise PullFailed("pip ended with 130.", "Try again.")

    monkeypatch.setattr(stopping, "Stop", make)
    fake_pull(monkeypatch, step)
    result = run("models", "pull", SMALL, code=130)
    assert "Stopped." in result.stderr
    assert "Error" not in result.stderr
