"""Paths as people type, paste and drag them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from localrag.tui.paths import addable, addable_all, chosen_file, knowledge_bases, typed_path


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("notes.md", "notes.md"),
        ("  notes.md \n", "notes.md"),
        ("'my notes.md'", "my notes.md"),
        ('"my notes.md"', "my notes.md"),
        ("my\\ notes.md", "my notes.md"),
    ],
)
def test_relative_paths(tmp_path: Path, typed: str, meant: str) -> None:
    assert typed_path(typed, tmp_path) == tmp_path / meant


def test_home_and_file_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert typed_path("~/notes", Path("/elsewhere")) == tmp_path / "notes"
    assert typed_path("file:///data/my%20notes.md", tmp_path) == Path("/data/my notes.md")


def test_a_name_that_exists_is_taken_as_typed(tmp_path: Path) -> None:
    odd = tmp_path / "a\\b's 'quoted'"
    odd.write_text("")
    assert typed_path(odd.name, tmp_path) == odd


def test_nothing_typed(tmp_path: Path) -> None:
    assert typed_path("   ", tmp_path) is None
    assert typed_path("a\0b", tmp_path) is None


def test_addable_says_what_is_wrong(tmp_path: Path) -> None:
    assert addable("", tmp_path)[0] is None
    path, problem = addable("nowhere", tmp_path)
    assert path is None
    assert "nowhere" in problem
    assert addable(".", tmp_path) == (tmp_path / ".", "")


def test_knowledge_bases_newest_first(tmp_path: Path) -> None:
    for age, name in enumerate(["new.localrag", "old.localrag"]):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    (tmp_path / "old.localrag-wal").write_text("")
    (tmp_path / "folder.localrag").mkdir()
    (tmp_path / "other.txt").write_text("")
    assert [found.path.name for found in knowledge_bases(tmp_path)] == ["new.localrag", "old.localrag"]


def test_a_name_opens_or_creates(tmp_path: Path) -> None:
    (tmp_path / "here.localrag").write_text("")
    assert chosen_file("here", tmp_path) == (tmp_path / "here.localrag", False)
    assert chosen_file("here.localrag", tmp_path) == (tmp_path / "here.localrag", False)
    assert chosen_file("new", tmp_path) == (tmp_path / "new.localrag", True)
    assert chosen_file("v1.2", tmp_path) == (tmp_path / "v1.2.localrag", True)
    assert chosen_file(" ", tmp_path) == (None, False)


def test_several_paths_in_one_line(tmp_path: Path) -> None:
    for name in ("a b.md", "c.md", "d.md"):
        (tmp_path / name).write_text("x")
    found = [tmp_path / "a b.md", tmp_path / "c.md"]
    assert addable_all("a b.md", tmp_path) == (found[:1], "")
    assert addable_all("'a b.md' c.md", tmp_path) == (found, "")
    assert addable_all("a\\ b.md c.md c.md", tmp_path) == (found, "")
    assert addable_all(f"'{tmp_path / 'a b.md'}' file://{tmp_path / 'c.md'}", tmp_path) == (found, "")
    assert addable_all("c.md gone.md", tmp_path)[1] == f"There is no file or folder {tmp_path / 'gone.md'}."
    assert "gone for good" in addable_all("gone for good", tmp_path)[1]
    assert "c.md 'd.md" in addable_all("c.md 'd.md", tmp_path)[1]
    assert addable_all("  ", tmp_path)[0] == []
