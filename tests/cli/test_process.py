"""Tests of the command line as a process: signals, pipes, closed streams, a terminal, unforeseen errors."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from localrag.kb import KnowledgeBase
from tests.cli.conftest import start

pytestmark = pytest.mark.skipif(os.name != "posix", reason="not here: signals and terminals of POSIX")


def finish(child: subprocess.Popen[str], seconds: float = 30.0) -> tuple[int, str, str]:
    out, err = child.communicate(timeout=seconds)
    return child.returncode, out, err


def wait_until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def chunks_read(path: Path) -> int:
    with KnowledgeBase.open(path, read_only=True) as kb:
        return kb.status().coverage.read


@pytest.fixture(scope="module")
def unread_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A knowledge base with twenty chunks that nobody has read; to be copied."""
    folder = tmp_path_factory.mktemp("unread")
    texts = folder / "texts"
    texts.mkdir()
    for number in range(20):
        (texts / f"{number:02}.txt").write_text(f"Anna met person {number} in Oslo.", encoding="utf-8")
    with KnowledgeBase.create(folder / "unread.localrag") as kb:
        kb.add([texts])
    return folder / "unread.localrag"


@pytest.fixture
def long_kb(folder: Path, unread_file: Path) -> Path:
    """A copy of its own for each test."""
    shutil.copyfile(unread_file, folder / "long.localrag")
    return folder / "long.localrag"


def test_the_module_can_be_run(folder: Path) -> None:
    assert finish(start("--version"))[0] == 0
    code, out, err = finish(start("status"))
    assert (code, out) == (3, "")
    assert err.startswith("Error: There is no knowledge base in this folder.\n  ")


@pytest.mark.alone
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_index_stops_within_a_second_and_goes_on(long_kb: Path, number: int, code: int) -> None:
    child = start("index", delay=0.15)
    wait_until(lambda: chunks_read(long_kb) > 0)
    child.send_signal(number)
    began = time.monotonic()
    returned, out, err = finish(child)
    # A quarter of a second on an idle machine; the bound leaves room for one that does other things.
    assert time.monotonic() - began < 2.0
    assert (returned, out) == (code, "")
    assert "Stopping; what is done is kept." in err
    assert "The same command goes on from here." in err
    assert "Traceback" not in err
    assert not list(long_kb.parent.glob("*-wal")), "the file is one file again"
    read = chunks_read(long_kb)
    assert 0 < read < 20
    returned, out, err = finish(start("index", "--json", delay=0))
    assert returned == 0, err
    assert json.loads(out)["read"] == 20 - read


def test_a_stopped_index_still_reports_to_programs(long_kb: Path) -> None:
    child = start("index", "--json", delay=0.15)
    wait_until(lambda: chunks_read(long_kb) > 0)
    child.send_signal(signal.SIGINT)
    code, out, _ = finish(child)
    assert code == 130
    assert json.loads(out)["cancelled"] is True


@pytest.mark.alone
def test_ask_stops_with_a_word(long_kb: Path, folder: Path) -> None:
    child = start("ask", "Whom did Anna meet in Oslo?", delay=20)
    wait_until((folder / "asked").exists)
    child.send_signal(signal.SIGINT)
    began = time.monotonic()
    code, out, err = finish(child)
    assert time.monotonic() - began < 2.0
    assert (code, out.strip()) == (130, "")
    assert "Stopp" in err
    assert "Error" not in err


