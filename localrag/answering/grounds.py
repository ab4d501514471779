"""Tells which sentences of a text a statement rests on, so that a citation shows no more than these."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from localrag.answering.particulars import Ground, Particulars

PARTICULAR = 1.5
"""Weight of a name, a number, a time or a quotation; a word that one sentence of many has weighs more."""

LEAST_NEW = 0.13
"""A further sentence must add this share of what the statement says."""

BESIDE = 0.04
"""What a sentence gains that stands beside one which was chosen."""

MOST = 5
"""Most sentences."""

ASKED = 0.5
"""Weight of what the question says, beside 1 of what the statement says."""

Term = tuple[str, str]


def supporting(
    statement: Particulars, grounds: Sequence[Ground], asked: Particulars | None = None
) -> list[int]:
    """Places of the sentences that support a statement, the best one first; empty if none shares anything.

    `grounds` are the sentences of a text in their order. `asked` is the question, where the statement is an
    answer: a short one says little by itself.
    """
    held, total = _held(statement, grounds)
    if asked is not None:
        more, further = _held(asked, grounds)
        total += ASKED * further
        for own, other in zip(held, more, strict=True):
            own.update({term: ASKED * weight for term, weight in other.items() if term not in own})
    return _covering(held, total)


def _held(found: Particulars, grounds: Sequence[Ground]) -> tuple[list[dict[Term, float]], float]:
    """What each sentence has of the statement, by weight, and the weight of the whole statement."""
    many = len(grounds)
    counts = {word: sum(word in ground.words for ground in grounds) for word in found.words}
    weights = {word: math.log1p(many / max(count, 1)) for word, count in counts.items()}
    held = []
    for ground in grounds:
        terms: dict[Term, float] = {("word", word): weights[word] for word in found.words & ground.words}
        terms.update(dict.fromkeys(_particulars(found, ground), PARTICULAR))
        held.append(terms)
    return held, sum(weights.values()) + PARTICULAR * found.count


def _particulars(found: Particulars, ground: Ground) -> Iterator[Term]:
    yield from (("name", name) for name in found.names if ground.has_name(name))
    yield from (("number", item.text) for item in found.numbers if ground.has_number(item))
    yield from (("time", text) for text, time in found.times if ground.has_time(text, time))
    yield from (("quote", quote) for quote in found.quotes if ground.has_quote(quote))


def _covering(held: Sequence[Mapping[Term, float]], total: float) -> list[int]:
    """Sentences chosen one after the other, each for what those before leave unsaid."""
    left = {term for terms in held for term in terms}
    chosen: list[int] = []
    while left and len(chosen) < MOST:
        gains = {}
        for place, terms in enumerate(held):
            if place in chosen or not terms:
                continue
            beside = any(abs(place - other) == 1 for other in chosen)
            new = sum(weight for term, weight in terms.items() if term in left)
            gains[place] = new + BESIDE * total * beside
        if not gains:
            break
        place = max(gains, key=lambda n: (gains[n], -n))
        if gains[place] <= 0 or (chosen and gains[place] < LEAST_NEW * total):
            break
        chosen.append(place)
        left.difference_update(held[place])
    return chosen
