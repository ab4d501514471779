"""Cuts a stretch of Chinese characters into the likeliest words of the shipped table."""

from __future__ import annotations

import math
from functools import cache

from localrag.extraction.lexicon import chinese_words

MAX_WORD = 4
"""Most characters of a word of the table."""

_TOTAL = math.log(60e6)
_UNKNOWN = _TOTAL + 1.0


def cuts(text: str) -> list[int]:
    """The borders of the words with the least sum of costs, both ends of the text included.

    A character that belongs to no word stands alone.
    """
    known, costs = chinese_words(), _costs()
    size = len(text)
    least = [0.0] + [math.inf] * size
    back = [0] * (size + 1)
    for start in range(size):
        so_far = least[start]
        for end in range(start + 1, min(start + MAX_WORD, size) + 1):
            kind = known.get(text[start:end])
            if kind is not None:
                cost = so_far + costs[kind]
            elif end == start + 1:
                cost = so_far + _UNKNOWN
            else:
                continue
            if cost < least[end]:
                least[end], back[end] = cost, start
    borders = [size]
    while borders[-1]:
        borders.append(back[borders[-1]])
    return borders[::-1]


@cache
def _costs() -> dict[str, float]:
    """What a word of each class and frequency costs: the negative logarithm of its probability."""
    return {kind: _TOTAL - (2 * int(kind[1]) + 1) * math.log(2) for kind in set(chinese_words().values())}
