"""In a real terminal: the screen and its modes are given back, however the application ends."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.tui.support import library

if sys.platform == "win32":
    pytest.skip("not here: pseudo terminals", allow_module_level=True)

import fcntl
import pty
import struct
import termios

_MODE = re.compile(rb"\x1b\[\?(\d+)([hl])")

ENTER_SCREEN, LEAVE_SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"


class Terminal:
    """A program under a pseudo terminal of 80×24."""

    def __init__(self, *arguments: str, folder: Path, program: tuple[str, ...] = ("-m", "localrag")) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        environment = {
            **os.environ,
            "TERM": "xterm-256color",
            "LOCALRAG_CACHE": str(folder / "cache"),
            "LOCALRAG_CONFIG": os.devnull,
        }
        self.process = subprocess.Popen(
            [sys.executable, *program, *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
        self.output = b""

    def read_until(self, words: bytes, seconds: float = 20.0) -> None:
        """Read until something was written."""
        deadline = time.monotonic() + seconds
        while words not in self.output:
            assert time.monotonic() < deadline, self.output[-2000:]
            if select.select([self.master], [], [], 0.1)[0]:
                self.output += os.read(self.master, 65536)

    def modes_left(self) -> set[int]:
        """The modes of the terminal that were not switched back: mouse, screen, paste, cursor."""
        state: dict[int, bool] = {}
        for number, on in _MODE.findall(self.output):
            state[int(number)] = on == b"h"
        # Everything is off in a fresh terminal, but for the cursor, which is seen, and the wrapping of lines.
        return {number for number, on in state.items() if on != (number in {7, 25})}

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self.master, keys)

    def end(self, seconds: float = 15.0) -> int:
        """Read on until the program has ended; its exit code."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.output[-2000:]
            if select.select([self.master], [], [], 0.05)[0]:
                self.output += os.read(self.master, 65536)
        while select.select([self.master], [], [], 0.1)[0]:
            self.output += os.read(self.master, 65536)
        return self.process.returncode

    def close(self) -> None:
        """End what still runs."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


def check_given_back(terminal: Terminal) -> None:
    """The terminal is as it was: line discipline, screen, mouse, cursor, the way of pasting."""
    assert LEAVE_SCREEN in terminal.output
    assert terminal.output.count(ENTER_SCREEN) == terminal.output.count(LEAVE_SCREEN)
    assert terminal.modes_left() == set()
    assert b"Traceback" not in terminal.output
    assert termios.tcgetattr(terminal.slave) == terminal.before


@pytest.mark.parametrize("how", ["ctrl+q", "f10", "SIGTERM", "SIGHUP"])
def test_the_terminal_is_given_back(tmp_path: Path, how: str) -> None:
    library(tmp_path)
    terminal = Terminal("--kb", "small.localrag", folder=tmp_path)
    try:
        terminal.read_until(b"Ask a question")
        assert ENTER_SCREEN in terminal.output
        assert {1000, 1049} <= terminal.modes_left(), "there is something to give back"
        if how.startswith("SIG"):
            terminal.process.send_signal(getattr(signal, how))
        else:
            terminal.type({"ctrl+q": b"\x11", "f10": b"\x1b[21~"}[how])
        assert terminal.end() == 0
        check_given_back(terminal)
    finally:
        terminal.close()
    assert sorted(file.name for file in tmp_path.iterdir() if file.is_file()) == ["small.localrag"]


BROKEN = """
import sys
from localrag.cli.main import main
from localrag.tui.screens.ask import AskScreen

def fail(self):
    raise RuntimeError("broken [b]on\x1b[31m purpose")

AskScreen.action_back = fail
sys.exit(main())
"""


def test_an_error_in_a_screen_is_a_sentence_and_gives_the_terminal_back(tmp_path: Path) -> None:
    library(tmp_path)
    terminal = Terminal("--kb", "small.localrag", folder=tmp_path, program=("-c", BROKEN))
    try:
        terminal.read_until(b"Ask a question")
        terminal.type(b"\x1b")
        assert terminal.end() == 1
        check_given_back(terminal)
        last = terminal.output.rpartition(LEAVE_SCREEN)[2]
        assert b"localrag met an error that it did not expect: RuntimeError: broken [b]on" in last
        assert b"LOCALRAG_TRACEBACK=1" in last.replace(b"\r\n", b" ")
        assert b"\x1b[31m purpose" not in last
    finally:
        terminal.close()


def test_a_terminal_that_goes_away_ends_the_program(tmp_path: Path) -> None:
    library(tmp_path)
    terminal = Terminal("--kb", "small.localrag", folder=tmp_path)
    try:
        terminal.read_until(b"Ask a question")
        os.close(terminal.slave)
        os.close(terminal.master)
        terminal.process.send_signal(signal.SIGHUP)
        # Nothing can be written any more; only the last resort ends a program that waits for that.
        terminal.process.wait(25)
    finally:
        if terminal.process.poll() is None:
            terminal.process.kill()
            terminal.process.wait()
