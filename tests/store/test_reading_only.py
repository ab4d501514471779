"""Files that cannot be written: opened for asking, left as they are, and the person is told.

Permissions do not stop root, so the work is done by a process of another user where the tests run as root.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from localrag.store import Store
from localrag.store.sqlite import sqlite3
from tests.store.helpers import add_lines, embed_missing, files_beside
from tests.store.test_upgrading import FILES, unpack

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="not here: permissions of POSIX")

HEAD = """
    import os, sys
    from pathlib import Path
    from localrag.errors import LocalragError
    from localrag.filing import describe, export, verify
    from localrag.store import Store, capabilities
    import encodings.idna, numpy.random
    capabilities()
    if os.geteuid() == 0:
        os.setgid(65534); os.setuid(65534)
    def told(work):
        try:
            work()
        except LocalragError as error:
            print(type(error).__name__, error)
    path = Path(sys.argv[1])
"""


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that other users can enter, unlike those of pytest."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def as_another(path: Path, script: str) -> str:
    """What a script prints that runs as a user who owns nothing here."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(HEAD) + textwrap.dedent(script), str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=os.environ | {"HOME": "/nonexistent", "LOCALRAG_CACHE": "/nonexistent/cache"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def shared(folder: Path) -> Path:
    """A closed knowledge base."""
    path = folder / "shared.localrag"
    with Store.create(path) as store:
        add_lines(store, "A word about herons")
        embed_missing(store)
    return path


ASK = """
    with Store.open(path) as store:
        assert store.read_only
        print(*store.notes)
        assert [hit.id for hit in store.fulltext.search("herons", 3)]
        assert store.check() == []
        told(lambda: store.documents.delete(1))
    assert verify(path).ok
    assert describe(path)[0].read_only
"""


@pytest.mark.parametrize("what", ["file", "folder", "both"])
def test_what_cannot_be_written_is_asked_and_the_person_is_told(public: Path, what: str) -> None:
    path = shared(public)
    before = path.read_bytes()
    path.chmod(0o444 if what != "folder" else 0o666)
    public.chmod(0o555 if what != "file" else 0o777)
    said = as_another(path, ASK)
    assert "cannot be written: it can be asked, and nothing is stored" in said
    assert "open for reading only" in said
    assert path.read_bytes() == before
    assert files_beside(path) == [path.name]


def test_a_log_of_a_killed_program_is_read_where_a_file_can_be_made_beside_it(public: Path) -> None:
    path = shared(public)
    live = sqlite3.connect(path, isolation_level=None)
    live.execute("PRAGMA journal_mode = WAL")
    live.execute("UPDATE documents SET title = 'only in the log'")
    place = public / "killed"
    place.mkdir()
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", place / f"k.localrag{suffix}")
    live.close()
    for item in place.iterdir():
        item.chmod(0o444)
    place.chmod(0o777)
    said = as_another(
        place / "k.localrag",
        "with Store.open(path) as store:\n        print(store.documents.list()[0].title)",
    )
    assert "only in the log" in said


def test_a_log_that_cannot_be_read_is_told_with_a_way_out(public: Path) -> None:
    """To read a log SQLite needs a file beside it, and that cannot be made here."""
    path = shared(public)
    live = sqlite3.connect(path, isolation_level=None)
    live.execute("PRAGMA journal_mode = WAL")
    live.execute("UPDATE documents SET title = 'only in the log'")
    place = public / "killed"
    place.mkdir()
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", place / f"k.localrag{suffix}")
        (place / f"k.localrag{suffix}").chmod(0o444)
    live.close()
    place.chmod(0o555)
    said = as_another(place / "k.localrag", "told(lambda: Store.open(path))")
    place.chmod(0o755)
    assert "KnowledgeBaseReadOnly" in said
    assert "copy the file and the -wal beside it to a folder of yours" in said


def test_an_older_file_that_cannot_be_written_is_read(public: Path) -> None:
    path = unpack(FILES[0], public / "old.localrag")
    before = path.read_bytes()
    path.chmod(0o444)
    public.chmod(0o555)
    said = as_another(
        path,
        """
        with Store.open(path) as store:
            print(*store.notes)
            assert store.fulltext.search("bridge", 3)
            assert store.check() == []
        """,
    )
    assert "nothing is stored" in said
    assert "read through a copy in memory" in said
    assert path.read_bytes() == before
    assert files_beside(path) == [path.name]


def test_a_copy_can_be_made_of_what_cannot_be_written(public: Path) -> None:
    path = shared(public)
    path.chmod(0o444)
    public.chmod(0o555)
    out = Path(tempfile.mkdtemp())
    out.chmod(0o777)
    try:
        as_another(path, f"export(path, Path({str(out)!r}) / 'copy.localrag')")
        assert oct((out / "copy.localrag").stat().st_mode)[-3:] == "600"
        with Store.open(out / "copy.localrag") as store:
            assert store.check() == []
    finally:
        shutil.rmtree(out)
    said = as_another(path, "told(lambda: export(path, path.with_name('copy.localrag')))")
    assert "copy.localrag cannot be made in" in said
    assert files_beside(path) == [path.name]


@pytest.mark.skipif(shutil.which("chattr") is None, reason="chattr is not installed")
@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="not here: no root of Linux")
def test_an_immutable_file_is_asked(public: Path) -> None:
    path = shared(public)
    marked = subprocess.run(["chattr", "+i", str(path)], capture_output=True, check=False)
    if marked.returncode != 0:
        pytest.skip("not here: this disk has no such mark")
    try:
        with Store.open(path) as store:
            assert store.read_only
            assert store.fulltext.search("herons", 3)
    finally:
        subprocess.run(["chattr", "-i", str(path)], check=True)
    assert files_beside(path) == [path.name]
