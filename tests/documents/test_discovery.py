"""Which files lie under a path, and what is passed over with which reason."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from localrag.documents.discovery import Discovery, discover
from localrag.errors import DocumentError


def make(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.fsencode(name))


def relatives(found: Discovery) -> list[str]:
    return [file.relative for file in found.files]


def reasons(found: Discovery, folder: Path) -> dict[str, str]:
    return {entry.path.relative_to(folder).as_posix(): entry.reason for entry in found.skipped}


def test_a_folder_with_its_folders_in_order(tmp_path: Path) -> None:
    make(tmp_path, "b.txt", "a.md", "z/2.txt", "c/d/1.txt", "c/x.pdf", "empty/../e.txt")
    (tmp_path / "empty").mkdir(exist_ok=True)
    found = discover([tmp_path])
    assert relatives(found) == ["a.md", "b.txt", "e.txt", "c/x.pdf", "c/d/1.txt", "z/2.txt"]
    assert {file.root for file in found.files} == {tmp_path}
    assert [file.path for file in found.files] == [tmp_path / name for name in relatives(found)]
    assert found == discover([tmp_path])


def test_a_relative_path_and_a_single_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "in/a.txt")
    monkeypatch.chdir(tmp_path)
    (file,) = discover([Path("in/a.txt")]).files
    assert (file.path, file.root, file.relative) == (tmp_path / "in/a.txt", tmp_path / "in", "a.txt")
    (file,) = discover([Path("in")]).files
    assert (file.path, file.root) == (tmp_path / "in/a.txt", tmp_path / "in")


def test_the_same_file_named_twice_comes_once(tmp_path: Path) -> None:
    make(tmp_path, "in/a.txt", "in/b.txt")
    found = discover([tmp_path / "in/b.txt", tmp_path / "in", tmp_path / "in/../in"])
    assert relatives(found) == ["b.txt", "a.txt"]
    assert found.skipped == ()


@pytest.mark.parametrize("missing", ["none.txt", "none", "a.txt/below"])
def test_a_named_path_that_is_not_there_is_an_error(tmp_path: Path, missing: str) -> None:
    make(tmp_path, "a.txt")
    with pytest.raises(DocumentError, match="no file or folder"):
        discover([tmp_path / "a.txt", tmp_path / missing])


def test_hidden_entries_and_knowledge_bases_are_passed_over(tmp_path: Path) -> None:
    make(tmp_path, "a.txt", ".hidden.txt", ".git/config", "k.localrag", "k.localrag-wal", "k.localrag-shm")
    found = discover([tmp_path])
    assert relatives(found) == ["a.txt"]
    assert reasons(found, tmp_path) == {
        ".hidden.txt": "hidden",
        ".git": "hidden",
        "k.localrag": "a knowledge base",
        "k.localrag-wal": "a knowledge base",
        "k.localrag-shm": "a knowledge base",
    }


def test_what_a_person_names_is_taken_even_if_hidden(tmp_path: Path) -> None:
    make(tmp_path, ".notes/a.txt", ".b.txt", "k.localrag")
    found = discover([tmp_path / ".notes", tmp_path / ".b.txt", tmp_path / "k.localrag"])
    assert relatives(found) == ["a.txt", ".b.txt"]
    assert reasons(found, tmp_path) == {"k.localrag": "a knowledge base"}


def test_links(tmp_path: Path) -> None:
    make(tmp_path, "root/a.txt", "root/sub/b.txt", "root/.store/real.txt", "outside.txt")
    root = tmp_path / "root"
    (root / "0-copy.txt").symlink_to("a.txt")
    (root / "from-store.txt").symlink_to(".store/real.txt")
    (root / "out.txt").symlink_to(tmp_path / "outside.txt")
    (root / "sub/loop").symlink_to(root)
    (root / "self.txt").symlink_to("self.txt")
    (root / "nowhere.txt").symlink_to("nothing")
    found = discover([root])
    assert relatives(found) == ["a.txt", "sub/b.txt", "from-store.txt"]
    told = reasons(found, root)
    assert "the same file as" in told["0-copy.txt"]
    assert told["out.txt"] == "a link that leads out of the folder"
    assert told["sub/loop"] == "a link to a folder"
    assert told["self.txt"].startswith("a link that leads nowhere")
    assert told["nowhere.txt"].startswith("a link that leads nowhere")


def test_a_link_that_a_person_names_is_followed(tmp_path: Path) -> None:
    make(tmp_path, "real/a.txt")
    (tmp_path / "link").symlink_to("real")
    (file,) = discover([tmp_path / "link"]).files
    assert (file.root, file.relative) == (tmp_path / "link", "a.txt")


def test_a_hard_link_is_the_same_file(tmp_path: Path) -> None:
    make(tmp_path, "a.txt")
    os.link(tmp_path / "a.txt", tmp_path / "b.txt")
    found = discover([tmp_path])
    assert relatives(found) == ["a.txt"]
    assert "the same file as" in reasons(found, tmp_path)["b.txt"]


def test_equal_files_are_two_documents(tmp_path: Path) -> None:
    for name in ("a.txt", "sub/a.txt"):
        make(tmp_path, name)
        (tmp_path / name).write_text("equal", encoding="utf-8")
    assert relatives(discover([tmp_path])) == ["a.txt", "sub/a.txt"]


def test_pipes_and_sockets_are_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "a.txt")
    os.mkfifo(tmp_path / "pipe.txt")
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("sock.txt")
        found = discover([tmp_path])
    assert relatives(found) == ["a.txt"]
    assert set(reasons(found, tmp_path).values()) == {"not an ordinary file"}
    assert discover([tmp_path / "pipe.txt"]).files == ()


def test_a_folder_that_cannot_be_opened_does_not_stop_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "a.txt", "locked/b.txt", "z/c.txt")
    scandir = os.scandir

    def refuse(path: Any) -> object:
        if path == tmp_path / "locked":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = discover([tmp_path])
    assert relatives(found) == ["a.txt", "z/c.txt"]
    assert reasons(found, tmp_path) == {"locked": "permission denied"}


def test_a_file_that_vanishes_meanwhile_does_not_stop_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "a.txt", "b.txt")
    stat = os.stat

    def vanish(path: Any, **options: Any) -> os.stat_result:
        if path == tmp_path / "a.txt":
            raise FileNotFoundError(2, "No such file or directory")
        return stat(path, **options)

    monkeypatch.setattr(os, "stat", vanish)
    found = discover([tmp_path])
    assert relatives(found) == ["b.txt"]
    assert reasons(found, tmp_path) == {"a.txt": "no such file or directory"}


def test_names_are_exact_and_well_formed(tmp_path: Path) -> None:
    for name in ("[x].txt", "a b.txt", "a_b.txt", "A B.txt", "100%#.txt", "two\nlines.txt", "café.txt"):
        make(tmp_path, name)
    raw = os.fsdecode(b"raw-\xe9.txt")
    make(tmp_path, raw)
    found = {file.relative: file.path for file in discover([tmp_path]).files}
    assert "two\nlines.txt" in found
    assert {"a b.txt", "a_b.txt", "A B.txt", "[x].txt"} <= set(found)
    assert found["raw-\\xe9.txt"].read_bytes() == b"raw-\xe9.txt"
    for relative in found:
        relative.encode("utf-8")
    assert len(found) == 8


def test_a_very_deep_folder(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * 300)
    deep.mkdir(parents=True)
    (deep / "a.txt").touch()
    assert relatives(discover([tmp_path])) == ["d/" * 300 + "a.txt"]
