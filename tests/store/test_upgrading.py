"""Files of earlier formats: brought up to date with a copy kept, or read as they are."""

from __future__ import annotations

import gzip
import os
import shutil
import stat
from pathlib import Path

import pytest

from localrag.errors import DiskFull, KnowledgeBaseBusy, KnowledgeBaseError, KnowledgeBaseReadOnly
from localrag.graph.names import fold
from localrag.store import Store, migrations, sqlite, upgrading
from localrag.store.migrations import FORMAT
from localrag.store.sqlite import sqlite3
from tests.store.helpers import add, embed_missing, files_beside, session_of

FILES = sorted((Path(__file__).parent / "files").glob("format-*.localrag.gz"))


def format_of(path: Path) -> int:
    """The format that a file says it has."""
    raw = sqlite3.connect(path)
    found = raw.execute("PRAGMA user_version").fetchone()[0]
    raw.close()
    return int(found)


def unpack(stored: Path, path: Path) -> Path:
    """A stored file at `path`."""
    path.write_bytes(gzip.decompress(stored.read_bytes()))
    path.chmod(0o600)
    return path


@pytest.fixture
def older(path: Path) -> Path:
    """A file of format 1."""
    return unpack(FILES[0], path)


def rows(path: Path, table: str, columns: str = "*") -> list[tuple[object, ...]]:
    """The rows of a table as they lie in the file."""
    raw = sqlite3.connect(path)
    found = raw.execute(f"SELECT {columns} FROM {table} ORDER BY 1, 2").fetchall()
    raw.close()
    return found


def test_every_format_is_stored() -> None:
    assert [item.name for item in FILES] == [f"format-{n}.localrag.gz" for n in range(1, FORMAT + 1)]


@pytest.mark.parametrize("stored", FILES, ids=lambda item: item.name)
def test_every_earlier_format_opens(stored: Path, path: Path) -> None:
    found = format_of(unpack(stored, path))
    kept = ("documents", "chunks", "generations", "entities", "relations", "rejects", "prompts")
    columns = {
        "documents": "id, root, path, sha256, text",
        "chunks": "id, document_id, ordinal, state, text",
        "generations": "id, chunk_id, task, prompt_hash, parsed, output",
        "entities": "id, name, type, text_hash",
        "relations": "id, source_id, target_id, text_hash",
        "rejects": "id, generation_id, text",
        "prompts": "hash, text",
        "mentions": "id, chunk_id, entity_id, generation_id, name, char_start, type, description",
        "relation_mentions": "id, chunk_id, relation_id, generation_id, keywords, description",
        "chunk_vectors": "chunk_id, space_id, text_hash, vec",
        "entity_vectors": "entity_id, space_id, text_hash, vec",
        "relation_vectors": "relation_id, space_id, text_hash, vec",
    }
    before = {table: rows(path, table, names) for table, names in columns.items()}
    assert all(before[table] for table in columns)
    with Store.open(path) as store:
        assert store.info().format == FORMAT
        assert store.check() == []
        assert bool(store.notes) == (found < FORMAT)
        session = session_of(store)
        for table in kept:
            names = columns[table]
            assert session.rows(f"SELECT {names} FROM {table} ORDER BY 1, 2") == before[table], table
        for chunk in store.chunks.many(session.column("SELECT id FROM chunks")):
            word = max(
                (part for part in chunk.text.split() if part.isascii()), key=len, default=chunk.text[:2]
            )
            assert chunk.id in {hit.id for hit in store.fulltext.search(word, 50)}
        assert (
            session.rows(
                "SELECT key FROM mentions m WHERE entity_id IS NOT NULL AND NOT EXISTS "
                "(SELECT 1 FROM decisions) AND key <> (SELECT key FROM entities "
                "WHERE id = m.entity_id)"
            )
            == []
        )
        ends = session.rows(
            "SELECT m.source_key, m.target_key, s.key, t.key FROM relation_mentions m "
            "JOIN relations r ON r.id = m.relation_id JOIN entities s ON s.id = r.source_id "
            "JOIN entities t ON t.id = r.target_id"
        )
        assert ends
        if found == 1:
            assert all((source, target) == (left, right) for source, target, left, right in ends)
        # Names are folded by the rules of this program.
        for table, column in (("entities", "key"), ("mentions", "key"), ("relation_mentions", "source_key")):
            keys = session.column(f"SELECT {column} FROM {table}")
            assert [fold(key) for key in keys] == keys
        # Nothing has to be embedded again.
        assert all(store.vectors.missing(1, kind) == [] for kind in ("chunk", "entity", "relation"))
    after = {table: rows(path, table, names) for table, names in columns.items()}
    assert after == before
    with Store.open(path) as store:
        assert store.notes == ()
    copies = [] if found == FORMAT else [f"{path.name}.format-{found}"]
    assert files_beside(path) == [path.name, *copies]


