"""Keeps of the lesser passages the sentences that have to do with the question.

Reading the prompt is what people wait for. The best passages are shown whole, the others as the stretches
around the question's words, each a run of whole sentences of the text as it is. The first sentence stays: it
says what a passage is about. A passage with none of the words stays whole, since it was found for its sense.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from localrag.documents import sentences
from localrag.retrieval.content_words import content_words

WHOLE = 2
"""So many of the best passages are not trimmed: where they are, an answer stands in them anywhere."""

SHARE = 0.5
"""A sentence counts if its words weigh at least this share of those of the passage's best one."""

BESIDE = 1
"""So many sentences before and behind it stay with it: what answers often stands next to what asks."""

GAP = 1
"""So many sentences between two stretches are kept too."""

Span = tuple[int, int]
"""Where a stretch begins and ends in its passage's text."""


def stretches(question: str, texts: Sequence[str]) -> list[list[Span]]:
    """For each text, best first, the stretches that are worth reading, in its order; one at least.

    A word of the question that few sentences have tells more than one that many have.
    """
    wanted = content_words(question)
    cut = [sentences.split(text) for text in texts]
    words = [
        [content_words(text[start:end]) & wanted for start, end in spans]
        for text, spans in zip(texts, cut, strict=True)
    ]
    total = sum(len(spans) for spans in cut)
    counts = Counter(word for passage in words for found in passage for word in found)
    weights = {word: math.log(1 + total / count) for word, count in counts.items()}
    scores = [[sum(weights[word] for word in found) for found in passage] for passage in words]
    return [
        [(0, len(text))] if place < WHOLE else _joined(spans, passage)
        for place, (text, spans, passage) in enumerate(zip(texts, cut, scores, strict=True))
    ]


def _joined(spans: Sequence[Span], scores: Sequence[float]) -> list[Span]:
    """The first sentence, those that score, their neighbours, small gaps closed; all if none scores."""
    least = SHARE * max(scores, default=0.0)
    kept = {0}
    for place, score in enumerate(scores):
        if score >= least:
            kept.update(range(max(place - BESIDE, 0), min(place + BESIDE + 1, len(scores))))
    runs: list[list[int]] = []
    for place in sorted(kept):
        if runs and place - runs[-1][1] <= GAP + 1:
            runs[-1][1] = place
        else:
            runs.append([place, place])
    return [(spans[first][0], spans[last][1]) for first, last in runs if spans]
