"""Tells by its words which sources an answer rests on.

A small model that lists its sources behind the answer mostly lists the first ones, whatever it used. What
it used can be seen: the answer's words stand there. A word that few sources have says more than one that all
have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from localrag.retrieval.context import Source
from localrag.retrieval.types import EntityHit, Passage
from localrag.store.function_words import ENGLISH

LEAST_KNOWN = 0.3
"""Share of the answer's words that must stand in some source, or its words tell nothing; an answer in another
language than its sources is such a case."""

LEAST_NEW = 0.2
"""A further source must add this share of the words that the sources explain."""

LEAST_LISTED = 0.5
"""A source that the model lists counts if it explains this share of what the best one does."""

PASSAGE_BONUS = 1.25
"""A passage is the text itself, so it goes before an entity or a relation that explains hardly more."""

_WORD = re.compile(r"[^\W\d_]{3,}|\d+")
_WIDE = re.compile(r"[\u2e80-\ud7ff]+")


def resting_on(body: str, sources: Sequence[Source], listed: Sequence[int]) -> list[int]:
    """Numbers of the sources that explain an answer, the one that explains most first.

    `listed` are the numbers that the model named itself. They are the result where the words tell nothing;
    else they are added if the source explains much of the answer too.
    """
    words = words_of(body)
    shared = {source.number: words & words_of(_text(source)) for source in sources}
    counts = Counter(word for known in shared.values() for word in known)
    if not words or len(counts) < LEAST_KNOWN * len(words):
        return [number for number in listed if number in shared]
    weights = {word: 1 / count for word, count in counts.items()}
    bonus = {s.number: PASSAGE_BONUS if isinstance(s.item, Passage) else 1.0 for s in sources}
    chosen = _covering(shared, weights, bonus)
    best = _weight(shared[chosen[0]], weights)
    also = [number for number in dict.fromkeys(listed) if number in shared and number not in chosen]
    return chosen + [n for n in also if _weight(shared[n], weights) >= LEAST_LISTED * best]


def _covering(
    shared: Mapping[int, set[str]], weights: Mapping[str, float], bonus: Mapping[int, float]
) -> list[int]:
    """Sources chosen one after the other, each for the words that those before leave unexplained."""
    total = sum(weights.values())
    left = set(weights)
    chosen: list[int] = []
    while left:
        gains = {number: _weight(known & left, weights) for number, known in shared.items()}
        number = max(gains, key=lambda n: (gains[n] * bonus[n], -n))
        if chosen and gains[number] < LEAST_NEW * total:
            break
        chosen.append(number)
        left -= shared[number]
    return chosen


def _weight(words: Collection[str], weights: Mapping[str, float]) -> float:
    return sum(weights[word] for word in words)


def _text(source: Source) -> str:
    item = source.item
    if isinstance(item, Passage):
        return item.text
    if isinstance(item, EntityHit):
        return f"{item.name} {item.description}"
    return f"{item.source} {item.target} {item.keywords} {item.description}"


def words_of(text: str) -> set[str]:
    """Words and numbers without function words; pairs of characters of scripts without blanks."""
    folded = text.casefold()
    pairs = {run[i : i + 2] for run in _WIDE.findall(folded) for i in range(len(run) - 1)}
    words = {word for word in _WORD.findall(_WIDE.sub(" ", folded)) if word not in ENGLISH}
    return words | pairs