def test_an_upgraded_file_has_the_tables_of_a_new_one(older: Path, tmp_path: Path) -> None:
    Store.open(older).close()
    Store.create(tmp_path / "new").close()

    def schema(path: Path) -> list[tuple[object, ...]]:
        raw = sqlite3.connect(path)
        tables = [
            (table, *row[1:])
            for (table,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            for row in raw.execute(f"SELECT * FROM pragma_table_xinfo('{table}')")
        ]
        indexes = raw.execute(
            "SELECT name, tbl_name FROM sqlite_master WHERE type = 'index' ORDER BY 1"
        ).fetchall()
        raw.close()
        return [*tables, *indexes]

    assert schema(older) == schema(tmp_path / "new")


def test_a_copy_of_the_older_file_is_kept(older: Path) -> None:
    before = older.read_bytes()
    with Store.open(older) as store:
        (note,) = store.notes
    copy = older.with_name(f"{older.name}.format-1")
    assert f"from format 1 to format {FORMAT}" in note
    assert copy.name in note
    assert files_beside(older) == [older.name, copy.name]
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert format_of(copy) == 1
    # The copy is what the file was, and can be used in its place.
    plain = unpack(FILES[0], older.with_name("again"))
    assert plain.read_bytes() == before
    for table in ("documents", "mentions", "chunk_vectors", "meta"):
        assert rows(copy, table) == rows(plain, table)
    os.replace(copy, older)
    with Store.open(older) as store:
        assert store.check() == []


def test_an_earlier_copy_is_never_overwritten(older: Path) -> None:
    first = older.with_name(f"{older.name}.format-1")
    first.write_text("mine")
    with Store.open(older) as store:
        assert f"{first.name}-2" in store.notes[0]
    assert first.read_text() == "mine"
    assert format_of(older.with_name(f"{first.name}-2")) == 1


@pytest.mark.parametrize(
    "statement", ["DROP TABLE mentions", "CREATE TABLE answers", "PRAGMA user_version = "]
)
def test_a_step_that_fails_leaves_the_file_as_it_was(
    older: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    before = older.read_bytes()
    real = sqlite.prepared

    def failing(connection: sqlite3.Connection) -> object:
        database = real(connection)
        # Denied as a corrupt page or a limit of SQLite would deny it.
        kinds = {"DROP": sqlite3.SQLITE_DROP_TABLE, "CREATE": sqlite3.SQLITE_CREATE_TABLE}
        word, name = statement.split()[0], statement.split()[-1]

        def allow(kind: int, first: str | None, second: str | None, *rest: object) -> int:
            if kind == kinds.get(word) and first == name:
                return sqlite3.SQLITE_DENY
            if word == "PRAGMA" and kind == sqlite3.SQLITE_PRAGMA and first == "user_version" and second:
                return sqlite3.SQLITE_DENY
            return sqlite3.SQLITE_OK

        connection.set_authorizer(allow)
        return database

    monkeypatch.setattr(sqlite, "prepared", failing)
    with pytest.raises(KnowledgeBaseError, match=r"could not be brought to format .* it is as it was"):
        Store.open(older)
    assert older.read_bytes() == before
    assert files_beside(older) == [older.name]
    monkeypatch.undo()
    with Store.open(older) as store:
        assert store.check() == []


def test_without_room_nothing_happens(older: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = older.read_bytes()
    usage = shutil.disk_usage(older.parent)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage._replace(free=len(before)))
    with pytest.raises(DiskFull, match="Nothing was changed"):
        Store.open(older)
    assert older.read_bytes() == before
    assert files_beside(older) == [older.name]


def test_a_file_in_use_is_not_upgraded(older: Path) -> None:
    writer = sqlite3.connect(older, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    with pytest.raises(KnowledgeBaseBusy):
        Store.open(older, busy_timeout=0.1)
    writer.execute("ROLLBACK")
    writer.close()
    assert files_beside(older) == [older.name]
    assert format_of(older) == 1


def test_another_program_may_have_done_it_meanwhile(older: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = upgrading.upgrade

    def late(database: object, path: Path) -> str:
        monkeypatch.setattr(upgrading, "upgrade", real)
        Store.open(path).close()
        return real(database, path)  # type: ignore[arg-type]

    monkeypatch.setattr(upgrading, "upgrade", late)
    with Store.open(older) as store:
        assert store.notes == ()
        assert store.check() == []
    assert files_beside(older) == [older.name, f"{older.name}.format-1"]


def test_an_older_file_can_be_read_as_it_is(older: Path) -> None:
    before = older.read_bytes()
    with Store.open(older, read_only=True) as store:
        assert store.read_only
        assert "read through a copy in memory" in store.notes[0]
        assert store.info().format == 1
        assert len(store.documents.list()) == 4
        assert store.fulltext.search("bridge", 5)
        assert store.check() == []
        with pytest.raises(KnowledgeBaseReadOnly):
            add(store, "b.txt", "two")
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            session_of(store).database.execute("DELETE FROM chunks")
    assert older.read_bytes() == before
    assert files_beside(older) == [older.name]


def test_an_older_file_with_its_log_pending_is_read_whole(older: Path, tmp_path: Path) -> None:
    """As a killed program leaves it."""
    live = sqlite3.connect(older, isolation_level=None)
    live.execute("PRAGMA journal_mode = WAL")
    live.execute("UPDATE documents SET title = 'only in the log' WHERE id = 1")
    place = tmp_path / "killed"
    place.mkdir()
    for suffix in ("", "-wal"):
        shutil.copy(sqlite.beside(older, suffix), place / f"k.localrag{suffix}")
    live.close()
    with Store.open(place / "k.localrag", read_only=True) as store:
        assert store.documents.get(1).title == "only in the log"
    with Store.open(place / "k.localrag") as store:
        assert store.documents.get(1).title == "only in the log"
        assert store.check() == []
    assert files_beside(place / "k.localrag") == ["k.localrag", "k.localrag.format-1"]
    assert format_of(place / "k.localrag.format-1") == 1


def test_a_large_older_file_is_not_read_in_memory(older: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upgrading, "IN_MEMORY", 1000)
    with pytest.raises(KnowledgeBaseError, match="has format 1 and must be brought to format"):
        Store.open(older, read_only=True)
    assert files_beside(older) == [older.name]


def test_reading_goes_on_after_the_upgrade(older: Path) -> None:
    with Store.open(older) as store:
        assert embed_missing(store) >= 0
        add(store, "new.txt", "A new line")
        assert store.check() == []
    assert format_of(older) == migrations.FORMAT
