"""Lesser passages are trimmed to whole sentences around the question's words; nothing else changes."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.documents import sentences
from localrag.retrieval.content_words import content_words
from localrag.retrieval.trimming import BESIDE, WHOLE, stretches
from tests.examples import examples

QUESTION = "When was the lighthouse of Varn repaired?"
FILLER = "Nothing of note was written down. "
BEST = ["First."] * WHOLE


def kept(text: str, question: str = QUESTION) -> list[str]:
    """What is left of a passage that is none of the best."""
    return [text[start:end] for start, end in stretches(question, [*BEST, text])[-1]]


def test_what_stands_around_the_questions_words_stays() -> None:
    text = f"About Varn. {FILLER * 6}The lighthouse was repaired. It took a year. {FILLER * 6}".strip()
    first, second = kept(text)
    assert first == f"About Varn. {FILLER}".strip()
    assert second == f"{FILLER}The lighthouse was repaired. It took a year."
    assert second.count(". ") == 2 * BESIDE


def test_the_best_passages_stay_whole() -> None:
    text = f"The lighthouse was repaired. {FILLER * 9}".strip()
    found = stretches(QUESTION, [text] * (WHOLE + 1))
    assert found[:WHOLE] == [[(0, len(text))]] * WHOLE
    assert found[WHOLE][-1][1] < len(text)


def test_a_passage_with_none_of_the_words_stays_whole() -> None:
    text = (FILLER * 9).strip()
    assert kept(text) == [text]
    assert kept("灯塔在春天修好了。花了一年时间。没有别的记录。") == [
        "灯塔在春天修好了。花了一年时间。没有别的记录。"
    ]


def test_chinese_is_trimmed_at_its_full_stops() -> None:
    text = (
        "关于瓦恩。"
        + "没有值得记录的事情。" * 8
        + "灯塔在春天修好了。花了一年时间。"
        + "没有值得记录的事情。" * 8
    )
    parts = kept(text, "灯塔是什么时候修好的？")
    assert "灯塔在春天修好了。花了一年时间。" in parts[-1]
    assert len("".join(parts)) < len(text) / 2


def test_a_rare_word_tells_more_than_one_that_is_everywhere() -> None:
    text = (
        " ".join(f"The harbour was quiet on day {n}." for n in range(12)) + " The beacon burnt. It was late."
    )
    assert "The beacon burnt." in kept(text, "Was the harbour beacon lit?")[-1]
    assert len(kept(text, "Was the harbour beacon lit?")) == 2


def test_inflections_are_one_word_and_function_words_none() -> None:
    assert content_words("repairs") == content_words("repaired") == content_words("Repairing")
    assert content_words("cities") == content_words("City")
    assert content_words("who is the one that was there") <= content_words("one")
    assert content_words("灯塔的灯") == {"灯塔", "塔的", "的灯"}
    assert content_words("in 1907, 7") == {"1907", "7"}


@settings(max_examples=examples(80), deadline=None)
@given(st.lists(st.text("ab .。?!\n修灯塔", max_size=120), max_size=5), st.text("ab 修灯塔", max_size=12))
def test_stretches_are_whole_sentences_in_order(texts: list[str], question: str) -> None:
    found = stretches(question, texts)
    assert len(found) == len(texts)
    for place, (text, spans) in enumerate(zip(texts, found, strict=True)):
        whole = sentences.split(text)
        assert bool(spans) == bool(whole) or place < WHOLE
        assert spans == sorted(spans)
        assert all(left[1] < right[0] for left, right in pairwise(spans))
        if place >= WHOLE and spans:
            assert {start for start, _ in spans} <= {start for start, _ in whole}
            assert {end for _, end in spans} <= {end for _, end in whole}
            assert spans[0][0] == whole[0][0]
