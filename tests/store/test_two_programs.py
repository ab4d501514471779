"""Several programs on one file, each a process of its own: readers never wait, writers take turns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from localrag.kb import KnowledgeBase
from localrag.store import Store
from localrag.tui.app import LocalragApp
from tests.cli.conftest import start
from tests.store.helpers import files_beside
from tests.tui.support import running, session_of, until

pytestmark = pytest.mark.skipif(os.name != "posix", reason="not here: signals of POSIX")

ROOT = Path(__file__).parents[2]
SECONDS = 120.0
"""A bound on what must not hang; nothing here takes a twentieth of it on an idle machine."""

QUESTION = "Whom did Anna meet in Oslo?"


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALRAG_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("LOCALRAG_CONFIG", os.devnull)
    monkeypatch.setenv("LOCALRAG_ENGINE__TUNE", "off")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A knowledge base with twelve passages that nobody has read, alone in its folder."""
    write_texts(tmp_path / "texts", 12)
    (tmp_path / "kb").mkdir()
    path = tmp_path / "kb" / "notes.localrag"
    with KnowledgeBase.create(path) as kb:
        kb.add([tmp_path / "texts"])
    return path


def write_texts(folder: Path, number: int, who: str = "person") -> Path:
    folder.mkdir()
    for n in range(number):
        (folder / f"{who}-{n:02}.txt").write_text(f"Anna met {who} {n} in Oslo.", encoding="utf-8")
    return folder


GATED = """
import sys, time
from pathlib import Path
from localrag import engines
from localrag.cli.main import main
from localrag.engine.scripted import ScriptedEmbedder, ScriptedModel

class Model(ScriptedModel):
    read = 0
    def _generate(self, request):
        self.read += 1
        while self.read > 3 and not Path("go").exists():
            time.sleep(0.02)
        return super()._generate(request)

real = engines.Engines
engines.Engines = lambda settings: real(settings, Model(lambda request: "<|COMPLETE|>"), ScriptedEmbedder())
sys.exit(main())
"""
"""The command line with a model that stands still after three passages until there is a file `go`."""


@contextmanager
def program(path: Path, *words: str | Path, gated: bool = False) -> Iterator[subprocess.Popen[str]]:
    """The command line on the file, with scripted models; ended in any case."""
    options = {"program": ("-c", GATED)} if gated else {}
    child = start("--kb", str(path), *map(str, words), delay=0.0, cwd=path.parents[1], **options)
    try:
        yield child
    finally:
        stop(child)


@contextmanager
def indexing(path: Path) -> Iterator[subprocess.Popen[str]]:
    """An index run that stands still in the middle, with three passages read, until `let_go`."""
    with program(path, "index", gated=True) as child:
        wait_until(lambda: read_so_far(path) == 3)
        yield child


def let_go(path: Path, child: subprocess.Popen[str]) -> None:
    """Let an index run end, which must have stood still until now."""
    assert child.poll() is None
    (path.parents[1] / "go").touch()
    code, _, err = finished(child)
    assert code == 0, err


def stop(child: subprocess.Popen[str]) -> None:
    child.kill()
    child.wait(SECONDS)
    for stream in (child.stdout, child.stderr):
        if stream is not None:
            stream.close()


