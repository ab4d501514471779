"""The file as a whole: made, opened, refused, closed."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from localrag.errors import (
    KnowledgeBaseError,
    KnowledgeBaseExists,
    KnowledgeBaseNotFound,
    KnowledgeBaseReadOnly,
    NewerFormat,
    NotAKnowledgeBase,
)
from localrag.store import Store, capabilities
from localrag.store.migrations import FORMAT, TABLES
from localrag.store.sqlite import sqlite3
from tests.store.helpers import add, add_lines, files_beside, session_of


def test_a_new_file_is_private_and_empty(path: Path) -> None:
    with Store.create(path) as store:
        assert not store.read_only
        assert store.check() == []
        info = store.info()
        assert info.format == FORMAT
        assert set(info.counts) == set(TABLES)
        assert set(info.counts.values()) == {0}
        assert info.revision == 0
        assert info.size > 0
        for name in files_beside(path):
            assert stat.S_IMODE((path.parent / name).stat().st_mode) == 0o600
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_all_tables_are_strict_and_marked_as_ours(store: Store) -> None:
    session = session_of(store)
    loose = session.column(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND NOT strict "
        "AND name NOT LIKE 'sqlite_%' AND name <> '_sqlite_migrations'"
    )
    assert loose == []
    assert session.value("PRAGMA application_id") == int.from_bytes(b"LRAG", "big")
    for pragma, value in (("foreign_keys", 1), ("secure_delete", 1), ("journal_mode", "wal")):
        assert session.value(f"PRAGMA {pragma}") == value


def test_no_schema_object_needs_the_extension(store: Store) -> None:
    assert (
        session_of(store).value("SELECT count(*) FROM sqlite_master WHERE sql LIKE '%vec\\_%(%' ESCAPE '\\'")
        == 0
    )
    assert session_of(store).column("SELECT name FROM sqlite_master WHERE type = 'view'") == []
    triggers = session_of(store).column("SELECT sql FROM sqlite_master WHERE type = 'trigger'")
    # Only what every SQLite has; see format2.py.
    called = {name for sql in triggers for name in re.findall(r"(\w+)\(", sql)}
    assert called == {"random", "RAISE"}


def test_content_survives_closing_and_a_copy_answers_the_same(path: Path, tmp_path: Path) -> None:
    with Store.create(path) as store:
        add(store, "a.txt", "The lighthouse keeper\nwrote letters")
        before = store.info()
    assert files_beside(path) == [path.name]
    copy = tmp_path / "elsewhere" / "copy.localrag"
    copy.parent.mkdir()
    shutil.copy(path, copy)
    with Store.open(copy) as store:
        assert [hit.id for hit in store.fulltext.search("lighthouse", 5)] == [1]
        assert store.info().uuid == before.uuid
        assert store.revision() == before.revision == 1


def test_one_file_is_left_by_the_last_to_close(path: Path) -> None:
    first = Store.create(path)
    second = Store.open(path)
    third = Store.open(path, read_only=True)
    add(first, "a.txt", "one")
    assert len(third.documents.list()) == 1
    first.close()
    add(second, "b.txt", "two")
    assert len(third.documents.list()) == 2
    second.close()
    assert len(third.documents.list()) == 2
    third.close()
    assert files_beside(path) == [path.name]
    with sqlite3.connect(path) as raw:
        assert raw.execute("PRAGMA journal_mode").fetchone()[0] == "delete"
    raw.close()


def test_closing_twice_is_fine(path: Path) -> None:
    store = Store.create(path)
    store.close()
    store.close()


def test_an_existing_file_is_not_made_again(path: Path) -> None:
    path.write_text("mine")
    with pytest.raises(KnowledgeBaseExists, match=r"notes\.localrag is there already"):
        Store.create(path)
    assert path.read_text() == "mine"


def test_missing_folder_and_missing_file_are_told(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeBaseNotFound, match="There is no folder"):
        Store.create(tmp_path / "nowhere" / "x.localrag")
    with pytest.raises(KnowledgeBaseNotFound, match=r"localrag init x\.localrag"):
        Store.open(tmp_path / "x.localrag")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content", [b"", b"plain text, longer than a header" * 10, b"SQLite format 3\0" + b"x" * 200]
)
def test_a_foreign_file_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(NotAKnowledgeBase, match="is not a knowledge base of localrag"):
        Store.open(path)
    assert path.read_bytes() == content
    assert files_beside(path) == [path.name]


def test_another_programs_database_is_refused(path: Path) -> None:
    raw = sqlite3.connect(path)
    raw.execute("CREATE TABLE recipes (name TEXT)")
    raw.commit()
    raw.close()
    content = path.read_bytes()
    with pytest.raises(NotAKnowledgeBase):
        Store.open(path)
    assert path.read_bytes() == content


def test_a_folder_is_no_knowledge_base(tmp_path: Path) -> None:
    with pytest.raises(NotAKnowledgeBase):
        Store.open(tmp_path)


def test_a_newer_file_is_refused_with_both_formats_named(path: Path) -> None:
    Store.create(path).close()
    raw = sqlite3.connect(path)
    raw.execute(f"PRAGMA user_version = {FORMAT + 6}")
    raw.close()
    content = path.read_bytes()
    with pytest.raises(NewerFormat, match=rf"has format {FORMAT + 6}; .*formats up to {FORMAT}\."):
        Store.open(path)
    assert path.read_bytes() == content


def test_read_only_on_request_stores_nothing(path: Path) -> None:
    with Store.create(path) as store:
        add(store, "a.txt", "one")
    content = path.read_bytes()
    with Store.open(path, read_only=True) as store:
        assert store.read_only
        assert store.check() == []
        with pytest.raises(KnowledgeBaseReadOnly, match="open for reading only"):
            add(store, "b.txt", "two")
        with pytest.raises(KnowledgeBaseReadOnly):
            store.chunks.mark_failed(1, "x")
    assert path.read_bytes() == content
    assert files_beside(path) == [path.name]


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that other users can enter, unlike those of pytest."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="not here: permissions of POSIX")
@pytest.mark.parametrize("journal_mode", ["delete", "wal"])
def test_what_cannot_be_written_opens_for_reading(public: Path, journal_mode: str) -> None:
    """Run as another user where the tests run as root, whom no permission stops."""
    path = public / "shared.localrag"
    with Store.create(path) as store:
        add_lines(store, "A word about herons")
    if journal_mode == "wal":
        raw = sqlite3.connect(path)
        raw.execute("PRAGMA journal_mode = wal").fetchone()
        raw.close()
        assert files_beside(path) == [path.name]
    path.chmod(0o444)
    public.chmod(0o555)
    script = f"""
        import os, sys
        from pathlib import Path
        from localrag.errors import KnowledgeBaseReadOnly
        from localrag.store import Store, capabilities
        import encodings.idna, numpy.random
        capabilities()
        if os.geteuid() == 0:
            os.setgid(65534); os.setuid(65534)
        with Store.open(Path({str(path)!r})) as store:
            assert store.read_only
            assert [hit.id for hit in store.fulltext.search("herons", 3)] == [1]
            try:
                store.documents.delete(1)
            except KnowledgeBaseReadOnly as error:
                print(error.message)
        try:
            Store.create(Path({str(public / "new.localrag")!r}))
        except KnowledgeBaseReadOnly as error:
            print(error.message)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "shared.localrag is open for reading only" in done.stdout
    assert "new.localrag cannot be made" in done.stdout
    public.chmod(0o755)
    assert files_beside(path) == [path.name]


