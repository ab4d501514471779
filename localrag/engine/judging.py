"""Which names and pairs are listed, from what a model thought of them and what was known before."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple

from localrag.engine.weighed_program import LINKS, NameWeights, PairWeights, WeighedRecords

LEAST_LOG = -20.0
"""Logarithm of a probability below which differences mean nothing."""


def name_numbers(prior: float, logs: Sequence[float]) -> tuple[float, ...]:
    """What `NameWeights` weighs, in the order of its fields behind the bias; `logs` are the logarithms of
    the name's tokens and of what ends it."""
    held = [max(log, LEAST_LOG) for log in logs]
    rest = held[1:] or held
    return prior, held[0], sum(rest) / len(rest), rest[-1], math.log(len(held))


def name_odds(weights: NameWeights, numbers: Sequence[float]) -> float:
    """Log-odds of a name."""
    return _odds(astuple(weights), numbers)


def chosen_names(program: WeighedRecords, odds: Mapping[int, float]) -> list[int]:
    """Places of the names that are listed, in the order of the text.

    The likeliest come first; one whose place crosses, holds or lies in that of a likelier one is left out.
    """
    likely = [place for place in odds if odds[place] >= program.least_name]
    likely.sort(key=lambda place: (-odds[place], place))
    chosen: list[int] = []
    for place in likely:
        if len(chosen) >= program.max_entities:
            break
        if not any(_overlap(program.spans[place], program.spans[other]) for other in chosen):
            chosen.append(place)
    return sorted(chosen)


def _overlap(left: tuple[int, int], right: tuple[int, int]) -> bool:
    return left[0] < right[1] and right[0] < left[1]


def pair_numbers(
    left: int,
    right: int,
    shares: Mapping[tuple[int, int], float],
    sentences: Sequence[Sequence[int]],
    link: str = "",
) -> tuple[float, ...]:
    """What `PairWeights` weighs, in the order of its fields behind the bias.

    `left` < `right` are numbers of entities in the order of the text, `shares` holds for (source, target)
    the logarithm of the target's probability among all others, `sentences` those of each entity, `link` is
    what stands between the two.
    """
    ahead = max(shares.get((left, right), LEAST_LOG), LEAST_LOG)
    back = max(shares.get((right, left), LEAST_LOG), LEAST_LOG)
    return (
        ahead,
        back,
        max(ahead, back),
        float(right - left == 1),
        math.log(right - left),
        float(left == 0),
        float(bool(set(sentences[left]) & set(sentences[right]))),
        math.log(len(sentences)),
        *(float(link == kind) for kind in LINKS),
    )


def pair_odds(weights: PairWeights, numbers: Sequence[float]) -> float:
    """Log-odds of a pair."""
    return _odds(astuple(weights), numbers)


def chosen_pairs(
    program: WeighedRecords,
    odds: Mapping[tuple[int, int], float],
    shares: Mapping[tuple[int, int], float],
    names: int,
) -> list[tuple[int, int]]:
    """The pairs of `names` entities that are joined, the likeliest up to the bounds, ordered by their ends.

    Each goes in the direction that the model finds likelier.
    """
    most = program.max_relations
    if program.pairs_per_name:
        most = min(most, math.ceil(program.pairs_per_name * names))
    likely = sorted(
        (pair for pair in odds if odds[pair] >= program.least_pair), key=lambda pair: (-odds[pair], pair)
    )
    turned = [
        (left, right) if shares.get((left, right), 0.0) >= shares.get((right, left), 0.0) else (right, left)
        for left, right in likely[:most]
    ]
    return sorted(turned)


def _odds(weights: Sequence[float], numbers: Sequence[float]) -> float:
    """The bias, which comes first among the weights, and the weighted numbers."""
    bias, *factors = weights
    return bias + sum(factor * number for factor, number in zip(factors, numbers, strict=True))
