"""Work on whole files: repair and salvage, merge, export and info through the façade."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from localrag import filing
from localrag.errors import (
    KnowledgeBaseBusy,
    KnowledgeBaseError,
    KnowledgeBaseExists,
    KnowledgeBaseNotFound,
    KnowledgeBaseReadOnly,
    NewerFormat,
    NotAKnowledgeBase,
    UsageError,
)
from localrag.kb import KnowledgeBase
from localrag.store import Store
from localrag.store.anatomy import GROUPS
from localrag.store.curation_rows import EditEntity
from localrag.store.migrations import FORMAT, TABLES
from localrag.store.rows import EntityMention, Reading, Reject, RelationMention
from localrag.store.sqlite import sqlite3
from tests.store.helpers import (
    SPACE,
    add,
    embed_missing,
    files_beside,
    generation,
    logical_rows,
    session_of,
    vector,
)
from tests.store.test_checks import BROKEN, break_it
from tests.store.test_upgrading import FILES, unpack

OUTSET = 140
"""Pages of a new, empty file and a few more: the list of tables lies among them."""

LINES = [f"Person{n} wrote letter {n} to Friend{n % 7} in the town of Gullholm 知识图谱" for n in range(60)]


def fill(store: Store, documents: int = 8) -> None:
    """Documents with entities, relations, vectors, a decision and a conversation."""
    for number in range(documents):
        add(store, f"{number}.txt", "\n".join(f"{line}, document {number}" for line in LINES))
    for chunk in store.chunks.pending():
        first, last = chunk.text.split()[0], chunk.text.split()[5]
        end = len(first)
        store.graph.record(
            chunk.id,
            Reading(
                (
                    EntityMention(first, first.lower(), "Person", "writes", 0, end),
                    EntityMention(last, last.lower(), "Person", "reads"),
                ),
                (RelationMention(first.lower(), last.lower(), "letters", "wrote to", None, 0, end),),
            ),
            generation(chunk.text),
            [Reject("entity", "?", "no")],
        )
    store.decisions.add(EditEntity("friend0", "A friend."))
    embed_missing(store)
    session = store.talk.create("About letters")
    store.talk.add(session, "user", "Who wrote?")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed knowledge base of some size."""
    path = tmp_path_factory.mktemp("whole") / "notes.localrag"
    with Store.create(path) as store:
        session_of(store).database.execute("PRAGMA synchronous = OFF")
        fill(store)
    return path