def test_a_link_to_the_file_opens_the_file(path: Path, tmp_path: Path) -> None:
    Store.create(path).close()
    folder = tmp_path / "links"
    folder.mkdir()
    link = folder / "link.localrag"
    os.symlink(path, link)
    with Store.open(link) as store:
        add(store, "a.txt", "one")
    with Store.open(path) as store:
        assert len(store.documents.list()) == 1
    assert [item.name for item in folder.iterdir()] == ["link.localrag"]


@pytest.mark.parametrize(
    "name", ["a?b#c%41.localrag", "my notes 知识.localrag", "'; DROP TABLE documents; --.localrag"]
)
def test_strange_file_names_work(tmp_path: Path, name: str) -> None:
    path = tmp_path / "d" / name
    path.parent.mkdir()
    with Store.create(path) as store:
        add(store, "a.txt", "one")
    with Store.open(path) as store:
        assert len(store.documents.list()) == 1
    assert files_beside(path) == [name]


def test_failed_creation_leaves_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object) -> None:
        raise sqlite3.OperationalError("no")

    monkeypatch.setattr("localrag.store.migrations.steps.apply", fail)
    with pytest.raises(sqlite3.OperationalError):
        Store.create(path)
    assert list(path.parent.iterdir()) == []


def test_a_sqlite_that_cannot_do_it_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localrag.store.sqlite.OLDEST_SQLITE", (99, 0, 0))
    with pytest.raises(KnowledgeBaseError, match="too old or was built without full text") as caught:
        Store.create(path)
    assert "pysqlite3" in caught.value.hint
    assert not path.exists()


def test_capabilities_say_what_is_there() -> None:
    found = capabilities()
    assert found.module in ("pysqlite3", "sqlite3")
    assert found.sqlite_version == sqlite3.sqlite_version
    assert found.fts5
    if found.vec_version is None:
        assert found.search_path == "numpy"


def test_extension_loading_is_off_again(store: Store) -> None:
    with pytest.raises(sqlite3.OperationalError):
        session_of(store).database.execute("SELECT load_extension('anything')")
