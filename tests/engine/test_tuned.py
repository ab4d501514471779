"""What was measured is kept for exactly what it holds for, and a damaged file does no harm."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from localrag.engine import machine, tuned
from localrag.engine.gguf import inspect
from localrag.engine.options import EngineOptions
from localrag.engine.tuned import ReadRate, Subject, Tuning, WriteRate

ABOUT = Subject("sha256:1", "0.3.36+abc", "A processor", "2/4", 0, "")
FOUND = Tuning(
    "model",
    threads=2,
    sequences=48,
    width=48,
    batch=256,
    kv_type="f16",
    read_rate=130.0,
    write_rate=117.0,
    reads=(ReadRate(256, 2, "f16", 130.0),),
    writes=(WriteRate(48, 256, 2, "f16", 410.0, 117.0),),
    reasons=("Because.",),
    seconds=19.5,
    measured_at="2026-01-02T03:04:05+00:00",
)


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder that does not exist yet, as on a new machine."""
    place = tmp_path / "new" / "state"
    monkeypatch.setenv("LOCALRAG_STATE", str(place))
    return place


def test_a_result_comes_back_as_it_was(folder: Path) -> None:
    assert tuned.stored(ABOUT) is None
    tuned.save(ABOUT, FOUND)
    assert tuned.stored(ABOUT) == FOUND
    assert [file.name for file in folder.iterdir()] == ["machine.json"]
    assert tuned.from_message(json.loads(json.dumps(tuned.to_message(FOUND)))) == FOUND


@pytest.mark.parametrize("name", [*asdict(ABOUT)])
def test_it_holds_for_nothing_else(name: str) -> None:
    tuned.save(ABOUT, FOUND)
    other = replace(ABOUT, **{name: 3 if name == "threads" else "other"})  # type: ignore[arg-type]
    assert tuned.stored(other) is None
    tuned.save(other, replace(FOUND, sequences=1))
    assert tuned.stored(ABOUT) == FOUND
    tuned.save(ABOUT, replace(FOUND, sequences=7))
    again = tuned.stored(ABOUT)
    assert again is not None
    assert again.sequences == 7


def test_the_oldest_go_when_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuned, "_MOST_KEPT", 3)
    subjects = [replace(ABOUT, model=str(number)) for number in range(5)]
    for subject in subjects:
        tuned.save(subject, FOUND)
    assert [tuned.stored(subject) is not None for subject in subjects] == [False, False, True, True, True]


@pytest.mark.parametrize(
    ("text", "said"),
    [("{", "damaged"), ("[]", "another version"), ('{"form": 99, "results": {}}', "another version")],
)
def test_a_file_that_cannot_be_used_is_told_and_replaced(folder: Path, text: str, said: str) -> None:
    folder.mkdir(parents=True)
    tuned.results_file().write_text(text)
    assert tuned.stored(ABOUT) is None
    assert said in tuned.damage()
    tuned.save(ABOUT, FOUND)
    assert tuned.damage() == ""
    assert tuned.stored(ABOUT) == FOUND


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("threads", -1),
        ("threads", "2"),
        ("sequences", 100_000),
        ("batch", True),
        ("kv_type", 3),
        ("kv_type", "q3"),
        ("reads", [{"tokens": 1}]),
        ("writes", 5),
    ],
)
def test_values_that_would_harm_native_code_are_not_read(folder: Path, name: str, value: object) -> None:
    tuned.save(ABOUT, FOUND)
    data = json.loads(tuned.results_file().read_text())
    data["results"][ABOUT.key]["result"][name] = value
    tuned.results_file().write_text(json.dumps(data))
    assert tuned.stored(ABOUT) is None
    with pytest.raises(ValueError, match="not a measurement"):
        tuned.from_message({**tuned.to_message(FOUND), name: value})


def test_a_write_that_fails_leaves_the_old_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tuned.save(ABOUT, FOUND)

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        tuned.save(ABOUT, replace(FOUND, sequences=1))
    assert tuned.stored(ABOUT) == FOUND
    assert [file.name for file in folder.iterdir()] == ["machine.json"]


def test_the_subject_is_this_machine_and_model(random_gguf: Path) -> None:
    info = inspect(random_gguf)
    subject = tuned.subject(info, EngineOptions())
    assert subject == Subject(
        info.fingerprint,
        machine.native_build(),
        machine.processor(),
        f"{machine.physical_cores()}/{machine.logical_cores()}",
        0,
        "",
    )
    assert tuned.subject(info, EngineOptions(threads=3)).key != subject.key
    assert tuned.subject(info, EngineOptions(gpu_layers=-1, devices=("CUDA0",))).key != subject.key
    # What does not change the speed of a token does not matter.
    assert tuned.subject(info, EngineOptions(n_ctx=4096, sequences=3)).key == subject.key


def test_in_words() -> None:
    assert "2 threads, 48 texts together" in tuned.in_words(FOUND)
    assert "1 thread, 1 text together" in tuned.in_words(replace(FOUND, threads=1, sequences=1))
    assert "could not be measured" in tuned.in_words(Tuning("m", failed="It died."))
    assert "too slow" in tuned.in_words(Tuning("m"))
