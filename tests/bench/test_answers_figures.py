"""What is told of many answers together."""

from __future__ import annotations

from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.bench.answers_asking import Outcome
from localrag.bench.answers_data import AnswerQuestion
from localrag.bench.answers_figures import Item, closed, difference, figures
from localrag.bench.answers_scores import WRONG, Score
from tests.examples import examples

RIGHT = Score(1.0, 1.0, 1.0)
UNIT = st.floats(0, 1)


def item(
    found: Score = RIGHT,
    *,
    said: str = "Berg",
    gold: tuple[str, ...] = ("a", "b"),
    answers: tuple[str, ...] = ("Berg",),
    cited_text: str = "",
    **outcome: object,
) -> Item:
    question = AnswerQuestion("q", "Who?", answers, gold if answers else (), False)
    return Item(question, Outcome("q", **outcome), said, found, cited_text, False)  # type: ignore[arg-type]


def test_a_refused_answer_is_wrong_and_cites_nothing() -> None:
    told = figures([item(cited=("a",)), item(WRONG, said="", refused=True)])
    assert (told["em"], told["f1"], told["contains"]) == (0.5, 0.5, 0.5)
    assert told["refused"] == told["refused_answerable"] == 0.5
    assert told["refused_unanswerable"] is None
    # Of the one that was given.
    assert (told["citation_precision"], told["citation_recall"], told["cited"]) == (1.0, 0.5, 1.0)


def test_what_has_no_answer_counts_as_refused_or_not_and_nowhere_else() -> None:
    nothing = item(WRONG, answers=(), refused=True, said="")
    said = item(WRONG, answers=(), said="Blue", cited=("x",), dangling=1)
    told = figures([item(cited=("a", "b")), nothing, nothing, said])
    assert told["questions"] == 4
    assert told["f1"] == 1.0
    assert told["refused"] == told["refused_unanswerable"] == pytest.approx(2 / 3, abs=1e-4)
    assert told["refused_answerable"] == 0.0
    assert told["citation_precision"] == told["citation_recall"] == 1.0
    assert told["dangling"] == 1


def test_an_answer_without_citation_says_nothing_of_precision() -> None:
    told = figures([item(cited=("a", "x")), item()])
    assert (told["citation_precision"], told["citation_recall"], told["cited"]) == (0.5, 0.25, 0.5)


def test_what_was_cited_and_read() -> None:
    told = figures(
        [
            item(cited=("a",), cited_text="It was Berg.", shown=("a", "x"), answer_shown=True),
            item(cited=("b",), cited_text="Bergen.", shown=()),
            # A text does not name what is only yes or no.
            item(cited=("b",), answers=("No",), cited_text="Berg has no bees.", shown=(), answer_shown=True),
        ]
    )
    assert told["answer_in_cited"] == 0.5
    assert told["context_recall"] == pytest.approx(1 / 6, abs=1e-4)
    assert told["answer_in_context"] == 0.5


def test_marked_answers_by_whether_they_are_right() -> None:
    told = figures(
        [
            item(answer="Berg [1]."),
            item(WRONG, answer="Lund [1]. [unverified]"),
            item(WRONG, answer="林 [1]。[未证实]"),
        ]
    )
    assert (told["marked_right"], told["marked_wrong"]) == (0.0, 1.0)


def test_times_are_those_of_the_questions_that_tell_them() -> None:
    alone = [item(first_word=first, seconds=9.0, processor=8.0) for first in (1.0, 4.0, 2.0)]
    told = figures([*alone, item(seconds=3.0, processor=5.0), item(seconds=5.0, processor=7.0)])
    assert (told["first_word"], told["seconds"], told["processor_seconds"]) == (2.0, 4.0, 6.0)
    told = figures(alone)
    assert (told["seconds"], told["processor_seconds"]) == (9.0, 8.0)
    assert figures([item(seconds=1.0)])["first_word"] is None


def test_failures_are_counted() -> None:
    assert figures([item(), item(WRONG, said="", error="No room.")])["failed"] == 1


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(UNIT, UNIT), min_size=1, max_size=30))
def test_the_bounds_hold_the_difference(pairs: list[tuple[float, float]]) -> None:
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    told = difference(one, other)
    assert told["mean"] == pytest.approx(mean(one) - mean(other), abs=1e-3)
    assert min(a - b for a, b in pairs) - 1e-3 <= told["low"] <= told["high"]
    assert told["high"] <= max(a - b for a, b in pairs) + 1e-3
    assert difference(one, other) == told
    turned = difference(other, one)
    assert (turned["low"], turned["high"]) == pytest.approx((-told["high"], -told["low"]), abs=1e-3)


def test_a_clear_difference_is_told_from_noise() -> None:
    better, same = [1.0] * 20 + [0.0] * 20, [0.0] * 40
    assert difference(better, same)["low"] > 0.3
    noise = difference([1.0, 0.0] * 20, [0.0, 1.0] * 20)
    assert noise["low"] < 0 < noise["high"]
    assert difference([], []) == {}


def test_how_much_of_the_gap_is_closed() -> None:
    assert closed([0.6, 0.6], [0.4, 0.4], [0.8, 0.8]) == 0.5
    assert closed([0.9], [0.4], [0.8]) == 1.25
    assert closed([0.2], [0.4], [0.8]) == -0.5
    # Where the right passages are no better there is no gap.
    assert closed([0.6], [0.8], [0.8]) is None
    assert closed([], [], []) is None
