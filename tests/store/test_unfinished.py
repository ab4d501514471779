"""An empty file is made into a knowledge base; one with anything in it never is."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from localrag.errors import KnowledgeBaseExists
from localrag.store import Store
from localrag.store.sqlite import sqlite3
from tests.store.helpers import add, files_beside


def test_an_empty_file_is_taken_over_and_is_its_owners_alone(path: Path) -> None:
    path.touch(mode=0o644)
    with Store.create(path) as store:
        add(store, "a.txt", "one")
        assert store.check() == []
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert files_beside(path) == [path.name]


@pytest.mark.parametrize("content", [b" ", b"SQLite format 3\0", b"\0" * 4096])
def test_a_file_with_anything_in_it_is_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for _ in range(2):
        with pytest.raises(KnowledgeBaseExists):
            Store.create(path)
        # A log beside it makes it no emptier.
        (path.parent / f"{path.name}-journal").write_bytes(b"\0" * 512)
    assert path.read_bytes() == content


def test_another_programs_database_is_left_alone(path: Path) -> None:
    raw = sqlite3.connect(path)
    raw.execute("CREATE TABLE theirs (x)")
    raw.commit()
    raw.close()
    before = path.read_bytes()
    with pytest.raises(KnowledgeBaseExists):
        Store.create(path)
    assert path.read_bytes() == before


def test_a_folder_of_that_name_is_told(path: Path) -> None:
    path.mkdir()
    with pytest.raises(KnowledgeBaseExists):
        Store.create(path)
    assert path.is_dir()
