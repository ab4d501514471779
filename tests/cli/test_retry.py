"""Tests of `retry`, and of what `status` says of failures."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from localrag.store.database import Store
from tests.cli.conftest import Run, Scripted, json_of
from tests.conftest import reader


@pytest.fixture
def failed_kb(run: Run, scripted: Scripted, library: Path, folder: Path) -> Path:
    """The library with a file that is no text, a passage that failed, and one that is left out."""
    (library / "bad.txt").write_bytes(b"\x00\x01\x02\xff" * 40)
    run("init", "n")
    run("add", "library", code=5)
    scripted.model = reader(fail=lambda request: any("old mill" in m.text for m in request.messages))
    run("index", code=5)
    with Store.open(folder / "n.localrag") as store:
        (row,) = [row for row in store.documents.list() if row.path == "library.txt"]
        (chunk,) = store.chunks.of_document(row.id)
        with store.transaction():
            store._session.run("UPDATE chunks SET state = 'pending', attempts = 0 WHERE id = ?", [chunk.id])
        store.chunks.mark_failed(chunk.id, "It made the engine fail 2 times.", attempts=2, left_out=True)
    scripted.model = reader()
    return folder / "n.localrag"


def test_status_tells_what_failed_and_what_becomes_of_it(run: Run, failed_kb: Path) -> None:
    said = run("status")
    assert "2 failed (1 tried again by the next run; 1 left out, since the engine died)" in said.stdout
    assert "localrag retry" in said.stderr
    listed = run("status", "--failed").stdout
    lines = [" ".join(line.split()) for line in listed.splitlines()]
    assert any(line.startswith("bad.txt 1 nothing It is binary data") for line in lines), listed
    assert "library.txt 1 2 left out: the engine died It made the engine fail 2 times." in lines
    assert "mill.txt 1 1 tried by the next run scripted failure" in lines
    assert "bridge.md" not in listed


def test_status_gives_programs_all_of_it(run: Run, failed_kb: Path) -> None:
    state = json_of(run("status", "--json"))
    (file,) = state["failed_files"]
    assert (file["path"], file["attempts"], file["kept"]) == ("bad.txt", 1, False)
    passages = {row["path"]: row for row in state["failed_passages"]}
    assert sorted(passages) == ["library.txt", "mill.txt"]
    assert (passages["mill.txt"]["attempts"], passages["mill.txt"]["waits"]) == (1, True)
    assert passages["library.txt"]["left_out"]


def test_retry_without_a_name_leaves_out_what_killed_the_engine(run: Run, failed_kb: Path) -> None:
    said = run("retry", code=5).stderr
    assert "bad.txt: It is binary data" in said
    assert "1 passage of 1 document will be tried again by the next run." in said
    assert "1 passage stays left out" in said
    assert "Next: localrag index" in said
    indexed = json_of(run("index", "--json"))
    assert (indexed["read"], indexed["failed"]) == (1, 0)
    assert [row["path"] for row in json_of(run("status", "--json"))["failed_passages"]] == ["library.txt"]
    assert json_of(run("status", "--json"))["failed_files"][0]["attempts"] == 2


@pytest.mark.parametrize("words", [("library.txt", "mill.txt"), ("--all",)])
def test_retry_by_name_or_with_all_takes_everything(
    run: Run, failed_kb: Path, words: tuple[str, ...]
) -> None:
    report = json_of(run("retry", *words, "--json", code=5 if "--all" in words else 0))
    assert (report["passages"], report["documents"], report["left_out"]) == (2, 2, 0)
    assert (report["files"] is None) == ("--all" not in words)
    assert json_of(run("index", "--json"))["read"] == 2
    assert json_of(run("status", "--json"))["failed_passages"] == []


def test_retry_reads_a_file_that_was_mended(run: Run, failed_kb: Path, library: Path) -> None:
    (library / "bad.txt").write_text("Olga Ness painted the bridge.", encoding="utf-8")
    said = run("retry", "bad.txt").stderr
    assert "1 file that failed before could be read now." in said
    state = json_of(run("status", "--json"))
    assert state["failed_files"] == []
    (row,) = [row for row in state["documents"] if row["path"].endswith("bad.txt")]
    assert (row["status"], row["root"]) == ("waiting", state["documents"][0]["root"])


def test_retry_of_a_file_that_is_gone_says_so(run: Run, failed_kb: Path, library: Path) -> None:
    shutil.rmtree(library)
    report = json_of(run("retry", "--json", code=5))
    assert report["missing"] == [{"path": "bad.txt", "reason": "The file is not there any more."}]


def test_retry_with_nothing_to_do_and_with_a_wrong_name(run: Run, read_kb: Path) -> None:
    assert "Nothing has failed." in run("retry").stderr
    assert "Nothing has failed." in run("status", "--failed").stderr
    assert "There is no document “nope”" in run("retry", "nope", code=2).stderr
