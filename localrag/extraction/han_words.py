"""Cuts Chinese into words: the likeliest ones by the shipped table, foreign names whole.

A character that belongs to no word of the table stands alone; names that are unknown come out as a few such
characters, which the spans of `han_spans` join again.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from localrag.extraction.foreign_names import joined_names
from localrag.extraction.han_cutting import cuts
from localrag.extraction.lexicon import chinese_words
from localrag.extraction.tokens import Token

FOREIGN = "F0"
"""Class of a foreign name whose parts are joined by a point or hyphen."""


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
    names = joined_names(source[begin : run[-1].end])
    return {begin + start: begin + end for start, end in names}


def _letters(token: Token) -> str:
    if token.kind == "dot":
        return "dot"
    first = token.text[0]
    return "LC" if first.isupper() else "Ld" if first.isdigit() else "Ll"


def _cut(run: Sequence[Token]) -> Iterator[Unit]:
    """The likeliest words of neighbouring characters."""
    known = chinese_words()
    text = "".join(token.text for token in run)
    for start, end in itertools.pairwise(cuts(text)):
        word = text[start:end]
        yield Unit(run[start].start, run[end - 1].end, word, known.get(word, "?"))
