"""Weighing: the logarithms of the tokens of many texts, by the definition, at the cost of their tree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.engine.decide import Move
from localrag.engine.weighing import RUN, Weigher, telling
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
    if not weigher.done and not weigher.asks:
        place = list(weigher.begin().tokens)
        read = len(place)
    while not weigher.done:
        assert 0 < weigher.asks <= max(len(place), 1)
        for before in reversed(range(weigher.asks)):
            move = weigher.take(scores_of(desk, place[: len(place) - before]))
            assert move is None or not before
        if move is None:
            assert weigher.leave == len(place)
            return read
        assert move.back <= len(place)
        assert 0 < len(move.tokens) <= RUN
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


def test_a_row_of_places_is_one_move_of_bounded_length(desk: Desk) -> None:
    weigher = Weigher([tuple(range(40)), (7, 8, 9)])
    assert weigher.take(scores_of(desk, [])) == Move(0, tuple(range(RUN)))
    assert weigher.asks == RUN
    whole = Weigher([tuple(range(40)), (7, 8, 9)])
    assert walk(desk, whole) == whole.cost == 41


def test_without_the_root_first_tokens_are_not_asked_for(desk: Desk) -> None:
    weigher = Weigher([(1, 2), (1, 3), (4, 5)], root=False)
    assert walk(desk, weigher) == weigher.cost == 2
    assert weigher.log((1, 3), 1) == weighed_log(desk, (1, 3))
    with pytest.raises(KeyError):
        weigher.logs((1, 3))
    assert Weigher([], root=False).done


def weighed_log(desk: Desk, path: tuple[int, ...]) -> float:
    """The logarithm of a path's last token, weighed with the root."""
    weigher = Weigher([path])
    walk(desk, weigher)
    return weigher.logs(path)[-1]


@given(paths=PATHS)
def test_texts_are_cut_where_they_are_told_apart(paths: list[tuple[int, ...]]) -> None:
    cut = telling(paths)
    for path, short in zip(paths, cut, strict=True):
        assert short == path[: len(short)]
        others = [other for other in paths if other != path]
        assert short == path or not any(other[: len(short)] == short for other in others)
        # One token fewer would not tell.
        assert len(short) == 1 or any(other[: len(short) - 1] == short[:-1] for other in others)


def test_nothing_to_weigh_is_done_at_once() -> None:
    weigher = Weigher([])
    assert weigher.done
    assert weigher.cost == weigher.leave == 0


def test_scores_that_are_no_numbers_are_refused(desk: Desk) -> None:
    with pytest.raises(ConstraintError, match="no numbers"):
        Weigher([(1,)]).take(np.full(desk.vocabulary.size, np.nan, dtype=np.float32))
