"""The words that say what a text is about, in a rough form that its inflections share.

Good for comparing a question with sentences, without an index and in any script.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from localrag.store.folding import fold
from localrag.store.function_words import ALL

_WORD = re.compile(r"[^\W_]+")
_WIDE = re.compile(r"[\u2e80-\ud7ff]+")
_STEM = 5
_SHORTEST = 3
_ENDINGS = (
    *("ations", "ation", "ingly", "ments", "ment", "ings", "ing", "edly", "ies", "ied"),
    *("ers", "est", "ed", "es", "er", "ly", "s", "e", "y"),
)


def content_words(text: str) -> set[str]:
    """Stems of words and pairs of characters of scripts without blanks; function words left out."""
    return set(_stems(text))


def _stems(text: str) -> Iterator[str]:
    flat = fold(text)
    for run in _WIDE.findall(flat):
        for place in range(max(len(run) - 1, 1)):
            pair = run[place : place + 2]
            if pair not in ALL:
                yield pair
    for word in _WORD.findall(_WIDE.sub(" ", flat)):
        if word not in ALL and (len(word) > 1 or word.isdigit()):
            yield _stem(word)


def _stem(word: str) -> str:
    """The beginning of a word without a usual English ending, so that its inflections are one."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
            word = word[: -len(ending)]
            break
    if len(word) > _SHORTEST and word[-1] == word[-2]:
        word = word[:-1]
    return word[:_STEM]
