"""All or nothing: nesting, a full disk, a second writer, a killed program."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from localrag.errors import DiskFull, KnowledgeBaseBusy, KnowledgeBaseError
from localrag.store import Store
from localrag.store.rows import NewChunk, NewDocument
from localrag.store.sqlite import sqlite3, translated
from tests.store.helpers import add, chunks_of, document, files_beside, logical_rows, session_of

BIG = "\n".join(f"Line {number} speaks of harbour {number % 7} and of rope." for number in range(300))


def test_an_exception_undoes_the_whole_block(store: Store) -> None:
    add(store, "a.txt", "one")
    before, revision = logical_rows(store), store.revision()

    def block() -> None:
        with store.transaction():
            add(store, "b.txt", "two")
            store.documents.delete(1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        block()
    assert logical_rows(store) == before
    assert store.revision() == revision


def test_an_inner_block_undoes_its_own_part(store: Store) -> None:
    def inner() -> None:
        with store.transaction():
            add(store, "b.txt", "two")
            raise LookupError

    with store.transaction():
        add(store, "a.txt", "one")
        with pytest.raises(LookupError):
            inner()
        with store.transaction():
            add(store, "c.txt", "three")
    assert [row.path for row in store.documents.list()] == ["a.txt", "c.txt"]
    assert store.revision() == 1


def test_the_revision_grows_with_content_only(store: Store) -> None:
    document_id = add(store, "a.txt", "one")
    assert store.revision() == 1
    store.documents.set_status(document_id, "waiting", "later")
    store.chunks.mark_failed(1, "no")
    store.journal.put_prompt("text")
    with store.transaction():
        pass
    assert store.revision() == 1
    store.documents.delete(document_id)
    assert store.revision() == 2


def test_a_write_outside_of_a_transaction_is_a_mistake(store: Store) -> None:
    with pytest.raises(RuntimeError):
        session_of(store).run("DELETE FROM documents")


def fill(store: Store) -> int:
    """Limit the file's size and add documents until it is reached; returns how many went in."""
    session = session_of(store)
    pages = session.value("PRAGMA page_count")
    session.database.execute(f"PRAGMA max_page_count = {pages + 60}").fetchone()
    for number in range(100):
        try:
            add(store, f"{number}.txt", BIG)
        except DiskFull:
            return number
    raise AssertionError("the limit was never reached")


def test_a_full_disk_loses_nothing_committed(path: Path) -> None:
    with Store.create(path) as store:
        count = fill(store)
        assert count > 0
        assert len(store.documents.list()) == count
        assert store.check() == []
        before = logical_rows(store)
    assert files_beside(path) == [path.name]
    with Store.open(path) as store:
        assert logical_rows(store) == before
        add(store, "more.txt", BIG)
        assert store.check() == []


def test_a_full_disk_tells_what_to_do(store: Store) -> None:
    fill(store)
    with pytest.raises(DiskFull) as caught:
        add(store, "last.txt", BIG)
    assert "is full" in caught.value.message
    assert caught.value.hint


def test_nothing_is_written_after_a_full_disk_undid_the_block(store: Store) -> None:
    fill(store)
    before = logical_rows(store)

    def careless() -> None:
        with store.transaction():
            try:
                add(store, "big.txt", BIG * 3)
            except DiskFull:
                add(store, "small.txt", "x")

    with pytest.raises((DiskFull, KnowledgeBaseError)):
        careless()
    assert logical_rows(store) == before


def test_a_second_writer_is_told_and_readers_are_not_blocked(path: Path) -> None:
    with Store.create(path) as first, Store.open(path, busy_timeout=0.2) as second:
        add(first, "a.txt", "one")
        with first.transaction():
            add(first, "b.txt", "two")
            assert [row.path for row in second.documents.list()] == ["a.txt"]
            with Store.open(path, busy_timeout=0.2) as third:
                assert len(third.fulltext.search("one", 5)) == 1
            started = time.monotonic()
            with pytest.raises(KnowledgeBaseBusy, match="Another program is writing"):
                add(second, "c.txt", "three")
            assert 0.1 < time.monotonic() - started < 3
        add(second, "c.txt", "three")
        assert len(first.documents.list()) == 3


@pytest.mark.parametrize(
    ("kind", "meant"),
    [
        (1, "damaged or its disk fails"),  # reading
        (3, "cannot be written to its disk .* saved before is still there"),  # writing: a file too large
        (4, "cannot be written to its disk"),  # having the disk write it down
    ],
)
def test_errors_of_the_disk_keep_their_meaning(path: Path, kind: int, meant: str) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = 10 | (kind << 8)
    path.touch()
    with pytest.raises(KnowledgeBaseError, match=meant), translated(path):
        raise error


def test_mistakes_of_the_program_stay_as_they_are(path: Path) -> None:
    with pytest.raises(sqlite3.IntegrityError), translated(path):
        raise sqlite3.IntegrityError("a mistake of the program")


def kill(path: Path, body: str) -> None:
    """Run a program on the file and kill it at the line where it says so."""
    script = f"""
        import sys, time
        from pathlib import Path
        from localrag.store import Store
        from tests.store.helpers import add, session_of
        BIG = {BIG!r}
        store = Store.open(Path({str(path)!r}))
        session_of(store).database.execute("PRAGMA cache_size = 5")
        def here():
            print("here", flush=True)
            time.sleep(60)
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script) + textwrap.dedent(body)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert child.stdout is not None
    assert child.stdout.readline().strip() == b"here"
    child.kill()
    child.wait()
    child.stdout.close()
    assert child.returncode == -signal.SIGKILL


@pytest.mark.skipif(sys.platform == "win32", reason="not here: signals of POSIX")
@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ("with store.transaction():\n    add(store, 'b.txt', BIG)\n    here()", ["a.txt"]),
        ("add(store, 'b.txt', BIG)\nhere()", ["a.txt", "b.txt"]),
        ("with store.transaction():\n    store.documents.delete(1)\n    here()", ["a.txt"]),
    ],
    ids=["adding", "added", "deleting"],
)
def test_a_killed_program_leaves_what_it_committed(path: Path, body: str, kept: list[str]) -> None:
    with Store.create(path) as store:
        add(store, "a.txt", BIG)
        rows = logical_rows(store)
    kill(path, body)
    assert len(files_beside(path)) > 1
    with Store.open(path) as store:
        assert [row.path for row in store.documents.list()] == kept
        assert store.check() == []
        if len(kept) == 1:
            assert logical_rows(store) == rows
        add(store, "c.txt", "goes on")
    assert files_beside(path) == [path.name]


@pytest.mark.parametrize(
    "act",
    [
        lambda store: store.documents.replace(1, *_changed()),
        lambda store: store.documents.add(*_changed("new.txt")),
        lambda store: store.documents.delete(1),
    ],
    ids=["replace", "add", "delete"],
)
def test_a_step_that_fails_inside_leaves_everything_as_it_was(
    store: Store, act: Callable[[Store], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    add(store, "a.txt", BIG)
    before = logical_rows(store)

    def fail(*args: object) -> None:
        raise OSError("pulled the plug")

    monkeypatch.setattr("localrag.store.documents.settle_document", fail)
    monkeypatch.setattr("localrag.store.matching.Touched.settle", fail)
    with pytest.raises(OSError, match="pulled the plug"):
        act(store)
    assert logical_rows(store) == before


def _changed(name: str = "a.txt") -> tuple[NewDocument, list[NewChunk]]:
    return document(name, "other\ntext"), chunks_of("other\ntext")
