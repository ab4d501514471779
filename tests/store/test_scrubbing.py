"""What SQLite leaves in the unused middle of pages is overwritten when the file is closed."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import pytest

from localrag.store import Store, scrubbing
from localrag.store.origins import note_removal
from localrag.store.sqlite import sqlite3
from tests.store.helpers import logical_rows, session_of

COUNT = 1000


def secret(number: int) -> str:
    """A word that no other row has."""
    return "".join(chr(97 + byte % 26) for byte in hashlib.sha256(b"%d" % number).digest()[:16])


def fill(path: Path) -> list[str]:
    """A file whose pages were split in the middle again and again, and from which a half was deleted; returns
    the deleted words."""
    numbers = list(range(COUNT))
    random.Random(3).shuffle(numbers)
    with Store.create(path) as store:
        session = session_of(store)
        session.database.execute("PRAGMA synchronous = OFF")
        with store.transaction():
            session.run_many(
                "INSERT INTO prompts (hash, text) VALUES (?, ?)",
                [(secret(number), "x" * (number * 7919 % 90)) for number in numbers],
            )
        gone = numbers[::2]
        with store.transaction():
            note_removal(session)
            for number in gone:
                session.run("DELETE FROM prompts WHERE hash = ?", [secret(number)])
    return [secret(number) for number in gone]


def left(path: Path, words: list[str]) -> int:
    """How many of the words are in the file."""
    content = path.read_bytes()
    return sum(word.encode() in content for word in words)


@pytest.fixture
def unscrubbed(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The words deleted from a file that was closed without scrubbing."""
    with monkeypatch.context() as patch:
        patch.setattr(scrubbing, "scrub_file", lambda path: None)
        return fill(path)


def test_sqlite_alone_leaves_copies_behind(path: Path, unscrubbed: list[str]) -> None:
    """If this fails, SQLite overwrites them by itself now, and scrubbing can go."""
    assert left(path, unscrubbed) > 0


def test_closing_overwrites_them(path: Path) -> None:
    gone = fill(path)
    assert left(path, gone) == 0
    with Store.open(path) as store:
        assert session_of(store).value("SELECT removed FROM meta") == 0
        assert session_of(store).value("SELECT count(*) FROM prompts") == COUNT - len(gone)
        assert session_of(store).column("PRAGMA integrity_check") == ["ok"]


def test_what_is_stored_is_not_touched(
    path: Path, unscrubbed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrubbing, "scrub_file", lambda path: None)
    with Store.open(path) as store:
        before = logical_rows(store)
    assert scrubbing.scrub(str(path)) > 0
    with Store.open(path) as store:
        assert logical_rows(store) == before
        assert session_of(store).column("PRAGMA integrity_check") == ["ok"]
    assert left(path, unscrubbed) == 0
    assert scrubbing.scrub(str(path)) == 0


def test_a_file_in_use_is_left_to_the_last_one_that_closes_it(path: Path, unscrubbed: list[str]) -> None:
    with Store.open(path) as other:
        scrubbing.scrub_file(path)
        assert scrubbing.scrub(str(path)) == -1
        assert other.documents.list() == []
        with Store.open(path):
            pass
        assert session_of(other).value("SELECT removed FROM meta") > 0
    assert left(path, unscrubbed) == 0


def test_nothing_is_done_where_nothing_was_removed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[Path] = []
    monkeypatch.setattr(scrubbing, "scrub_file", called.append)
    with Store.create(path) as store:
        store.journal.put_prompt("text")
    assert called == []


def test_another_writer_gets_its_turn(
    path: Path, unscrubbed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrubbing, "SLICE", 0.0)
    monkeypatch.setattr(scrubbing, "_BLOCK", 4)
    assert scrubbing.scrub(str(path)) > 0
    assert left(path, unscrubbed) == 0


@pytest.mark.parametrize("size", [512, 4096, 65536])
def test_pages_of_any_size(tmp_path: Path, size: int) -> None:
    path = tmp_path / "pages.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(
        f"PRAGMA page_size = {size}; PRAGMA secure_delete = ON; CREATE TABLE meta (removed INTEGER);"
        "INSERT INTO meta VALUES (1); CREATE TABLE words (word TEXT PRIMARY KEY) WITHOUT ROWID;"
    )
    numbers = list(range(3000))
    random.Random(3).shuffle(numbers)
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO words VALUES (?)", [[secret(number)] for number in numbers])
    connection.execute("DELETE FROM words")
    connection.execute("COMMIT")
    connection.close()
    scrubbing.scrub(str(path))
    assert left(path, [secret(number) for number in numbers]) == 0
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_a_file_that_moves_its_pages_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "moving.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(
        "PRAGMA auto_vacuum = FULL; CREATE TABLE meta (removed INTEGER); INSERT INTO meta VALUES (1)"
    )
    connection.close()
    assert scrubbing.scrub(str(path)) == -1
