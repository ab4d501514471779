"""How likely a person who marks names would mark a candidate: fitted weights, then what overlaps it.

First the weights of a candidate's features (`word_features`, `han_features`) are added up. Then eight numbers
say what the candidates that hold it, lie in it or cross it weigh, since of two names that overlap mostly one
is meant. Both steps are logistic regressions, fitted on hand-marked texts by `tables/SOURCES.txt`; the second
one on sums that the first had not been fitted on, so that chances are neither too bold nor too shy.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import repeat
from typing import NamedTuple

from localrag.extraction.lexicon import weights

_UNLIKELY = -4.0
"""Sum under which a candidate has no say about the ones that it overlaps."""

_NONE = -9.0
"""What stands for the sum of a candidate that is not there."""

OVERLAPS = ("own", "holds", "held", "crossed", "holds+", "held+", "crossed+", "alone", "empty")
"""The numbers of the second step, under the names by which their weights stand in the tables."""


class Sighting(NamedTuple):
    """One place of a candidate."""

    start: int
    """Place of its first character in the text."""

    end: int
    """Place behind its last character."""

    features: Sequence[str]
    """What it shows."""


def sums(sightings: Mapping[str, Sequence[Sighting]], language: Mapping[str, str]) -> dict[str, float]:
    """The sum of weights of each candidate at its best place.

    `language` says for each candidate whose weights count: "words" or "han".
    """
    return {
        name: max(_sum(place.features, weights(language[name])) for place in places)
        for name, places in sightings.items()
    }


def _sum(features: Sequence[str], table: Mapping[str, float]) -> float:
    return table["bias"] + sum(map(table.get, features, repeat(0.0)))


def chances(
    sightings: Mapping[str, Sequence[Sighting]], own: Mapping[str, float], language: Mapping[str, str]
) -> dict[str, float]:
    """The chance of each candidate, from 0 to 1; `own` are the sums of the first step."""
    result = {name: _logistic(total) for name, total in own.items() if total <= _UNLIKELY}
    for name, numbers in overlaps(sightings, own).items():
        bias, *factors = _second_step(language[name])
        result[name] = _logistic(bias + sum(map(operator.mul, factors, numbers)))
    return result


@cache
def _second_step(language: str) -> list[float]:
    table = weights(language)
    return [table["over bias"], *(table[f"over {key}"] for key in OVERLAPS)]


def overlaps(
    sightings: Mapping[str, Sequence[Sighting]], own: Mapping[str, float]
) -> dict[str, tuple[float, ...]]:
    """The numbers of the second step for each candidate that is not unlikely, in the order of `OVERLAPS`.

    Of several places the one counts where it is overlapped least.
    """
    places = sorted(
        (place.start, place.end, name)
        for name, found in sightings.items()
        if own[name] > _UNLIKELY
        for place in found
    )
    holding, held, crossing = _strongest(places, own)
    best: dict[str, list[float]] = {}
    for (_, _, name), *here in zip(places, holding, held, crossing, strict=True):
        known = best.get(name)
        best[name] = here if known is None else list(map(min, known, here))
    return {name: _numbers(own[name], around) for name, around in best.items()}


def _strongest(
    places: Sequence[tuple[int, int, str]], own: Mapping[str, float]
) -> tuple[list[float], list[float], list[float]]:
    """For each place the greatest sum of those that hold it, lie in it, and cross it."""
    holding, held, crossing = ([_NONE] * len(places) for _ in range(3))
    for first, (start, end, name) in enumerate(places):
        one = own[name]
        for second in range(first + 1, len(places)):
            begin, stop, other_name = places[second]
            if begin >= end:
                break
            if name == other_name:
                continue
            other = own[other_name]
            if stop <= end:
                ours, theirs = held, holding
            else:
                ours, theirs = (holding, held) if begin == start else (crossing, crossing)
            ours[first] = max(ours[first], other)
            theirs[second] = max(theirs[second], one)
    return holding, held, crossing


def _numbers(own: float, around: Sequence[float]) -> tuple[float, ...]:
    parts = [_logistic(number) if number > _NONE else 0.0 for number in around]
    more = [max(0.0, number - own) if number > _NONE else 0.0 for number in around]
    return (own, *parts, *more, float(around[0] == _NONE), float(around[1] == _NONE))


def _logistic(number: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-40.0, min(40.0, number))))
