"""Texts in rows: nothing is lost, nothing is wider than the screen, places keep their row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from localrag.plain import plain_lines
from localrag.tui.wrapping import Rows, as_shown


def lines(text: str, width: int) -> list[str]:
    rows = Rows(text, width)
    return [text[slice(*rows.span(row))] for row in range(len(rows))]


def test_lines_break_at_blanks_and_long_words_are_cut() -> None:
    assert lines("one two three four", 9) == ["one two ", "three ", "four"]
    assert lines("one two three", 8) == ["one two ", "three"]
    assert lines("a verylongwordthatgoeson", 8) == ["a verylo", "ngwordth", "atgoeson"]
    assert lines("", 8) == [""]
    assert lines("\n\na\n", 8) == ["", "", "a", ""]


def test_wide_characters_take_two_columns_and_joined_ones_stay_together() -> None:
    assert lines("船离开港口，带着盐", 10) == ["船离开港口", "，带着盐"]
    assert lines("船离a开港口，带着盐", 10) == ["船离a开港", "口，带着盐"]
    family = "👨\u200d👩\u200d👧"
    assert lines(family * 3, 4) == [family * 2, family]
    assert lines("e\u0301" * 6, 4) == ["e\u0301" * 4, "e\u0301" * 2]


@given(
    st.text(
        st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])
        | st.sampled_from("\n  ab中文，👩\u200d\u0301")
    ).map(plain_lines),
    st.integers(4, 30),
)
def test_every_character_stands_in_one_row_that_fits(text: str, width: int) -> None:
    rows = Rows(text, width)
    assert text.replace("\n", "") == "".join(
        text[slice(*rows.span(row))] for row in range(len(rows))
    ).replace("\n", "")
    for row in range(len(rows)):
        start, end = rows.span(row)
        assert cell_len(text[start:end].rstrip(" ")) <= width or end - start == 1
        if end > start:
            assert rows.row_at(start) == rows.row_at(end - 1) == row


def test_a_very_long_text_is_laid_out_in_time() -> None:
    text = "\n".join(f"Line {number} of a long document" for number in range(100_000))
    rows = Rows(text, 60)
    assert len(rows) == 100_000
    assert text[slice(*rows.span(99_999))] == "Line 99999 of a long document"
    assert rows.row_at(text.index("Line 54321 ")) == 54_321


@pytest.mark.parametrize(
    ("text", "place", "shown", "moved"),
    [
        ("plain text", 6, "plain text", 6),
        ("\tab", 1, "    ab", 4),
        ("a\x1b[31mred\x1b[0m b", 6, "ared b", 1),
        ("a\r\nb", 3, "a\nb", 2),
    ],
)
def test_places_move_with_what_is_taken_out(text: str, place: int, shown: str, moved: int) -> None:
    result, places = as_shown(text, [place, 99])
    assert (result, places[place], places[len(text)]) == (shown, moved, len(shown))
    assert 99 not in places
