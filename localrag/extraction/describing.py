"""Descriptions that need no model: what the text itself says of a name, and of two names together.

A description is a stretch of the text, cleaned to one line and bounded. Of all the places of a name the one
is taken that tells most: a sentence that says what the thing is goes before one that only mentions it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from localrag.documents.sentences import split
from localrag.extraction.spans import clean, one_line

MOST = 160
"""Characters of a description, if nothing else is asked for."""

Span = tuple[int, int]
"""Beginning and end of a stretch of text."""

NOWHERE: Span = (-1, -1)
"""What stands for no place."""

_ARTICLES = (
    "a|an|the|one|un|une|une|le|la|les|el|los|las|una|uno|ein|eine|einer|der|die|das|il|lo|i|gli|o|os|as|um|uma|"
    "een|het|de"
)
_IS = (
    "is|was|are|were|became|remains|refers to|means|stands for|ist|war|sind|waren|wurde|est|était|sont|"
    "étaient|es|era|fue|son|eran|è|sono|fu|é|foi|são|eram|werd"
)
_ASIDE = r"\s*(?:\([^()]{1,80}\)|（[^（）]{1,60}）)?"
_AFTER = (
    # Weight, and what stands behind the name. The first that fits counts.
    (6, re.compile(rf"{_ASIDE},?\s+(?:{_IS})\s+(?:(?:also|still|now|then)\s+)?(?:{_ARTICLES})\s", re.I)),
    (6, re.compile(rf"{_ASIDE}，?(?:曾经?|也|乃)?(?:是|系|即|为(?!了|此))")),
    (5, re.compile(rf"{_ASIDE}(?:とは|は)")),
    (5, re.compile(rf"\s*[,–—-]\s*(?:{_ARTICLES}|who|which|whose|then|formerly|qui|que|der|die)\s", re.I)),
    (4, re.compile(rf"{_ASIDE},?\s+(?:{_IS})\s", re.I)),
    (4, re.compile(rf"{_ASIDE}，?(?:位于|坐落|属于|成立|创立|建于|出生|由|生于)")),
    (3, re.compile(r"\s*(?:\([^()]{2,80}\)|（[^（）]{2,60}）)")),
    (3, re.compile(r"\s*[:：]\s*\S")),
)
_BEFORE = re.compile(
    rf"(?:^|\s)(?:{_ARTICLES}|his|her|its|their|\w+['’]s)\s+(?:[^\W\dA-Z_][\w-]*\s+){{1,4}}$"
)
_BEFORE_WEIGHT = 3
_PRONOUN_FIRST = re.compile(
    r"[\"'“‘«(]*(?:he|she|it|they|this|that|these|those|there)\b"
    r"|[“「『（]*(?:他|她|它|他们|她们|这|那|此|该)",
    re.IGNORECASE,
)
_BORDER = re.compile(r"[,;:]\s+|[，；：、]|\s[–—-]\s|——")
_LOOSE = " \t\n\u3000,;:，；：、–—-"
_MARKS = " \t\n\u3000#*>|•·-–—=_~"
_WORD_CHARS = r"A-Za-z0-9À-ɏ"
_ARTICLE = 4
"""Characters before a name that still begins its sentence."""

_ENOUGH = 2
_ENOUGH_HAN = 4
_MOST_PLACES = 24
"""Places of one name that are looked at; a chunk seldom has more."""


class Describer:
    """Describes the names of one text; the text is cut into sentences once. Costs no model and no state."""

    def __init__(self, text: str, language: str = "en", most: int = MOST) -> None:
        """`most` bounds a description in characters; Chinese and Japanese get half and say as much."""
        self._text = clean(text)
        self._han = language.lower().startswith(("zh", "ja"))
        self._most = max(most // 2 if self._han else most, 1)
        self._sentences = split(self._text)

    def of(self, start: int, end: int) -> str:
        """What the text says of the name at `text[start:end]`, here or at another of its places.

        Empty if there is nothing beside the name itself, or no such place.
        """
        span = self.span_of(start, end)
        return self._shown(span)

    def of_pair(self, first: Span, second: Span) -> str:
        """The clause that holds two names, given by one place of each; empty if no sentence holds both."""
        return self._shown(self.span_of_pair(first, second))

    def span_of(self, start: int, end: int) -> Span:
        """Where in the text the description of a name stands; `NOWHERE` if it has none."""
        best, found = 0, NOWHERE
        for place, sentence in self._places(start, end):
            weight = self._weight(place, sentence)
            if found == NOWHERE or weight > best:
                span = self._trimmed(self._around(place, sentence))
                if span[0] <= place[0] and place[1] <= span[1] and self._tells(span, place):
                    best, found = weight, span
        return found

    def span_of_pair(self, first: Span, second: Span) -> Span:
        """Where in the text the evidence for two names stands; `NOWHERE` if no clauses in reach hold both."""
        others: dict[Span, list[Span]] = {}
        for place, sentence in self._places(*second):
            others.setdefault(sentence, []).append(place)
        best, found = 0, NOWHERE
        for place, sentence in self._places(*first):
            for other in others.get(sentence, ()):
                low, high = min(place[0], other[0]), max(place[1], other[1])
                if place[0] < other[1] and other[0] < place[1]:
                    # One inside the other is no statement about both.
                    continue
                if high - low <= self._most and (found == NOWHERE or high - low < best):
                    best, found = high - low, self._trimmed(self._around((low, high), sentence))
        return found

    def _places(self, start: int, end: int) -> Iterator[tuple[Span, Span]]:
        """The places of a name, each with its sentence; names that go over a sentence's end have none."""
        if not 0 <= start < end <= len(self._text):
            return
        pattern = _pattern(one_line(self._text[start:end]))
        for count, match in enumerate(pattern.finditer(self._text)):
            if count == _MOST_PLACES:
                return
            for sentence in self._sentences:
                if sentence[0] <= match.start() and match.end() <= sentence[1]:
                    yield match.span(), sentence
                    break

    def _weight(self, place: Span, sentence: Span) -> int:
        """How much a sentence tells of the name that it holds."""
        before, after = self._text[sentence[0] : place[0]], self._text[place[1] : sentence[1]]
        weight = next((weight for weight, pattern in _AFTER if pattern.match(after)), 0)
        if _BEFORE.search(before):
            weight = max(weight, _BEFORE_WEIGHT)
        if len(before.strip(_MARKS)) <= (1 if self._han else _ARTICLE):
            # It is what the sentence is about.
            weight += 2
        if _PRONOUN_FIRST.match(self._text, sentence[0]):
            weight -= 1
        return weight

    def _around(self, place: Span, sentence: Span) -> Span:
        """The sentence, or as many of its clauses around `place` as there is room for."""
        low, high = sentence
        if high - low <= self._most:
            return sentence
        borders = [low, *(match.end() for match in _BORDER.finditer(self._text, low, high)), high]
        start = max(border for border in borders if border <= place[0])
        end = min(border for border in borders if border >= place[1])
        if end - start > self._most:
            return self._window(place, start, end)
        # What follows says more of a name than what goes before.
        for border in [border for border in borders if border > end]:
            if border - start > self._most:
                break
            end = border
        for border in sorted((border for border in borders if border < start), reverse=True):
            if end - border > self._most:
                break
            start = border
        return start, end

    def _window(self, place: Span, start: int, end: int) -> Span:
        """As much of one long clause as there is room for, cut between words."""
        if place[1] - start > self._most:
            start = place[0]
        end = min(end, start + self._most)
        while end > place[1] and _in_word(self._text, end):
            end -= 1
        return start, max(end, place[1])

    def _trimmed(self, span: Span) -> Span:
        """Without list marks at the beginning and loose ends."""
        start, end = span
        while start < end and self._text[start] in _MARKS:
            start += 1
        while end > start and self._text[end - 1] in _LOOSE:
            end -= 1
        return start, end

    def _tells(self, span: Span, place: Span) -> bool:
        """Whether there is something beside the name."""
        rest = self._text[span[0] : place[0]] + " " + self._text[place[1] : span[1]]
        words = re.findall(r"[^\W_]+", rest)
        if self._han:
            return sum(map(len, words)) >= _ENOUGH_HAN
        return len(words) >= _ENOUGH

    def _shown(self, span: Span) -> str:
        return "" if span == NOWHERE else one_line(self._text[span[0] : span[1]])


def describe(text: str, start: int, end: int, language: str = "en", most: int = MOST) -> str:
    """What `text` says of the name at `text[start:end]`, in at most `most` characters of the text itself.

    Empty if it says nothing. For many names of one text take a `Describer`.
    """
    return Describer(text, language, most).of(start, end)


@lru_cache(maxsize=512)
def _pattern(name: str) -> re.Pattern[str]:
    """Where a name stands as words of its own; Han characters need no border."""
    parts = r"\s+".join(map(re.escape, name.split()))
    before = rf"(?<![{_WORD_CHARS}])" if re.match(f"[{_WORD_CHARS}]", name) else ""
    after = rf"(?![{_WORD_CHARS}])" if re.search(f"[{_WORD_CHARS}]$", name) else ""
    return re.compile(before + parts + after)


def _in_word(text: str, place: int) -> bool:
    """Whether a cut at `place` would go through a word of letters that blanks part."""
    if not 0 < place < len(text):
        return False
    return bool(re.match(rf"[{_WORD_CHARS}]", text[place])) and bool(
        re.match(rf"[{_WORD_CHARS}'’-]", text[place - 1])
    )
