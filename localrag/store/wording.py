"""What several passages say of one thing, put together without a model: each said once, joined, cut short."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")

_LOOKED_AT = 500
"""Descriptions among which the telling ones are looked for; more are thinned out evenly first."""

_ENDS = " \t\n.。．!！;；,，、"
_STOPPED = re.compile(r"[.!?…。！？．;；:：][\"'”’」』）)\]]*$")
_HAN = re.compile("[\u3000-\u30ff\u3400-\u9fff\uf900-\uffef]$")
_WORD = re.compile("[\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff]|[^\\W_]+")


def likeness(text: str) -> str:
    """What two texts share that say the same: case, blanks and the stop at the end do not count."""
    return " ".join(text.casefold().split()).rstrip(_ENDS)


def distinct(texts: Iterable[str]) -> list[str]:
    """The texts in their order, without empty ones and without those that say the same as one before."""
    found: dict[str, str] = {}
    for text in texts:
        if said := likeness(text):
            found.setdefault(said, text)
    return list(found.values())


def joined(texts: Iterable[str]) -> str:
    """Descriptions as one running text: each once, with a stop between where there is none."""
    parts: list[str] = []
    for text in distinct(texts):
        if parts:
            before = parts[-1]
            han = bool(_HAN.search(before))
            stop = "" if _STOPPED.search(before) else "；" if han else ";"
            parts.append(stop + ("" if han else " "))
        parts.append(text.strip())
    return "".join(parts)


def gist(texts: Iterable[str], most: int) -> list[str]:
    """Those descriptions that together tell most in about `most` characters, in their order; at least one.

    One after the other that one is taken which adds most new words for its length, so that a thing with a
    thousand descriptions is told in a few. The same texts always give the same choice.
    """
    said = distinct(texts)
    if sum(map(len, said)) <= most:
        return said
    left = dict(enumerate(spread(said, _LOOKED_AT)))
    words = {place: frozenset(_words(text)) for place, text in left.items()}
    known: set[str] = set()
    chosen: dict[int, str] = {}
    room = most
    while left:
        place = max(left, key=lambda item: (_worth(words[item], known, left[item]), -item))
        if chosen and not words[place] - known:
            break
        chosen[place] = left.pop(place)
        known |= words[place]
        room -= len(chosen[place])
        left = {item: text for item, text in left.items() if len(text) <= room}
    return [chosen[place] for place in sorted(chosen)]


def spread(items: Sequence[T], most: int) -> list[T]:
    """At most so many of the items, evenly spread over all of them; the first and the last are among them."""
    count = len(items)
    if count <= most:
        return list(items)
    if most == 1:
        return [items[0]]
    return [items[place * (count - 1) // (most - 1)] for place in range(most)]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _worth(words: frozenset[str], known: set[str], text: str) -> float:
    """New words for the length; a short text has no advantage below some length."""
    return len(words - known) / max(len(text), 40)
