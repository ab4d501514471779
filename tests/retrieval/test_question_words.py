"""Keywords from a question's own words: names whole, nouns and phrases, nothing for a greeting."""

from __future__ import annotations

import pytest

from localrag.retrieval.question_words import LOOKED_AT, MOST, by_words, is_small_talk


@pytest.mark.parametrize(
    ("question", "low", "high"),
    [
        (
            "Who repaired the Halden Bridge after the flood?",
            {"Halden Bridge", "flood"},
            {"flood"},
        ),
        ("What does ORA-01555 mean in the yearly report?", {"ORA-01555", "report"}, {"yearly report"}),
        ("《临江旧事》的作者是谁？", {"临江旧事", "作者"}, {"作者"}),
        ("国际贸易如何影响全球经济？", {"国际", "贸易", "全球", "经济"}, {"国际贸易"}),
    ],
)
def test_names_stay_whole_and_nouns_and_phrases_are_found(
    question: str, low: set[str], high: set[str]
) -> None:
    found = by_words(question)
    assert low <= set(found.low)
    assert high <= set(found.high)
    assert found.by == "words"


def test_known_names_come_first_and_stand_in_no_phrase() -> None:
    found = by_words("陈玉兰把茶馆交给了谁？", ("陈玉兰",))
    assert found.low[0] == "陈玉兰"
    assert all("玉兰" not in phrase for phrase in found.high)
    found = by_words("How is Marta Lind related to the old mill?", ("Marta Lind",))
    assert found.low[:1] == ("Marta Lind",)
    assert all("Lind" not in phrase for phrase in found.high)


def test_a_verb_alone_is_a_theme_only_where_there_is_nothing_else() -> None:
    assert "repaired" not in by_words("Who repaired the Halden Bridge after the flood?").high
    assert by_words("Who repaired it?").high == ("repaired",)


def test_one_spelling_of_each() -> None:
    found = by_words("Bridges and bridge, BRIDGE: which bridge?")
    assert [word.casefold().rstrip("s") for word in found.low].count("bridge") == 1


@pytest.mark.parametrize(
    "question",
    ["hello", "Hello there!", "thank you", "ok", "asdfghjkl", "你好", "你好呀！", "谢谢", "", "?!", "  \n"],
)
def test_a_greeting_or_noise_has_none(question: str) -> None:
    assert is_small_talk(question)
    assert by_words(question).empty


@pytest.mark.parametrize(
    "question",
    ["Who greeted whom?", "Norhavn", "1931", "茶馆在哪里", "Why?", "HTTP", "rhythm", "hello kitty museum"],
)
def test_what_may_be_answered_is_no_small_talk(question: str) -> None:
    assert not is_small_talk(question)


def test_a_name_of_the_texts_is_no_greeting() -> None:
    assert by_words("Hi", ("Hi",)).low == ("Hi",)


@pytest.mark.parametrize("text", ["mill " * 5_000, "茶馆" * 10_000, "\u0000\ud800 '\"%;--", "x" * 20_000])
def test_long_and_hostile_questions_give_few_keywords(text: str) -> None:
    found = by_words(text)
    assert len(found.low) <= MOST
    assert len(found.high) <= MOST
    assert all(len(word) <= LOOKED_AT for word in (*found.low, *found.high))
