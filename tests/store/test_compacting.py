"""`vacuum`: a smaller file with the same content, or the same file."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from localrag.errors import Cancelled, DiskFull, KnowledgeBaseBusy, KnowledgeBaseError
from localrag.filing import vacuum
from localrag.store import Store
from localrag.store.sqlite import sqlite3
from tests.store.helpers import add, embed_missing, files_beside, logical_rows, session_of


@pytest.fixture
def loose(path: Path) -> Path:
    """A closed file out of which much was deleted."""
    with Store.create(path) as store:
        add(store, "a.txt", "The lighthouse keeper\nwrote letters\n知识图谱")
        gone = add(store, "long.txt", "\n".join(f"line {n} of a long document" for n in range(3000)))
        add(store, "b.txt", "Herons in the reeds")
        store.documents.delete(gone)
        embed_missing(store)
    return path


def test_room_is_given_back_and_all_is_kept(loose: Path) -> None:
    with Store.open(loose) as store:
        rows = logical_rows(store)
        rowids = session_of(store).rows("SELECT rowid, chunk_id FROM chunk_vectors")
        revision = store.revision()
    report = vacuum(loose)
    assert report.before > 2 * report.after
    assert report.after == loose.stat().st_size
    assert files_beside(loose) == [loose.name]
    assert oct(loose.stat().st_mode)[-3:] == "600"
    with Store.open(loose) as store:
        assert logical_rows(store) == rows
        # What is kept outside of the file may go by these.
        assert session_of(store).rows("SELECT rowid, chunk_id FROM chunk_vectors") == rowids
        assert store.revision() == revision
        assert store.check() == []
        assert session_of(store).value("PRAGMA freelist_count") == 0
    again = vacuum(loose)
    assert again.after <= again.before


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_that_is_open_elsewhere_is_left_alone(loose: Path, read_only: bool) -> None:
    before = loose.stat().st_size
    with Store.open(loose) as writer, Store.open(loose, read_only=read_only) as other:
        assert other.documents.list()
        with pytest.raises(KnowledgeBaseBusy, match=r"has notes\.localrag open"):
            vacuum(loose)
        assert writer.check() == []
    assert loose.stat().st_size == before
    assert files_beside(loose) == [loose.name]


def test_a_reader_in_the_midst_is_not_disturbed(loose: Path) -> None:
    reader = sqlite3.connect(loose, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM chunks").fetchone()
    with pytest.raises(KnowledgeBaseBusy):
        vacuum(loose)
    reader.close()
    assert vacuum(loose).after < loose.stat().st_size * 2


def test_a_stop_and_a_full_disk_change_nothing(loose: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(loose) as store:
        add(store, "more.txt", "\n".join(f"line {n} that stays in the document" for n in range(5000)))
        before = logical_rows(store)
    size = loose.stat().st_size
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Cancelled):
        vacuum(loose, cancel)
    usage = shutil.disk_usage(loose.parent)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage._replace(free=2 << 20))
    with pytest.raises(DiskFull):
        vacuum(loose)
    assert loose.stat().st_size == size
    with Store.open(loose) as store:
        assert logical_rows(store) == before
    assert files_beside(loose) == [loose.name]


def test_a_damaged_file_is_left_as_it_is(loose: Path) -> None:
    data = bytearray(loose.read_bytes())
    for page in range(5, len(data) // 4096, 3):
        data[page * 4096 : page * 4096 + 32] = b"\xff" * 32
    loose.write_bytes(data)
    with pytest.raises(KnowledgeBaseError):
        vacuum(loose)
    assert loose.read_bytes() == bytes(data)
    assert files_beside(loose) == [loose.name]
