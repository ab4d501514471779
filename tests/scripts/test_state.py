"""Records are whole or absent, locks let one in at a time, a stopped program is gone with its children."""

from __future__ import annotations

import hashlib
import io
import os
import sys
import threading
import time
from pathlib import Path

import pytest

from scripts.setuplib.errors import CommandFailed, SetupError, Stopped
from scripts.setuplib.progress import Talk
from scripts.setuplib.run import child_environment, run_logged, run_shown
from scripts.setuplib.state import Lock, file_facts, read_json, sha256_of, write_json


def test_records_come_back_and_leave_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "new" / "record.json"
    write_json(path, {"name": "资料"})
    assert read_json(path) == {"name": "资料"}
    assert [entry.name for entry in path.parent.iterdir()] == ["record.json"]


def test_a_record_that_is_missing_or_cut_off_is_empty(tmp_path: Path) -> None:
    assert read_json(tmp_path / "none.json") == {}
    (tmp_path / "cut.json").write_bytes(b'{"name": "\xff')
    assert read_json(tmp_path / "cut.json") == {}


def test_facts_notice_a_change(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert file_facts([path])[0][1:] == [-1, -1]
    path.write_bytes(b"one")
    before = file_facts([path])
    path.write_bytes(b"three")
    assert file_facts([path]) != before
    assert sha256_of(path) == hashlib.sha256(b"three").hexdigest()


def test_the_second_waits_for_the_first_and_says_so(tmp_path: Path, talk: Talk, said: io.StringIO) -> None:
    path = tmp_path / "folder" / "setup.lock"
    order: list[str] = []

    def second() -> None:
        with Lock(path, "at work in this folder", talk, poll=0.02):
            order.append("second")

    with Lock(path, "at work in this folder", talk):
        waiting = threading.Thread(target=second)
        waiting.start()
        deadline = time.monotonic() + 5
        while "waiting for it" not in said.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
        order.append("first")
    waiting.join(5)
    assert order == ["first", "second"]
    assert f"Another set-up (process {os.getpid()}) is at work in this folder" in said.getvalue()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path, talk: Talk) -> None:
    (tmp_path / "file").write_bytes(b"")
    with (
        pytest.raises(SetupError, match="cannot be written"),
        Lock(tmp_path / "file" / "x.lock", "busy", talk),
    ):
        pass


class _Silent:
    def feed(self, line: str) -> None:
        """Ignore the line."""

    def text(self) -> str:
        """Say nothing."""
        return ""


class _Stopping(_Silent):
    """Stops the set-up at the first line, as ctrl-c would, after noting the line."""

    def __init__(self) -> None:
        self.line = ""

    def feed(self, line: str) -> None:
        self.line = line.strip()
        raise Stopped(2)


def test_output_is_logged_and_the_last_lines_come_with_a_failure(tmp_path: Path, talk: Talk) -> None:
    code = "import sys; print('one'); print('two', file=sys.stderr); sys.exit(7)"
    with pytest.raises(CommandFailed) as caught:
        run_logged(
            [sys.executable, "-u", "-c", code],
            what="Trying",
            log=tmp_path / "logs" / "trying.log",
            progress=_Silent(),
            talk=talk,
            environment={},
            folder=tmp_path,
        )
    assert caught.value.returncode == 7
    assert caught.value.tail == ["one", "two"]
    assert (tmp_path / "logs" / "trying.log").read_text(encoding="utf-8") == "one\ntwo\n"


def test_a_stop_ends_the_whole_group(tmp_path: Path, talk: Talk) -> None:
    code = (
        "import subprocess, sys, time;"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
        "print(child.pid, flush=True); time.sleep(60)"
    )
    progress = _Stopping()
    started = time.monotonic()
    with pytest.raises(Stopped):
        run_logged(
            [sys.executable, "-c", code],
            what="Trying",
            log=tmp_path / "log",
            progress=progress,
            talk=talk,
            environment={},
            folder=tmp_path,
        )
    assert time.monotonic() - started < 5
    deadline = time.monotonic() + 5
    while _alive(int(progress.line)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _alive(int(progress.line))


def _alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        if Path("/proc/self").exists():
            return False
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
        return True
    return state != "Z"


def test_a_shown_command_gives_its_exit_code(tmp_path: Path) -> None:
    assert run_shown([sys.executable, "-c", "raise SystemExit(4)"], environment={}, folder=tmp_path) == 4


def test_children_do_not_inherit_what_would_lead_pip_astray() -> None:
    person = {"PIP_TARGET": "/x", "PYTHONPATH": "/y", "PIP_INDEX": "kept", "HOME": "/home"}
    settings = child_environment(person)
    assert "PIP_TARGET" not in settings
    assert "PYTHONPATH" not in settings
    assert settings["PIP_INDEX"] == "kept"
    assert settings["PIP_NO_INPUT"] == "1"
