"""Where a text says what a statement says."""

from __future__ import annotations

import pytest

from localrag.answering.shared import merged, name_spans, sentences_on, shared_spans


def marked(statements: list[str], text: str) -> list[str]:
    return [text[start:end] for start, end in shared_spans(statements, text)]


def test_words_in_any_inflection_names_and_numbers_are_marked_and_function_words_are_not() -> None:
    text = "In 1911 Ada Lund was repairing the bridges of the harbour. Nobody helped."
    assert marked(["Ada Lund repaired the bridge in 1911."], text) == [
        "1911",
        "Ada",
        "Lund",
        "repairing",
        "bridges",
    ]
    assert marked(["The mill burned down."], text) == []


def test_numbers_and_times_are_marked_however_they_are_written() -> None:
    assert "1,250" in marked(["It cost 1250 crowns."], "The price was 1,250.")
    assert "3 May 1911" in " ".join(marked(["It was opened on 1911-05-03."], "They opened it on 3 May 1911."))


def test_pairs_of_characters_are_marked_as_one_stretch() -> None:
    assert marked(["艾达修好了大桥。"], "一九一一年，艾达修好了大桥，没有人帮忙。") == ["艾达修好了大桥"]


def test_several_statements_are_marked_together_and_a_very_long_text_at_its_beginning() -> None:
    text = "The bridge stands. The mill stands."
    assert marked(["The bridge.", "The mill."], text) == ["bridge", "mill"]
    assert len(shared_spans(["bridge"], "bridge " * 10_000)) < 4_000


def test_names_are_found_as_they_are_written() -> None:
    text = "ada lund met Ada Lund (a.k.a. [Ada])."
    assert [text[slice(*span)] for span in name_spans(["Ada Lund", "[Ada]", " "], text)] == [
        "ada lund",
        "Ada Lund",
        "[Ada]",
    ]


def test_spans_that_touch_become_one() -> None:
    assert merged([(5, 7), (0, 2), (2, 4), (6, 9)]) == ((0, 4), (5, 9))


@pytest.mark.parametrize(
    ("number", "found"),
    [
        (1, ("Ada repaired it.",)),
        (2, ("Eleven men helped.",)),
        (7, ("Ada repaired it.", "Eleven men helped.", "Nobody else came.")),
    ],
)
def test_the_sentences_that_carry_a_mark_are_found_and_all_if_none_does(
    number: int, found: tuple[str, ...]
) -> None:
    answer = "Ada repaired it [1]. Eleven men helped [2]. Nobody else came.\n\n### References\n- [1] x [7]\n"
    assert sentences_on(answer, number) == found
