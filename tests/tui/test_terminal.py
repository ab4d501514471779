"""In a real terminal: the screen and its modes are given back, however the application ends."""

from __future__ import annotations

import os
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

ENTER_SCREEN, LEAVE_SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"


class Terminal:
    """A program under a pseudo terminal of 80×24."""

    def __init__(self, *arguments: str, folder: Path) -> None:
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
            [sys.executable, "-m", "localrag", *arguments],
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


@pytest.mark.parametrize("how", ["key", "signal"])
def test_the_terminal_is_given_back(tmp_path: Path, how: str) -> None:
    library(tmp_path)
    terminal = Terminal("--kb", "small.localrag", folder=tmp_path)
    try:
        terminal.read_until(b"harbour.md")
        assert ENTER_SCREEN in terminal.output
        if how == "key":
            terminal.type(b"\x11")
        else:
            terminal.process.send_signal(signal.SIGTERM)
        assert terminal.end() == 0
        assert LEAVE_SCREEN in terminal.output
        assert b"Traceback" not in terminal.output
        assert termios.tcgetattr(terminal.slave) == terminal.before
    finally:
        terminal.close()
    assert sorted(file.name for file in tmp_path.iterdir() if file.is_file()) == ["small.localrag"]


def test_a_terminal_that_goes_away_ends_the_program(tmp_path: Path) -> None:
    library(tmp_path)
    terminal = Terminal("--kb", "small.localrag", folder=tmp_path)
    try:
        terminal.read_until(b"harbour.md")
        os.close(terminal.slave)
        os.close(terminal.master)
        terminal.process.send_signal(signal.SIGHUP)
        # Nothing can be written any more; only the last resort ends a program that waits for that.
        terminal.process.wait(25)
    finally:
        if terminal.process.poll() is None:
            terminal.process.kill()
            terminal.process.wait()