@pytest.mark.parametrize("words", [("status",), ("status", "--json"), ("--help",), ("models", "list")])
def test_a_closed_pipe_is_quiet(long_kb: Path, words: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    child = start(*words, stdout=writing)
    os.close(writing)
    _, _, err = finish(child)
    assert "Error" not in err
    assert "Traceback" not in err
    assert "Exception" not in err


def test_a_full_disk_behind_stdout_is_told(long_kb: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("not here: /dev/full")
    with open("/dev/full", "w", encoding="utf-8") as full:
        code, _, err = finish(start("status", stdout=full))
    assert code == 1
    assert err.splitlines()[0] == "Error: No space left on device."


def test_a_full_disk_behind_stdout_is_told_once_to_programs_too(long_kb: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("not here: /dev/full")
    with open("/dev/full", "w", encoding="utf-8") as full:
        child = start("--kb", str(long_kb), "status", "--json", stdout=full)
        code, _, err = finish(child)
    assert code == 1
    assert err.startswith("Error: No space left on device")
    assert "Traceback" not in err


def test_a_folder_that_was_deleted_is_told_unless_the_file_is_named(long_kb: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'cd "$1"; rmdir "$1"; shift; exec "$@"'
    words = ["sh", "-c", script, "sh", str(gone), sys.executable, "-P", "-m", "localrag"]
    environment = {key: value for key, value in os.environ.items() if key != "LOCALRAG_KB"}
    result = subprocess.run([*words, "status"], capture_output=True, text=True, env=environment, check=False)
    assert result.returncode == 3, result.stderr
    assert "was deleted" in result.stderr
    gone.mkdir()
    named = subprocess.run(
        [*words, "--kb", str(long_kb.absolute()), "status"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert named.returncode == 0, named.stderr


def test_closed_streams_do_no_harm(long_kb: Path) -> None:
    program = f"exec {sys.executable} -m localrag status --json >&- 2>&-"
    child = subprocess.run(["sh", "-c", program], check=False, timeout=30)
    assert child.returncode == 0


@pytest.mark.parametrize("encoding", ["ascii", "gbk"])
def test_an_encoding_that_lacks_a_letter_does_no_harm(folder: Path, encoding: str) -> None:
    (folder / "茶馆 ☕.txt").write_text("Anna met Bo.", encoding="utf-8")
    environment = {"PYTHONUTF8": "0", "PYTHONIOENCODING": encoding, "LC_ALL": "C.UTF-8"}
    for words in (("init", "n"), ("add", "茶馆 ☕.txt"), ("status",), ("status", "--json")):
        child = start(*words, env=environment)
        code, _, err = finish(child)
        assert code == 0, err
        assert "Traceback" not in err


def test_an_error_that_nobody_foresaw_is_one_line(folder: Path) -> None:
    program = (
        "import sys\n"
        "from localrag.cli import main\n"
        "main.cli.commands['status'].callback = lambda **options: 1 / 0\n"
        "sys.argv = ['localrag', 'status', *sys.argv[1:]]\n"
        "main.main()\n"
    )
    command = [sys.executable, "-c", program]
    child = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert child.returncode == 1
    assert child.stderr.startswith("Error: localrag met an error that it did not expect: ZeroDivisionError: ")
    assert "LOCALRAG_TRACEBACK=1" in child.stderr
    assert "Traceback (" not in child.stderr
    assert json.loads(child.stdout)["error"]["kind"] == "ZeroDivisionError"
    shown = os.environ | {"LOCALRAG_TRACEBACK": "1"}
    child = subprocess.run(command, capture_output=True, text=True, check=False, env=shown)
    assert "Traceback (" in child.stderr


def in_terminal(
    *words: str, delay: float | None, until: bytes | None = None, **options: Any
) -> tuple[int, str]:
    """Run in a terminal of its own; it is interrupted once `until` has appeared there."""
    master, slave = pty.openpty()
    streams = {"stdin": slave, "stdout": slave, "stderr": slave}
    child = start(*words, delay=delay, env={"TERM": "xterm"}, **streams, **options)
    os.close(slave)
    seen = b""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        ready, _, _ = select.select([master], [], [], 0.1)
        if ready:
            try:
                piece = os.read(master, 65536)
            except OSError:  # Linux says so when the other side is closed
                break
            if not piece:
                break
            seen += piece
        elif child.poll() is not None:
            break
        if until is not None and until in seen:
            child.send_signal(signal.SIGINT)
            until = None
    os.close(master)
    return child.wait(5), seen.decode("utf-8", "replace")


def test_a_terminal_sees_a_bar_and_gets_its_cursor_back(long_kb: Path) -> None:
    code, text = in_terminal("index", delay=0.1, until=b" of 20")
    assert code == 130
    assert "Stopping; what is done is kept." in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


def test_a_terminal_sees_the_reading_and_then_the_answer_alone(long_kb: Path) -> None:
    code, text = in_terminal("ask", "Whom did Anna meet in Oslo?", delay=0.5)
    assert code == 0
    assert "passages; the model is reading" in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
    assert "In the texts" in text[text.rindex("\x1b[?25h") :]


@pytest.mark.parametrize("words", [(), ("--kb", "my.localrag")])
def test_without_a_command_the_application_opens(folder: Path, words: tuple[str, ...]) -> None:
    program = (
        "import sys\n"
        "from localrag.cli.main import main\n"
        "from localrag.tui import app\n"
        "app.run = lambda kb, settings, troubles: print('OPENED', kb, type(settings).__name__)\n"
        "main()\n"
    )
    code, text = in_terminal(*words, delay=None, program=("-c", program))
    assert code == 0
    assert f"OPENED {words[1] if words else None} Settings" in text


def test_shells_can_complete_commands(folder: Path) -> None:
    environment = {"_LOCALRAG_COMPLETE": "bash_complete", "COMP_WORDS": "localrag in", "COMP_CWORD": "1"}
    code, out, _ = finish(start(env=environment))
    assert code == 0
    assert sorted(out.split()) == ["plain,index", "plain,info", "plain,init"]
