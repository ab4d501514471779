"""Whatever happens to files, the knowledge base ends as a fresh one would be, and keeps its work."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localrag.store.database import Store
from tests.examples import examples
from tests.folders_helpers import mentions, place, places, put_in, read_all, run, text, texts, write

NAMES = st.sampled_from(("a.txt", "b.txt", "c.md", "sub/a.txt", "sub/deep/d.txt", "other/e.md"))
FOLDERS = st.sampled_from(("sub", "other", "sub/deep", "new"))
CONTENTS = st.one_of(
    st.just(""),
    st.lists(st.integers(0, 12), min_size=1, max_size=30).map(lambda numbers: text(*numbers)),
    st.lists(st.integers(0, 5), min_size=1, max_size=12).map(
        lambda numbers: "\n\n".join(f"# Part {number}\n\n{text(number, number + 1)}" for number in numbers)
    ),
)
STEPS = st.one_of(
    st.tuples(st.just("write"), NAMES, CONTENTS),
    st.tuples(st.just("insert"), NAMES, st.integers(0, 200)),
    st.tuples(st.just("move"), NAMES, NAMES),
    st.tuples(st.just("copy"), NAMES, NAMES),
    st.tuples(st.just("delete"), NAMES, st.none()),
    st.tuples(st.just("touch"), NAMES, st.none()),
    st.tuples(st.just("move folder"), FOLDERS, FOLDERS),
    st.tuples(st.just("sync"), st.none(), st.none()),
    st.tuples(st.just("read"), st.none(), st.none()),
)
PLANS = st.lists(STEPS, min_size=1, max_size=14)


class _Folder:
    """A folder whose files change as steps say; times go on so that every change can be seen."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.time = 1_700_000_000_123_456_789

    def do(self, kind: str, first: str, second: str | int | None) -> None:
        path = self.folder / first
        if kind == "write":
            if not path.is_dir() and not any(parent.is_file() for parent in path.parents):
                write(self.folder, {first: str(second)})
                self._tick(path)
        elif kind == "insert" and path.is_file():
            content = path.read_text(encoding="utf-8")
            at = min(int(second or 0), len(content))
            path.write_text(f"{content[:at]} Something new {at}. {content[at:]}", encoding="utf-8")
            self._tick(path)
        elif kind in ("move", "copy", "move folder"):
            target = self.folder / str(second)
            fits = path.is_dir() if kind == "move folder" else path.is_file()
            inside = target == path or path in target.parents or target in path.parents
            if fits and not inside and not target.is_dir():
                target.parent.mkdir(parents=True, exist_ok=True)
                if kind == "copy":
                    shutil.copyfile(path, target)
                    self._tick(target)
                else:
                    path.replace(target)
        elif kind == "delete" and path.is_file():
            path.unlink()
        elif kind == "touch" and path.is_file():
            self._tick(path)

    def _tick(self, path: Path) -> None:
        self.time += 1_000_001_000
        os.utime(path, ns=(self.time, self.time))


def chunk_texts(store: Store) -> list[tuple[str, list[str]]]:
    return sorted(
        (row.path, [chunk.text for chunk in store.chunks.of_document(row.id)])
        for row in store.documents.list()
    )


def words(store: Store) -> Counter[str]:
    """What the full-text tables hold, by the text of the chunk."""
    session = store._session
    found: Counter[str] = Counter()
    for table in ("chunk_words", "chunk_codes"):
        session.database.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{table}_seen "
            f"USING fts5vocab('main', '{table}', 'instance')"
        )
        for term, chunk, offset in session.rows(
            f"SELECT term, c.heading || '|' || c.text, offset FROM temp.{table}_seen v "
            "JOIN chunks c ON c.id = v.doc"
        ):
            found[f"{table} {term} {offset} {chunk}"] += 1
    return found


def check(plan: list[tuple[str, str, str | int | None]]) -> None:
    with place() as (store, folder):
        write(folder, {"start.txt": text(*range(20, 40)), "stay.md": text(1)})
        put_in(store, folder)
        disk = _Folder(folder)
        for kind, first, second in plan:
            if kind == "read":
                read_all(store)
            elif kind == "sync":
                follow(store)
            else:
                disk.do(kind, first, second)
        follow(store)
        assert run(store, check=True, dry_run=True).unchanged == sum(map(len, places(store)))
        with place() as (fresh, other):
            other.rmdir()
            shutil.copytree(folder, other)
            put_in(fresh, other)
            assert {row.path for row in fresh.documents.list()} <= {
                found.path for each in store.documents.all_places().values() for found in each
            }
            groups = [
                {frozenset(found.path for found in each) for each in kb.documents.all_places().values()}
                for kb in (store, fresh)
            ]
            assert groups[0] == groups[1]
            assert sorted(texts(store).values()) == sorted(texts(fresh).values())
            if sorted(chunk_texts(store)) == sorted(chunk_texts(fresh)):
                assert words(store) == words(fresh)
            for kb in (store, fresh):
                assert kb.check() == []
            assert sum(words(store).values()) > 0
        for row in store.documents.list():
            covered = store.chunks.of_document(row.id)
            assert [chunk.ordinal for chunk in covered] == list(range(len(covered)))
            assert (row.status == "waiting") == any(chunk.state == "pending" for chunk in covered)


def follow(store: Store) -> None:
    """Sync, and see that every chunk whose text is still in the same document kept what was read in it."""
    read = mentions(store)
    before = {
        row.id: [chunk for chunk in store.chunks.of_document(row.id) if chunk.id in read]
        for row in store.documents.list()
    }
    run(store)
    after = mentions(store)
    left = {row.id for row in store.documents.list()}
    for document_id, chunks in before.items():
        if document_id not in left:
            continue
        now = store.chunks.of_document(document_id)
        have = Counter(chunk.text for chunk in now)
        wanted = Counter(chunk.text for chunk in chunks)
        kept = Counter(chunk.text for chunk in chunks if chunk.id in after)
        for content, count in wanted.items():
            assert kept[content] >= min(count, have[content])
        assert all(after[chunk.id] == read[chunk.id] for chunk in chunks if chunk.id in after)
        assert all(chunk.state == "read" for chunk in now if chunk.id in after)
    assert run(store).added == ()


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(PLANS)
def test_any_changes_end_as_a_fresh_start_would(plan: list[tuple[str, str, str | int | None]]) -> None:
    check(plan)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(PLANS)
def test_very_many_changes(plan: list[tuple[str, str, str | int | None]]) -> None:
    check(plan)
