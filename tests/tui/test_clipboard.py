"""Copying: by the terminal, by a program of the machine, and what ctrl+c does."""

from __future__ import annotations

import base64
import stat
import sys
from pathlib import Path

import pytest

from localrag.tui import clipboard
from tests.tui.support import ask_screen, library, running, sees, until

if sys.platform == "win32":
    pytest.skip("not here: programs written as shell scripts", allow_module_level=True)

TEXT = "Ada Lund — 桥, a 🌉\n'; rm -rf $HOME #\n"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with programs that take a text, the only one where programs are looked for."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def put(folder: Path, name: str, script: str = "") -> None:
    """A program that keeps what it reads, and its arguments."""
    kept = f'printf "%s " "$@" > "{folder}/{name}.words"; /bin/cat > "{folder}/{name}.text"'
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script or kept}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


def taken(folder: Path, name: str) -> str:
    return (folder / f"{name}.text").read_text(encoding="utf-8")


def test_the_program_that_fits_gets_the_text_as_it_is(programs: Path) -> None:
    for name in ("tmux", "wl-copy", "xclip", "xsel"):
        put(programs, name)
    assert clipboard.copy(TEXT, {}) == []
    assert clipboard.copy(TEXT, {"DISPLAY": ":0"}) == ["xclip"]
    assert taken(programs, "xclip") == TEXT
    assert (programs / "xclip.words").read_text() == "-selection clipboard -in "
    assert clipboard.copy(TEXT, {"DISPLAY": ":0", "WAYLAND_DISPLAY": "w"}) == ["wl-copy"]
    assert clipboard.copy(TEXT, {"DISPLAY": ":0", "TMUX": "/tmp/x,1,0"}) == ["tmux", "xclip"]


def test_the_next_one_is_tried_when_one_fails_or_hangs(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clipboard, "SECONDS", 0.3)
    put(programs, "wl-copy", "/bin/sleep 20")
    put(programs, "xclip", "exit 1")
    put(programs, "xsel")
    assert clipboard.copy(TEXT, {"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}) == ["xsel"]
    assert taken(programs, "xsel") == TEXT


def test_a_program_that_stays_in_the_background_is_not_waited_for(programs: Path) -> None:
    put(programs, "xclip", f'/bin/cat > "{programs}/xclip.text"; /bin/sleep 20 &')
    assert clipboard.copy("a", {"DISPLAY": ":0"}) == ["xclip"]


def test_the_one_of_windows_gets_any_character(programs: Path) -> None:
    put(programs, "clip.exe")
    assert clipboard.copy(TEXT, {}) == ["clip.exe"]
    assert (programs / "clip.exe.text").read_bytes().decode("utf-16") == TEXT


async def test_ctrl_c_copies_the_selection_else_tells_how_to_quit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(library(tmp_path)) as (app, pilot):
        await until(pilot, lambda: ask_screen(app).question.has_focus)
        await pilot.press("ctrl+c")
        await sees(pilot, "Press ctrl+q or f10 to quit")
        assert app.clipboard == ""
        written: list[str] = []
        assert app._driver is not None
        monkeypatch.setattr(app._driver, "write", written.append)
        ask_screen(app).question.insert("Ada \U0001f309 Lund")
        ask_screen(app).question.select_all()
        await pilot.press("ctrl+c")
        assert app.clipboard == "Ada \U0001f309 Lund"
        coded = base64.b64encode(app.clipboard.encode()).decode()
        assert f"\x1b]52;c;{coded}\a" in written
        app.copy_to_clipboard("half a pair \ud83c")
        assert app.clipboard == "half a pair ?"
        assert app.is_running
