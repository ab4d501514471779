"""One index run at a time: who has the turn, and that a killed program loses it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from localrag.errors import KnowledgeBaseBusy
from localrag.indexing import Note
from localrag.kb import KnowledgeBase
from localrag.runlock import Unlockable, ensure_free, only_run
from localrag.settings import state_dir
from tests.indexing.helpers import report_of, run

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALRAG_STATE", str(tmp_path / "state"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "notes.localrag"
    path.touch()
    return path


def locks() -> list[str]:
    folder = state_dir() / "runs"
    return sorted(item.name for item in folder.iterdir()) if folder.exists() else []


def test_the_second_is_told_who_has_the_turn(file: Path) -> None:
    with only_run(file):
        for take in (ensure_free, lambda path: only_run(path).__enter__()):
            with pytest.raises(KnowledgeBaseBusy) as error:
                take(file)
            assert error.value.message == (
                f"notes.localrag is being indexed by another program (process {os.getpid()})."
            )
            assert error.value.exit_code == 4
            assert "Wait" in error.value.hint
        assert len(locks()) == 1
    assert locks() == []
    ensure_free(file)
    with only_run(file):
        pass


def test_the_turn_belongs_to_the_file_and_not_to_its_name(file: Path, tmp_path: Path) -> None:
    (tmp_path / "soft.localrag").symlink_to(file)
    (tmp_path / "hard.localrag").hardlink_to(file)
    (tmp_path / "other.localrag").touch()
    with only_run(file):
        for name in ("soft.localrag", "hard.localrag"):
            with pytest.raises(KnowledgeBaseBusy):
                ensure_free(tmp_path / name)
        with only_run(tmp_path / "other.localrag"), only_run(file, "reembedded"):
            pass


def test_an_error_inside_gives_the_turn_back(file: Path) -> None:
    def fail() -> None:
        with only_run(file):
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    ensure_free(file)


def test_never_two_at_once(file: Path) -> None:
    """Many threads take and give back as fast as they can; nobody finds another one inside."""
    inside: list[int] = []
    most: list[int] = []
    turns: list[int] = []
    deadline = time.monotonic() + 2.0

    def work(number: int) -> None:
        while time.monotonic() < deadline:
            try:
                with only_run(file):
                    inside.append(number)
                    most.append(len(inside))
                    turns.append(number)
                    time.sleep(0)
                    inside.remove(number)
            except KnowledgeBaseBusy:
                time.sleep(0)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert max(most) == 1
    assert len(turns) > 100
    assert len(set(turns)) > 1


HOLDER = """
    import subprocess, sys, time
    from pathlib import Path
    from localrag.runlock import only_run
    with only_run(Path(sys.argv[1])):
        worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        print(worker.pid, flush=True)
        time.sleep(60)
"""


@pytest.mark.skipif(os.name != "posix", reason="not here: no SIGKILL")
def test_a_killed_program_loses_the_turn_even_if_its_worker_lives(file: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HOLDER), str(file)],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    )
    worker = 0
    try:
        assert child.stdout is not None
        worker = int(child.stdout.readline())
        with pytest.raises(KnowledgeBaseBusy, match=f"process {child.pid}"):
            ensure_free(file)
        child.kill()
        child.wait(10)
        os.kill(worker, 0)  # the worker is still there
        ensure_free(file)
    finally:
        child.kill()
        child.wait(10)
        if child.stdout is not None:
            child.stdout.close()
        if worker:
            os.kill(worker, signal.SIGKILL)


def test_a_state_folder_that_cannot_be_used_is_told_and_stops_nothing(
    kb: KnowledgeBase, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "no folder").touch()
    monkeypatch.setenv("LOCALRAG_STATE", str(tmp_path / "no folder"))
    with pytest.raises(Unlockable), only_run(kb.path):
        pass
    ensure_free(kb.path)
    (library / "new.txt").write_text("Olga Ness painted the bridge.")
    kb.add([library / "new.txt"])
    events = run(kb)
    assert isinstance(events[0], Note)
    assert "would not be noticed" in events[0].text
    assert report_of(events).read == 1


def test_a_run_that_is_closed_or_fails_gives_the_turn_back(kb: KnowledgeBase) -> None:
    events = kb.index()
    next(events)
    with pytest.raises(KnowledgeBaseBusy):
        kb.ensure_not_indexing()
    with pytest.raises(KnowledgeBaseBusy):
        next(kb.index())
    events.close()
    kb.ensure_not_indexing()
    assert report_of(list(kb.index())).read == 0
    kb.index()  # never begun, so it holds nothing
    kb.ensure_not_indexing()
