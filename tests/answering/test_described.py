"""What a question only describes is found by its form; what it asks for, or names, is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.answering.described import described

DESCRIBED = [
    ("What did the builder of the Halden Bridge buy in 1934?", "Who is", "the builder of the Halden Bridge"),
    (
        "When did the Regal open in the city where the Lund Museum is located?",
        "What is",
        "the city where the Lund Museum is located",
    ),
    (
        "Where was the director of film Winter Boats (1951 film) born?",
        "Who is",
        "the director of film Winter Boats (1951 film)",
    ),
    ("When did Jon Aas's mother die?", "Who is", "Jon Aas's mother"),
    (
        "Who leads the company that built the Halden Bridge today?",
        "What is",
        "the company that built the Halden Bridge",
    ),
    (
        "What county borders the county in which Holm, Varland is found?",
        "What is",
        "the county in which Holm, Varland is found",
    ),
    ("When did the country of Ida Lund's birthplace join the league?", "What is", "Ida Lund's birthplace"),
    ("How many people live in the town Emil Berg was born?", "What is", "the town Emil Berg was born"),
    (
        "What is the country where Orla is located named after?",
        "What is",
        "the country where Orla is located",
    ),
    ("Who sold “The Salt Road”'s publisher?", "What is", "“The Salt Road”'s publisher"),
]

ALONE = [
    "Who is the mother of Ada Lund?",
    "What was the capital of Varland when the bridge was built?",
    "What is the name of the director of Winter Boats?",
    "Are Marta Lind and Tomas Berg both engineers?",
    "Which is older, the Halden lighthouse or the Varde lighthouse?",
    "What kind of tunnels run under Halden's city centre?",
    "How old is Emil's wife Ida?",
    "Who repaired the harbour bridge?",
    "Which team plays in the capital and the largest city of Varland?",
    "When was the school where Ada Lund was a teacher founded?",
    "",
]


@pytest.mark.parametrize(("question", "asks", "phrase"), DESCRIBED)
def test_a_phrase_is_found_and_asked_for(question: str, asks: str, phrase: str) -> None:
    found = described(question, "en")
    assert found is not None
    assert question[found.start : found.end] == phrase
    assert found.question == f"{asks} {phrase}?"


@pytest.mark.parametrize("question", ALONE)
def test_a_question_of_one_step_is_left_alone(question: str) -> None:
    assert described(question, "en") is None


@pytest.mark.parametrize(
    ("question", "step"),
    [
        ("《冬船》的作者出生在哪里？", "《冬船》的作者是谁？"),
        ("请问，临江的省会有多少人口？", "临江的省会是哪里？"),
        ("《冬船》的作者的妻子叫什么名字？", "《冬船》的作者是谁？"),
        ("“盐路”的出版社成立于哪一年？", "“盐路”的出版社是什么？"),
    ],
)
def test_chinese_phrases(question: str, step: str) -> None:
    found = described(question, "zh")
    assert found is not None
    assert found.question == step


@pytest.mark.parametrize(
    "question", ["《冬船》的作者是谁？", "临江的首都在哪裡？", "她的丈夫在哪里工作？", "谁修了桥？", ""]
)
def test_chinese_questions_of_one_step(question: str) -> None:
    assert described(question, "zh") is None


@given(st.text(max_size=300), st.sampled_from(["en", "zh", "de"]))
def test_whatever_is_asked_the_phrase_is_a_part_of_it(question: str, language: str) -> None:
    found = described(question, language)
    if found is not None:
        assert 0 <= found.start < found.end <= len(question)
        assert question[found.start : found.end] in found.question


def test_a_long_question_is_asked_at_once() -> None:
    assert described("the city where " * 700 + "A's " * 2000 + "Ida Lund's mother died when", "en") is None
    assert described("《冬船》的作者出生在哪里？" + "的作者" * 5000, "zh") is None
    # Within the bound nothing takes more than a moment.
    described(("the city where A's Of " * 30)[:600], "en")
