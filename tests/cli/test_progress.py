"""Tests of `localrag.cli.progress`."""

from __future__ import annotations

import io
import sys
import time

import pytest

from localrag.cli import progress
from localrag.cli.progress import Bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def look(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Put a terminal in place of stderr, for the rest of the test."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    return stream


def test_without_a_terminal_lines_come_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with Bar() as bar:
        bar.begin("Reading", 40)
        for done in range(1, 41):
            now[0] += 1
            bar.update(done, "3.0 a minute")
        bar.note("A note\x1b[2J.")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        *(f"Reading: {done} of 40, 3.0 a minute" for done in (2, 12, 22, 32)),
        "A note.",
    ]


def test_bytes_are_shown_for_people(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "SECONDS_TO_FIRST_LINE", 0)
    with Bar(in_bytes=True) as bar:
        bar.begin("Fetching", 1_117_320_768)
        bar.update(71_600_000)
        bar.begin("Checking", 0)
        bar.update(5)
    assert capsys.readouterr().err == "Fetching: 71.6 MB of 1.1 GB\nChecking: 5 bytes\n"


def test_quiet_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look(monkeypatch)
    with Bar(quiet=True) as bar:
        bar.begin("Reading", 2)
        bar.update(1)
    assert terminal.getvalue() == ""


def test_a_terminal_gets_a_bar_and_its_cursor_back(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look(monkeypatch)
    with Bar() as bar:
        bar.begin("Reading [bold]x[/bold]\x1b[2J", 2)
        bar.update(1, "[red]evil\x1b]0;t\x07")
        time.sleep(0.3)  # until it is drawn
        bar.note("[blue]note[/blue]")
        bar.begin("Vectors", 0)
        bar.update(1)
    text = terminal.getvalue()
    assert "Reading [bold]x[/bold]" in text
    assert "[red]evil" in text
    assert "[blue]note[/blue]" in text
    assert "1 of 2" in text
    assert "\x1b[2J" not in text
    assert "\x1b]0" not in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


def test_a_terminal_is_restored_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look(monkeypatch)

    def work() -> None:
        with Bar() as bar:
            bar.begin("Reading", 2)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert "\x1b[?25h" in terminal.getvalue()


def test_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look(monkeypatch)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(progress, "SECONDS_TO_FIRST_LINE", 0)
    with Bar() as bar:
        bar.begin("Reading", 2)
        bar.update(1)
    assert terminal.getvalue() == "Reading: 1 of 2\n"
