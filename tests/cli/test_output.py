"""Tests of `localrag.cli.output`."""

from __future__ import annotations

import io
import json
import sys

import pytest
from rich.cells import cell_len

from localrag.cli import output


class Latin(io.StringIO):
    encoding = "latin-1"


def test_json_stays_readable_and_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"name": "中文\x1b[31m\x9b2J\n\u202e\ud800\x7f"}
    output.put_json(value)
    text = capsys.readouterr().out
    assert "中文" in text
    assert all(ord(char) >= 32 or char == "\n" for char in text)
    assert not any(char in text for char in "\x7f\x9b\u202e\ud800")
    assert json.loads(text) == value


def test_json_is_ascii_where_the_encoding_is_no_unicode(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Latin()
    monkeypatch.setattr(sys, "stdout", stream)
    output.put_json(["中文"])
    assert stream.getvalue().isascii()
    assert json.loads(stream.getvalue()) == ["中文"]


def test_errors_go_to_stderr_and_to_json(capsys: pytest.CaptureFixture[str]) -> None:
    output.show_error("DiskFull", "Full\x1b[2J.", "Make room.", as_json=True)
    out, err = capsys.readouterr()
    assert err == "Error: Full.\n  Make room.\n"
    assert json.loads(out)["error"] == {"kind": "DiskFull", "message": "Full\x1b[2J.", "hint": "Make room."}


def test_tables_are_aligned_with_wide_characters_and_cut_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    long = "a" * 300
    output.put_table(
        ["name", ("count", "right")], [("灯塔.md", "1"), (long, "22"), ("[b]x[/b]\x1b[1m", "333")]
    )
    lines = [line for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert any(long in line for line in lines)
    assert any(line.lstrip().startswith("[b]x[/b]") for line in lines)
    assert len({cell_len(line.rstrip()) for line in lines}) == 1


def test_facts_are_shown_as_written(capsys: pytest.CaptureFixture[str]) -> None:
    output.put_facts([("Path", "[red]a[/red]\nb"), ("Longer name", "c")])
    assert capsys.readouterr().out.split() == ["Path", "[red]a[/red]", "b", "Longer", "name", "c"]


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (999_999, "1.0 MB"), (1_117_320_768, "1.1 GB")],
)
def test_sizes(count: int, text: str) -> None:
    assert output.size(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-1, "0 s"), (3.6, "4 s"), (59.6, "1 min 0 s"), (125, "2 min 5 s"), (12000, "3 h 20 min")],
)
def test_durations(seconds: float, text: str) -> None:
    assert output.duration(seconds) == text


def test_counts() -> None:
    assert output.number(1, "chunk") == "1 chunk"
    assert output.number(2000, "entity", "entities") == "2,000 entities"
