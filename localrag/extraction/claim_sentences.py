"""The sentences of a chunk as claims see them: numbers, whom each speaks of, and the times that it names.

A sentence speaks of those whom it names: by the whole name, by a capitalised word of it, or in scripts
without blanks by its beginning, or its end where a clause begins with it. Where it says "she" or "the firm",
it speaks of those, too, of whom the nearest sentence before it speaks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from localrag.documents.sentences import split
from localrag.engine.claim_program import MAX_SENTENCES
from localrag.extraction.dates import Period, find_periods
from localrag.extraction.languages import main_code
from localrag.extraction.spans import clean, one_line
from localrag.store.report_rows import ClaimName, Span

_FAR = 3
"""How many sentences later "she" is still the one who was named."""

_SHORTEST_WIDE = 4
"""Characters that a name without blanks must have to be known by its first or last two."""

_WIDE = re.compile("[\u2e80-\U000323af]")
_NAME_WORD = re.compile(r"[^\W\d_][\w'’-]{2,}")
_PRONOUN = re.compile(
    r"\b(?:he|she|they|him|her|them|his|hers|their|theirs|its?|himself|herself|itself|themselves|who|both|neither"
    r"|former|latter)\b",
    re.IGNORECASE,
)
_MEANS_SOMEBODY = re.compile(r"\W*(?:the|this|these|those|such|all|none|nobody|no one)\b", re.IGNORECASE)
_HAN_PRONOUN = re.compile("[他她它其]|该[^校准]|两人|二人|双方|前者|后者|此人|本人|对方")
_NO_NAME_WORDS = frozenset("the and for von van der den des del with from".split())  # noqa: SIM905 - read easily


@dataclass(frozen=True)
class SpokenSentence:
    """A sentence that can be quoted."""

    span: Span
    """Where it stands in the chunk."""

    speaks_of: frozenset[str]
    """Keys of the names that a claim quoting it can be about or concern."""

    periods: tuple[Period, ...]
    """The times that it names."""


def numbered_sentences(text: str) -> list[Span]:
    """The sentences of a chunk that can be quoted; where they are too many, neighbours count as one."""
    spans = split(text)
    group = -(-len(spans) // MAX_SENTENCES) if spans else 1
    return [
        (spans[place][0], spans[min(place + group, len(spans)) - 1][1])
        for place in range(0, len(spans), group)
    ]


def spoken_sentences(text: str, language: str, names: Sequence[ClaimName]) -> list[SpokenSentence]:
    """The sentences in their order; those of one number are one."""
    shown = clean(text)
    spans = numbered_sentences(text)
    periods = find_periods(text)
    finder = _Finder(names)
    entities = {name.key: name.entity_key for name in names}
    found = []
    spoken: frozenset[str] = frozenset()
    silent = 0
    for start, end in spans:
        words = one_line(shown[start:end])
        own = about = finder.named(words)
        if silent < _FAR and _points_back(words, language, named=bool(own)):
            about |= spoken
        silent = 0 if own else silent + 1
        spoken = about or spoken
        keys = frozenset(key for key, entity in entities.items() if entity in about)
        named = tuple(period for period in periods if start <= period.at[0] and period.at[1] <= end)
        found.append(SpokenSentence((start, end), keys, named))
    return found


class _Finder:
    """Finds which entities a sentence names."""

    def __init__(self, names: Sequence[ClaimName]) -> None:
        shown = [(name.entity_key, one_line(clean(name.name))) for name in names]
        # The longest first: a name inside of another is not meant by it.
        self._wholes = [
            (entity, re.compile(_bounded(re.escape(whole)), re.IGNORECASE))
            for entity, whole in sorted(shown, key=lambda item: -len(item[1]))
            if whole
        ]
        others = {whole.casefold() for _, whole in shown}
        self._parts = [(entity, parts) for entity, whole in shown if (parts := _parts(whole, others))]

    def named(self, words: str) -> frozenset[str]:
        """Keys of the entities."""
        found = set()
        for entity, whole in self._wholes:
            words, times = whole.subn("\0", words)
            if times:
                found.add(entity)
        return frozenset(found.union(entity for entity, parts in self._parts if parts.search(words)))


def _bounded(pattern: str) -> str:
    """The pattern as a word of its own, in scripts that part words."""
    return pattern if _WIDE.search(pattern) else rf"(?<!\w)(?:{pattern})(?!\w)"


def _parts(whole: str, others: set[str]) -> re.Pattern[str] | None:
    """What means a name without being all of it, nor another name; None if nothing does."""
    if _WIDE.search(whole):
        if len(whole) < _SHORTEST_WIDE:
            return None
        begin, end = whole[:2], whole[-2:]
        ways = [] if begin.casefold() in others else [re.escape(begin)]
        ways += [] if end.casefold() in others else [rf"(?:^|(?<=[，；、,;])){re.escape(end)}"]
        return re.compile("|".join(ways)) if ways else None
    words = {
        word
        for word in _NAME_WORD.findall(whole)
        if word != word.lower() and word.casefold() not in others | _NO_NAME_WORDS
    }
    # A word of a name counts only as it is written there: "Trust" of a bank is not what one does.
    return re.compile(_bounded("|".join(map(re.escape, sorted(words))))) if words else None


def _points_back(words: str, language: str, *, named: bool) -> bool:
    """Whether a sentence speaks of somebody whom another has named."""
    code = main_code(language)
    if code == "en":
        return bool(_PRONOUN.search(words)) or (not named and bool(_MEANS_SOMEBODY.match(words)))
    # Other languages leave the subject out where it is clear, or have pronouns that are not known here.
    return not named or bool(code == "zh" and _HAN_PRONOUN.search(words))
