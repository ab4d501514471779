"""Questions that compare are taken apart by their form, and no model says what the answers come to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.answering.comparisons import comparison, verdict

APART = [
    ("Are Halden and Varde in the same county?", "same", "In which county is Halden?"),
    (
        "Are Halden Airport and Varde Airport both airports in the same state ?",
        "same",
        "In which state is Halden Airport?",
    ),
    ("Were both Ada Lund and Jon Aas, born in the same place?", "same", "In which place is Ada Lund born?"),
    (
        "Are both films, Low Water and The Salt Road, from the same country?",
        "same",
        "From which country is Low Water?",
    ),
    ("Do Ada Lund and Jon Aas have the same nationality?", "same", "What nationality does Ada Lund have?"),
    ("Are Ada Lund and Jon Aas both engineers?", "both", "Is Ada Lund an engineer?"),
    ("Were Ada Lund and Jon Aas from Varland?", "both", "Was Ada Lund from Varland?"),
    (
        "Which paper was published first, Halden News or Varde Times?",
        "earlier",
        "When was Halden News published?",
    ),
    ("Who was born later, Ada Lund or Jon Aas?", "later", "When was Ada Lund born?"),
    ("Who is older, Ada Lund or Jon Aas?", "earlier", "When was Ada Lund born?"),
    ("Who died first out of Ada Lund and Jon Aas?", "earlier", "When did Ada Lund die?"),
    (
        "Which film has the director who was born later, Low Water or The Salt Road?",
        "later",
        "When was the director of Low Water born?",
    ),
    ("Which film came out first, Low Water or The Salt Road?", "earlier", "When was Low Water released?"),
    ("Which is newer, Kvern Works or Orla Mills?", "later", "When was Kvern Works founded?"),
]

WHOLE = [
    "Who repaired the harbour bridge?",
    "Are Ada Lund and Jon Aas related to each other?",
    "Which is larger, Halden or Varde?",
    "Who sang the song first, Ada Lund or Jon Aas, and who later?",
    "Who released the song first, Ada Lund or Jon Aas?",
    "What did Ada Lund and Jon Aas build?",
    "",
]


@pytest.mark.parametrize(("question", "kind", "first"), APART)
def test_one_question_for_each(question: str, kind: str, first: str) -> None:
    found = comparison(question, "en")
    assert found is not None
    assert (found.kind, found.questions[0]) == (kind, first)
    assert found.questions[1] == first.replace(found.items[0], found.items[1])


@pytest.mark.parametrize("question", WHOLE)
def test_other_questions_stay_whole(question: str) -> None:
    assert comparison(question, "en") is None


@pytest.mark.parametrize(
    ("question", "kind", "first"),
    [
        ("临江和青石在同一个省吗？", "same", "临江在哪个省？"),
        ("《冬船》和《盐路》哪本出版得早？", "earlier", "《冬船》是什么时候出版的？"),
        ("临江大学和青石大学哪个成立更晚？", "later", "临江大学是什么时候成立的？"),
    ],
)
def test_chinese(question: str, kind: str, first: str) -> None:
    found = comparison(question, "zh")
    assert found is not None
    assert (found.kind, found.questions[0]) == (kind, first)


@pytest.mark.parametrize("question", ["谁修了桥？", "临江和青石有什么特产？", ""])
def test_chinese_questions_that_stay_whole(question: str) -> None:
    assert comparison(question, "zh") is None


@pytest.mark.parametrize(
    ("question", "answers", "said"),
    [
        ("Are Halden and Varde in the same county?", ("Orla county", "Orla"), "Yes"),
        ("Are Halden and Varde in the same county?", ("Orla", "Kvern"), "No"),
        ("Are Halden and Varde in the same county?", ("Oman", "Romania"), "No"),
        ("Are Halden and Varde in the same county?", ("Halden is in the Orla county.", "Orla county"), "Yes"),
        ("Are Halden and Varde in the same county?", ("Orla", "!"), ""),
        ("Are Ada Lund and Jon Aas both engineers?", ("Yes, she is.", "yes"), "Yes"),
        ("Are Ada Lund and Jon Aas both engineers?", ("Yes", "No, a poet."), "No"),
        ("Are Ada Lund and Jon Aas both engineers?", ("Yes", "A poet."), ""),
        ("Who is older, Ada Lund or Jon Aas?", ("3 May 1880", "She was born in 1901"), "Ada Lund"),
        ("Who was born later, Ada Lund or Jon Aas?", ("1880", "1901"), "Jon Aas"),
        ("Who is older, Ada Lund or Jon Aas?", ("1880", "1880"), ""),
        ("Who is older, Ada Lund or Jon Aas?", ("1880", "long ago, at 1,901 metres"), ""),
    ],
)
def test_what_the_answers_come_to(question: str, answers: tuple[str, str], said: str) -> None:
    found = comparison(question, "en")
    assert found is not None
    assert verdict(found, answers) == said


def test_what_chinese_answers_come_to() -> None:
    found = comparison("临江和青石在同一个省吗？", "zh")
    assert found is not None
    assert verdict(found, ("江南省", "江南")) == "是"
    assert verdict(found, ("江南省", "河西省")) == "不是"


@given(st.text(max_size=200), st.sampled_from(["en", "zh"]))
def test_any_question_is_taken(question: str, language: str) -> None:
    found = comparison(question, language)
    if found is not None:
        assert all(item in question for item in found.items)


def test_no_question_takes_long() -> None:
    comparison(("Are Ada Of The " * 40)[:400], "en")
    comparison(("Which A or B and C " * 40)[:400], "en")
    assert comparison("Are Ada and Jon both " + "very " * 100 + "tall?", "en") is None
