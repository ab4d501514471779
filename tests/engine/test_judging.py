"""Which names and pairs are listed, by hand-worked numbers."""

from __future__ import annotations

import math

import pytest

from localrag.engine.judging import (
    LEAST_LOG,
    chosen_names,
    chosen_pairs,
    chosen_phrases,
    chosen_types,
    name_numbers,
    name_odds,
    pair_numbers,
    pair_odds,
)
from localrag.engine.programs import from_dict, offered, to_dict
from localrag.engine.weighed_program import (
    LINKS,
    NameWeights,
    PairWeights,
    WeighedRecords,
    checked,
    weighed_records,
)
from localrag.errors import ConstraintError


def program(**changes: object) -> WeighedRecords:
    """Three names, the second inside the first."""
    values: dict[str, object] = {
        "names": ("Mira Holt", "Holt", "Sele"),
        "priors": (1.0, 2.0, -1.0),
        "spans": ((0, 9), (5, 9), (20, 24)),
        "sentences": ((0,), (0,), (0, 1)),
        "types": ("person", "place"),
        **changes,
    }
    return WeighedRecords(**values)  # type: ignore[arg-type]


def test_numbers_of_a_name() -> None:
    prior, first, rest, close, tokens = name_numbers(0.5, (-1.0, -2.0, -4.0))
    assert (prior, first, rest, close) == (0.5, -1.0, -3.0, -4.0)
    assert tokens == pytest.approx(math.log(3))
    assert name_numbers(0.0, (-math.inf, -1.0))[1] == LEAST_LOG


def test_odds_are_a_weighted_sum() -> None:
    weights = NameWeights(bias=1, prior=2, first=3, rest=4, close=5, tokens=6)
    assert name_odds(weights, (1, 10, 100, 1000, 10000)) == 1 + 2 + 30 + 400 + 5000 + 60000
    pair = PairWeights(*range(1, 16))
    assert pair_odds(pair, [1.0] * 14) == sum(range(1, 16))


def test_of_names_that_overlap_the_likelier_is_listed() -> None:
    assert chosen_names(program(), {0: 1.0, 1: 2.0, 2: 0.5}) == [1, 2]
    assert chosen_names(program(), {0: 2.0, 1: 1.0, 2: -0.5}) == [0]
    assert chosen_names(program(max_entities=1), {0: 1.0, 2: 3.0}) == [2]
    assert chosen_names(program(least_name=-1.0), {2: -0.5}) == [2]


def test_numbers_of_a_pair() -> None:
    names = program(sentences=((0,), (0,), (0, 1)))
    shares = {(0, 2): -1.0, (2, 0): -3.0}
    numbers = pair_numbers(names, [0, 1, 2], (0, 2), shares, "aside")
    assert numbers[:3] == (-1.0, -3.0, -1.0)
    assert numbers[3:8] == (0.0, math.log(2), 1.0, 1.0, math.log(3))
    assert numbers[8:11] == tuple(float(kind == "aside") for kind in LINKS)
    # In one sentence; one of them stands in two; both in the first.
    assert numbers[11:] == (0.0, 1.0, 2.0)


def test_numbers_of_a_pair_in_neighbouring_sentences_and_in_none() -> None:
    names = program(sentences=((0,), (1, 3), ()))
    beside = pair_numbers(names, [0, 1, 2], (0, 1), {(1, 0): -1.0})
    assert beside[:4] == (LEAST_LOG, -1.0, -1.0, 1.0)
    assert (beside[6], *beside[11:]) == (0.0, 1.0, 1.0, 1.0)
    nowhere = pair_numbers(names, [1, 2], (0, 1), {})
    # The model was not asked.
    assert nowhere[:3] == (0.0, 0.0, 0.0)
    assert (nowhere[6], *nowhere[11:]) == (0.0, 0.0, 1.0, 0.0)


def test_the_likeliest_type_is_chosen_the_first_of_equal_ones() -> None:
    logs = [(-0.1, -2.0), (-0.9, -0.2), (-1.0, -1.0)]
    assert chosen_types(program(even_types=1.0), logs, ()) == ["person", "place", "person"]
    assert chosen_types(program(), [], ()) == []


def test_a_type_that_is_likely_everywhere_counts_less() -> None:
    logs, common = [(-0.1, -3.0), (-0.2, -0.9)], (-0.1, -2.0)
    assert chosen_types(program(), logs, common) == ["person", "person"]
    assert chosen_types(program(even_types=1.0), logs, common) == ["person", "place"]
    assert chosen_types(program(even_types=0.1), logs, common) == ["person", "person"]


def test_a_phrase_comes_with_its_direction() -> None:
    wanted = program(phrases=("knows", "owns"))
    # What counts is which of the phrases, not how likely any of them was.
    logs = {(0, 2): (-1.0, -3.0), (2, 0): (-9.0, -12.0), (0, 1): (-1.0, -1.0), (1, 0): (-1.0, -1.0)}
    assert chosen_phrases(wanted, [(0, 2), (0, 1)], logs) == [(0, 1, "knows"), (2, 0, "knows")]
    assert chosen_phrases(wanted, [], {}) == []


def test_a_phrase_that_the_text_favours_everywhere_counts_less() -> None:
    logs = {(0, 1): (-0.1, -3.0), (1, 0): (-0.1, -3.0), (0, 2): (-0.1, -3.0), (2, 0): (-0.4, -1.2)}
    pairs = [(0, 1), (0, 2)]
    raw = chosen_phrases(program(phrases=("knows", "owns")), pairs, logs)
    even = chosen_phrases(program(phrases=("knows", "owns"), even_phrases=1.0), pairs, logs)
    assert raw == [(0, 1, "knows"), (0, 2, "knows")]
    assert even[1] == (2, 0, "owns")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"types": ("a\nb",)}, "one line"),
        ({"phrases": (" ",)}, "one line"),
        ({"types": ("a", "a")}, "told apart"),
        ({"phrase_words": 0}, "room"),
    ],
)
def test_what_cannot_stand_on_a_line_is_refused(changes: dict[str, object], words: str) -> None:
    checked(program())
    with pytest.raises(ConstraintError, match=words):
        checked(program(**changes))


def test_pairs_go_in_the_likelier_direction_and_the_likeliest_stay() -> None:
    odds = {(0, 1): 2.0, (0, 2): 1.0, (1, 2): -1.0}
    shares = {(0, 1): -3.0, (1, 0): -1.0, (0, 2): -1.0, (2, 0): -1.0}
    assert chosen_pairs(program(), odds, shares, 3) == [(0, 2), (1, 0)]
    assert chosen_pairs(program(max_relations=1), odds, shares, 3) == [(1, 0)]
    assert chosen_pairs(program(least_pair=5.0), odds, shares, 3) == []
    assert chosen_pairs(program(pairs_per_name=0.3), odds, shares, 3) == [(1, 0)]


def test_a_program_comes_back_from_json() -> None:
    before = program(links=((0, 2, "bound"),), name_weights=NameWeights(rest=0.5), explain=True)
    assert from_dict(to_dict(before)) == before == weighed_records(to_dict(before))


def test_lists_of_different_lengths_are_refused() -> None:
    with pytest.raises(ConstraintError, match="go together"):
        program(priors=(1.0,))


def test_an_engine_that_cannot_weigh_is_offered_the_likely_names() -> None:
    lean = offered(program(max_relations=3))
    assert lean.names == ("Mira Holt", "Holt")
    assert lean.loose
    assert lean.max_relations == 3
