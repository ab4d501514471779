"""The application in a real terminal: add, index, ask, open a source, quit, and the screen is clean."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from localrag.catalogue.installed import find_model
from localrag.sample import sample_folder

pytestmark = [pytest.mark.terminal, pytest.mark.model, pytest.mark.timeout(1800)]

MODEL = "qwen2.5-coder-0.5b-instruct"
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

    def shell(self) -> int:
        """The process id of the shell that the terminal runs."""
        return int(self._run("display-message", "-p", "-t", "test", "#{pane_pid}"))

    def modes(self) -> str:
        """Whether the other screen, the mouse and the cursor are on."""
        return self._run(
            "display-message", "-p", "-t", "test", "#{alternate_on} #{mouse_any_flag} #{cursor_flag}"
        ).strip()

    def wait_for(self, text: str, seconds: float = 120) -> str:
        end = time.monotonic() + seconds
        while text not in (screen := self.screen()):
            assert time.monotonic() < end, f"{text!r} does not come:\n{screen}"
            time.sleep(0.2)
        return screen

    def wait_for_one(self, *texts: str, seconds: float = 300) -> None:
        end = time.monotonic() + seconds
        while not any(text in self.screen() for text in texts):
            assert time.monotonic() < end, f"none of {texts} comes:\n{self.screen()}"
            time.sleep(0.2)

    def comes(self, text: str, seconds: float) -> bool:
        """Whether a text appears within some seconds."""
        end = time.monotonic() + seconds
        while text not in self.screen():
            if time.monotonic() > end:
                return False
            time.sleep(0.2)
        return True

    def start(self, kb: str) -> None:
        """Start the application, with the state of the terminal kept before and after."""
        self.type(
            f"clear; stty -a > before; LOCALRAG_MODELS__CHAT={MODEL} {sys.executable} -m localrag --kb {kb}; "
            "echo gone-$?; stty -a > after"
        )
        self.press("Enter")
        self.wait_for("Ask a question", 60)
        assert self.modes().startswith("1 1")

    def quit(self) -> str:
        """Leave, whatever is still going on; the screen after that."""
        self.press("C-q")
        # The vectors of what was read are made last; if that is still going on, the application asks, and
        # the second time it ends.
        if self.comes("Stop and quit", 3):
            self.press("C-q")
        return self.wait_for("gone-0", 60)

    def close(self) -> None:
        subprocess.run([*self._command, "kill-server"], capture_output=True)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Tmux]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    find_model(MODEL, "chat")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "bridge.txt").write_text(TEXT, encoding="utf-8")
    shutil.copytree(sample_folder(), tmp_path / "sample")
    localrag(tmp_path, "init", "notes.localrag")
    tmux = Tmux(tmp_path)
    yield tmux
    tmux.close()


def localrag(folder: Path, *arguments: str) -> None:
    environment = {**os.environ, "LOCALRAG_MODELS__CHAT": MODEL}
    subprocess.run([sys.executable, "-m", "localrag", *arguments], cwd=folder, env=environment, check=True)


def check_clean(terminal: Tmux, folder: Path) -> None:
    """Nothing of the application is left on the screen, in the terminal's state, or beside the file."""
    screen = terminal.screen()
    assert "gone-0" in screen
    assert not any(word in screen for word in ("Engine idle", "Library", "│", "Traceback"))
    assert terminal.modes() == "0 0 1"
    assert (folder / "after").read_text() == (folder / "before").read_text()
    assert sorted(p.name for p in folder.glob("notes*")) == ["notes.localrag"]


def test_add_the_sample_index_ask_open_a_source_and_quit(terminal: Tmux, tmp_path: Path) -> None:
    terminal.start("notes.localrag")
    terminal.press("F3")
    terminal.wait_for("[Library]")
    terminal.press("a")
    terminal.wait_for("Add files or folders")
    terminal.type("sample")
    terminal.press("Enter")
    terminal.wait_for("grey-gull-line-history.md", 120)
    terminal.wait_for("Engine idle", 1200)
    terminal.wait_for("100 % read", 60)
    terminal.press("F2")
    terminal.wait_for("[Ask]", 60)
    terminal.type("Who founded the Grey Gull Line in 1923?")
    terminal.press("Enter")
    terminal.wait_for("Sources", 300)
    assert "Pell" in terminal.screen()
    terminal.press("BTab")  # from the box to the last list of sources
    terminal.press("Enter")
    terminal.wait_for("founded the Grey Gull Line", 60)
    terminal.quit()
    check_clean(terminal, tmp_path)


def test_a_worker_that_is_killed_is_told_and_asking_goes_on(terminal: Tmux, tmp_path: Path) -> None:
    localrag(tmp_path, "add", "texts")
    terminal.start("notes.localrag")
    terminal.type("When was the harbour bridge repaired?")
    terminal.press("Enter")
    kill_worker(terminal)
    # An engine that has just been started is started again; one that was writing is a fault with a way on.
    terminal.wait_for_one("Ask again", "1911")
    terminal.wait_for("Engine idle")
    terminal.type("Who helped Ada Lund?")
    terminal.press("Enter")
    terminal.wait_for("leven", 300)
    terminal.wait_for("bridge.txt", 120)
    terminal.quit()
    check_clean(terminal, tmp_path)


def kill_worker(terminal: Tmux) -> None:
    """Kill the process that holds the model, as soon as it is there."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        for process in psutil.Process(terminal.shell()).children(recursive=True):
            if "localrag.engine.worker" in process.cmdline():
                process.kill()
                return
        time.sleep(0.05)
    raise AssertionError("no engine was started")
