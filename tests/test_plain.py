"""Tests of `localrag.plain`: nothing that others wrote may command the terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.plain import PlainStream, plain, plain_lines

HOSTILE = st.sampled_from(list("\x1b[]0;m31A\x07\x9b\x9c\\\r\n \tx(P\x9d中\u202e\ud800"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x9b2Jgone", "gone"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;aGk=\x07", ""),
        ("\x1bPq#0\x1b\\sixel", "sixel"),
        ("\x1bc reset", "reset"),
        ("\x1b(0lqk", "lqk"),
        ("bell\x07 back\x08space", "bell backspace"),
        ("evil\u202etxt.exe", "eviltxt.exe"),
        ("line\nbreak\tand\rmore", "line break and more"),
        ("half \ud83d pair", "half \ufffd pair"),
        ("[red]no markup[/red]", "[red]no markup[/red]"),
        ("中文 名字", "中文 名字"),
        ("ends with \x1b", "ends with"),
        ("[red]x[/red]\x1b[31m", "[red]x[/red]"),
        ("bell\x07 and nul\x00", "bell and nul"),
        ("港口 – naïve 👩\u200d🚀", "港口 – naïve 👩\u200d🚀"),
    ],
)
def test_names_become_harmless(text: str, expected: str) -> None:
    assert plain(text) == expected


def test_lines_are_kept_on_request() -> None:
    assert plain("one\r\ntwo\rthree\u2028four\tend ", lines=True) == "one\ntwo\nthree\nfour\tend "


def test_a_screen_gets_blanks_for_tabs() -> None:
    assert plain_lines("one\r\ntwo\u2028three\n\n\tfour") == "one\ntwo\nthree\n\n    four"


@given(st.text())
def test_what_a_screen_gets_is_printable_and_stays_the_same(text: str) -> None:
    shown = plain_lines(text)
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in shown.replace("\n", ""))
    assert plain_lines(shown) == shown
    shown.encode("utf-8")


@given(st.text(HOSTILE))
def test_no_control_character_survives(text: str) -> None:
    for lines in (False, True):
        clean = plain(text, lines=lines)
        allowed = "\n\t" if lines else ""
        assert all(char in allowed or (ord(char) >= 32 and not 127 <= ord(char) < 160) for char in clean)
        assert "\u202e" not in clean
        clean.encode("utf-8")
        assert plain(clean, lines=lines) == clean


@given(st.lists(st.text(HOSTILE, max_size=8), max_size=8))
def test_a_stream_gives_what_the_whole_text_gives(pieces: list[str]) -> None:
    stream = PlainStream()
    shown = "".join([*(stream.feed(piece) for piece in pieces), stream.finish()])
    assert shown == plain("".join(pieces), lines=True)


def test_a_stream_holds_back_only_what_it_must() -> None:
    stream = PlainStream()
    assert stream.feed("Hello \x1b[3") == "Hello "
    assert stream.feed("1mred") == "red"
    assert stream.feed(" \x1b") == " "
    assert stream.finish() == ""
