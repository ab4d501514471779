"""The same file through the standard module: an older SQLite, perhaps without extensions."""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from localrag.store import Store, capabilities
from tests.store.helpers import add_lines, embed_missing, vector
from tests.store.secrets import ANSWERED, READ, TEXT, found_in, words_of

REPO = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    capabilities().module == "sqlite3", reason="the standard module is the one in use already"
)


def through_the_standard_module(script: str) -> str:
    """Run a script in a process where pysqlite3 is not to be found."""
    head = """
        import sys
        sys.modules["pysqlite3"] = None
        from pathlib import Path
        from localrag.store import Store, capabilities
        from tests.store.helpers import add_lines, embed_missing, vector
        assert capabilities().module == "sqlite3"
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=False,
        cwd=REPO,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_files_go_both_ways(path: Path) -> None:
    """A deletion makes the newer SQLite write full text in a form that one before 3.42 cannot read."""
    lines = ("Herons in the reeds", "知识图谱", "Code ORA-01555 and C++")
    with Store.create(path) as store:
        add_lines(store, *lines)
        add_lines(store, "Something that goes away")
        embed_missing(store)
        store.documents.delete(2)
        nearest = store.vectors.search(1, "chunk", vector("q"), 3)
    locked = path.with_name("locked.localrag")
    shutil.copy(path, locked)
    out = through_the_standard_module(
        f"""
        def ids(store, query):
            return [hit.id for hit in store.fulltext.search(query, 5)]
        with Store.open(Path({str(locked)!r}), read_only=True) as store:
            assert ids(store, "the herons") == [1]
            assert ids(store, "图谱") == [2]
            assert ids(store, "ORA-01555") == [3]
        with Store.open(Path({str(path)!r})) as store:
            assert store.check() == [], store.check()
            assert ids(store, "herons") == [1]
            assert ids(store, "谱") == [2]
            assert ids(store, "C++") == [3]
            print([(hit.id, hit.score) for hit in store.vectors.search(1, "chunk", vector("q"), 3)])
            add_lines(store, "Written by the older one", "zyzzyva")
            store.documents.delete(1)
        """
    )
    assert out.strip() == str([(hit.id, hit.score) for hit in nearest])
    assert sorted(item.name for item in path.parent.iterdir()) == [locked.name, path.name]
    assert b"heron" not in path.read_bytes().lower()
    with Store.open(path) as store:
        assert store.check() == []
        assert [hit.id for hit in store.fulltext.search("zyzzyva", 5)] == [6]
        store.documents.delete(3)
        assert store.fulltext.search("zyzzyva", 5) == []


def test_a_deletion_leaves_no_word_behind_there_either(path: Path) -> None:
    through_the_standard_module(
        f"""
        with Store.create(Path({str(path)!r})) as store:
            add_lines(store, "ordinary words")
            add_lines(store, "quokkaesque XQ-4711")
            embed_missing(store)
            store.documents.delete(2)
            assert store.check() == []
        """
    )
    content = path.read_bytes().lower()
    assert b"quokka" not in content
    assert b"4711" not in content
    assert [item.name for item in path.parent.iterdir()] == [path.name]


def test_nothing_of_a_document_is_left_in_any_table_there_either(path: Path) -> None:
    through_the_standard_module(
        f"""
        from tests.store.secrets import keep_something, tell_secrets
        with Store.create(Path({str(path)!r})) as store:
            keep_something(store)
            secret = tell_secrets(store)
        with Store.open(Path({str(path)!r})) as store:
            store.documents.delete(secret)
            assert store.check() == [], store.check()
        """
    )
    assert found_in(path.parent, words_of(TEXT, READ, ANSWERED)) == []
