"""Tests of `localrag doctor` and its checks."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from localrag.checkup import CheckResult
from localrag.checkup import machine as checks
from localrag.checkup.machine import check_disk, check_llama, check_memory, check_python
from localrag.cli import doctor
from localrag.settings import Settings
from localrag.store import sqlite
from localrag.store.file_rows import Capabilities
from tests.cli.conftest import Run, json_of
from tests.engine.random_model import build


def program(text: str) -> tuple[str, ...]:
    return (sys.executable, "-c", text)


GOOD = """
import json, sys
print("a line of the library itself")
print(json.dumps({"ok": True, "llama_cpp": "9.9", "error": "",
    "system_info": "CPU : AVX = 1 | AVX512 = 0 | AMX_INT8 = 1 | OPENMP = 1 | REPACK = 1 | "}))
"""


@pytest.fixture
def probed(monkeypatch: pytest.MonkeyPatch) -> list[Path | None]:
    """Replaces the engine's answer, which takes seconds; holds the models that it was asked to try."""
    tried: list[Path | None] = []

    def check(model: Path | None = None) -> CheckResult:
        tried.append(model)
        return CheckResult("llama.cpp", "ok", "built for tests")

    monkeypatch.setattr(checks, "check_llama", check)
    return tried


def test_the_real_build_answers() -> None:
    result = check_llama()
    assert result.state == "ok", result
    assert "llama-cpp-python" in result.detail


def test_features_are_read_from_the_library() -> None:
    result = check_llama(command=program(GOOD))
    assert result.state == "ok"
    assert result.detail == "llama-cpp-python 9.9; built with AVX, AMX_INT8, OPENMP, REPACK"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", "ended by signal 4"),
        ("raise ImportError('no llama_cpp')", "no llama_cpp"),
        ("import sys; sys.exit(3)", "code 3"),
        ("print('{broken')", "said nothing"),
        ("import json; print(json.dumps({'ok': False, 'error': 'It is not built.'}))", "It is not built."),
    ],
)
def test_a_build_that_fails_has_a_remedy(text: str, found: str) -> None:
    result = check_llama(command=program(text))
    assert result.state == "fail"
    assert found in result.detail
    assert "scripts/setup" in result.remedy


def test_a_build_that_hangs_or_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "PROBE_SECONDS", 0.2)
    assert "did not answer" in check_llama(command=program("import time; time.sleep(9)")).detail
    assert check_llama(command=("/no/such/program",)).state == "fail"


def test_a_model_that_cannot_count_is_a_warning() -> None:
    text = "import json; print(json.dumps({'ok': False, 'model': 'odd', 'text': 'blue', 'llama_cpp': '1'}))"
    result = check_llama(Path("m.gguf"), command=program(text))
    assert result.state == "warn"
    assert "'blue'" in result.detail


@pytest.mark.parametrize(
    ("found", "name", "state"),
    [
        (Capabilities("pysqlite3", "3.50", True, "v0.1.9", True, "sqlite-vec"), "Vector search", "ok"),
        (Capabilities("sqlite3", "3.50", True, None, True, "numpy"), "Vector search", "warn"),
        (Capabilities("sqlite3", "3.50", False, None, True, "numpy"), "Vector search", "warn"),
        (Capabilities("sqlite3", "3.50", True, "v0.1.9", False, "sqlite-vec"), "Full text search", "fail"),
    ],
)
def test_sqlite_is_looked_at(
    monkeypatch: pytest.MonkeyPatch, found: Capabilities, name: str, state: str
) -> None:
    monkeypatch.setattr(sqlite, "capabilities", lambda: found)
    result = next(result for result in checks.check_sqlite() if result.name == name)
    assert result.state == state
    assert bool(result.remedy) is (state != "ok")


def test_old_pythons_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_python().state == "ok"
    monkeypatch.setattr(checks, "OLDEST_PYTHON", (99, 0))
    assert check_python().state == "fail"


def test_memory_and_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert check_memory(1).state == "ok"
    assert check_memory(10**9).state == "warn"
    assert [result.state for result in check_disk([tmp_path / "not" / "yet", tmp_path])] == ["ok"]
    monkeypatch.setattr(checks, "LOW_DISK", 10**18)
    assert [result.state for result in check_disk([tmp_path])] == ["warn"]
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "cannot be written" in next(iter(check_disk([tmp_path]))).detail


def test_without_models_it_fails_and_says_what_to_type(run: Run, probed: list[Path | None]) -> None:
    result = run("doctor", code=1)
    assert "FAILED" in result.stdout
    assert "localrag models pull" in result.stdout
    assert result.stderr.splitlines()[-1] == "1 failure, 1 warning."
    report = json_of(run("doctor", "--json", code=1))
    assert report["ok"] is False
    states = {check["name"]: check["state"] for check in report["checks"]}
    assert states["Model that reads and answers"] == "fail"
    # Without vectors, questions can still be answered.
    assert states["Model that makes vectors"] == "warn"
    assert all(check["remedy"] for check in report["checks"] if check["state"] != "ok")
    assert probed == [None, None]


def test_with_models_all_is_well(run: Run, probed: list[Path | None], tmp_path: Path, read_kb: Path) -> None:
    models = tmp_path / "cache" / "models"
    run("models", "add", build(tmp_path / "chat.gguf"))
    report = json_of(run("doctor", "--json"))
    assert report["ok"] is True
    assert probed == [models / "chat.gguf"]
    assert any(check["name"] == "Knowledge base" and check["state"] == "ok" for check in report["checks"])


def test_bad_settings_are_one_failure_among_the_checks(
    run: Run, probed: list[Path | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALRAG_ENGINE__THREADS", "many")
    checks_ = {check["name"]: check for check in json_of(run("doctor", "--json", code=1))["checks"]}
    assert checks_["Settings"]["state"] == "fail"
    assert "LOCALRAG_ENGINE__THREADS" in checks_["Settings"]["detail"]


def test_a_broken_knowledge_base_is_a_failure(run: Run, probed: list[Path | None], folder: Path) -> None:
    (folder / "kb.localrag").write_text("no database" * 100, encoding="utf-8")
    for words in ((), ("--kb", "kb.localrag"), ("--kb", "none.localrag")):
        report = json_of(run(*words, "doctor", "--json", code=1))
        found = [check for check in report["checks"] if check["name"] == "Knowledge base"]
        assert [check["state"] for check in found] == ["fail"]


def test_no_knowledge_base_in_the_folder_is_no_fault(run: Run, probed: list[Path | None]) -> None:
    report = json_of(run("doctor", "--json", code=1))
    assert not [check for check in report["checks"] if check["name"] == "Knowledge base"]


def test_settings_that_are_no_defaults_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(origins={"engine.threads": "flag"})
    assert "engine.threads by flag" in checks.check_settings(lambda: settings).detail


def test_a_damaged_file_is_named(run: Run, probed: list[Path | None], tmp_path: Path) -> None:
    models = tmp_path / "cache" / "models"
    models.mkdir(parents=True)
    (models / "multilingual-e5-small-q4_0.gguf").write_bytes(b"GGUF")
    (models / "odd\x1b[2J.gguf").write_bytes(b"odd")
    result = run("doctor", code=1)
    assert "localrag models pull multilingual-e5-small" in result.stdout
    assert "\x1b" not in result.output
    assert doctor.doctor.name == "doctor"