@pytest.fixture(scope="module")
def small_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed knowledge base of one document."""
    path = tmp_path_factory.mktemp("small") / "small.localrag"
    with Store.create(path) as store:
        session_of(store).database.execute("PRAGMA synchronous = OFF")
        fill(store, 1)
    return path


@pytest.fixture
def path(whole: Path, tmp_path: Path) -> Path:
    """A copy of it in a folder of its own."""
    place = tmp_path / "kb" / "notes.localrag"
    place.parent.mkdir()
    shutil.copyfile(whole, place)
    place.chmod(0o600)
    return place


def damage(path: Path, pages: Callable[[int], bool]) -> list[int]:
    """Overwrite pages with noise; returns their numbers, from 1."""
    data = bytearray(path.read_bytes())
    noise = np.random.default_rng(3)
    hit = [page for page in range(2, len(data) // 4096 + 1) if pages(page)]
    for page in hit:
        data[(page - 1) * 4096 : page * 4096] = noise.bytes(4096)
    path.write_bytes(data)
    return hit


def test_every_table_belongs_to_a_group() -> None:
    grouped = [table for tables in GROUPS.values() for table in tables]
    assert len(grouped) == len(set(grouped))
    assert set(TABLES) <= set(grouped)


def test_info_tells_what_the_file_is(path: Path) -> None:
    with KnowledgeBase.open(path) as kb:
        facts = kb.info()
    assert facts.format == FORMAT
    assert facts.size == path.stat().st_size
    assert facts.counts["chunks"] == 8 * len(LINES)
    assert [(space.model, space.state) for space in facts.spaces] == [(SPACE.model, "active")]
    assert facts.spaces[0].vectors["chunk"] == 8 * len(LINES)
    sizes = {group.name: group.size for group in facts.groups}
    assert 0.9 * facts.size <= sum(sizes.values()) + facts.free <= 1.1 * facts.size
    assert sizes["full text"] > 10_000
    assert sizes["documents and passages"] > 50_000
    described, notes = filing.describe(path)
    assert described.uuid == facts.uuid
    assert notes == ()


def test_an_older_file_is_described_as_it_is(tmp_path: Path) -> None:
    path = unpack(FILES[0], tmp_path / "old.localrag")
    facts, notes = filing.describe(path)
    assert facts.format == 1
    assert "format 1" in notes[0]
    assert files_beside(path) == [path.name]


def test_export_through_the_facade(path: Path, tmp_path: Path) -> None:
    with KnowledgeBase.open(path) as kb:
        assert kb.export(tmp_path / "copy.localrag") == (tmp_path / "copy.localrag").stat().st_size
    assert filing.verify(tmp_path / "copy.localrag").ok
    assert files_beside(path) == [path.name]


@pytest.mark.parametrize("work", [filing.verify, filing.vacuum, filing.repair, filing.describe])
def test_what_is_no_knowledge_base_is_refused(tmp_path: Path, work: Callable[[Path], object]) -> None:
    with pytest.raises(KnowledgeBaseNotFound):
        work(tmp_path / "none.localrag")
    with pytest.raises(NotAKnowledgeBase):
        work(tmp_path)
    place = tmp_path / "x.localrag"
    for content in (b"", b"plain text, longer than a header" * 200):
        place.write_bytes(content)
        with pytest.raises(NotAKnowledgeBase):
            work(place)
    place.unlink()
    Store.create(place).close()
    raw = sqlite3.connect(place)
    raw.execute(f"PRAGMA user_version = {FORMAT + 1}")
    raw.close()
    with pytest.raises(NewerFormat):
        work(place)
    assert files_beside(place) == ["x.localrag"]


def test_repair_of_a_file_in_order_changes_nothing_that_counts(path: Path) -> None:
    with Store.open(path) as store:
        rows = logical_rows(store)
    report = filing.repair(path)
    assert (report.found, report.lost, report.left, report.salvaged) == ((), (), (), False)
    with Store.open(path) as store:
        assert logical_rows(store) == rows
        assert embed_missing(store) == 0
    assert files_beside(path) == [path.name]


MORE = {
    "UPDATE chunks SET char_start = char_start + 3, char_end = char_end + 3 WHERE id = 5": "place",
    "DELETE FROM documents WHERE id = 3": "belonged to nothing",
    "DELETE FROM chunks WHERE id = 7": "belonged to nothing",
    "DELETE FROM generations WHERE id < 9": "belonged to nothing",
    "UPDATE mentions SET char_start = 4000, char_end = 4004 WHERE char_start = 0": "mentions were given",
    "UPDATE mentions SET entity_id = 1": "were given their entity again",
    "UPDATE entities SET name = 'Nobody', text_hash = ''": "made anew",
    "UPDATE chunk_words_config SET v = 9 WHERE k = 'secure-delete'": "made anew",
    "DELETE FROM chunk_codes_docsize": "made anew",
    "UPDATE decisions SET arguments = '{\"key\": 7'": "damaged decision was taken out",
    "INSERT INTO claims (chunk_id, subject_key, type, status, description) SELECT id, 'nobody', 'x', 'TRUE', "
    "'' FROM chunks LIMIT 1; INSERT INTO claim_quotes SELECT id, 0, 2 FROM claims": "1 claims were about",
    "INSERT INTO claims (chunk_id, subject_key, type, status, description, start_date) SELECT id, 'nobody', "
    "'x', 'TRUE', '', '1942-01-01' FROM chunks LIMIT 1; "
    "INSERT INTO claim_quotes SELECT id, 0, 2 FROM claims; "
    "INSERT INTO claim_quotes SELECT id, 1, 99999 FROM claims": "1 claims lost their date",
    "INSERT INTO citations (message_id, number, label, kind, path, char_start, char_end, text) "
    "SELECT id, 1, 'x', 'document', 'a.txt', 0, 4, 'Tove' FROM messages": "1 citations say now",
    "INSERT INTO communities (level) VALUES (0); "
    "INSERT INTO community_members SELECT 1, min(id) FROM entities; "
    "INSERT INTO reports (community_id, made_from, made_at, title, summary) "
    "VALUES (1, 'facts', '', '', 'a')": "1 reports of facts held a text",
    "INSERT INTO generation_sources SELECT min(g.id), max(c.id) FROM generations g, chunks c": (
        "1 passages were noted for calls"
    ),
    "DROP TABLE citations": "table citations was made",
    "DROP INDEX chunks_state": "index chunks_state was made",
    "INSERT INTO chunk_words (chunk_words) VALUES ('delete-all')": "made anew",
}


@pytest.mark.parametrize("sql", MORE)
def test_what_is_wrong_is_mended(path: Path, sql: str) -> None:
    raw = sqlite3.connect(path, isolation_level=None)
    break_it(raw, sql)
    raw.close()
    report = filing.repair(path)
    assert report.left == ()
    assert not report.salvaged
    assert any(MORE[sql] in sentence for sentence in (*report.done, *report.lost)), report
    assert filing.verify(path).ok
    copy = f"{path.name}.before-repair"
    assert files_beside(path) == [path.name, *([copy] if report.found else [])]


@pytest.mark.parametrize("sql", BROKEN)
def test_all_that_verify_finds_is_mended(small_file: Path, tmp_path: Path, sql: str) -> None:
    """The same damage as in the tests of verify, done to a file with the same ids."""
    place = tmp_path / "small.localrag"
    shutil.copyfile(small_file, place)
    raw = sqlite3.connect(place, isolation_level=None)
    break_it(raw, sql)
    raw.close()
    report = filing.repair(place)
    assert report.left == (), report
    # A column cannot be put back in place; then the rows are saved into a new file.
    assert report.salvaged == ("DROP COLUMN" in sql)
    assert filing.verify(report.path).ok


def test_vectors_that_are_wrong_are_made_again(path: Path) -> None:
    raw = sqlite3.connect(path, isolation_level=None)
    break_it(raw, "UPDATE chunk_vectors SET vec = zeroblob(32) WHERE chunk_id IN (1, 2)")
    raw.close()
    report = filing.repair(path)
    assert any("2 vectors of passages were dropped" in sentence for sentence in report.done)
    with Store.open(path) as store:
        assert store.vectors.missing(1, "chunk") == [1, 2]
        assert embed_missing(store) == 2
        assert store.check() == []


def test_a_file_that_another_program_writes_to_is_not_repaired(path: Path) -> None:
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    with pytest.raises(KnowledgeBaseBusy):
        filing.repair(path)
    writer.close()
    assert files_beside(path) == [path.name]


def saved_share(report: filing.RepairReport) -> float:
    """How much of the passages is in the new file."""
    with Store.open(report.path) as store:
        return store.chunks.count().total / (8 * len(LINES))


@pytest.mark.parametrize("page", range(3))
def test_what_can_be_read_of_a_damaged_file_is_saved(path: Path, page: int) -> None:
    chance = random.Random(page)
    number = path.stat().st_size // 4096
    wanted = set(chance.sample(range(OUTSET, number), 6))
    damage(path, lambda at: at in wanted)
    before = path.read_bytes()
    assert not filing.verify(path).ok
    report = filing.repair(path)
    assert report.salvaged
    assert report.path == path.with_name("notes.repaired.localrag")
    assert report.left == ()
    assert report.lost or report.done
    assert path.read_bytes() == before
    assert files_beside(path) == [path.name, "notes.repaired.localrag"]
    assert oct(report.path.stat().st_mode)[-3:] == "600"
    assert filing.verify(report.path).ok
    assert saved_share(report) > 0.5


def test_nothing_is_lost_where_only_indexes_and_full_text_are_damaged(path: Path) -> None:
    """Root pages of indexes, and of the tables behind full text, are noise."""
    raw = sqlite3.connect(path)
    roots = {
        row[0]
        for row in raw.execute(
            "SELECT rootpage FROM sqlite_master WHERE (type = 'index' OR name LIKE 'chunk_words_%') "
            "AND rootpage > 0"
        )
    }
    raw.close()
    with Store.open(path) as store:
        rows = logical_rows(store)
    damage(path, lambda at: at in roots)
    report = filing.repair(path)
    assert report.left == ()
    with Store.open(report.path) as store:
        assert logical_rows(store) == rows


def test_a_document_whose_text_is_lost_is_put_together_from_its_passages(path: Path) -> None:
    """A long text lies on pages of its own; the row that points to them is whole."""
    raw = sqlite3.connect(path)
    (text,) = raw.execute("SELECT text FROM documents WHERE id = 2").fetchone()
    raw.close()
    data = path.read_bytes()
    inner = text[2600:2800].encode()
    at = data.find(inner)
    assert at > 0
    # The chain of a long text: each of its pages begins with the number of the next one.
    page = at // 4096
    broken = bytearray(data)
    broken[page * 4096 : page * 4096 + 4] = b"\xff\xff\xff\xff"
    path.write_bytes(broken)
    report = filing.repair(path)
    assert report.salvaged
    with Store.open(report.path) as store:
        rows = {row.path: row for row in store.documents.list()}
        assert len(rows) == 8
        assert store.chunks.count().total == 8 * len(LINES)
        assert store.documents.text(rows["1.txt"].id) == text
        assert store.check() == []


@pytest.mark.parametrize("share", [0.6, 0.8, 0.95])
def test_a_compact_file_that_was_cut_off_gives_what_its_first_part_holds(path: Path, share: float) -> None:
    """The last page of a compact file belongs to the list of tables."""
    copy = path.with_name("copy.localrag")
    filing.export(path, copy)
    data = copy.read_bytes()
    copy.write_bytes(data[: int(len(data) * share)])
    report = filing.repair(copy)
    assert report.salvaged
    assert report.left == ()
    assert report.lost
    with Store.open(report.path) as store:
        assert len(store.documents.list()) == 8
        assert store.chunks.count().total > 0


def test_files_of_documents_that_lack_passages_are_read_again(tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    for name in ("a", "b"):
        (texts / f"{name}.txt").write_text("\n\n".join(f"{name}: {line}" * 9 for line in LINES))
    target = tmp_path / "target.localrag"
    with KnowledgeBase.create(target) as kb:
        kb.add([texts])
        whole = kb.status().chunks.total
    raw = sqlite3.connect(target)
    (part,) = raw.execute("SELECT text FROM chunks WHERE document_id = 2 AND ordinal = 3").fetchone()
    (root,) = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = 'chunks'").fetchone()
    raw.close()
    damage(target, lambda at: at == root)
    report = filing.repair(target)
    assert any("2 documents lack passages" in sentence for sentence in report.done), report
    with KnowledgeBase.open(report.path) as kb:
        assert kb.status().chunks.total < whole
        kb.sync()
        assert kb.status().chunks.total == whole
    raw = sqlite3.connect(report.path)
    assert raw.execute("SELECT count(*) FROM chunks WHERE text = ?", [part]).fetchone() == (1,)
    raw.close()
    assert filing.verify(report.path).ok


def test_passages_whose_records_are_lost_are_read_again(path: Path) -> None:
    raw = sqlite3.connect(path)
    (root,) = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = 'mentions'").fetchone()
    (read,) = raw.execute("SELECT count(*) FROM chunks WHERE state = 'read'").fetchone()
    raw.close()
    damage(path, lambda at: at == root)
    report = filing.repair(path)
    assert any(f"{read:,} passages whose records are lost" in sentence for sentence in report.done)
    with Store.open(report.path) as store:
        assert store.chunks.count().pending == read > 0
        assert {row.status for row in store.documents.list()} == {"waiting"}
        assert store.check() == []


def test_passages_whose_records_were_saved_are_not_read_again(path: Path) -> None:
    """Only what was refused is lost, which nothing else needs."""
    raw = sqlite3.connect(path)
    (root,) = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = 'rejects'").fetchone()
    raw.close()
    damage(path, lambda at: at == root)
    with Store.open(filing.repair(path).path) as store:
        assert store.chunks.count().pending == 0


def test_tables_that_the_rest_of_the_list_held_are_told_as_lost(path: Path) -> None:
    raw = sqlite3.connect(path)
    raw.execute("VACUUM")
    (count,) = raw.execute("SELECT count(*) FROM sqlite_master WHERE name = 'answers'").fetchone()
    raw.close()
    assert count == 1
    data = bytearray(path.read_bytes())
    page = next(
        at for at in range(1, len(data) // 4096) if b"CREATE TABLE answers" in data[at * 4096 :][:4096]
    )
    data[page * 4096 : page * 4096 + 1] = b"\0"
    path.write_bytes(data)
    report = filing.repair(path)
    assert any(sentence.startswith("answers: ") for sentence in report.lost)
    with Store.open(report.path) as store:
        assert len(store.documents.list()) == 8


@pytest.mark.parametrize(
    ("table", "column", "lost"),
    [("chunks", "text", 0), ("chunks", "heading", 1), ("entities", "name", 0), ("decisions", "arguments", 0)],
)
def test_values_that_are_not_there(path: Path, table: str, column: str, lost: int) -> None:
    """SQLite reads a row of another table, where two pages were swapped, as one that lacks columns."""

    def make(before: str, after: str) -> None:
        raw = sqlite3.connect(path)
        raw.execute("PRAGMA writable_schema = ON")
        raw.execute(
            "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = ?", [before, after, table]
        )
        raw.commit()
        raw.close()

    make(f"{column} TEXT NOT NULL", f"{column} TEXT")
    raw = sqlite3.connect(path)
    raw.execute(f"UPDATE {table} SET {column} = NULL WHERE id = (SELECT min(id) FROM {table})")
    raw.commit()
    raw.close()
    make(f"{column} TEXT", f"{column} TEXT NOT NULL")
    assert not filing.verify(path).ok
    report = filing.repair(path)
    assert report.left == ()
    with Store.open(report.path) as store:
        assert store.chunks.count().total == 8 * len(LINES) - lost


def test_the_cache_of_vectors_is_made_anew(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALRAG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("localrag.store.matrix.LEAST", 8)

    def found() -> list[int]:
        with Store.open(path) as store:
            space = store.vectors.active_space()
            assert space is not None
            return [hit.id for hit in store.vectors.search(space.id, "chunk", vector("q"), 10)]

    wanted = found()
    (cache,) = (tmp_path / "cache").rglob("*.vectors")
    raw = sqlite3.connect(path)
    (vec,) = raw.execute("SELECT vec FROM chunk_vectors WHERE chunk_id = ?", [wanted[0]]).fetchone()
    raw.close()
    data = bytearray(cache.read_bytes())
    at = data.index(vec)
    data[at : at + len(vec)] = bytes(len(vec))
    cache.write_bytes(data)
    assert found() != wanted, "a search does not look at every vector of the cache"
    filing.repair(path)
    assert found() == wanted


def test_a_file_that_cannot_be_mended_in_place_stays_as_it_was(path: Path) -> None:
    raw = sqlite3.connect(path)
    raw.execute("ALTER TABLE chunks DROP COLUMN left_out")
    raw.close()
    before = path.read_bytes()
    report = filing.repair(path)
    assert report.salvaged
    assert "notes.localrag was not changed" in report.done[0]
    # But for the header, which counts how often the file was opened to be changed.
    assert path.read_bytes()[100:] == before[100:]
    assert files_beside(path) == [path.name, "notes.repaired.localrag"]


def test_a_damaged_file_that_cannot_be_written_is_saved_elsewhere(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage(path, lambda at: at > OUTSET and at % 9 == 0)
    real = os.access
    monkeypatch.setattr(
        os,
        "access",
        lambda place, mode: (
            (mode != os.W_OK or path.parent not in Path(place, "x").parents) and real(place, mode)
        ),
    )
    with pytest.raises(KnowledgeBaseReadOnly) as refused:
        filing.repair(path)
    assert "--output" in refused.value.hint
    output = tmp_path / "saved.localrag"
    report = filing.repair(path, output)
    assert report.salvaged
    assert filing.verify(output).ok
    assert files_beside(path) == [path.name]


def test_outputs_that_cannot_be_one(path: Path, tmp_path: Path) -> None:
    damage(path, lambda at: at > OUTSET and at % 9 == 0)
    with pytest.raises(KnowledgeBaseNotFound):
        filing.repair(path, tmp_path / "nowhere" / "saved.localrag")
    for output in (tmp_path, path.with_name("notes.localrag-wal")):
        with pytest.raises(UsageError):
            filing.repair(path, output)
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    for output in (path, tmp_path / "link"):
        with pytest.raises(KnowledgeBaseExists) as refused:
            filing.repair(path, output)
        assert "--force" not in refused.value.hint
    assert files_beside(path) == [path.name]


def test_a_file_that_another_program_holds_is_not_called_damaged(path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(KnowledgeBaseBusy):
            filing.verify(path)
    finally:
        other.close()


def test_ids_that_were_given_once_are_not_given_again_after_salvage(path: Path) -> None:
    with Store.open(path) as store:
        last = add(store, "last.txt", "one")
        store.documents.delete(last)
    damage(path, lambda at: at == OUTSET)
    report = filing.repair(path)
    with Store.open(report.path) as store:
        assert add(store, "new.txt", "two") > last


def test_an_output_that_is_there_is_not_overwritten(path: Path, tmp_path: Path) -> None:
    damage(path, lambda at: at > OUTSET and at % 9 == 0)
    place = tmp_path / "mine"
    place.write_text("mine")
    with pytest.raises(KnowledgeBaseExists):
        filing.repair(path, place)
    assert place.read_text() == "mine"
    (path.with_name("notes.repaired.localrag")).write_text("earlier")
    assert filing.repair(path).path.name == "notes.repaired-2.localrag"


def test_a_file_of_nothing_but_noise_gives_no_new_file(path: Path) -> None:
    damage(path, lambda at: True)
    with pytest.raises(KnowledgeBaseError):
        filing.repair(path)
    assert files_beside(path) == [path.name]


def test_merge_through_the_facade(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "target.localrag"
    with KnowledgeBase.create(target) as kb:
        told: list[filing.MergeReport] = []
        (dry,) = kb.merge([path], dry=True, on_report=told.append)
        assert (len(dry.added), dry.dry) == (8, True)
        assert kb.status().documents == ()
        (report,) = kb.merge([path])
        assert len(report.added) == 8
        assert not kb.merge([path])[0].changed
        with pytest.raises(UsageError, match="is the knowledge base itself"):
            kb.merge([path, target])
        link = tmp_path / "link"
        link.symlink_to(target)
        with pytest.raises(UsageError):
            kb.merge([link])
        with pytest.raises(KnowledgeBaseNotFound):
            kb.merge([tmp_path / "none.localrag"])
    assert [report.source for report in told] == [path]
    assert filing.verify(target).ok
    for place in (path, target):
        assert not any(name.endswith(("-wal", "-shm")) for name in files_beside(place))


def test_a_file_that_is_not_there_is_told_before_any_is_joined_in(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "target.localrag"
    with KnowledgeBase.create(target) as kb:
        with pytest.raises(KnowledgeBaseNotFound, match=r"missing\.localrag"):
            kb.merge([path, tmp_path / "missing.localrag"])
        assert not kb.status().documents


def test_a_file_of_an_older_format_is_merged_and_stays_as_it_is(tmp_path: Path) -> None:
    old = unpack(FILES[0], tmp_path / "old.localrag")
    before = old.read_bytes()
    with KnowledgeBase.create(tmp_path / "target.localrag") as kb:
        (report,) = kb.merge([old])
        assert len(report.added) == 4
        assert "format 1" in report.notes[0]
        assert kb.status().graph.entities > 0
    assert old.read_bytes() == before
    assert filing.verify(tmp_path / "target.localrag").ok


def test_a_read_only_file_takes_nothing_and_is_not_repaired(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.localrag"
    Store.create(other).close()
    real = os.access
    monkeypatch.setattr(os, "access", lambda place, mode: mode != os.W_OK and real(place, mode))
    with KnowledgeBase.open(path) as kb:
        assert "can be asked, and nothing is stored" in kb.notes[0]
        with pytest.raises(KnowledgeBaseReadOnly):
            kb.merge([other])
    with pytest.raises(KnowledgeBaseReadOnly):
        filing.vacuum(path)
    with pytest.raises(KnowledgeBaseReadOnly):
        filing.repair(path)
