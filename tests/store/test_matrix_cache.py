"""The cache of vectors beside the file: the same results, nothing of what was deleted, safe in any state."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from localrag.store import Store, capabilities
from localrag.store import matrix as matrix_module
from localrag.store.matrix_cache import MatrixCache, Segment
from localrag.store.removals import Removals, keys_of
from localrag.store.sqlite import sqlite3
from localrag.store.vectors import Method
from tests.examples import examples
from tests.store.helpers import SPACE, add_lines, embed_missing, session_of, vector

PLAIN: Method = "sqlite-vec" if capabilities().vec_version else "numpy"
"""A way to search that reads the file itself."""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, begun with eight rows; returns the folder of its files."""
    monkeypatch.setenv("LOCALRAG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(matrix_module, "LEAST", 8)
    monkeypatch.setattr(matrix_module, "SEGMENT", 8)
    return tmp_path / "cache" / "vectors"


def files(cache: Path) -> list[Path]:
    """The cache's files."""
    return sorted(path for path in cache.rglob("*") if path.is_file())


def put(store: Store, names: list[str], text: str = "") -> list[int]:
    """A document with one chunk for each name, whose vector is made of the name; returns the chunks' ids."""
    ids = add_lines(store, *(f"{text}{name}" for name in names))
    space_id = store.vectors.ensure_space(SPACE)
    store.vectors.put(space_id, "chunk", ids, np.stack([vector(name) for name in names]))
    return ids


def found(store: Store, query: str = "q", limit: int = 5, ids: list[int] | None = None) -> list[int]:
    """What a usual search finds."""
    space = store.vectors.active_space()
    assert space is not None
    return [hit.id for hit in store.vectors.search(space.id, "chunk", vector(query), limit, ids)]


def truth(store: Store, query: str = "q", limit: int = 5, ids: list[int] | None = None) -> list[int]:
    """The same, computed from the stored vectors alone."""
    rows = session_of(store).rows("SELECT chunk_id, vec FROM chunk_vectors")
    kept = [(row_id, np.frombuffer(vec, "<f4")) for row_id, vec in rows if ids is None or row_id in ids]
    wanted = vector(query).astype(np.float64)
    scores = {row_id: float(vec.astype(np.float64) @ wanted) for row_id, vec in kept}
    return sorted(scores, key=lambda row_id: (-round(scores[row_id], 12), row_id))[:limit]


def names(prefix: str, count: int = 10) -> list[str]:
    """Distinct names."""
    return [f"{prefix}{number}" for number in range(count)]


def holds(cache: Path, name: str) -> bool:
    """Whether the vector of a name is in any file of the cache."""
    return any(vector(name).tobytes() in path.read_bytes() for path in files(cache))


@contextmanager
def undone(store: Store) -> Iterator[None]:
    """A transaction that is rolled back at its end."""
    with suppress(_UndoneError), store.transaction():
        yield
        raise _UndoneError


class _UndoneError(Exception):
    """Ends a transaction."""


def test_only_its_owner_can_read_it_and_it_holds_no_text(store: Store, cache: Path) -> None:
    put(store, names("a"), text="Confidential ")
    assert found(store) == truth(store)
    (file,) = files(cache)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (file.parent, cache)} == {0o700}
    data = file.read_bytes()
    uuid = session_of(store).value("SELECT uuid FROM meta")
    for text in (
        b"Confidential",
        uuid.encode(),
        SPACE.fingerprint.encode(),
        b".txt",
        store.path.name.encode(),
    ):
        assert text not in data
        assert text not in str(file.relative_to(cache)).encode()


