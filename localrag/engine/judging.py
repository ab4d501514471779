"""Which names and pairs are listed, from what a model thought of them and what was known before."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple

from localrag.engine.weighed_program import LINKS, NameWeights, PairWeights, WeighedRecords

_FAR = 9
"""Sentences between two names of which one stands in none."""

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
    program: WeighedRecords,
    listed: Sequence[int],
    pair: tuple[int, int],
    shares: Mapping[tuple[int, int], float],
    link: str = "",
) -> tuple[float, ...]:
    """What `PairWeights` weighs, in the order of its fields behind the bias.

    `listed` are the places of the entities in the program's lists, `pair` the numbers of two of them, the
    smaller one first, `shares` holds for (source, target) the logarithm of the target's probability among all
    others; for none the model was not asked. `link` is what stands between the two.
    """
    left, right = pair
    ends = listed[left], listed[right]
    ahead = max(shares.get((left, right), LEAST_LOG), LEAST_LOG) if shares else 0.0
    back = max(shares.get((right, left), LEAST_LOG), LEAST_LOG) if shares else 0.0
    sentences = [program.sentences[end] for end in ends]
    apart = min((abs(one - other) for one in sentences[0] for other in sentences[1]), default=_FAR)
    return (
        ahead,
        back,
        max(ahead, back),
        float(right - left == 1),
        math.log(right - left),
        float(left == 0),
        float(apart == 0),
        math.log(len(listed)),
        *(float(link == kind) for kind in LINKS),
        float(apart == 1),
        float(sum(len(numbers) > 1 for numbers in sentences)),
        float(sum(0 in numbers for numbers in sentences)),
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


def chosen_types(
    program: WeighedRecords, logs: Sequence[Sequence[float]], common: Sequence[float]
) -> list[str]:
    """The likeliest type of each name, from the logarithms of the types' probabilities behind the names.

    `common` are those behind a word that names nothing: a type that is likely there is likely everywhere, and
    so much of it as `even_types` says is taken off. It is empty if there is no such word.
    """
    means = common or [0.0] * len(program.types)
    found = []
    for row in logs:
        odds = [log - program.even_types * mean for log, mean in zip(row, means, strict=True)]
        found.append(program.types[odds.index(max(odds))])
    return found


def chosen_phrases(
    program: WeighedRecords,
    pairs: Sequence[tuple[int, int]],
    logs: Mapping[tuple[int, int], Sequence[float]],
) -> list[tuple[int, int, str]]:
    """Direction and phrase of each pair, from the logarithms of the phrases' probabilities either way.

    A phrase that is likely behind all pairs of the text says little of one of them: so much of its mean as
    `even_phrases` says is taken off.
    """
    rows = {way: _among_themselves(row) for way, row in logs.items()}
    means = [sum(column) / len(rows) for column in zip(*rows.values(), strict=True)]
    found = []
    for left, right in pairs:
        options = [
            (value - program.even_phrases * means[place], way == (left, right), -place)
            for way in ((left, right), (right, left))
            for place, value in enumerate(rows[way])
        ]
        _, straight, place = max(options)
        ends = (left, right) if straight else (right, left)
        found.append((*ends, program.phrases[-place]))
    return sorted(found)


def _among_themselves(logs: Sequence[float]) -> list[float]:
    """The logarithms of probabilities that sum to 1."""
    top = max(logs)
    total = top + math.log(sum(math.exp(log - top) for log in logs))
    return [log - total for log in logs]


def _odds(weights: Sequence[float], numbers: Sequence[float]) -> float:
    """The bias, which comes first among the weights, and the weighted numbers."""
    bias, *factors = weights
    return bias + sum(factor * number for factor, number in zip(factors, numbers, strict=True))
