"""Tests of `localrag tune-machine`, of the measurement at the first start, and of what doctor says."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from localrag import engines as engines_module
from localrag.checkup.engine import check_engine
from localrag.engine import measuring, tuned
from localrag.engine.gguf import inspect
from localrag.engine.measuring import Measured
from localrag.engine.tuned import ReadRate, Tuning, WriteRate
from localrag.engines import MEASURING, Engines
from localrag.errors import Cancelled
from localrag.sections import EngineSettings, ModelSettings, RemoteSettings
from localrag.settings import Settings
from tests.cli.conftest import Run, Scripted, json_of, start
from tests.engine.random_kinds import build_hybrid, build_window
from tests.engine.random_model import build

FOUND = Tuning(
    "A model",
    threads=2,
    sequences=48,
    width=48,
    batch=128,
    kv_type="f16",
    read_rate=130.0,
    write_rate=117.0,
    reads=(ReadRate(128, 2, "f16", 130.0),),
    writes=(WriteRate(48, 256, 2, "f16", 410.0, 117.0),),
    reasons=("Writing 48 texts together gives most.",),
    seconds=19.0,
)
CPU = (("CPU", "A processor", "cpu"),)


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    """A model file."""
    return build(tmp_path / "chat.gguf")


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Replaces the measurement; holds what was measured."""
    asked: list[Path] = []

    def measure(path: Path, options: object, *, tell: Callable[[str], None], **rest: object) -> Measured:
        asked.append(path)
        tell("reading 128 tokens at a time: 130 tokens/s")
        return Measured(FOUND, CPU)

    monkeypatch.setattr(measuring, "measure", measure)
    return asked


@pytest.fixture
def found_model(
    monkeypatch: pytest.MonkeyPatch, scripted: Scripted, chat: Path
) -> Callable[[Settings], Engines]:
    """Engines that believe that their scripted model was found by the settings and has not started yet."""

    class FirstStart(Engines):
        def needs_measuring(self) -> bool:
            model, self._model = self._model, None
            try:
                return super().needs_measuring()
            finally:
                self._model = model

    def engines(settings: Settings) -> Engines:
        return FirstStart(
            replace(settings, models=replace(settings.models, chat=str(chat))),
            scripted.model,
            scripted.embedder,
        )

    monkeypatch.setattr(engines_module, "Engines", engines)
    monkeypatch.setenv("LOCALRAG_ENGINE__TUNE", "auto")
    return engines


