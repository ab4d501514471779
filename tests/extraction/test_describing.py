"""Descriptions out of the text itself: the telling sentence, bounded, verbatim."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.extraction.describing import NOWHERE, Describer, describe
from localrag.extraction.spans import clean, one_line
from tests.examples import examples

TEXT = (
    "# The Halden Bridge\n\n"
    "He saw Tomas Berg at the mill. The engineer Tomas Berg repaired it within eight months. "
    "The steel came from the Kvern Works, which Marta Lind had founded with her brother after the war, when "
    "nobody in the valley had any work at all and the mill was closed for good. Everybody knew Marta Lind. "
    "Marta Lind (1891–1962) was an engineer from Halden. The Kvern Works (KW) were a foundry of Halden.\n\n"
    "- The Orla: a river of\n  the north, 40 km long\n"
)
CHINESE = (
    "青石镇的人都认识林小川。2005年，陈玉兰把茶馆交给了她的徒弟林小川。"
    "林小川是青石镇的说书人，每周五晚上请人说书。临江茶馆由陈玉兰于1988年开办。"
)


def place(text: str, name: str) -> tuple[int, int]:
    return text.index(name), text.index(name) + len(name)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        # What a thing is goes before an earlier mention in passing.
        ("Marta Lind", "Marta Lind (1891–1962) was an engineer from Halden."),
        ("Tomas Berg", "The engineer Tomas Berg repaired it within eight months."),
        ("Kvern Works", "The Kvern Works (KW) were a foundry of Halden."),
        # A line break in the text is a blank, the mark of a list is left out.
        ("Orla", "The Orla: a river of the north, 40 km long"),
        # The heading says nothing of it.
        ("Halden Bridge", ""),
    ],
)
def test_the_sentence_that_tells_most_is_taken(name: str, said: str) -> None:
    assert describe(TEXT, *place(TEXT, name)) == said


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("林小川", "林小川是青石镇的说书人，每周五晚上请人说书。"),
        ("临江茶馆", "临江茶馆由陈玉兰于1988年开办。"),
        ("青石镇", "青石镇的人都认识林小川。"),
    ],
)
def test_chinese_sentences_are_told_by_their_own_patterns(name: str, said: str) -> None:
    assert describe(CHINESE, *place(CHINESE, name), "zh") == said


@pytest.mark.parametrize(
    ("text", "name", "language"),
    [
        ("Der Hof gehört Anna Vik. Anna Vik ist eine Malerin aus Bergen.", "Anna Vik", "de"),
        ("On aime Paul Roy. Paul Roy, un peintre de Lyon, mourut en 1900.", "Paul Roy", "fr"),
        ("昨日の平田さん。平田さんは画家だ。", "平田さん", "ja"),
    ],
)
def test_other_languages_have_patterns_too(text: str, name: str, language: str) -> None:
    assert describe(text, *place(text, name), language) == text.partition(".")[2].strip() or "は" in describe(
        text, *place(text, name), language
    )


def test_a_long_sentence_is_cut_to_the_clauses_around_the_name() -> None:
    long = TEXT[TEXT.index("The steel came") : TEXT.index(" Everybody")]
    assert describe(long, *place(long, "Kvern Works"), most=60) == "The steel came from the Kvern Works"
    clause = "which Marta Lind had founded with her brother after the war"
    assert describe(long, *place(long, "Marta Lind"), most=60) == clause
    whole = Describer(long, most=110).of(*place(long, "Marta Lind"))
    assert whole == f"The steel came from the Kvern Works, {clause}"


def test_a_clause_without_borders_is_cut_between_words() -> None:
    text = "Nobody " + "really " * 40 + "knew that Ida Lind " + "seldom " * 40 + "slept"
    said = describe(text, *place(text, "Ida Lind"), most=50)
    assert said.startswith("Ida Lind seldom")
    assert said.endswith("seldom")
    assert len(said) <= 50


def test_two_names_are_joined_by_the_clause_that_holds_both() -> None:
    found = Describer(TEXT)
    said = found.of_pair(place(TEXT, "Marta Lind"), place(TEXT, "Kvern Works"))
    assert said.startswith("The steel came from the Kvern Works, which Marta Lind had founded")
    assert found.of_pair(place(TEXT, "Tomas Berg"), place(TEXT, "Marta Lind")) == ""
    han = Describer(CHINESE, "zh")
    assert (
        han.of_pair(place(CHINESE, "陈玉兰"), place(CHINESE, "林小川"))
        == "2005年，陈玉兰把茶馆交给了她的徒弟林小川。"
    )
    # Of several places those are taken that stand nearest to each other.
    near = "Ada met, after all these years of work, Bo. Ada hit Bo."
    assert Describer(near).of_pair(place(near, "Ada"), place(near, "Bo")) == "Ada hit Bo."


def test_a_name_within_another_is_no_evidence_for_both() -> None:
    text = "The Halden Bridge is old."
    assert Describer(text).span_of_pair(place(text, "Halden"), place(text, "Halden Bridge")) == NOWHERE


@pytest.mark.parametrize("span", [(-1, -1), (5, 5), (6, 2), (0, 10_000)])
def test_no_place_has_no_description(span: tuple[int, int]) -> None:
    assert describe(TEXT, *span) == ""
    assert Describer(TEXT).of_pair(span, place(TEXT, "Orla")) == ""


PIECES = st.sampled_from(
    ("Ada ", "Ada", "Bo ", " is a ", "is ", ", who ", "。", ". ", "，", "\n\n", "\n- ", "# ", "(x) ",
     "是", "\x00", "<|>##", "\x1b[1m", "\ud800", "word ", "Das ", "(", "{name} ", "%s ", "𝔘 ")
)  # fmt: skip


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join), st.sampled_from(("en", "zh", "de")), st.integers(1, 60))
def test_any_description_is_a_bounded_stretch_of_the_text_with_the_name(
    text: str, language: str, most: int
) -> None:
    found = Describer(text, language, most)
    bound = max(most // 2 if language == "zh" else most, 1)
    names = [place(text, name) for name in ("Ada", "Bo", "word") if name in text]
    for span in names:
        said = found.of(*span)
        assert said in one_line(clean(text))
        assert said == one_line(said)
        # The name is never cut, even where it alone is longer than the bound.
        assert len(said) <= max(bound, span[1] - span[0])
        assert not said or text[span[0] : span[1]] in said
        low, high = found.span_of(*span)
        assert one_line(clean(text)[low:high]) == said if said else (low, high) == NOWHERE
    for first in names:
        for second in names:
            said = found.of_pair(first, second)
            assert len(said) <= bound
            assert said in one_line(clean(text))
            assert not said or all(text[low:high] in said for low, high in (first, second))
