"""Holds a statement of an answer against the text that it cites: do names, numbers, times, quotations occur?

What a small model makes up is most often such a thing, and it can be found without a model. The share of the
statement's other words that the text has tells whether it speaks of the same thing at all. The bounds are
those that tell open claims with and without support apart best (docs/measurements.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from localrag.answering.grounds import supporting
from localrag.answering.particulars import Ground, Particulars, is_wide

Verdict = Literal["supported", "partly", "not", "unchecked"]
"""`unchecked`: general knowledge, or a text in another script with which nothing can be compared."""

LEAST_WORDS = 0.15
"""Share of a statement's words that the sentences must have that support it, or nothing supports it."""

LEAST_HALF = 0.25
"""Share below which a statement of which something is missing is not supported at all."""

FEW_WORDS = 0.42
"""Share below which it is not, where half of what can be compared is missing."""

MOST_MISSING = 0.5

UNVERIFIED = {"en": "[unverified]", "zh": "[未证实]"}
"""The mark behind a statement without support, by the language of the answer."""


@dataclass(frozen=True)
class Finding:
    """What came of comparing one statement with its ground."""

    verdict: Verdict
    """Whether the ground supports it."""

    missing: tuple[str, ...] = ()
    """Names, numbers, times and quotations that do not occur there, as the statement writes them."""

    words: float = 1.0
    """Share of its other words that the ground has."""


@dataclass(frozen=True)
class SentenceCheck:
    """One sentence of an answer, held against what it cites."""

    text: str
    """The sentence without marks."""

    references: tuple[int, ...]
    """Places in the list of references that it cites."""

    verdict: Verdict
    """Whether they support it."""

    missing: tuple[str, ...] = ()
    """What of it does not occur in them."""

    @property
    def doubtful(self) -> bool:
        """Whether the reader is told."""
        return self.verdict == "not" or (self.verdict == "partly" and bool(self.missing))

    def to_json(self) -> dict[str, Any]:
        """The check for programs."""
        return {
            "text": self.text,
            "references": list(self.references),
            "verdict": self.verdict,
            "missing": list(self.missing),
        }


def check(statement: Particulars, ground: Ground, asked: Sequence[str] = ()) -> Finding:
    """Compare a statement with the text that it cites.

    `asked` are names of the question: a part of such a name is enough, since a text about the thing may call
    it by its short name. Where statement and text are written in different scripts only numbers, times and
    names in Latin letters count.
    """
    if is_wide(statement.text) != ground.is_wide:
        return _across(statement, ground)
    missing = tuple(item for item in ground.missing(statement) if not _known(item, asked, ground))
    words = _share(statement, ground)
    share = len(missing) / statement.count if statement.count else 0.0
    if words < (LEAST_HALF if missing else LEAST_WORDS) or (share >= MOST_MISSING and words < FEW_WORDS):
        return Finding("not", missing, words)
    return Finding("partly" if missing else "supported", missing, words)


def _share(statement: Particulars, ground: Ground) -> float:
    """Share of a statement's words in the sentences that support it; a long text has most words by chance."""
    if not statement.words:
        return 1.0
    parts = ground.sentences
    held = set[str]().union(*(parts[place].words for place in supporting(statement, parts)))
    return len(statement.words & held) / len(statement.words)


def _known(item: str, asked: Sequence[str], ground: Ground) -> bool:
    return item in asked and ground.has_part(item)


def _across(statement: Particulars, ground: Ground) -> Finding:
    """What can be compared of a statement in another script than its ground."""
    comparable = statement.in_latin()
    if not comparable:
        return Finding("unchecked")
    missing = ground.missing(comparable)
    if not missing:
        return Finding("supported")
    return Finding("not" if len(missing) == comparable.count else "partly", missing)
