"""Copies of the file: whole or not there, private, never over something else."""

from __future__ import annotations

import os
import resource
import shutil
import stat
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from localrag.errors import (
    Cancelled,
    DiskFull,
    KnowledgeBaseBusy,
    KnowledgeBaseError,
    KnowledgeBaseExists,
    KnowledgeBaseNotFound,
    NotAKnowledgeBase,
    UsageError,
)
from localrag.store import Store, backup
from localrag.store.backup import copy_file, free_name
from localrag.store.sqlite import sqlite3
from tests.store.helpers import add, embed_missing, files_beside, logical_rows

REPO = Path(__file__).parents[2]


@pytest.fixture
def filled(path: Path) -> Path:
    """A closed knowledge base with some text and vectors."""
    with Store.create(path) as store:
        add(store, "a.txt", "The lighthouse keeper\nwrote letters\n知识图谱")
        embed_missing(store)
    return path


def header(path: Path) -> tuple[object, ...]:
    """What marks the file, and how it would be opened."""
    raw = sqlite3.connect(path)
    names = ("application_id", "user_version", "journal_mode")
    marks = tuple(raw.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
    raw.close()
    return marks


def test_a_copy_is_the_same_knowledge_base(filled: Path, tmp_path: Path) -> None:
    target = tmp_path / "out" / "copy.localrag"
    target.parent.mkdir()
    size = copy_file(filled, target)
    assert size == target.stat().st_size
    assert files_beside(target) == ["copy.localrag"]
    assert files_beside(filled)[:1] == [filled.name]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert header(target) == header(filled) == (0x4C524147, header(filled)[1], "delete")
    with Store.open(filled) as store, Store.open(target) as copy:
        assert logical_rows(copy) == logical_rows(store)
        assert copy.info().uuid == store.info().uuid
        assert copy.check() == []
        assert [hit.id for hit in copy.fulltext.search("知识", 5)] == [3]


def test_a_copy_holds_what_another_program_just_stored(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    with Store.create(path) as store:
        add(store, "a.txt", "one")
        with store.transaction():
            add(store, "b.txt", "two")
            copy_file(path, target)
        copy_file(path, tmp_path / "second")
        assert len(store.documents.list()) == 2
    with Store.open(target) as copy:
        assert [row.path for row in copy.documents.list()] == ["a.txt"]
        assert copy.check() == []
    with Store.open(tmp_path / "second") as copy:
        assert [row.path for row in copy.documents.list()] == ["a.txt", "b.txt"]


def test_nothing_is_replaced_without_being_told(filled: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    Store.create(target).close()
    before = target.read_bytes()
    with pytest.raises(KnowledgeBaseExists, match="is there already"):
        copy_file(filled, target)
    assert target.read_bytes() == before
    copy_file(filled, target, overwrite=True)
    with Store.open(target) as copy:
        assert len(copy.documents.list()) == 1
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"", b"my thesis", b"SQLite format 3\0" + b"\0" * 100])
def test_what_is_no_knowledge_base_is_never_replaced(filled: Path, tmp_path: Path, content: bytes) -> None:
    target = tmp_path / "thesis.docx"
    target.write_bytes(content)
    with pytest.raises(UsageError, match="is not a knowledge base; it is never replaced"):
        copy_file(filled, target, overwrite=True)
    assert target.read_bytes() == content


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
def test_the_knowledge_base_itself_is_no_target(filled: Path, suffix: str) -> None:
    before = filled.read_bytes()
    with pytest.raises(UsageError, match="is the knowledge base itself"):
        copy_file(filled, filled.with_name(filled.name + suffix), overwrite=True)
    assert filled.read_bytes() == before


def test_links_to_the_knowledge_base_are_the_knowledge_base(filled: Path, tmp_path: Path) -> None:
    (tmp_path / "soft").symlink_to(filled)
    os.link(filled, tmp_path / "hard")
    for name in ("soft", "hard"):
        with pytest.raises(UsageError, match="is the knowledge base itself"):
            copy_file(filled, tmp_path / name, overwrite=True)


def test_strange_targets_are_refused(filled: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder") as caught:
        copy_file(filled, tmp_path)
    assert filled.name in caught.value.hint
    with pytest.raises(KnowledgeBaseNotFound, match="There is no folder"):
        copy_file(filled, tmp_path / "nowhere" / "copy")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="never replaced"):
        copy_file(filled, tmp_path / "pipe", overwrite=True)
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    with pytest.raises(KnowledgeBaseExists):
        copy_file(filled, tmp_path / "dangling")
    with pytest.raises(KnowledgeBaseError, match="cannot be made"):
        copy_file(filled, tmp_path / ("n" * 300))
    assert sorted(item.name for item in tmp_path.iterdir()) == ["dangling", filled.name, "pipe"]


def test_a_target_that_is_open_elsewhere_is_not_replaced(filled: Path, tmp_path: Path) -> None:
    """The new file would otherwise meet the log of the old one."""
    target = tmp_path / "copy"
    with Store.create(target) as other:
        add(other, "b.txt", "two")
        with pytest.raises(KnowledgeBaseBusy, match="lies beside copy"):
            copy_file(filled, target, overwrite=True)
    with Store.open(target) as other:
        assert other.check() == []
        assert len(other.documents.list()) == 1


def test_a_source_that_is_none_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"plain text, longer than a header" * 100)
    with pytest.raises(NotAKnowledgeBase):
        copy_file(source, tmp_path / "copy")
    assert [item.name for item in tmp_path.iterdir()] == ["source"]


