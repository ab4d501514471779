"""How sure it is that the documents hold the answer, told by the question's words before a model reads.

A search always finds something. Where the documents hold an answer, the rare words of the question mostly
stand together: in one sentence, or in two places of which one leads to the other. The weights are those of a
logistic regression over open questions with and without an answer in their documents; Chinese, whose pairs
of characters match less often, has weights of its own. Whether a small model would refuse tells less than
this (it was measured), so it is not asked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from localrag.documents import language, sentences
from localrag.retrieval.content_words import content_words
from localrag.retrieval.layout import Item
from localrag.retrieval.types import EntityHit, Passage, Retrieved
from localrag.store.database import Store

SEARCHED = frozenset({"naive", "local", "hybrid", "mix", "path"})
"""Modes in which a question asks for something that is written somewhere; what `global` finds sums up."""

_LOOKED_AT = 2_000
_FEW = 2
_MOST_PLACES = 120
_WORD = re.compile(r"[^\W_]+")
_OF_THE_TEXTS = content_words(
    "document documents text texts passage passages file files knowledge base corpus collection "
    "summary summarize summarise overview 文档 文件 文本 资料 知识库 总结 概括 概述"
)


@dataclass(frozen=True)
class _Weights:
    """What was fitted for a language."""

    bias: float
    """What is added, so that a quarter is the bound at which few answers are lost."""

    sentence: float
    """What the best sentence weighs."""

    pair: float
    """What the best two places weigh."""

    unheard: float
    """What a word that no chunk holds counts, unless it is a name: it may be the person's way to say it."""


_FITTED = {"en": _Weights(-4.62, 5.23, 4.99, 0.15), "zh": _Weights(-6.54, 6.89, 9.72, 0.5)}


@dataclass(frozen=True)
class Signals:
    """What speaks for an answer in a context: shares of the question's words, the rare ones counting more."""

    sentence: float
    """The largest share that one sentence holds."""

    pair: float
    """The largest share that two places of different sources hold, each a sentence with those beside it."""


def certainty(store: Store, retrieved: Retrieved) -> float | None:
    """How sure it is that what was found holds the answer, from 0 to 1.

    None where the words cannot tell: the question has hardly any, it is in another language than what was
    found or in one that nothing is known of, or it asks for no particular thing.
    """
    question = retrieved.question[:_LOOKED_AT]
    asked = content_words(question) - _OF_THE_TEXTS
    if len(asked) < _FEW or retrieved.mode not in SEARCHED or retrieved.empty:
        return None
    items: list[Item] = [*retrieved.passages, *retrieved.entities, *retrieved.relations]
    texts = [_text(item) for item in items]
    spoken = language.detect(question)
    if spoken not in _FITTED or spoken != language.detect("\n".join(texts)[: 4 * _LOOKED_AT]):
        return None
    known = counts(store.fulltext.holding(question))
    held = set[str]().union(*map(content_words, texts))
    named = names(question)
    weight = weights(known, asked, retrieved.coverage.total)
    fitted = _FITTED[spoken]
    for word in asked:
        if not (word in held or word in named or known.get(word)):
            weight[word] *= fitted.unheard
    found = signals(texts, weight)
    value = fitted.bias + fitted.sentence * found.sentence + fitted.pair * found.pair
    return 1 / (1 + math.exp(-value))


def counts(holding: Mapping[str, int]) -> dict[str, int]:
    """How many chunks hold each stem, from those that hold its words."""
    found: dict[str, int] = {}
    for word, count in holding.items():
        for stem in content_words(word):
            found[stem] = max(count, found.get(stem, 0))
    return found


def names(question: str) -> set[str]:
    """Stems of what the question writes as a name or a number, its first word left out."""
    return set[str]().union(
        *(
            content_words(match.group())
            for match in _WORD.finditer(question)
            if match.start() and (match.group()[0].isupper() or match.group()[0].isdigit())
        )
    )


def weights(known: Mapping[str, int], words: Collection[str], total: int) -> dict[str, float]:
    """How much each word tells: much if few of `total` chunks hold it, as `known` says."""
    return {word: math.log(1 + total / (1 + known.get(word, 0))) for word in words}


def signals(texts: Sequence[str], weight: Mapping[str, float]) -> Signals:
    """The signals of texts for a question whose words have a weight each."""
    whole = sum(weight.values()) or 1.0
    asked = set(weight)

    def share(words: Collection[str]) -> float:
        return sum(weight[word] for word in words) / whole

    sentence = 0.0
    places: dict[tuple[int, frozenset[str]], None] = {}
    for number, text in enumerate(texts):
        words = [content_words(text[start:end]) & asked for start, end in sentences.split(text)]
        for place, held in enumerate(words):
            sentence = max(sentence, share(held))
            beside = words[max(place - 1, 0) : place + 2]
            # The first sentence says what a text is about.
            places[number, frozenset(words[0].union(*beside))] = None
    best = sorted(places, key=lambda item: -share(item[1]))[:_MOST_PLACES]
    pair = max((share(words) for _, words in best), default=0.0)
    for (first, left), (second, right) in combinations(best, 2):
        if first != second:
            pair = max(pair, share(left | right))
    return Signals(sentence, pair)


def _text(item: Item) -> str:
    if isinstance(item, Passage):
        return item.text
    if isinstance(item, EntityHit):
        return f"{item.name}: {item.description}"
    return f"{item.source}, {item.target}, {item.keywords}: {item.description}"
