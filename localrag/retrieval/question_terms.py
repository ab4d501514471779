"""The words of a question, how much each tells, and which of them a text has.

Words are compared by their first letters, so that `directed` counts for `director`; Chinese ones by pairs of
characters.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from functools import cached_property

from localrag.store.database import Store
from localrag.store.terms import fold

STEM = 5
"""Letters of a longer word that are compared."""

_WORD = re.compile(r"[^\W_]+")


class QuestionTerms:
    """The words of one question."""

    def __init__(self, store: Store, question: str, chunks: int) -> None:
        """`chunks` is about how many there are in all."""
        counts = store.fulltext.holding(question)
        total = max([chunks, *counts.values()])
        self._counts: dict[str, int] = {}
        for word, count in counts.items():
            if _WORD.fullmatch(word):
                stem = _stem(word)
                self._counts[stem] = max(count, self._counts.get(stem, 0))
        self.weights: dict[str, float] = {
            stem: math.log(1 + (total - count + 0.5) / (count + 0.5))
            for stem, count in self._counts.items()
            if count or stem.isascii()
        }
        """How much each word tells, by its stem: the rarer, the more. One that no chunk has in this form may
        be there in another; pairs of characters have no other form."""

    def __bool__(self) -> bool:
        return bool(self.weights)

    def within(self, text: str) -> frozenset[str]:
        """The words that a text has, as stems."""
        folded = fold(text)
        found: set[str] = {stem for stem in self._unspaced if stem in folded}
        if self._pattern is not None:
            found.update(map(_stem, self._pattern.findall(folded)))
        return frozenset(found & self.weights.keys())

    def share(self, stems: Collection[str], of: Collection[str] | None = None) -> float:
        """How much of what the question tells lies in some of its words, from 0 to 1; with `of` only these
        words of the question are asked for."""
        asked = self.weights.keys() if of is None else of
        total = sum(self.weights[stem] for stem in asked)
        return sum(self.weights[stem] for stem in asked if stem in stems) / total if total else 0.0

    def rarest(self, name: str) -> int:
        """How many chunks have the rarest word of a name; 1 if no word of it is one of the question's."""
        return min((self._counts[stem] for stem in self.within(name)), default=1)

    @cached_property
    def _unspaced(self) -> tuple[str, ...]:
        return tuple(stem for stem in self.weights if not stem.isascii())

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        stems = sorted((stem for stem in self.weights if stem.isascii()), key=len, reverse=True)
        if not stems:
            return None
        parts = (f"{re.escape(stem)}[^\\W_]*" if len(stem) == STEM else re.escape(stem) for stem in stems)
        return re.compile(rf"(?<![^\W_])(?:{'|'.join(parts)})(?![^\W_])")


def _stem(word: str) -> str:
    """The letters by which a word is compared; numbers and words of other scripts whole."""
    return word[:STEM] if word.isascii() and not word.isdecimal() else word
