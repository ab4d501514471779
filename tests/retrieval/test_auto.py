"""Mode auto takes a mode by the kind of question, in English and Chinese, and gives its reason."""

from __future__ import annotations

import time

import pytest

from localrag.retrieval.auto import choose
from localrag.retrieval.types import MODES

TWO = ("Marta Lind", "Tomas Berg")


@pytest.mark.parametrize(
    ("question", "names", "mode"),
    [
        ("How are Marta Lind and Tomas Berg connected?", TWO, "path"),
        ("What do Marta Lind and Tomas Berg have in common?", TWO, "mix"),
        ("How is Ada Quill related to Bo Renner?", (), "path"),
        ("陈玉兰和林小川是什么关系？", ("陈玉兰", "林小川"), "path"),
        ("How is the mill related to floods?", ("mill",), "mix"),
        ("Who related the story?", (), "mix"),
        ("What are the main themes of these documents?", (), "global"),
        ("Give me an overview.", (), "global"),
        ("这些文档的主要内容是什么？", (), "global"),
        ("What is the main topic of Marta Lind's letters?", ("Marta Lind",), "mix"),
        ("What is the main topic of the meeting on 3 May 1931?", (), "mix"),
        ("ORA-01555", (), "naive"),
        ('"the arches were broken by the flood"', (), "naive"),
        ("What does ORA-01555 mean?", (), "mix"),
        ("Which mill-related work did Marta Lind give to Tomas Berg?", TWO, "mix"),
        ("What was the relationship between Marta Lind and Tomas Berg?", TWO, "path"),
        ("Who repaired the bridge after the flood?", (), "mix"),
        ("Who built the bridge that Tomas Berg repaired?", ("Tomas Berg",), "mix"),
        ("谁修了这座桥？", (), "mix"),
        ("Hello!", (), "bypass"),
        ("你好", (), "bypass"),
        ("Hello", ("Hello",), "mix"),
    ],
)
def test_the_kind_of_question_decides(question: str, names: tuple[str, ...], mode: str) -> None:
    choice = choose(question, names)
    assert choice.mode == mode
    assert choice.mode in MODES
    assert choice.why.startswith("it ")


def test_a_long_question_is_judged_quickly() -> None:
    began = time.process_time()
    for text in ("a-" * 10_000, "what is the a " * 2_000, '"' * 20_000, "1a." * 7_000):
        choose(text, ())
    assert time.process_time() - began < 2
