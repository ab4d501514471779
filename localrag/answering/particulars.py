"""What of a statement can be compared with a text: names, numbers, times, quotations, and its words.

A text that is compared with many statements is prepared once. Both are folded: case, width, accents, forms
of numbers and of dates make no difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from localrag.answering.amounts import Amount, find_amounts
from localrag.documents import sentences
from localrag.extraction.candidates import Candidate, find_candidates
from localrag.extraction.dates import Period, find_periods
from localrag.extraction.lexicon import chinese_words
from localrag.extraction.words import HAN_SURNAMES
from localrag.retrieval.content_words import content_words
from localrag.store.folding import fold

LONGEST = 2_000
"""Characters of a statement that are looked at."""

_NAME_CHANCE = 0.45
_PERSON_CHANCE = 0.05
_WIDE = "\u2e80-\ud7ff"
_TOKEN = re.compile(rf"[{_WIDE}]|[^\W_{_WIDE}]+")
_HAN = re.compile(rf"[{_WIDE}]")
_PERSON = re.compile(f"[{''.join(sorted(HAN_SURNAMES))}][{_WIDE}]{{1,2}}")
_LETTER = re.compile(r"[^\W\d_]")
_QUOTE = re.compile("|".join(f"{a}([^{b}\\n]{{1,400}}){b}" for a, b in ('""', "“”", "«»", "「」", "『』")))
_LIST_MARK = re.compile(r"^\s*(?:[-*+•·]\s+|#+\s+)?(?:\d{1,3}[.)、]\s*|[（(]\d{1,3}[）)]\s*)?")
_REPLIES = frozenset(("yes", "no", "not", "both", "neither", "是的", "不是", "没有", "是", "否", "不", "对"))
"""Words of an answer that say nothing by themselves, only of what was asked."""

_HAN_WEIGHT = 3
"""Letters of an alphabet that say as much as one character."""

_SPREAD = 3
_ACRONYM = re.compile(r"(?<![^\W_])[A-Z]{2,6}(?![^\W_])")
_RUN = re.compile(r"(?:[A-Z][\w'-]+(?: (?:of|the|and|for|in|de))? )+[A-Z][\w'-]+")
_PREFIX = 6


@dataclass(frozen=True)
class Particulars:
    """What of one statement can be compared."""

    text: str
    """The statement."""

    names: tuple[str, ...]
    """Names by their form, as they are written."""

    numbers: tuple[Amount, ...]
    """Numbers that are part of no time; small ones in words are left out, since they count what is listed."""

    times: tuple[tuple[str, Period], ...]
    """Times as they are written, with what they mean."""

    quotes: tuple[str, ...]
    """What stands in quotation marks."""

    words: frozenset[str]
    """Stems of its words, pairs of characters of scripts without blanks; function words left out."""

    def __bool__(self) -> bool:
        """Whether there is anything to compare but words."""
        return bool(self.names or self.numbers or self.times or self.quotes)

    def in_latin(self) -> Particulars:
        """What of it can be compared with a text in any script: numbers, times, names in Latin letters."""
        names = tuple(name for name in self.names if not _HAN.search(name))
        return replace(self, names=names, quotes=(), words=frozenset())

    @property
    def count(self) -> int:
        """How many things there are to compare but words."""
        return len(self.names) + len(self.numbers) + len(self.times) + len(self.quotes)


def particulars(statement: str) -> Particulars:
    """What of a statement can be compared; of a long one its beginning."""
    text = statement[:LONGEST]
    text = _LIST_MARK.sub("", text, count=1)
    periods = find_periods(text)
    quotes = [next(filter(None, match.groups())) for match in _QUOTE.finditer(text)]
    numbers = [item for item in find_amounts(text) if item.in_digits and not _inside(item.at, periods)]
    found = [item for item in find_candidates(text) if item.kind not in ("date", "amount")]
    names = [item.text for item in found if item.strong and item.chance >= _NAME_CHANCE]
    names += _persons(item for item in found if item.chance >= _PERSON_CHANCE)
    names = [name for name in names if name not in quotes and _LETTER.search(name)]
    return Particulars(
        text=text,
        names=tuple(dict.fromkeys(names)),
        numbers=tuple(numbers),
        times=tuple((text[slice(*period.at)], period) for period in periods),
        quotes=tuple(dict.fromkeys(quotes)),
        words=frozenset(content_words(text) - _REPLIES),
    )


def _persons(found: Iterable[Candidate]) -> list[str]:
    """What is built as a Chinese person's name and is no word, of those that overlap the longest."""
    built = [
        item.text
        for item in found
        if len(item.text) in (2, 3) and item.text[0] in HAN_SURNAMES and item.text not in chinese_words()
    ]
    return [name for name in built if not any(name != other and name in other for other in built)]


