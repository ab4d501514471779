"""Tests of the commands for the file as a whole: info, export, merge, verify, repair, vacuum."""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from localrag.store.sqlite import sqlite3
from tests.cli.conftest import Run, json_of, start
from tests.store.helpers import files_beside
from tests.store.test_upgrading import FILES, unpack


@pytest.fixture
def two(read_kb: Path) -> Path:
    """A second knowledge base in the folder, a copy of the first."""
    other = read_kb.with_name("other.localrag")
    shutil.copyfile(read_kb, other)
    return other


def test_info(run: Run, read_kb: Path) -> None:
    shown = run("info").stdout
    assert "Format" in shown
    assert "documents and passages" in shown
    facts = json_of(run("info", "--json"))
    assert facts["path"].endswith("library.localrag")
    assert facts["counts"]["documents"] == 4
    assert facts["size"] == read_kb.stat().st_size
    assert {group["name"] for group in facts["groups"]} >= {"vectors", "full text"}
    assert facts["spaces"][0]["state"] == "active"


def test_export_and_verify_of_the_copy(run: Run, read_kb: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.localrag"
    assert "Wrote" in run("export", target).stderr
    assert json_of(run("verify", "--kb", target, "--json")) == {
        "path": str(target),
        "ok": True,
        "problems": [],
        "notes": [],
    }
    assert "is there already" in run("export", target, code=2).stderr
    assert "--force" in run("export", target, code=2).stderr
    done = json_of(run("export", target, "--force", "--json"))
    assert done["size"] == target.stat().st_size
    assert oct(target.stat().st_mode)[-3:] == "600"
    (tmp_path / "thesis.txt").write_text("mine")
    assert "never replaced" in run("export", tmp_path / "thesis.txt", "--force", code=2).stderr
    assert "is the knowledge base itself" in run("export", read_kb, "--force", code=2).stderr
    assert "There is no folder" in run("export", tmp_path / "none" / "x", code=3).stderr
    assert files_beside(read_kb) == [read_kb.name]


def test_the_copy_answers_the_same(run: Run, read_kb: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.localrag"
    run("export", target)
    question = "Who built the Halden Bridge?"
    answers = [json_of(run("ask", question, "--json", "--kb", kb)) for kb in (read_kb, target)]
    assert answers[0]["answer"] == answers[1]["answer"]
    assert answers[0]["citations"] == answers[1]["citations"]


def test_merge(run: Run, folder: Path, read_kb: Path) -> None:
    run("init", "target.localrag")
    dry = json_of(run("merge", read_kb, "--kb", "target.localrag", "--dry-run", "--json"))
    assert dry["dry_run"]
    assert len(dry["files"][0]["added"]) == 4
    assert "would be joined in" in run("merge", read_kb, "--kb", "target.localrag", "--dry-run").stderr
    assert json_of(run("status", "--kb", "target.localrag", "--json"))["documents"] == []
    said = run("merge", read_kb, "--kb", "target.localrag").stderr
    assert "4 documents" in said
    assert "joined in." in said
    assert "everything in it is here already" in run("merge", read_kb, "--kb", "target.localrag").stderr
    assert "FILE..." in run("merge", "--kb", "target.localrag", code=2).stderr
    assert "is the knowledge base itself" in run("merge", read_kb, "--kb", read_kb, code=2).stderr
    assert "There is no knowledge base" in run("merge", "none", "--kb", read_kb, code=3).stderr
    assert json_of(run("verify", "--kb", "target.localrag", "--json"))["ok"]
    assert {path.name for path in folder.iterdir()} == {"library.localrag", "target.localrag"}


def test_names_of_documents_are_harmless_when_merged(run: Run, folder: Path, tmp_path: Path) -> None:
    for name, text in (("one", "Anna met Bo."), ("two", "Anna met Cy.")):
        place = folder / name
        (place / "library").mkdir(parents=True)
        (place / "library" / "a\x1b[31m\n{x}[b].txt").write_text(text, encoding="utf-8")
        run("init", place / "kb.localrag")
    os.rename(folder / "one" / "library", folder / "library")
    run("add", "library", "--kb", "one/kb.localrag")
    shutil.rmtree(folder / "library")
    os.rename(folder / "two" / "library", folder / "library")
    run("add", "library", "--kb", "two/kb.localrag")
    said = run("merge", "two/kb.localrag", "--kb", "one/kb.localrag").stderr
    assert "merged from kb" in said
    assert "\x1b[31m" not in said


def test_verify_finds_and_repair_mends(run: Run, read_kb: Path) -> None:
    raw = sqlite3.connect(read_kb, isolation_level=None)
    raw.execute("UPDATE documents SET characters = 3 WHERE id = 1")
    raw.close()
    found = run("verify", code=1)
    assert "3 were noted" in found.stdout
    assert "Next: localrag repair" in found.stderr
    assert not json_of(run("verify", "--json", code=1))["ok"]
    mended = json_of(run("repair", "--json"))
    assert mended["left"] == []
    assert not mended["salvaged"]
    assert "is in order" in run("verify").stderr
    assert "is in order" in run("repair").stderr
    assert files_beside(read_kb) == [read_kb.name, f"{read_kb.name}.before-repair"]


def test_repair_of_damaged_pages(run: Run, read_kb: Path) -> None:
    data = bytearray(read_kb.read_bytes())
    raw = sqlite3.connect(read_kb)
    (root,) = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = 'mentions'").fetchone()
    raw.close()
    data[(root - 1) * 4096 : root * 4096] = b"\xff" * 4096
    read_kb.write_bytes(data)
    assert run("verify", code=1).stdout
    result = run("repair")
    assert "Lost: mentions" in result.stdout
    assert "was not changed" in result.stdout
    assert read_kb.read_bytes() == bytes(data)
    saved = read_kb.with_name("library.repaired.localrag")
    state = json_of(run("status", "--kb", saved, "--json"))
    assert len(state["documents"]) == 4
    assert "is there already" in run("repair", "--kb", read_kb, "--output", saved, code=2).stderr


def test_vacuum(run: Run, read_kb: Path) -> None:
    done = json_of(run("vacuum", "--json"))
    assert done["after"] == read_kb.stat().st_size
    assert "before" in run("vacuum").stderr
    other = sqlite3.connect(read_kb, isolation_level=None)
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM chunks").fetchone()
    assert "Another program" in run("vacuum", code=4).stderr
    other.close()


def test_an_older_file_is_read_as_it_is_and_upgraded_with_a_copy(run: Run, folder: Path) -> None:
    path = unpack(FILES[0], folder / "old.localrag")
    before = path.read_bytes()
    for words in (["status"], ["info"], ["verify"]):
        assert "has format 1. It is read through a copy in memory" in run(*words).stderr
    assert path.read_bytes() == before
    assert files_beside(path) == [path.name]
    (folder / "a.txt").write_text("Anna met Bo.", encoding="utf-8")
    assert "kept in old.localrag.format-1" in run("add", "a.txt").stderr
    assert files_beside(path) == ["a.txt", path.name, f"{path.name}.format-1"]
    assert "format" not in run("status").stderr


@pytest.mark.parametrize("command", ["info", "verify", "repair", "vacuum"])
def test_a_file_that_is_none_is_told(run: Run, folder: Path, command: str) -> None:
    (folder / "x.localrag").write_bytes(b"plain text, longer than a header" * 100)
    assert "is not a knowledge base" in run(command, code=1).stderr
    assert "There is no file" in run(command, "--kb", "none", code=3).stderr


def test_a_stop_during_export_leaves_nothing(folder: Path, read_kb: Path) -> None:
    """A file so large that copying it takes a while."""
    raw = sqlite3.connect(read_kb)
    raw.execute("CREATE TABLE ballast (data BLOB) STRICT")
    raw.executemany("INSERT INTO ballast VALUES (randomblob(?))", [(1 << 9,)] * 300_000)
    raw.commit()
    raw.close()
    process = start("export", "copy.localrag", cwd=folder)
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not list(folder.glob(".localrag-*.part")):
            time.sleep(0.002)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    if process.returncode == 0:
        pytest.skip("the copy was done before the signal came")
    assert process.returncode == 130, told
    assert files_beside(read_kb) == [read_kb.name]