def test_a_damaged_source_gives_no_copy(filled: Path, tmp_path: Path) -> None:
    data = bytearray(filled.read_bytes())
    pages = len(data) // 4096
    for page in range(1, pages):
        data[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    filled.write_bytes(data)
    with pytest.raises(KnowledgeBaseError):
        copy_file(filled, tmp_path / "copy")
    assert [item.name for item in tmp_path.iterdir()] == [filled.name]


def test_a_copy_that_is_not_whole_is_noticed(
    filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the disk had lost a page between writing and reading."""
    real = backup.plain_connection

    def losing(place: Path) -> sqlite3.Connection:
        if place.suffix == ".part":
            data = bytearray(place.read_bytes())
            data[4 * 4096 : 5 * 4096] = b"\xff" * 4096
            place.write_bytes(data)
        return real(place)

    monkeypatch.setattr(backup, "plain_connection", losing)
    with pytest.raises(KnowledgeBaseError):
        copy_file(filled, tmp_path / "copy")
    assert [item.name for item in tmp_path.iterdir()] == [filled.name]


def test_a_stop_leaves_nothing(filled: Path, tmp_path: Path) -> None:
    with Store.open(filled) as store:
        add(store, "long.txt", "\n".join(f"line {n} of the long document" for n in range(20_000)))
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Cancelled):
        copy_file(filled, tmp_path / "copy", cancel=cancel)
    assert [item.name for item in tmp_path.iterdir()] == [filled.name]


def test_a_full_disk_is_foreseen(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage._replace(free=1000))
    with pytest.raises(DiskFull, match=r"0\.0 MB are free\. Nothing was changed"):
        copy_file(filled, tmp_path / "copy")
    assert [item.name for item in tmp_path.iterdir()] == [filled.name]


def test_a_disk_that_fills_up_leaves_nothing(filled: Path, tmp_path: Path) -> None:
    """A limit on the size of files stands in for the disk; SQLite sees a write that fails."""
    script = f"""
        import resource
        from pathlib import Path
        from localrag.errors import KnowledgeBaseError
        from localrag.store.backup import copy_file
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, {resource.RLIM_INFINITY}))
        try:
            copy_file(Path({str(filled)!r}), Path({str(tmp_path / "copy")!r}))
        except KnowledgeBaseError as error:
            print(type(error).__name__, error.message)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=REPO,
    )
    assert done.returncode == 0, done.stderr
    assert "cannot be written to" in done.stdout or "is full" in done.stdout
    assert [item.name for item in tmp_path.iterdir()] == [filled.name]


def test_what_killed_programs_left_is_swept_after_an_hour(filled: Path, tmp_path: Path) -> None:
    old, young, foreign = (
        tmp_path / name for name in (f".localrag-{'a' * 16}.part", f".localrag-{'b' * 16}.part", "x.part")
    )
    for place in (old, young, foreign):
        place.touch()
    hours_ago = time.time() - 2 * backup.ABANDONED
    os.utime(old, (hours_ago, hours_ago))
    os.utime(foreign, (hours_ago, hours_ago))
    copy_file(filled, tmp_path / "copy")
    assert not old.exists()
    assert young.exists()
    assert foreign.exists()


def test_a_disk_without_hard_links(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    copy_file(filled, tmp_path / "copy")
    with Store.open(tmp_path / "copy") as copy:
        assert copy.check() == []


def test_a_name_taken_meanwhile_is_kept(
    filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "copy"
    real = backup.write_copy

    def slow(source: Path, part: Path, *rest: object, **options: object) -> None:
        real(source, part)
        target.write_text("someone else's")

    monkeypatch.setattr(backup, "write_copy", slow)
    with pytest.raises(KnowledgeBaseExists, match="appeared meanwhile"):
        copy_file(filled, target)
    assert target.read_text() == "someone else's"
    assert files_beside(target) == ["copy", filled.name]


def test_free_names_are_counted_up(tmp_path: Path) -> None:
    place = tmp_path / "x"
    assert free_name(place) == place
    place.touch()
    (tmp_path / "x-2").symlink_to(tmp_path / "gone")
    assert free_name(place).name == "x-3"


def test_the_same_text_in_vectors_is_not_made_again_in_a_copy(filled: Path, tmp_path: Path) -> None:
    copy_file(filled, tmp_path / "copy")
    with Store.open(tmp_path / "copy") as copy:
        assert embed_missing(copy) == 0
