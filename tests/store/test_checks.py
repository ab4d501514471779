"""`Store.check`: every promise of the file, broken on purpose, is found and named."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from localrag.errors import Cancelled, KnowledgeBaseError, LocalragError
from localrag.filing import vacuum, verify
from localrag.store import Store, check_text
from localrag.store.rows import EntityMention, Reading, Reject, RelationMention
from localrag.store.sqlite import sqlite3
from tests.store.helpers import add, embed_missing, generation, session_of

TEXT = "Tove keeps the light of Gullholm\nTove wrote to Pell\n知识图谱用于检索\nORA-01555 in C++ code"


@pytest.fixture
def filled(path: Path) -> Path:
    """A closed knowledge base with rows in the tables of reading and searching."""
    with Store.create(path) as store:
        add(store, "a.txt", TEXT)
        add(store, "b.txt", "Nothing was read here")
        prompt = store.journal.put_prompt("Read this.")
        for chunk in store.chunks.pending()[:4]:
            start = chunk.text.find("Tove")
            mentions = [EntityMention("Pell", "pell", "Person", "a reader")]
            if start >= 0:
                mentions.append(EntityMention("Tove", "tove", "Person", "keeps it", start, start + 4))
            relations = [RelationMention("tove", "pell", "letters", "wrote", 3.0, 0, 4)] if start >= 0 else []
            store.graph.record(
                chunk.id,
                Reading(tuple(mentions), tuple(relations)),
                generation(prompt_hash=prompt),
                [Reject("entity", "?", "no")],
            )
        embed_missing(store)
        assert store.check() == []
    return path


@pytest.fixture
def raw(filled: Path) -> Iterator[sqlite3.Connection]:
    """A connection that asks no questions."""
    connection = sqlite3.connect(filled, isolation_level=None)
    yield connection
    connection.close()


def break_it(connection: sqlite3.Connection, sql: str) -> None:
    """Run statements that no program of ours would run."""
    guards = connection.execute("SELECT name, sql FROM sqlite_master WHERE name LIKE '%_kept'").fetchall()
    for name, _ in guards:
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute("PRAGMA ignore_check_constraints = ON")
    connection.executescript(sql)
    for _, guard in guards:
        connection.execute(guard)


def problems(path: Path) -> list[str]:
    """What `check` says."""
    with Store.open(path, read_only=True) as store:
        return store.check()


BROKEN = {
    "DELETE FROM documents WHERE id = 1": "rows of chunks point to rows that are not there",
    "DELETE FROM entities WHERE key = 'tove'": "rows of mentions point to rows that are not there",
    "UPDATE chunks SET text = 'Tove kept the light of Gullholm' WHERE id = 1": "a.txt: 1 passages are not",
    "UPDATE chunks SET char_start = char_start + 1, char_end = char_end + 1 WHERE id = 2": "a.txt: 1 pass",
    "UPDATE documents SET characters = 7 WHERE id = 1": "7 were noted",
    "INSERT INTO chunk_words (rowid, text) VALUES (99, 'ghost')": "(chunk_words): 0 passages are missing, 1",
    "DELETE FROM chunk_codes_docsize WHERE id = 4": "Full text (chunk_codes): 1 passages are missing",
    "UPDATE chunks SET heading = 'New' WHERE id = 3": "Full text (chunk_words): 1 of 5 rows",
    "UPDATE generations SET parsed = parsed + 1 WHERE id = 1": "1 calls of the model do not add up",
    "DELETE FROM rejects WHERE id = 2": "1 calls of the model do not add up",
    "INSERT INTO prompts VALUES ('x', 'y')": "1 prompts are not the text",
    "UPDATE prompts SET text = text || '!'": "1 prompts are not the text that was sent",
    "UPDATE documents SET status = 'indexed' WHERE id = 2": "1 documents are marked as read",
    "UPDATE documents SET status = 'waiting' WHERE id = 1": "1 documents wait for nothing",
    "UPDATE chunks SET ordinal = 700 WHERE id = 4": "1 documents have a gap",
    "INSERT INTO copies VALUES (2, 'library', 'a.txt', 1, 1.0)": "1 places belong to two documents",
    "INSERT INTO entities (key, name, type) VALUES ('x', 'X', 'T')": "1 entities have no mention",
    "UPDATE entities SET text_hash = 'x' WHERE key = 'tove'": "1 of 2 entities are noted with another text",
    "DELETE FROM relation_mentions": "1 relations have no mention",
    "UPDATE mentions SET char_end = 500 WHERE char_start >= 0": "2 mentions lie outside",
    "UPDATE mentions SET name = 'Dove' WHERE char_start >= 0": "2 mentions lie outside",
    "UPDATE relation_mentions SET char_start = 900, char_end = 901": "2 pieces of evidence",
    "UPDATE chunk_vectors SET vec = zeroblob(32) WHERE chunk_id = 1": "1 vectors of passages",
    "UPDATE chunk_vectors SET vec = zeroblob(16) WHERE chunk_id = 1": "1 vectors of passages",
    "UPDATE entity_vectors SET vec = CAST(x'0000C07F' || substr(vec, 5) AS BLOB)": "2 vectors of entities",
    "UPDATE relation_vectors SET vec = CAST(x'0000807F' || substr(vec, 5) AS BLOB)": "1 vectors of relations",
    "UPDATE embedding_spaces SET active = 0": "5 vectors are there, and no embedding space",
    "DROP INDEX mentions_key": "The file lacks the index mentions_key.",
    "DROP TABLE answers": "The file lacks the column answer of the table answers.",
    "ALTER TABLE reports DROP COLUMN rating": "The file lacks the column rating of the table reports.",
    "INSERT INTO communities (level) VALUES (0)": "1 communities have no member",
}


@pytest.mark.parametrize("sql", BROKEN)
def test_every_broken_promise_is_found(filled: Path, raw: sqlite3.Connection, sql: str) -> None:
    break_it(raw, sql)
    raw.close()
    assert any(BROKEN[sql] in problem for problem in problems(filled)), problems(filled)


def test_quotes_citations_and_sources_of_reports(filled: Path, raw: sqlite3.Connection) -> None:
    raw.executescript(
        """
        INSERT INTO claims (chunk_id, subject_key, type, status, description)
            VALUES (1, 'tove', 'x', 'TRUE', '');
        INSERT INTO claim_quotes VALUES (1, 5, 500);
        INSERT INTO sessions (title, created_at, changed_at) VALUES ('', '', '');
        INSERT INTO messages (session_id, role, state, created_at, text)
            VALUES (1, 'user', 'whole', '', '');
        INSERT INTO citations (message_id, number, label, kind, document_id, chunk_id, path, char_start,
            char_end, gone, text) VALUES (1, 1, 'x', 'document', 1, 1, 'a.txt', 0, 4, 0, 'Pell'),
            (1, 2, 'x', 'document', NULL, NULL, 'a.txt', 0, 4, 1, 'Tove'),
            (1, 3, 'x', 'document', 1, 1, 'a.txt', 0, 4, 0, 'Tove');
        INSERT INTO communities (level) VALUES (0);
        INSERT INTO community_members VALUES (1, 1);
        INSERT INTO reports (community_id, made_from, made_at, title, summary)
            VALUES (1, 'facts', '', '', '');
        INSERT INTO report_sources VALUES (1, -1, 'entity', 1), (1, -1, 'entity', 77), (1, -1, 'claim', 77);
        """
    )
    raw.close()
    found = problems(filled)
    for expected in (
        "1 quotes lie outside",
        "1 citations whose source is gone still hold its text",
        "1 citations of passages are not what stands there",
        "2 sources of reports are not there",
    ):
        assert any(expected in problem for problem in found), found


def test_full_text_that_says_something_else_is_found(filled: Path, raw: sqlite3.Connection) -> None:
    """The same number of rows and of terms, another word."""
    raw.execute("UPDATE chunks SET text = replace(text, 'light', 'night') WHERE id = 1")
    raw.execute("UPDATE documents SET text = replace(text, 'light', 'night') WHERE id = 1")
    raw.close()
    assert problems(filled) == [
        "Full text (chunk_words): 1 of 5 rows that were compared are not what their passage says."
    ]


def test_rows_are_compared_while_there_is_time(
    filled: Path, raw: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw.execute("UPDATE chunks SET text = replace(text, 'light', 'night')")
    raw.execute("UPDATE documents SET text = replace(text, 'light', 'night')")
    raw.close()
    assert problems(filled)
    monkeypatch.setattr(check_text, "SECONDS", -1.0)
    assert problems(filled) == []


def test_large_files_are_sampled_evenly(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_text, "SAMPLE", 10)
    add(store, "long.txt", "\n".join(f"line {n}" for n in range(95)))
    ids = check_text._sample(session_of(store))
    assert ids == list(range(10, 96, 10))


def test_steps_are_told_and_can_be_stopped(store: Store) -> None:
    add(store, "a.txt", TEXT)
    steps: list[str] = []
    cancel = threading.Event()

    def note(step: str) -> None:
        steps.append(step)
        if len(steps) == 3:
            cancel.set()

    with pytest.raises(Cancelled):
        store.check(note, cancel)
    assert len(steps) == 3
    cancel.clear()
    assert store.check(note, cancel) == []
    assert "vectors of passages" in steps


def test_a_stop_does_not_wait_for_a_long_step(store: Store) -> None:
    add(store, "long.txt", "\n".join(f"line {n} of many" for n in range(5000)))
    cancel = threading.Event()
    cancel.set()
    steps: list[str] = []
    with pytest.raises(Cancelled):
        store.check(steps.append, cancel)
    assert len(steps) == 1


def pages_of(path: Path) -> int:
    """How many pages the file has."""
    return path.stat().st_size // 4096


def test_a_file_cut_off_anywhere_is_noticed(filled: Path, tmp_path: Path) -> None:
    data = filled.read_bytes()
    place = tmp_path / "cut.localrag"
    for size in range(0, len(data), 4096):
        place.write_bytes(data[:size])
        noticed = size < 8192
        # Without its first pages it cannot be told that it is ours.
        with contextlib.suppress(LocalragError):
            noticed = not verify(place).ok
        assert noticed, size
        assert sorted(item.name for item in tmp_path.iterdir()) == ["cut.localrag", filled.name]


def test_flipped_bytes_never_surprise(filled: Path, tmp_path: Path) -> None:
    """Every error is one of ours. What lies between rows, or is said only once, cannot be noticed."""
    data = filled.read_bytes()
    place = tmp_path / "flipped.localrag"
    chance = random.Random(7)
    found = 0
    for _ in range(150):
        damaged = bytearray(data)
        for _ in range(chance.choice((1, 8, 64))):
            damaged[chance.randrange(100, len(data))] ^= 1 << chance.randrange(8)
        place.write_bytes(damaged)
        try:
            found += not verify(place).ok
        except KnowledgeBaseError:
            found += 1
    assert found > 20


def test_a_page_of_noise_is_noticed(filled: Path, tmp_path: Path) -> None:
    # Without pages that hold nothing, which may hold anything.
    vacuum(filled)
    data = filled.read_bytes()
    place = tmp_path / "noise.localrag"
    noise = np.random.default_rng(5).bytes(4096)
    for page in range(1, len(data) // 4096):
        place.write_bytes(data[: page * 4096] + noise + data[(page + 1) * 4096 :])
        assert not verify(place).ok, page
