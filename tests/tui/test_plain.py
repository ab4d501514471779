"""Text of others reaches the screen without anything that a terminal obeys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.tui.plain import plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[red]x[/red]\x1b[31m", "[red]x[/red]"),
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink"),
        ("\x9b31mred", "red"),
        ("one\r\ntwo\tthree", "one two three"),
        ("bell\x07 and nul\x00", "bell and nul"),
        ("abc\u202egnp.exe", "abcgnp.exe"),
        ("half \ud83d pair", "half \N{REPLACEMENT CHARACTER} pair"),
        ("港口 – naïve 👩‍🚀", "港口 – naïve 👩‍🚀"),
    ],
)
def test_takes_away_what_steers_a_terminal(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_keeps_lines_when_asked() -> None:
    assert plain("one\r\ntwo\u2028three\n\n\tfour", lines=True) == "one\ntwo\nthree\n\n    four"


@given(st.text())
def test_result_is_printable_and_stays_the_same(text: str) -> None:
    for lines in (False, True):
        shown = plain(text, lines=lines)
        assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in shown.replace("\n", ""))
        assert plain(shown, lines=lines) == shown
        shown.encode("utf-8")