def test_a_table_what_was_chosen_and_why(run: Run, measured: list[Path], chat: Path, plain: None) -> None:
    result = run("tune-machine", "--model", chat)
    assert measured == [chat]
    for part in ("A model, measured in 19 s", "117.0", "engine.sequences  48", "gives most", "A processor"):
        assert part in result.stdout
    report = json_of(run("tune-machine", "--model", chat, "--json"))
    assert report["chosen"] == {"threads": 2, "sequences": 48, "batch": 128, "width": 48, "kv_type": "f16"}
    assert report["writes"] == [
        {
            "sequences": 48,
            "cells": 256,
            "threads": 2,
            "kv_type": "f16",
            "milliseconds": 410.0,
            "rate": 117.0,
        }
    ]
    assert report["devices"] == [{"name": "CPU", "description": "A processor", "kind": "cpu"}]


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Real engines, since nothing but the measurement is asked of them."""
    monkeypatch.setattr(engines_module, "Engines", Engines)


def test_it_really_measures(run: Run, chat: Path, plain: None) -> None:
    report = json_of(run("tune-machine", "--model", chat, "--json"))
    assert report["chosen"]["sequences"] >= 1
    assert report["seconds"] < 30
    kept = measuring.find_stored(chat, Engines(Settings()).options())
    assert kept is not None
    assert kept.sequences == report["chosen"]["sequences"]


def test_a_measurement_that_fails_is_a_failure(
    run: Run, chat: Path, monkeypatch: pytest.MonkeyPatch, plain: None
) -> None:
    failed = Measured(Tuning("A model", failed="It died."), (), "It could not be kept.")
    monkeypatch.setattr(measuring, "measure", lambda *args, **rest: failed)
    result = run("tune-machine", "--model", chat, code=1)
    assert "It died." in result.stderr
    assert "could not be kept" in result.stderr


def test_without_a_model_or_with_a_server_there_is_nothing_to_measure(
    run: Run, monkeypatch: pytest.MonkeyPatch, plain: None
) -> None:
    run("tune-machine", code=3)
    monkeypatch.setenv("LOCALRAG_REMOTE__URL", "http://127.0.0.1:1")
    assert "server" in run("tune-machine", code=2).stderr


@pytest.mark.parametrize("words", [("index",), ("ask", "Who built the bridge?")])
def test_the_first_start_measures_once_and_says_so(
    run: Run,
    library: Path,
    measured: list[Path],
    found_model: Callable[[Settings], Engines],
    words: tuple[str],
) -> None:
    run("init", "kb.localrag")
    run("add", library)
    result = run(*words)
    assert len(measured) == 1
    assert MEASURING in result.stderr
    assert "Measured: 2 threads, 48 texts together" in result.stderr
    assert "Measured" not in result.stdout
    assert MEASURING not in json_of(run(*words, "--json"))


def test_nothing_is_measured_that_is_known_given_forbidden_or_not_needed(
    run: Run,
    read_kb: Path,
    chat: Path,
    measured: list[Path],
    found_model: Callable[[Settings], Engines],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run("index")  # all is read
    assert measured == []
    monkeypatch.setenv("LOCALRAG_ENGINE__TUNE", "off")
    run("ask", "Who?")
    monkeypatch.setenv("LOCALRAG_ENGINE__TUNE", "auto")
    monkeypatch.setenv("LOCALRAG_ENGINE__SEQUENCES", "4")
    run("ask", "--threads", "2", "Who?")
    monkeypatch.delenv("LOCALRAG_ENGINE__SEQUENCES")
    tuned.save(tuned.subject(inspect(chat), Engines(Settings()).options()), FOUND)
    run("ask", "Who?")
    assert measured == []


def test_given_models_and_servers_are_never_measured(scripted: Scripted, chat: Path) -> None:
    assert not Engines(Settings(), scripted.model).needs_measuring()
    here = ModelSettings(chat=str(chat))
    assert Engines(Settings(models=here)).needs_measuring()
    away = RemoteSettings(url="http://127.0.0.1:1")
    assert not Engines(Settings(models=here, remote=away)).needs_measuring()
    assert not Engines(Settings(models=ModelSettings(chat="none"))).needs_measuring()
    assert not Engines(Settings(models=here, engine=EngineSettings(tune="off"))).needs_measuring()


def test_stopping_the_measurement_stops_the_command(
    run: Run,
    library: Path,
    monkeypatch: pytest.MonkeyPatch,
    found_model: Callable[[Settings], Engines],
) -> None:
    run("init", "kb.localrag")
    run("add", library)

    def stopped(*args: object, **rest: object) -> Measured:
        os.kill(os.getpid(), signal.SIGINT)
        raise Cancelled("Stopped.")

    monkeypatch.setattr(measuring, "measure", stopped)
    result = run("index", code=130)
    assert "goes on from here" in result.stderr
    assert "entities" not in result.stdout
    run("ask", "Who?", code=130)


def test_ctrl_c_ends_a_real_measurement_at_once(chat: Path) -> None:
    process = start("tune-machine", "--model", str(chat))
    parent = psutil.Process(process.pid)
    while process.poll() is None and not parent.children():
        time.sleep(0.01)
    workers = parent.children()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130, said
    assert "Stopping." in said
    assert not psutil.wait_procs(workers, timeout=5)[1]


def lines(settings: Settings) -> dict[str, tuple[str, str]]:
    return {check.name: (check.state, check.detail) for check in check_engine(settings)}


def test_doctor_tells_what_was_measured(chat: Path) -> None:
    settings = Settings(models=ModelSettings(chat=str(chat)))
    state, detail = lines(settings)["Measurement"]
    assert (state, "when the model is first used" in detail) == ("ok", True)
    about = tuned.subject(inspect(chat), Engines(settings).options())
    tuned.save(about, FOUND)
    state, detail = lines(settings)["Measurement"]
    assert (state, "48 texts together" in detail) == ("ok", True)
    tuned.save(about, replace(FOUND, others=0.5))
    assert lines(settings)["Measurement"][0] == "warn"
    tuned.save(about, replace(FOUND, failed="It died."))
    assert lines(settings)["Measurement"][0] == "warn"
    tuned.results_file().write_text("{")
    assert "damaged" in lines(settings)["Measurement"][1]
    assert lines(replace(settings, remote=RemoteSettings(url="http://127.0.0.1:1"))) == {}
    assert lines(Settings(models=ModelSettings(chat="none"))) == {}


def test_doctor_tells_how_the_model_will_run(tmp_path: Path) -> None:
    window = Settings(models=ModelSettings(chat=str(build_window(tmp_path / "window.gguf"))))
    assert lines(window)["Model and engine"][0] == "ok"
    assert "look back 32" in lines(window)["Model and engine"][1]
    packed = replace(window, engine=EngineSettings(kv_type="q8_0"))
    assert "Flash attention is on" in lines(packed)["Model and engine"][1]
    refused = replace(window, engine=EngineSettings(kv_type="q8_0", flash_attention="off"))
    assert lines(refused) == {
        "Model and engine": (
            "fail",
            "engine.kv_type cannot be q8_0: it needs flash attention, and engine.flash_attention is off.",
        )
    }
    hybrid = Settings(models=ModelSettings(chat=str(build_hybrid(tmp_path / "hybrid.gguf"))))
    assert lines(hybrid)["Model and engine"][0] == "fail"
    base = str(build(tmp_path / "base.gguf", template=None))
    assert "no chat template" in lines(Settings(models=ModelSettings(chat=base)))["Model and engine"][1]
    named = lines(Settings(models=ModelSettings(chat=base, chat_template="plain")))["Model and engine"]
    assert (named[0], "gets plain" in named[1]) == ("warn", True)