def _inside(span: tuple[int, int], periods: Sequence[Period]) -> bool:
    return any(span[0] < period.at[1] and period.at[0] < span[1] for period in periods)


class Ground:
    """A text, prepared to be compared with statements."""

    def __init__(self, text: str, spans: Sequence[tuple[int, int]] = ()) -> None:
        """`spans` are its sentences, if they are known."""
        self.text = text
        """The text itself."""
        self._spans = spans
        self._tokens = tokens(text)
        self._places: dict[str, list[int]] = {}
        for place, token in enumerate(self._tokens):
            self._places.setdefault(_stem(token), []).append(place)
        self.words = frozenset(content_words(text))
        """As `Particulars.words`."""
        self._flat = f" {' '.join(self._tokens)} "
        self._values = {value for amount in find_amounts(text) for value in amount.values}
        self._periods = find_periods(text)
        self.is_wide = is_wide(text)
        """Whether it is mostly written in a script without blanks."""

    @cached_property
    def spans(self) -> Sequence[tuple[int, int]]:
        """Where its sentences begin and end."""
        return self._spans or sentences.split(self.text)

    @cached_property
    def sentences(self) -> Sequence[Ground]:
        """Its sentences, prepared likewise."""
        return [Ground(self.text[start:end], [(0, end - start)]) for start, end in self.spans]

    def missing(self, found: Particulars) -> tuple[str, ...]:
        """What of a statement does not occur here, as it is written there."""
        absent = [name for name in found.names if not self.has_name(name)]
        absent += [item.text for item in found.numbers if not self.has_number(item)]
        absent += [text for text, period in found.times if not self.has_time(text, period)]
        absent += [quote for quote in found.quotes if not self.has_quote(quote)]
        return tuple(dict.fromkeys(absent))

    def has_name(self, name: str) -> bool:
        """Whether a name occurs, in any inflection, its words near each other, or as its initials."""
        if _PERSON.fullmatch(name):
            # The last character may be one that follows the name.
            return name[:2] in self.text
        words = [word for word in tokens(name) if len(word) > 1 or not word.isalpha() or _HAN.match(word)]
        words = words or tokens(name)
        if not words or f" {' '.join(words)} " in self._flat:
            return True
        places = [self._places.get(_stem(word), []) for word in words]
        if all(places):
            room = len(words) + _SPREAD
            return any(
                all(any(abs(other - first) <= room for other in more) for more in places[1:])
                for first in places[0]
            )
        return self._has_initials(name)

    def has_part(self, name: str) -> bool:
        """Whether a telling word of a name occurs."""
        return any(len(word) > 3 and _stem(word) in self._places for word in tokens(name))

    def _has_initials(self, name: str) -> bool:
        """UN where the text has United Nations, and the other way round."""
        if _ACRONYM.fullmatch(name):
            return any(name in _initials(run) for run in _RUN.findall(self.text))
        initials = _initials(name)
        return len(initials) > 1 and initials in _ACRONYM.findall(self.text)

    def has_number(self, amount: Amount) -> bool:
        """Whether a number occurs, in whatever form."""
        return not self._values.isdisjoint(amount.values)

    def has_time(self, text: str, wanted: Period) -> bool:
        """Whether a time occurs, or a more exact one that lies in it."""
        if any(_within(period, wanted) for period in self._periods):
            return True
        return f" {' '.join(tokens(text))} " in self._flat

    def has_quote(self, quote: str) -> bool:
        """Whether a quotation occurs word for word."""
        return f" {' '.join(tokens(quote))} " in self._flat


def is_wide(text: str) -> bool:
    """Whether a text is mostly written in a script without blanks."""
    wide = len(_HAN.findall(text))
    return _HAN_WEIGHT * wide > len(_LETTER.findall(text)) - wide


def tokens(text: str) -> list[str]:
    """Folded words, and single characters of scripts without blanks."""
    return _TOKEN.findall(fold(text).replace("'", ""))


def _stem(token: str) -> str:
    """A form that a name shares with its plural and its adjective: Lind and Linds, America and American."""
    if len(token) > _PREFIX:
        return token[:_PREFIX]
    return token[:-1] if len(token) > 3 and token.endswith("s") else token


def _within(period: Period, wanted: Period) -> bool:
    """Whether a time lies in another one; an open end lies only in an open one."""
    starts = not wanted.start or (bool(period.start) and period.start >= wanted.start)
    ends = not wanted.end or (bool(period.end) and period.end <= wanted.end)
    return starts and ends


def _initials(name: str) -> str:
    return "".join(word[0] for word in re.findall(r"[^\W\d_]+", name) if word[0].isupper())
