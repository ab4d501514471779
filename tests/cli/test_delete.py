"""Tests of `delete`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run, json_of


@pytest.fixture
def full(run: Run, library: Path) -> None:
    """The library, indexed."""
    run("init", "n")
    run("add", "library")
    run("index")


def documents(run: Run) -> list[str]:
    return [row["path"] for row in json_of(run("status", "--json"))["documents"]]


def test_delete_says_what_went(run: Run, full: None) -> None:
    said = run("delete", "bridge.md", "--yes")
    assert "Deleted 1 document." in said.stderr
    assert "bridge.md" in said.stdout
    assert "Passages" in said.stdout
    assert documents(run) == ["library.txt", "mill.txt", "茶馆.md"]


def test_a_trial_changes_nothing(run: Run, full: None) -> None:
    said = run("delete", "*.txt", "bridge.md", "--dry-run")
    assert "3 documents would be deleted." in said.stderr
    assert len(documents(run)) == 4


def test_programs_get_all_of_it(run: Run, full: None) -> None:
    trial = json_of(run("delete", "mill.txt", "--dry-run", "--json"))
    done = json_of(run("delete", "mill.txt", "--yes", "--json"))
    assert (trial["dry_run"], done["dry_run"]) == (True, False)
    assert trial["gone"] == done["gone"]
    assert done["gone"]["documents"] == 1
    assert [row["path"] for row in done["documents"]] == ["mill.txt"]
    assert done["documents"][0]["places"][0].endswith("/library/mill.txt")


def test_without_a_terminal_it_has_to_be_said(run: Run, full: None) -> None:
    said = run("delete", "mill.txt", code=2)
    assert "This deletes 1 document." in said.stderr
    assert "--yes" in said.stderr
    assert len(documents(run)) == 4


def test_what_is_not_there(run: Run, full: None) -> None:
    said = run("delete", "nothing\x1b[2J.txt", "--yes", code=2)
    assert "There is no document" in said.stderr
    assert "\x1b" not in said.stderr
    assert "Missing argument" in run("delete", code=2).stderr


@pytest.mark.parametrize(("answer", "left", "code"), [("y\n", 3, 0), ("n\n", 4, 130)])
def test_on_a_terminal_it_asks(
    run: Run, full: None, monkeypatch: pytest.MonkeyPatch, answer: str, left: int, code: int
) -> None:
    monkeypatch.setattr("localrag.cli.delete._can_ask", lambda: True)
    said = run("delete", "bridge.md", code=code, stdin=answer)
    assert "Delete 1 document and all of this?" in said.stderr
    assert "Passages: 1" in said.stderr
    assert len(documents(run)) == left
