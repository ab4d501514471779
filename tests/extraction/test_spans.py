"""Text that may stand in a record, and finding names again in their chunk."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.extraction.spans import balanced, clean, locate, one_line, writable


@given(st.text())
def test_cleaning_keeps_every_place(text: str) -> None:
    cleaned = clean(text)
    assert len(cleaned) == len(text)
    assert clean(cleaned) == cleaned
    cleaned.encode("utf-8")


def test_control_characters_become_blanks_but_line_and_tab_stay() -> None:
    assert clean("a\x00b\x0cc\x1bd\x7fe\x85f\tg\nh") == "a b c d e f\tg\nh"
    assert clean("a\ud800b") == "a\ufffdb"


@pytest.mark.parametrize("text", ["", "a", "Apple (company)", "f(x) and g(y)"])
def test_parentheses_in_pairs(text: str) -> None:
    assert balanced(text)


@pytest.mark.parametrize("text", ["(", ")", "a) b", "(a", "((a))", ")("])
def test_parentheses_that_a_grammar_cannot_count(text: str) -> None:
    assert not balanced(text)


@pytest.mark.parametrize(
    "text", ["Ada", "Apple (company)", "الهند", "می\u200cخواهم", "naïve", "👩\u200d🔬", '"x"']
)
def test_what_can_be_a_field(text: str) -> None:
    assert writable(text)


@pytest.mark.parametrize(
    "text", ["", " a", "a ", "a  b", "a\nb", "a\tb", "a|b", "C#", "<a", "a>", "a)", "\x07", "\ufffd"]
)
def test_what_cannot_be_a_field(text: str) -> None:
    assert not writable(text)


@pytest.mark.parametrize(
    ("text", "name", "found"),
    [
        ("Ann met Annual Ann", "Ann", (0, 3)),
        ("Annual report by Ann", "Ann", (17, 20)),
        ("Annual report", "Ann", (0, 3)),
        ("ANN and Ann", "Ann", (8, 11)),
        ("only ANN", "Ann", (5, 8)),
        ("Halden\n   Bridge", "Halden Bridge", (0, 16)),
        ("Halden\x0cBridge", "Halden Bridge", (0, 13)),
        ("用C++写的", "C++", (1, 4)),
        ("a.b axb", "a.b", (0, 3)),
        ("阿里巴巴集团", "巴巴", (2, 4)),
    ],
)
def test_a_name_is_found_where_it_stands(text: str, name: str, found: tuple[int, int]) -> None:
    assert locate(text, name) == found


@pytest.mark.parametrize("name", ["", " ", "Bob", "Ann Lee"])
def test_what_is_not_there_is_nowhere(name: str) -> None:
    assert locate("Ann met Lee", name) == (-1, -1)


@given(st.text(max_size=40), st.integers(0, 40), st.integers(0, 40))
def test_every_part_of_a_text_is_found_in_it(text: str, one: int, other: int) -> None:
    part = one_line(clean(text)[min(one, other) : max(one, other)])
    start, end = locate(text, part)
    if part:
        assert start >= 0
        assert one_line(clean(text[start:end])).casefold() == part.casefold()
