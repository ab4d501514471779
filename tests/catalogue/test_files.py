"""The memory of checks, the lock, and small things about files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from localrag.catalogue import files
from localrag.catalogue.checks import FILE_NAME, Checks


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"weights")
    return path


def test_a_check_is_remembered_until_the_file_changes(model: Path) -> None:
    checks = Checks(model.parent)
    assert checks.get(model) is None
    checks.remember(model, sha256="ab", verified=True, role="chat")
    check = Checks(model.parent).get(model)
    assert check is not None
    assert (check.sha256, check.verified, check.role, check.size) == ("ab", True, "chat", 7)
    model.write_bytes(b"weights and more")
    assert checks.get(model) is None
    last = checks.last(model)
    assert last is not None
    assert last.sha256 == "ab"


def test_the_same_size_at_another_time_counts_as_changed(model: Path) -> None:
    checks = Checks(model.parent)
    checks.remember(model, sha256="ab")
    os.utime(model, ns=(1, 1))
    assert checks.get(model) is None


def test_forgetting(model: Path) -> None:
    checks = Checks(model.parent)
    checks.remember(model, sha256="ab")
    checks.forget(model)
    checks.forget(model)
    assert checks.get(model) is None


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"format": 9, "files": {}}',
        '{"format": 1, "files": []}',
        '{"format": 1, "files": {"x": 3}}',
        '{"format": 1, "files": {"x": {"size": "1"}}}',
    ],
)
def test_a_damaged_memory_is_an_empty_one(model: Path, content: str) -> None:
    (model.parent / FILE_NAME).write_text(content, encoding="utf-8")
    checks = Checks(model.parent)
    assert checks.get(model) is None
    checks.remember(model, sha256="ab")
    assert checks.get(model) is not None


def test_values_of_wrong_types_are_dropped(model: Path) -> None:
    checks = Checks(model.parent)
    checks.remember(model, sha256="ab")
    path = model.parent / FILE_NAME
    document = json.loads(path.read_text())
    [values] = document["files"].values()
    for key, value in (("verified", "yes"), ("sha256", 3), ("size", True), ("role", None)):
        document["files"] = {str(model): values | {key: value}}
        path.write_text(json.dumps(document))
        assert checks.last(model) is None


def test_a_folder_that_cannot_be_written_is_no_failure(tmp_path: Path, model: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    checks = Checks(tmp_path / "file")
    checks.remember(model, sha256="ab")
    checks.forget(model)
    assert checks.get(model) is None


def test_names_that_are_no_text_are_remembered(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/m\xff.gguf"))
    try:
        path.write_bytes(b"x")
    except OSError:
        pytest.skip("not here: names that are no text")
    Checks(tmp_path).remember(path, sha256="ab")
    assert Checks(tmp_path).get(path) is not None


def test_hash_and_copy_report_every_byte(model: Path, tmp_path: Path) -> None:
    seen: list[int] = []
    digest = files.hash_file(model, seen.append)
    assert digest == files.copy_hashed(model, tmp_path / "copy", seen.append)
    assert (tmp_path / "copy").read_bytes() == b"weights"
    assert seen == [7, 7]


def test_free_space_of_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    assert files.free_bytes(tmp_path / "a" / "b") > 0


def test_sizes_for_people() -> None:
    assert files.megabytes(1_117_320_768) == "1.1 GB"
    assert files.megabytes(73_622_912) == "74 MB"


def test_a_lock_holds_against_another_process_and_ends_with_it(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "x.lock"
    program = (
        "import sys, pathlib, localrag.catalogue.files as f\n"
        "with f.locked(pathlib.Path(sys.argv[1])):\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.readline()\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    waited: list[int] = []

    def end_the_child() -> None:
        if not waited:
            child.kill()
        waited.append(1)

    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    with files.locked(path, end_the_child):
        assert waited
    child.communicate()
