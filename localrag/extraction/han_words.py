"""Cuts Chinese into words: the likeliest ones by the shipped table, foreign names whole.

A character that belongs to no word of the table stands alone; names that are unknown come out as a few such
characters, which the spans of `han_spans` join again.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from localrag.extraction.lexicon import chinese_words
from localrag.extraction.tokens import Token
from localrag.extraction.words import HAN_TRANSLITERATION

MAX_WORD = 4
"""Most characters of a word of the table."""

FOREIGN = "F0"
"""Class of a foreign name whose parts are joined by a point or hyphen."""

_TOTAL = math.log(60e6)
_UNKNOWN = _TOTAL + 1.0
_SOUNDS = f"[{''.join(sorted(HAN_TRANSLITERATION))}]"
_DOT = "[·・•‧－-]"
_JOINED_FOREIGN = re.compile(rf"{_SOUNDS}{{1,8}}(?:{_DOT}(?:{_SOUNDS}{{1,8}}|[A-Z](?![A-Za-z])))+")


class Unit(NamedTuple):
    """A Chinese word, a word in other letters, a point inside a name, or a break."""

    start: int
    """Place of its first character."""

    end: int
    """Place behind its last character."""

    text: str
    """As it stands in the chunk."""

    kind: str
    """Class and frequency of a Chinese word; LC, Ld or Ll for other letters; "?", "dot" or "brk"."""


def units(source: str, run: Sequence[Token]) -> list[Unit]:
    """The units of the tokens between two breaks."""
    found: list[Unit] = []
    foreign = _foreign(source, run)
    place = 0
    while place < len(run):
        token = run[place]
        stop = foreign.get(token.start)
        if stop is not None:
            found.append(Unit(token.start, stop, source[token.start : stop], FOREIGN))
            while place < len(run) and run[place].start < stop:
                place += 1
        elif token.kind == "han":
            end = place + 1
            while end < len(run) and run[end].kind == "han" and run[end].start not in foreign:
                end += 1
            found.extend(_cut(run[place:end]))
            place = end
        else:
            found.append(Unit(token.start, token.end, token.text, _letters(token)))
            place += 1
    return found


def _foreign(source: str, run: Sequence[Token]) -> dict[int, int]:
    """Where names joined by points begin, each with its end."""
    if not any(token.kind == "dot" for token in run):
        return {}
    begin = run[0].start
    matches = _JOINED_FOREIGN.finditer(source[begin : run[-1].end])
    return {begin + match.start(): begin + match.end() for match in matches}


def _letters(token: Token) -> str:
    if token.kind == "dot":
        return "dot"
    first = token.text[0]
    return "LC" if first.isupper() else "Ld" if first.isdigit() else "Ll"


def _cut(run: Sequence[Token]) -> Iterator[Unit]:
    """The likeliest words of neighbouring characters."""
    known = chinese_words()
    text = "".join(token.text for token in run)
    cuts = _cuts(text)
    for start, end in itertools.pairwise(cuts):
        word = text[start:end]
        yield Unit(run[start].start, run[end - 1].end, word, known.get(word, "?"))


def _cuts(text: str) -> list[int]:
    """The borders of the words with the least sum of costs, ends included."""
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
