"""Weighing: the logarithms of the tokens of many texts, by the definition, at the cost of their tree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.engine.weighing import Weigher
from localrag.errors import ConstraintError
from tests.engine.desk import Desk
from tests.engine.test_decide import scores_of

PATHS = st.lists(
    st.lists(st.integers(0, 4), min_size=1, max_size=4).map(tuple), min_size=1, max_size=8, unique=True
)


@pytest.fixture(scope="module")
def desk(random_gguf: Path) -> Desk:
    return Desk(random_gguf)


def walk(desk: Desk, weigher: Weigher) -> int:
    """Let a model be asked wherever the weigher wants to go; how many tokens it read."""
    place: list[int] = []
    read = 0
    while not weigher.done:
        move = weigher.take(scores_of(desk, place))
        if move is None:
            assert weigher.leave == len(place)
            break
        assert move.back <= len(place)
        place = [*place[: len(place) - move.back], *move.tokens]
        read += len(move.tokens)
    return read


@given(paths=PATHS)
def test_logarithms_are_those_of_the_model(desk: Desk, paths: list[tuple[int, ...]]) -> None:
    weigher = Weigher(paths)
    assert walk(desk, weigher) == weigher.cost
    for path in paths:
        for depth, log in enumerate(weigher.logs(path)):
            scores = scores_of(desk, list(path[:depth])).astype(np.float64)
            odds = np.exp(scores - scores.max())
            assert np.exp(log) == pytest.approx(odds[path[depth]] / odds.sum(), rel=1e-4)


def test_what_texts_share_is_read_once(desk: Desk) -> None:
    weigher = Weigher([(1, 2, 3), (1, 2, 4), (1, 5), (6,)])
    assert walk(desk, weigher) == weigher.cost == 2


def test_nothing_to_weigh_is_done_at_once() -> None:
    weigher = Weigher([])
    assert weigher.done
    assert weigher.cost == weigher.leave == 0


def test_scores_that_are_no_numbers_are_refused(desk: Desk) -> None:
    with pytest.raises(ConstraintError, match="no numbers"):
        Weigher([(1,)]).take(np.full(desk.vocabulary.size, np.nan, dtype=np.float32))