def test_the_disk_has_a_file_before_it_gets_its_name(
    store: Store, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a power failure could leave a file of the right length with zeros for vectors."""
    put(store, names("a"))
    synced: dict[int, bytes] = {}
    named: list[tuple[int, bytes]] = []
    real_sync, real_replace = os.fsync, os.replace

    def sync(number: int) -> None:
        synced[os.fstat(number).st_ino] = os.pread(number, os.fstat(number).st_size, 0)
        real_sync(number)

    def replace(source: str, target: Path) -> None:
        named.append((os.stat(source).st_ino, Path(source).read_bytes()))
        real_replace(source, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", replace)
    found(store)
    assert len(named) == 1
    assert [(inode, synced.get(inode)) for inode, _ in named] == named


def test_few_vectors_need_no_cache(store: Store, cache: Path) -> None:
    put(store, names("a", 7))
    assert found(store) == truth(store)
    assert files(cache) == []


def test_the_next_process_finds_it_and_reads_nothing_again(
    path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.create(path) as store:
        put(store, names("a"))
        wanted = found(store)
    monkeypatch.setattr(matrix_module.MatrixView, "_read", None)
    with Store.open(path) as store:
        assert found(store) == wanted == truth(store)


def test_new_vectors_never_mean_writing_old_ones_again(store: Store, cache: Path) -> None:
    put(store, names("a"))
    found(store)
    (first,) = files(cache)
    before = first.stat().st_ino
    for number in range(3):
        put(store, names(f"b{number}", 3))
        assert found(store) == truth(store)
    assert len(files(cache)) == 2
    assert first.stat().st_ino == before
    found(store)
    assert len(files(cache)) == 2


def test_many_small_files_become_one(store: Store, cache: Path) -> None:
    most = 0
    for number in range(20):
        put(store, names(f"n{number}-", 8))
        assert found(store) == truth(store)
        most = max(most, len(files(cache)))
    assert 3 <= most <= 12
    assert len(files(cache)) < 12


@pytest.mark.parametrize("others", [False, True])
def test_a_deleted_vector_is_gone_from_every_byte_at_once(
    store: Store, cache: Path, path: Path, others: bool
) -> None:
    put(store, names("a"))
    secret = put(store, names("secret"))
    put(store, names("b"))
    found(store)
    assert holds(cache, "secret3")
    document = store.chunks.get(secret[0]).document_id
    if others:
        with Store.open(path) as other:
            other.documents.delete(document)
    else:
        store.documents.delete(document)
    assert len(files(cache)) == 1
    assert not any(holds(cache, name) for name in names("secret"))
    assert holds(cache, "a3")
    assert found(store, "secret3", 40) == truth(store, "secret3", 40)
    assert not set(found(store, "secret3", 40)) & set(secret)


def test_a_replaced_vector_is_gone_too(store: Store, cache: Path) -> None:
    ids = put(store, names("a"))
    found(store)
    space_id = store.vectors.ensure_space(SPACE)
    store.vectors.put(space_id, "chunk", [ids[4]], np.stack([vector("new")]))
    assert not holds(cache, "a4")
    assert found(store, "new", 1) == [ids[4]]
    assert found(store, "a4") == truth(store, "a4")


def test_a_deletion_that_was_undone_takes_nothing(store: Store, cache: Path) -> None:
    ids = put(store, names("a"))
    found(store)
    with undone(store):
        store.documents.delete(store.chunks.get(ids[0]).document_id)
    assert holds(cache, "a4")
    assert found(store) == truth(store)
    put(store, names("b"))
    assert holds(cache, "a4")


def test_what_is_not_committed_is_found_and_does_not_get_into_the_cache(store: Store, cache: Path) -> None:
    put(store, names("a"))
    found(store)
    with undone(store):
        inside = put(store, names("undone"))
        assert found(store, "undone3", 1) == [inside[3]]
    assert not holds(cache, "undone3")
    # Their row numbers are given again.
    again = put(store, names("kept"))
    assert found(store, "kept3", 3) == truth(store, "kept3", 3)
    assert found(store, "kept3", 1) == [again[3]]


def test_a_crash_before_the_cache_was_told_leaves_nothing_after_the_next_opening(
    path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.create(path) as store:
        ids = put(store, names("a"))
        put(store, names("b"))
        found(store)
        monkeypatch.setattr(Removals, "_noted", lambda self: None)
        with Store.open(path) as dying:
            dying.documents.delete(store.chunks.get(ids[0]).document_id)
        assert holds(cache, "a3")
        before = [path.stat().st_ino for path in files(cache)]
        # Who searches notices as well, and need not write everything again.
        assert found(store, "a3", 30) == truth(store, "a3", 30)
        assert not holds(cache, "a3")
        assert [path.stat().st_ino for path in files(cache)] == before
        with Store.open(path) as dying:
            dying.documents.delete(2)
    assert holds(cache, "b3")
    with Store.open(path, read_only=True):
        assert not holds(cache, "b3")


def test_a_later_deletion_does_not_hide_one_that_was_not_followed(
    store: Store, path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = put(store, names("a"))
    put(store, names("b"))
    found(store)
    with monkeypatch.context() as patched:
        patched.setattr(Removals, "_noted", lambda self: None)
        with Store.open(path) as dying:
            dying.documents.delete(dying.chunks.get(ids[0]).document_id)
    assert holds(cache, "a3")
    store.documents.delete(2)
    assert not holds(cache, "a3")
    assert not holds(cache, "b3")


def test_other_programs_that_write_to_the_file_are_noticed(store: Store, path: Path, cache: Path) -> None:
    ids = put(store, names("a"))
    put(store, names("b"))
    found(store)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("DELETE FROM chunk_vectors WHERE chunk_id = ?", [ids[2]])
    other.close()
    assert found(store, "a2", 30) == truth(store, "a2", 30)
    assert not holds(cache, "a2")
    with pytest.raises(sqlite3.IntegrityError, match="replaced, not changed"):
        session_of(store).database.execute("UPDATE chunk_vectors SET vec = zeroblob(32)")


def test_a_deletion_while_the_cache_is_written_is_followed(
    store: Store, path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = put(store, names("a"))
    put(store, names("b"))
    add = MatrixCache.add

    def add_and_delete(self: MatrixCache, *arguments: object) -> Segment | None:
        made = add(self, *arguments)  # type: ignore[arg-type]
        # The other program looked for the file just before it was there.
        with monkeypatch.context() as patched:
            patched.setattr(Removals, "_noted", lambda self: None)
            with Store.open(path) as other:
                other.documents.delete(other.chunks.get(ids[0]).document_id)
        return made

    monkeypatch.setattr(MatrixCache, "add", add_and_delete)
    assert found(store, "a3", 30) == truth(store, "a3", 30)
    assert not holds(cache, "a3")


def test_a_copy_that_went_another_way_never_reads_wrong_rows(tmp_path: Path, cache: Path) -> None:
    first, second = tmp_path / "first.localrag", tmp_path / "second.localrag"
    with Store.create(first) as store:
        common = put(store, names("common"))
        found(store)
    shutil.copyfile(first, second)
    with Store.open(first) as one, Store.open(second) as two:
        for turn in range(3):
            mine, yours = put(one, names(f"one{turn}")), put(two, names(f"two{turn}"))
            assert mine == yours
            for query in (f"one{turn}3", f"two{turn}3", "common3"):
                for store in (one, two):
                    assert found(store, query) == truth(store, query)
                with Store.open(first) as store:
                    assert found(store, query) == truth(store, query)
                with Store.open(second) as store:
                    assert found(store, query) == truth(store, query)
        one.documents.delete(one.chunks.get(common[0]).document_id)
        for store in (two, one, two):
            assert found(store, "common3", 30) == truth(store, "common3", 30)
    for path in (second, first, second):
        with Store.open(path) as store:
            assert found(store, "common3", 30) == truth(store, "common3", 30)


def test_a_deletion_in_a_copy_takes_nothing_from_the_other_while_both_are_open(
    tmp_path: Path, cache: Path
) -> None:
    first, second = tmp_path / "first.localrag", tmp_path / "second.localrag"
    with Store.create(first) as store:
        ids = put(store, names("x"))
        put(store, names("y"))
        found(store)
    shutil.copyfile(first, second)
    with Store.open(first) as one, Store.open(second) as two:
        assert found(one, "x3", 30) == found(two, "x3", 30)
        assert len(files(cache)) == 1
        two.documents.delete(two.chunks.get(ids[0]).document_id)
        for store in (one, two, one):
            assert found(store, "x3", 30) == truth(store, "x3", 30)


def test_a_copy_with_the_same_deletions_made_otherwise_is_noticed(tmp_path: Path, cache: Path) -> None:
    first, second = tmp_path / "first.localrag", tmp_path / "second.localrag"
    with Store.create(first) as store:
        one, two = put(store, names("x")), put(store, names("y"))
    shutil.copyfile(first, second)
    with Store.open(first) as store:
        found(store)
        store.documents.delete(store.chunks.get(one[0]).document_id)
        assert found(store) == truth(store)
    with Store.open(second) as store:
        store.documents.delete(store.chunks.get(two[0]).document_id)
        assert found(store, "x3", 30) == truth(store, "x3", 30)
    with Store.open(first) as store:
        assert found(store, "y3", 30) == truth(store, "y3", 30)


@pytest.mark.parametrize("damage", ["header", "short", "long", "empty", "foreign", "vector", "number"])
def test_a_damaged_file_is_not_believed(path: Path, cache: Path, damage: str) -> None:
    with Store.create(path) as store:
        put(store, names("a"))
        wanted = found(store)
    (file,) = files(cache)
    data = bytearray(file.read_bytes())
    if damage == "header":
        data[60] ^= 1
    elif damage == "short":
        del data[-8:]
    elif damage == "long":
        data += b"\0" * 8
    elif damage == "empty":
        data.clear()
    elif damage == "foreign":
        data[:] = b"not one of ours" * 400
    elif damage == "vector":
        data[4096 + 3] ^= 0x40
    elif damage == "number":
        data[-8] ^= 1
    file.write_bytes(data)
    with Store.open(path) as store:
        assert found(store) == wanted == truth(store)
        assert store.vectors.cache.problem == ""
    (file,) = files(cache)
    assert file.read_bytes() != data


def test_a_cache_that_cannot_be_written_changes_no_result(store: Store, cache: Path) -> None:
    cache.parent.mkdir()
    cache.write_text("in the way")
    put(store, names("a"))
    assert found(store) == truth(store)
    assert "cannot be written" in store.vectors.cache.problem
    store.documents.delete(1)
    put(store, names("b"))
    assert found(store) == truth(store)


def test_without_any_room_the_file_itself_is_searched(
    store: Store, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, names("a"))
    store.vectors.cache.cap = 0
    monkeypatch.setattr(matrix_module, "RESIDENT", 0)
    assert found(store) == truth(store)
    assert files(cache) == []
    assert "more than the cache may hold" in store.vectors.cache.problem


def test_the_longest_unused_go_when_the_cap_is_reached(tmp_path: Path, cache: Path) -> None:
    made = []
    for number in range(3):
        with Store.create(tmp_path / f"{number}.localrag") as store:
            put(store, names(f"kb{number}", 40))
            store.vectors.cache.cap = 14_000
            found(store)
            new = next(path for path in files(cache) if path not in made)
            # The clock of the file system may be too coarse to tell them apart.
            os.utime(new, (1_700_000_000 + number, 1_700_000_000 + number))
            made.append(new)
    assert [path.exists() for path in made] == [False, True, True]


def test_what_a_killed_program_left_half_written_goes(path: Path, cache: Path) -> None:
    with Store.create(path) as store:
        put(store, names("a"))
        found(store)
        (file,) = files(cache)
    old, new = file.with_name("old.part"), file.with_name("new.part")
    old.write_bytes(b"x")
    new.write_bytes(b"x")
    os.utime(old, (1_700_000_000, 1_700_000_000))
    with Store.open(path):
        assert not old.exists()
        assert new.exists()


def test_the_cache_of_a_space_that_was_dropped_goes_with_it(store: Store, cache: Path) -> None:
    put(store, names("a"))
    found(store)
    assert len(files(cache)) == 1
    session = session_of(store)
    with store.transaction():
        session.run("DELETE FROM embedding_spaces")
    assert files(cache) == []
    assert keys_of(session) == {}


def test_a_very_large_deletion_drops_the_cache(
    store: Store, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localrag.store.removals._MANY", 5)
    ids = put(store, names("a"))
    put(store, names("b"))
    found(store)
    store.documents.delete(store.chunks.get(ids[0]).document_id)
    assert files(cache) == []
    assert found(store) == truth(store)


def test_entities_and_relations_have_caches_of_their_own(store: Store, cache: Path) -> None:
    from tests.store.helpers import entity, generation, reading, relation

    (chunk,) = add_lines(store, "one")
    people = [entity(f"P{number}", f"Is {number}.") for number in range(12)]
    ties = [relation(f"P{number}", f"P{number + 1}", "Knows.") for number in range(11)]
    store.graph.record(chunk, reading(people, ties), generation())
    embed_missing(store)
    space_id = store.vectors.ensure_space(SPACE)
    for kind in ("entity", "relation"):
        for method in (None, PLAIN):
            hits = store.vectors.search(space_id, kind, vector("q"), 7, method=method)
            assert len(hits) == 7
            assert hits == store.vectors.search(space_id, kind, vector("q"), 7, method=PLAIN)
    assert sorted(path.name.split("-")[0] for path in files(cache)) == ["entity", "relation"]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(1, 12)),
        st.tuples(st.just("replace"), st.integers(0, 50)),
        st.tuples(st.just("delete"), st.integers(0, 50)),
        st.tuples(st.just("other"), st.integers(0, 50)),
        st.tuples(st.just("reopen"), st.just(0)),
        st.tuples(st.just("copy"), st.just(0)),
        st.tuples(st.just("swap"), st.just(0)),
        st.tuples(st.just("lose"), st.just(0)),
        st.tuples(st.just("search"), st.integers(1, 12)),
    ),
    max_size=25,
)


@settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(STEPS, st.integers(1, 6), st.integers(0, 2**31))
def test_any_course_of_changes_gives_what_the_file_gives(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]], distinct: int, seed: int
) -> None:
    """With few distinct vectors, so that ties decide; with other connections and a copy that goes astray."""
    random = np.random.default_rng(seed)
    folder = tmp_path_factory.mktemp("course")
    paths = [folder / "a.localrag", folder / "b.localrag"]
    store = Store.create(paths[0])
    session_of(store).database.execute("PRAGMA synchronous = OFF")
    space_id = store.vectors.ensure_space(SPACE)
    count = 0

    def rows(number: int) -> NDArray[np.float32]:
        return np.stack([vector(f"v{random.integers(distinct)}") for _ in range(number)])

    def one_of(of: Store, table: str, number: int) -> list[int]:
        ids = session_of(of).column(f"SELECT id FROM {table} ORDER BY id")
        return [ids[number % len(ids)]] if ids else []

    for step, number in steps:
        if step == "put":
            count += 1
            ids = add_lines(store, *(f"{count}.{line}" for line in range(number)))
            store.vectors.put(space_id, "chunk", ids, rows(number))
        elif step == "replace":
            for chunk in one_of(store, "chunks", number):
                store.vectors.put(space_id, "chunk", [chunk], rows(1))
        elif step in ("delete", "other"):
            for document in one_of(store, "documents", number):
                if step == "delete":
                    store.documents.delete(document)
                else:
                    with Store.open(store.path) as other:
                        other.documents.delete(document)
        elif step == "copy":
            store.close()
            shutil.copyfile(paths[0], paths[1])
            store = Store.open(paths[0])
        elif step == "swap" and paths[1].exists():
            store.close()
            paths.reverse()
            store = Store.open(paths[0])
        elif step == "reopen":
            store.close()
            store = Store.open(paths[0])
        elif step == "lose":
            shutil.rmtree(os.environ["LOCALRAG_CACHE"], ignore_errors=True)
        for query in ("v0", "q"):
            some = [*session_of(store).column("SELECT id FROM chunks WHERE id % 3 = 0"), 999]
            assert found(store, query, max(number, 3)) == truth(store, query, max(number, 3))
            assert found(store, query, 3, some) == truth(store, query, 3, some)
    store.close()
