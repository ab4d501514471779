"""Finds the entities that a question names, by their keys and without a model."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence

from localrag.graph.names import CJK, fold
from localrag.store.database import Store
from localrag.store.filters import Ids
from localrag.store.function_words import ENGLISH
from localrag.store.graph_rows import EntityRow
from localrag.store.space_rows import Hit

_TOKEN = re.compile(rf"[{CJK}]+|[\uac00-\ud7a3]+|(?:(?![{CJK}\uac00-\ud7a3])\w)+")
_UNSPACED = re.compile(rf"[{CJK}]")
_HANGUL = re.compile(r"[\uac00-\ud7a3]")
_JOINED = re.compile(rf"[{CJK}]+(?:[·・•‧][{CJK}]+)+")
_POINT = re.compile("[·・•‧]")
_MAX_PART = 8
_MAX_WORDS = 6
_MAX_CHARACTERS = 12
_SEARCHED = 6_000


Spans = dict[str, list[tuple[int, int]]]
"""Where a question may hold a name, by the name's key."""


def named_entities(
    store: Store, question: str, limit: int, allowed: Ids | None = None
) -> list[tuple[EntityRow, Hit]]:
    """Entities whose name or alias is a run of words or characters of the question, best first.

    A name inside a longer name that is an entity too does not count. Long and rare names come first. Of a
    question as long as a document, only the beginning is looked through. `allowed`, if given, are the only
    entities that count.
    """
    spans = named_spans(question)
    found = store.graph.find_named(spans)
    if allowed is not None:
        found = [(key, row) for key, row in found if row.id in allowed]
    scores = score_names(question, spans, [(key, row.mentions) for key, row in found])
    hits: dict[int, tuple[EntityRow, Hit]] = {}
    for (_, row), score in zip(found, scores, strict=True):
        if score > (hits[row.id][1].score if row.id in hits else 0.0):
            hits[row.id] = (row, Hit(row.id, score))
    return sorted(hits.values(), key=lambda pair: (-pair[1].score, pair[0].id))[:limit]


def named_spans(question: str) -> Spans:
    """Runs of words or characters of a question that may be names; of a long one only of the beginning."""
    spans: Spans = {}
    searched = question[:_SEARCHED]
    for key, span in itertools.chain(_keys(searched), _joined(searched)):
        spans.setdefault(key, []).append(span)
    return spans


def score_names(question: str, spans: Spans, found: Sequence[tuple[str, int]]) -> list[float]:
    """How well each name says what a question is about: long and rare ones best.

    `found` holds keys of `spans` with how often each name is there. One that stands only inside a longer one
    of them has 0.
    """
    taken = [span for key, _ in found for span in spans.get(key, ())]
    scores = []
    for key, count in found:
        free = [span for span in spans.get(key, ()) if not inside_longer(span, taken)]
        scores.append(_score(question, free[0], count) if free else 0.0)
    return scores


def _keys(question: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Folded runs of the question that may be a name, with their spans."""
    tokens = [match.span() for match in _TOKEN.finditer(question)]
    for place, (start, end) in enumerate(tokens):
        first = question[start:end]
        ends = [] if _is_function_word(first, leads=place == 0) else [end]
        ends += [last for _, last in tokens[place + 1 : place + _MAX_WORDS]]
        if _HANGUL.match(first):
            # A Korean noun carries its particle as an ending.
            ends += range(start + 2, end)
        for last in ends:
            yield fold(question[start:last]), (start, last)
        if _UNSPACED.match(first):
            yield from _within(first, start)


def _joined(question: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Foreign names in Chinese, whose parts a point joins; the first may begin and the last end anywhere."""
    for match in _JOINED.finditer(question):
        points = [match.start() + point.start() for point in _POINT.finditer(match.group())]
        for place, first in enumerate(points):
            before = points[place - 1] + 1 if place else match.start()
            for later, last in enumerate(points[place : place + _MAX_WORDS], start=place):
                behind = points[later + 1] if later + 1 < len(points) else match.end()
                for start in range(max(before, first - _MAX_PART), first):
                    for end in range(last + 2, min(behind, last + 1 + _MAX_PART) + 1):
                        yield fold(question[start:end]), (start, end)


def _within(run: str, offset: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """Runs of two characters and more inside a text without blanks.

    The whole is folded at once, because its parts are many; forms that change their length are left out.
    """
    folded = fold(run)
    if len(folded) != len(run):
        return
    for left in range(len(run) - 1):
        for right in range(left + 2, min(left + _MAX_CHARACTERS, len(run)) + 1):
            yield folded[left:right], (offset + left, offset + right)


def _is_function_word(word: str, *, leads: bool) -> bool:
    """`who` is one; `WHO`, and `Will` behind the first word, may be names."""
    capital = word[:1].isupper() and not leads
    return word.casefold() in ENGLISH and not capital and not (word.isupper() and len(word) > 1)


def inside_longer(span: tuple[int, int], others: Sequence[tuple[int, int]]) -> bool:
    """Whether a place lies within a longer one."""
    return any(
        left <= span[0] and span[1] <= right and right - left > span[1] - span[0] for left, right in others
    )


def _score(question: str, span: tuple[int, int], mentions: int) -> float:
    name = question[span[0] : span[1]]
    unspaced = len(_UNSPACED.findall(name))
    words = unspaced / 2 if unspaced else len(name.split())
    return words / (1 + math.log1p(mentions))
