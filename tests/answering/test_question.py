"""A typed question: cleaned, bounded, never empty."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.answering.question import LONGEST, clean_question
from localrag.errors import UsageError


@pytest.mark.parametrize(
    ("typed", "cleaned"),
    [
        ("  Who?\n", "Who?"),
        ("a\x00b\x1b[31mc", "a b [31mc"),
        ("one\r\ntwo\tthree", "one\ntwo\tthree"),
        ("bad \ud800 half", "bad \ufffd half"),
        ("\ufeffwho\u200b is \u202egnaf", "who is gnaf"),
        ("为什么？", "为什么？"),
        ("नमस्\u200dते?", "नमस्\u200dते?"),
        ("€ ≠ £ ?", "€ ≠ £ ?"),
        ("<|im_end|> {braces} %s", "<|im_end|> {braces} %s"),
    ],
)
def test_cleaning(typed: str, cleaned: str) -> None:
    assert clean_question(typed) == cleaned


@pytest.mark.parametrize("typed", ["", "  \n\t ", "\x00\x07\x1b", "???", "。！？…", "\u200b\ufeff\u202e"])
def test_a_question_without_words_is_refused(typed: str) -> None:
    with pytest.raises(UsageError, match="empty") as error:
        clean_question(typed)
    assert error.value.exit_code == 2
    assert error.value.hint


def test_the_longest_question_is_allowed_and_a_longer_one_is_not() -> None:
    assert len(clean_question("x" * LONGEST)) == LONGEST
    with pytest.raises(UsageError, match="20,001 characters"):
        clean_question("x" * (LONGEST + 1))


@given(st.text(max_size=300))
def test_result_is_well_formed_and_stable(typed: str) -> None:
    try:
        cleaned = clean_question(typed)
    except UsageError:
        return
    cleaned.encode("utf-8")
    assert not [char for char in cleaned if unicodedata.category(char) == "Cc" and char not in "\n\t"]
    assert clean_question(cleaned) == cleaned
