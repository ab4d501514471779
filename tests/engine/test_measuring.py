"""A measurement by a real worker: kept, used by the next engine, stopped at once, and no loop if it fails."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import psutil
import pytest

from localrag.engine import measuring, tuned
from localrag.engine.client import WorkerModel
from localrag.engine.gguf import inspect
from localrag.engine.machine import OtherPrograms
from localrag.engine.measuring import find_stored, is_due, measure
from localrag.engine.options import EngineOptions
from localrag.engine.tuned import Tuning
from localrag.errors import Cancelled, ModelInvalid, ModelNotFound, SettingsError
from tests.engine.random_kinds import build_state, build_window

OPTIONS = EngineOptions(prefix_mb=0)


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine of which nothing is known."""
    monkeypatch.setenv("LOCALRAG_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model with heads of 32 numbers, so that every cache type can be tried."""
    return build_window(tmp_path / "m.gguf")


def keep(path: Path, tuning: Tuning, options: EngineOptions = OPTIONS) -> None:
    tuned.save(tuned.subject(inspect(path), options), tuning)


def test_a_measurement_is_kept_and_the_next_engine_runs_by_it(model: Path) -> None:
    assert is_due(model, OPTIONS)
    told: list[str] = []
    found = measure(model, OPTIONS, tell=told.append)
    assert not found.note
    assert not found.tuning.failed
    assert ("CPU", "cpu") in [(name, kind) for name, _, kind in found.devices]
    assert len(told) == len(found.tuning.reads) + len(found.tuning.writes) > 8
    assert {write.kv_type for write in found.tuning.writes} >= {"f16", "q8_0", "f32"}
    assert find_stored(model, OPTIONS) == found.tuning
    worker = WorkerModel(model, OPTIONS)
    try:
        about = worker.describe()
    finally:
        worker.close()
    chosen = found.tuning
    assert (about.threads, about.sequences, about.kv_type) == (
        chosen.threads,
        chosen.sequences,
        chosen.kv_type,
    )
    assert about.batch == chosen.batch


def test_settings_go_before_what_was_measured(model: Path) -> None:
    keep(model, Tuning("m", threads=2, sequences=9, width=9, batch=96, kv_type="q8_0"))
    given = EngineOptions(prefix_mb=0, sequences=3, batch=64, kv_type="f16", flash_attention="off")
    for options, expected in (
        (OPTIONS, (2, 9, 96, "q8_0", "on")),
        (given, (2, 3, 64, "f16", "off")),
    ):
        worker = WorkerModel(model, options)
        try:
            about = worker.describe()
        finally:
            worker.close()
        found = (about.threads, about.sequences, about.batch, about.kv_type, about.flash_attention)
        assert found == expected
        assert about.notes == ()


def test_a_setting_that_contradicts_is_refused_when_the_engine_starts(model: Path) -> None:
    worker = WorkerModel(model, EngineOptions(kv_type="q8_0", flash_attention="off"))
    with pytest.raises(SettingsError, match="flash_attention is off"):
        worker.describe()


def test_what_is_open_decides_whether_it_is_due(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_due(model, EngineOptions(sequences=4, threads=2))
    assert is_due(model, EngineOptions(sequences=4))
    keep(model, Tuning("m", threads=2, sequences=4))
    assert not is_due(model, OPTIONS)
    keep(model, Tuning("m", failed="It died."))
    assert not is_due(model, OPTIONS)
    keep(model, Tuning("m", threads=2, sequences=4, others=0.5))
    for share, due in ((0.9, False), (0.01, True)):
        monkeypatch.setattr(OtherPrograms, "share", lambda self, share=share: share)
        assert is_due(model, OPTIONS) is due


@pytest.mark.alone
def test_stopping_it_ends_the_worker_and_keeps_nothing(model: Path, state: Path) -> None:
    cancel = threading.Event()
    before = set(psutil.Process().children())
    stopped: list[float] = []

    def stop(text: str) -> None:
        cancel.set()
        stopped.append(time.monotonic())

    with pytest.raises(Cancelled):
        measure(model, OPTIONS, tell=stop, cancel=cancel)
    assert time.monotonic() - stopped[0] < 1.0
    assert set(psutil.Process().children()) <= before
    assert not state.exists()


@pytest.mark.alone
def test_stopping_it_while_the_model_loads(model: Path) -> None:
    cancel = threading.Event()
    cancel.set()
    began = time.monotonic()
    with pytest.raises(Cancelled):
        measure(model, OPTIONS, cancel=cancel)
    assert time.monotonic() - began < 2.0


def test_a_worker_that_dies_is_a_result_and_no_loop(model: Path) -> None:
    def kill(text: str) -> None:
        for child in psutil.Process().children():
            if "localrag.engine.worker" in " ".join(child.cmdline()):
                child.kill()

    found = measure(model, OPTIONS, tell=kill)
    assert "SIGKILL" in found.tuning.failed
    assert not is_due(model, OPTIONS)
    worker = WorkerModel(model, OPTIONS)
    try:
        assert worker.describe().sequences == 32
    finally:
        worker.close()


def test_models_that_cannot_serve_are_refused_and_nothing_is_kept(tmp_path: Path, state: Path) -> None:
    with pytest.raises(ModelInvalid, match="running state"):
        measure(build_state(tmp_path / "state.gguf"), OPTIONS)
    with pytest.raises(ModelNotFound):
        measure(tmp_path / "none.gguf", OPTIONS)
    with pytest.raises(SettingsError, match="no GPU"):
        measure(build_window(tmp_path / "m.gguf"), EngineOptions(gpu_layers=3))
    assert not (state / "machine.json").exists()


def test_a_result_that_cannot_be_kept_is_used_and_told(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(measuring, "save", full)
    found = measure(model, OPTIONS)
    assert found.tuning.sequences
    assert "No space left" in found.note
