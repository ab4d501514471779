"""The application in a real terminal: start, ask, read the answer, quit, and the screen is clean."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from localrag.catalogue.installed import find_model

pytestmark = [pytest.mark.terminal, pytest.mark.model, pytest.mark.timeout(600)]

TEXT = "Ada Lund repaired the harbour bridge in 1911. Eleven men helped her.\n"


class Tmux:
    """A terminal of 80×24 on a socket of its own."""

    def __init__(self, folder: Path) -> None:
        self._command = ["tmux", "-S", str(folder / "tmux.sock"), "-f", "/dev/null"]
        self._run("new-session", "-d", "-x", "80", "-y", "24", "-s", "test", "-c", str(folder), "sh")

    def _run(self, *arguments: str) -> str:
        done = subprocess.run([*self._command, *arguments], capture_output=True, text=True, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        return done.stdout

    def type(self, text: str) -> None:
        self._run("send-keys", "-t", "test", "-l", text)

    def press(self, *keys: str) -> None:
        self._run("send-keys", "-t", "test", *keys)

    def screen(self) -> str:
        return self._run("capture-pane", "-p", "-t", "test")

    def wait_for(self, text: str, seconds: float = 120) -> str:
        end = time.monotonic() + seconds
        while text not in (screen := self.screen()):
            assert time.monotonic() < end, f"{text!r} does not come:\n{screen}"
            time.sleep(0.2)
        return screen

    def comes(self, text: str, seconds: float) -> bool:
        """Whether a text appears within some seconds."""
        end = time.monotonic() + seconds
        while text not in self.screen():
            if time.monotonic() > end:
                return False
            time.sleep(0.2)
        return True

    def close(self) -> None:
        subprocess.run([*self._command, "kill-server"], capture_output=True)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Tmux]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    find_model("qwen2.5-coder-0.5b-instruct", "chat")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "bridge.txt").write_text(TEXT, encoding="utf-8")
    environment = {**os.environ, "LOCALRAG_MODELS__CHAT": "qwen2.5-coder-0.5b-instruct"}
    for arguments in (("init", "notes.localrag"), ("add", "texts")):
        subprocess.run(
            [sys.executable, "-m", "localrag", *arguments], cwd=tmp_path, env=environment, check=True
        )
    tmux = Tmux(tmp_path)
    yield tmux
    tmux.close()


def test_index_ask_and_quit(terminal: Tmux, tmp_path: Path) -> None:
    terminal.type(
        "clear; LOCALRAG_MODELS__CHAT=qwen2.5-coder-0.5b-instruct "
        f"{sys.executable} -m localrag --kb notes.localrag; echo gone-$?"
    )
    terminal.press("Enter")
    terminal.wait_for("bridge.txt", 60)
    terminal.press("F5")
    terminal.wait_for("indexed", 300)
    terminal.wait_for("Engine idle", 60)
    terminal.type("When was the harbour bridge repaired?")
    terminal.press("Enter")
    terminal.wait_for("1911", 300)
    terminal.wait_for("[DC] bridge.txt", 120)
    terminal.press("C-q")
    # The vectors of what was read are made last; if that is still going on, the application asks, and the
    # second time it ends.
    if terminal.comes("Stop and quit", 3):
        terminal.press("C-q")
    screen = terminal.wait_for("gone-0", 60)
    assert "harbour bridge repaired" not in screen
    assert sorted(p.name for p in tmp_path.glob("notes*")) == ["notes.localrag"]