def finished(child: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit code, output and talk of a program that must end by itself."""
    out, err = child.communicate(timeout=SECONDS)
    assert "Traceback" not in err
    return child.returncode, out, err


def ran(path: Path, *words: str | Path, code: int = 0) -> str:
    """What a program wrote to stdout."""
    with program(path, *words) as child:
        found, out, err = finished(child)
    assert found == code, err
    return out


HOLDER = """
    import sys, time
    from pathlib import Path
    from localrag.store import Store
    from tests.store.helpers import add, session_of
    store = Store.open(Path(sys.argv[1]))
    def here():
        print("here", flush=True)
        sys.stdin.readline()
"""


@contextmanager
def holder(path: Path, body: str) -> Iterator[subprocess.Popen[str]]:
    """A program that stands still within `body` until it gets a line; ended in any case."""
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HOLDER) + textwrap.dedent(body), str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline().strip() == "here"
        yield child
    finally:
        if child.stdin is not None:
            with suppress(OSError):
                child.stdin.close()
        stop(child)


WRITING = """
    with store.transaction():
        add(store, "half.txt", "Half a change that nobody may see.")
        here()
    store.close()
"""


def go_on(child: subprocess.Popen[str]) -> None:
    """Let a holder end."""
    assert child.stdin is not None
    child.stdin.write("\n")
    child.stdin.flush()
    assert child.wait(SECONDS) == 0


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def read_so_far(path: Path) -> int:
    with KnowledgeBase.open(path, read_only=True) as kb:
        return kb.status().coverage.read


def sound(path: Path) -> None:
    """Nothing is wrong with the file, and it is one file."""
    with Store.open(path) as store:
        assert store.check() == []
    assert files_beside(path) == [path.name]


def test_readers_return_while_a_change_is_half_made(path: Path) -> None:
    with holder(path, WRITING) as writer:
        status = json.loads(ran(path, "status", "--json"))
        assert len(status["documents"]) == 12
        assert json.loads(ran(path, "ask", QUESTION, "--json"))["coverage"]["read"] == 0
        assert writer.poll() is None
        go_on(writer)
    assert len(json.loads(ran(path, "status", "--json"))["documents"]) == 13
    sound(path)


def test_readers_return_while_another_program_indexes(path: Path) -> None:
    with indexing(path) as child:
        for _ in range(2):
            assert json.loads(ran(path, "ask", QUESTION, "--json"))["coverage"]["read"] == 3
            assert json.loads(ran(path, "status", "--json"))["coverage"]["read"] == 3
        let_go(path, child)
    assert json.loads(ran(path, "ask", QUESTION, "--json"))["coverage"]["read"] == 12
    sound(path)


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_second_writer_is_told_and_changes_nothing(
    path: Path, tmp_path: Path, form: tuple[str, ...]
) -> None:
    more = write_texts(tmp_path / "more", 1, "friend")
    with holder(path, WRITING) as writer:
        with program(path, "add", more, *form) as second:
            code, out, err = finished(second)
        assert code == 4
        assert "Another program is writing to notes.localrag." in err
        assert "try again" in err
        if form:
            assert json.loads(out)["error"]["kind"] == "KnowledgeBaseBusy"
        go_on(writer)
    ran(path, "add", more)
    assert len(json.loads(ran(path, "status", "--json"))["documents"]) == 14
    sound(path)


def test_two_adds_at_once_put_everything_in_once(path: Path, tmp_path: Path) -> None:
    one = write_texts(tmp_path / "one", 30, "friend")
    two = write_texts(tmp_path / "two", 30, "guest")
    with program(path, "add", one, two) as first, program(path, "add", two, one) as second:
        for child in (first, second):
            code, _, err = finished(child)
            assert code == 0, err
    documents = json.loads(ran(path, "status", "--json"))["documents"]
    assert len(documents) == 72
    assert len({(row["root"], row["path"]) for row in documents}) == 72
    sound(path)


def test_a_second_index_run_stops_at_once_and_asks_no_model(path: Path) -> None:
    with indexing(path) as first:
        with program(path, "index", gated=True) as second:
            code, _, err = finished(second)
        assert code == 4
        assert f"notes.localrag is being indexed by another program (process {first.pid})." in err
        assert read_so_far(path) == 3
        let_go(path, first)
    with Store.open(path) as store:
        assert store.info().counts["generations"] == 12
    sound(path)


def test_what_is_added_while_another_program_indexes_is_read_by_it(path: Path, tmp_path: Path) -> None:
    more = write_texts(tmp_path / "more", 3, "friend")
    with indexing(path) as child:
        ran(path, "add", more)
        let_go(path, child)
    assert read_so_far(path) == 15
    sound(path)


def test_a_killed_index_run_leaves_no_lock_of_any_kind(path: Path) -> None:
    with indexing(path) as killed:
        pass
    assert killed.returncode == -9
    assert json.loads(ran(path, "index", "--json"))["read"] == 9
    sound(path)


def test_a_killed_writer_leaves_no_lock(path: Path, tmp_path: Path) -> None:
    more = write_texts(tmp_path / "more", 1, "friend")
    with holder(path, WRITING) as writer:
        writer.kill()
        writer.wait(SECONDS)
        ran(path, "add", more)
    documents = json.loads(ran(path, "status", "--json"))["documents"]
    assert "half.txt" not in {row["path"] for row in documents}
    assert len(documents) == 13
    sound(path)


READING = """
    session = session_of(store)
    session.database.execute("BEGIN")
    before = session.value("SELECT count(*) FROM documents")
    here()
    assert session.value("SELECT count(*) FROM documents") == before
    assert len(session.rows("SELECT text FROM documents")) == before
    session.database.execute("COMMIT")
    print(session.value("SELECT count(*) FROM documents"), flush=True)
    store.close()
"""


def test_a_long_read_sees_one_state_while_others_write_and_close(path: Path, tmp_path: Path) -> None:
    more = write_texts(tmp_path / "more", 2, "friend")
    with holder(path, READING) as reader:
        ran(path, "add", more)
        with Store.open(path) as store:
            store.documents.delete(1)
        assert len(files_beside(path)) == 3  # the reader still needs the log
        go_on(reader)
        assert reader.stdout is not None
        assert reader.stdout.read().strip() == "13"
    sound(path)


def test_the_last_of_several_to_close_leaves_one_file(path: Path) -> None:
    body = "add(store, f'{sys.argv[0]}{time.time_ns()}.txt', str(time.time_ns()))\nhere()\nstore.close()\n"
    with holder(path, body) as one, holder(path, body) as two, holder(path, body) as three:
        for child in (two, one, three):
            assert len(files_beside(path)) == 3
            go_on(child)
        assert files_beside(path) == [path.name]
    assert len(json.loads(ran(path, "status", "--json"))["documents"]) == 15
    sound(path)


def test_readers_that_come_and_go_do_not_disturb_a_writer(path: Path) -> None:
    """Each last close switches the log off; the next to come must find everything all the same."""
    script = """
        import sys
        from pathlib import Path
        from localrag.store import Store
        from tests.store.helpers import add
        for number in range(25):
            with Store.open(Path(sys.argv[1])) as store:
                add(store, f"{sys.argv[2]}-{number}.txt", f"{sys.argv[2]} {number}")
                assert store.documents.by_path("library", f"{sys.argv[2]}-{number}.txt") is not None
    """
    children = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(script), str(path), name],
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        for name in ("ada", "bo", "cy")
    ]
    try:
        for child in children:
            _, err = child.communicate(timeout=4 * SECONDS)
            assert child.returncode == 0, err
    finally:
        for child in children:
            stop(child)
    assert len(json.loads(ran(path, "status", "--json"))["documents"]) == 12 + 75
    sound(path)


def told(app: LocalragApp) -> str:
    """All that the application has told in notices."""
    return "\n".join(note.message for note in app._notifications)


async def test_the_application_and_the_command_line_share_a_file(path: Path, tmp_path: Path) -> None:
    """The application sees what the command line adds, says that it indexes, and indexes afterwards."""
    more = write_texts(tmp_path / "more", 2, "friend")
    async with running(path, size=(120, 40)) as (app, pilot):
        run = session_of(app).index_run
        ran(path, "add", more)
        with indexing(path) as child:
            run.begin()
            await until(pilot, lambda: "is being indexed by another program" in told(app), SECONDS)
            assert not run.active
            let_go(path, child)
        assert read_so_far(path) == 14
        run.begin()
        await until(pilot, lambda: not run.active, SECONDS)
        assert json.loads(ran(path, "ask", QUESTION, "--json"))["coverage"]["read"] == 14
    sound(path)
