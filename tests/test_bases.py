"""Further knowledge bases are opened for reading, under names of their own; faults of one are told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from localrag.bases import MOST, open_bases
from localrag.errors import (
    KnowledgeBaseError,
    KnowledgeBaseNotFound,
    KnowledgeBaseReadOnly,
    NewerFormat,
    NotAKnowledgeBase,
    UsageError,
)
from localrag.store.database import Store
from tests.store.helpers import session_of


def copy(store: Store, target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copyfile(store.path, target))


@pytest.fixture
def own(read_file: Path, tmp_path: Path) -> Store:
    return Store.open(Path(shutil.copyfile(read_file, tmp_path / "own.localrag")))


def test_names_are_those_of_the_files_each_once(own: Store, tmp_path: Path) -> None:
    letters, again = copy(own, tmp_path / "letters.localrag"), copy(own, tmp_path / "b" / "letters.localrag")
    same = copy(own, tmp_path / "b" / "own.localrag")
    paths = [letters, own.path, again, letters, same]
    with open_bases(own, paths) as bases:
        assert bases.names == ("", "letters", "letters (2)", "own (2)")
        assert bases.store("") is own
        assert bases.store("letters (2)").path == again
        with pytest.raises(UsageError, match="guess is not open"):
            bases.store("guess")


def test_they_cannot_be_written_and_are_closed_behind_the_block(
    own: Store, read_file: Path, tmp_path: Path
) -> None:
    path = Path(shutil.copyfile(read_file, tmp_path / "letters.localrag"))
    before = path.read_bytes()
    with open_bases(own, [path]) as bases:
        store = bases.store("letters")
        with pytest.raises(KnowledgeBaseReadOnly):
            store.documents.delete(1)
        assert store.chunks.count().total
    with pytest.raises(Exception, match="closed"):
        store.chunks.count()
    assert path.read_bytes() == before


def test_marks_change_with_any_of_the_files(own: Store, tmp_path: Path) -> None:
    path = copy(own, tmp_path / "letters.localrag")
    with open_bases(own, [path]) as bases:
        before = bases.marks()
        assert len(before) == 2
        with Store.open(path) as other:
            other.documents.delete(1)
        assert bases.marks() != before
        assert bases.marks()[0] == before[0]


def test_a_file_that_is_not_there_is_named(own: Store, tmp_path: Path) -> None:
    with (
        pytest.raises(KnowledgeBaseNotFound, match=r"gone\.localrag") as error,
        open_bases(own, [tmp_path / "gone.localrag"]),
    ):
        pass
    assert "localrag init" not in error.value.hint


def test_a_foreign_or_damaged_file_is_refused(own: Store, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.localrag"
    foreign.write_text("no database")
    with pytest.raises(NotAKnowledgeBase), open_bases(own, [foreign]):
        pass
    cut = copy(own, tmp_path / "cut.localrag")
    cut.write_bytes(cut.read_bytes()[:100] + b"\xff" * 8_000)
    with pytest.raises(KnowledgeBaseError), open_bases(own, [cut]) as bases:
        bases.store("cut").chunks.count()


def test_a_newer_file_is_refused(own: Store, tmp_path: Path) -> None:
    path = copy(own, tmp_path / "newer.localrag")
    with Store.open(path) as store:
        session_of(store).database.conn.execute("PRAGMA user_version = 99")
    with pytest.raises(NewerFormat), open_bases(own, [path]):
        pass


def test_too_many_are_refused(own: Store, tmp_path: Path) -> None:
    with (
        pytest.raises(UsageError, match="too many") as error,
        open_bases(own, [tmp_path / f"{n}.localrag" for n in range(MOST + 1)]),
    ):
        pass
    assert "localrag merge" in error.value.hint
