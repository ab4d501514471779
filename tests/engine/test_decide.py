"""Decisions: exact probabilities over the tree of the options' tokens."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from localrag.engine.decide import Decider
from localrag.engine.job import Job
from localrag.engine.programs import Decide
from localrag.errors import ConstraintError
from tests.engine.desk import Desk


@pytest.fixture(scope="module")
def desk(random_gguf: Path) -> Desk:
    return Desk(random_gguf)


def scores_of(desk: Desk, tokens: list[int]) -> NDArray[np.float32]:
    """A language model that can be asked for any prefix."""
    rng = np.random.default_rng(zlib.crc32(repr(tokens).encode()))
    return (3 * rng.standard_normal(desk.vocabulary.size)).astype(np.float32)


def model(desk: Desk, job: Job, cache: list[int]) -> NDArray[np.float32]:
    return scores_of(desk, cache)


def expected(desk: Desk, options: tuple[str, ...]) -> tuple[list[float], float]:
    """By the definition: the products of conditional probabilities, up to where an option stands alone."""
    paths = [desk.vocabulary.encode(option) for option in options]
    common = 0
    while len({tuple(path[: common + 1]) for path in paths}) == 1 and all(len(p) > common for p in paths):
        common += 1
    raw = []
    for path in paths:
        product = 1.0
        for depth in range(common, len(path) + 1):
            others = [p for p in paths if p != path and p[:depth] == path[:depth]]
            if not others:
                break
            scores = scores_of(desk, [5, 6, 7, 8, *path[:depth]]).astype(np.float64)
            odds = np.exp(scores - scores.max())
            odds /= odds.sum()
            if depth == len(path):
                product *= 1 - sum(odds[token] for token in {p[depth] for p in others})
            else:
                product *= odds[path[depth]]
        raw.append(float(product))
    return [value / sum(raw) for value in raw], sum(raw)


@pytest.mark.parametrize(
    ("options", "places"),
    [
        (("yes", "no"), 1),
        (("是", "否"), None),
        (tuple(str(n) for n in range(1, 11)), 2),
        (("person", "location", "organization", "event", "concept", "Other"), None),
        (("the ferry", "the island", "the harbour", "letter"), None),
        (("about the ferry", "about the island"), None),
        (("a", "aa", "aaa", "aab"), None),
    ],
)
def test_probabilities_are_exact(desk: Desk, options: tuple[str, ...], places: int | None) -> None:
    result = desk.run(Decide(options), model)
    odds, mass = expected(desk, options)
    assert result["probabilities"] == pytest.approx(odds, abs=1e-6)
    assert sum(result["probabilities"]) == pytest.approx(1.0)
    assert result["mass"] == pytest.approx(mass, rel=1e-5)
    assert result["text"] == options[odds.index(max(odds))]
    assert result["segments"] == [("choice", result["text"])]
    if places is not None:
        # Beside the common beginning every place after the first is one token read.
        assert desk.read == places - 1


def test_options_that_differ_at_once_need_no_token(desk: Desk) -> None:
    result = desk.run(Decide(("yes", "no", "maybe")), model)
    assert result["output_tokens"] == result["rolled_back_tokens"] == 0


@pytest.mark.parametrize("options", [(), ("yes",), ("yes", "yes"), ("yes", "")])
def test_options_without_a_choice_are_refused(options: tuple[str, ...]) -> None:
    with pytest.raises(ConstraintError):
        Decider(options, lambda text: list(text.encode()))


def test_options_that_share_their_tokens_are_refused() -> None:
    with pytest.raises(ConstraintError, match="same tokens"):
        Decider(("a", "b"), lambda text: [1])


def test_too_many_tokens_for_the_budget_are_refused(desk: Desk) -> None:
    with pytest.raises(ConstraintError, match="may be read"):
        desk.run(Decide(("the harbour office wrote", "the harbour office")), model, max_tokens=1)


def test_scores_that_are_no_numbers_are_refused(desk: Desk) -> None:
    def broken(desk: Desk, job: Job, cache: list[int]) -> NDArray[np.float32]:
        return np.full(desk.vocabulary.size, np.nan, dtype=np.float32)

    with pytest.raises(ConstraintError, match="no numbers"):
        desk.run(Decide(("yes", "no")), broken)
