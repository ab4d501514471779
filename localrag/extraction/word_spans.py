"""Names in text with blanks between words: capitalised words, codes, dates, quotations, short runs.

Scores, highest first: a name by its form (10 and more), a part of such a name (5), a run of words (about 0
to 5: how often it occurs, whether it stands between borders, how long it is).
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from localrag.extraction.roles import without_offices
from localrag.extraction.tokens import Token
from localrag.extraction.words import (
    BORDER_WORDS,
    FUNCTION_WORDS,
    INSIDE_NAMES,
    LEGAL_FORMS,
    LINKS,
    MONTHS,
    NAME_BEGINNINGS,
    NOT_LAST,
    STRONG_LINKS,
    TITLE_BEGINNINGS,
)

MAX_FREE_WORDS = 5
"""Longest run of words that is offered without a form that marks it as a name."""

_REMEMBERED = 8192
_MAX_JOINED = 10
_MAX_QUOTED_WORDS = 10
_STRONG, _PART = 10.0, 5.0
_BEFORE_YEARS = frozenset(
    {"in", "since", "by", "from", "until", "before", "after", "during", "to", "early", "late"}
)
_LENGTH_SCORES = {1: 0.0, 2: 1.0, 3: 0.6, 4: 0.0, 5: -0.5}

_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b(?:{MONTHS})\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?\b",
        rf"\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:{MONTHS})(?:,?\s+\d{{4}}|\s\d{{2}})?(?!\w)",
        rf"\b(?:{MONTHS})\s+(?:of\s+)?\d{{4}}\b",
        r"\b\d{4}-\d{2}-\d{2}\b",
        r"(?<![\w.,$€£¥])(?<![A-Za-z]-)(?:1\d{3}|20\d{2})s?(?![\w%]|[.,]\d)",
        r"\b\d{1,2}(?:st|nd|rd|th)[ -]century\b",
        r"\b\d{1,2}(?::\d{2})?\s?[ap]\.?m\b\.?(?:\s[A-Z]{2,4}\b)?",
    )
)
_AMOUNTS = re.compile(
    r"[$€£¥]\s?\d[\d,.]*\d?(?:\s(?:thousand|million|billion|trillion))?|(?<![\w.])\d[\d,]*(?:\.\d+)?\s?%"
)
_ATTRIBUTE = re.compile(
    r"-(?:based|born|owned|led|style|winning|speaking|backed|type|like|era|class|made|run)$"
)
_INITIAL = re.compile(r"[A-Z]\.")
_QUOTED = tuple(
    re.compile(pattern)
    for pattern in (
        r"“([^“”]{2,80})”",
        r"‘([^‘’]{2,80})’(?!\w)",
        r"«\s?([^«»]{2,80}?)\s?»",
        r"„([^„“”]{2,80})[“”]",
        r'(?<!\w)"([^"\n]{2,80})"(?!\w)',
    )
)


class Span(NamedTuple):
    """A place in the text that may be a name."""

    start: int
    """Place of its first character."""

    end: int
    """Place behind its last character."""

    score: float
    """How likely it is a name; only the order means something."""

    strong: bool
    """Whether its form marks it as a name."""

    kind: str = "run"
    """What the form says: date, amount, quoted, title, foreign, name, or run for a run of words."""


def pattern_spans(text: str) -> Iterator[Span]:
    """Dates, years, quotations that are no sentences, and amounts."""
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            yield Span(*match.span(), _STRONG + 1, True, "date")
    for pattern in _QUOTED:
        for match in pattern.finditer(text):
            inner = match.group(1)
            if len(inner.split()) <= _MAX_QUOTED_WORDS and inner[-1] not in ".!?," and "\n\n" not in inner:
                yield Span(*match.span(1), _STRONG, True, "quoted")
    for match in _AMOUNTS.finditer(text):
        yield Span(*match.span(), _PART, False, "amount")


def is_function(token: Token) -> bool:
    """Whether no name begins or ends with this word."""
    return _is_function(token.text)


@lru_cache(maxsize=_REMEMBERED)
def _is_function(text: str) -> bool:
    lower = text.lower()
    return lower in FUNCTION_WORDS or lower.rstrip(".") in FUNCTION_WORDS or lower in ("'s", "’s", "&")


def word_spans(tokens: list[Token], runs: list[list[Token]]) -> Iterator[Span]:
    """Capitalised names with their parts, codes, and short free runs of words.

    `runs` are the stretches of `tokens` between breaks.
    """
    every_word = [token for token in tokens if token.kind == "word"]
    lower = Counter(word.text for word in every_word if word.text.islower())
    capitals = {word.text for word in every_word if not word.opens and _is_capital(word)}
    ends: dict[int, int] = {}
    starts: dict[int, int] = {}
    for run in runs:
        for words in _between_characters(run):
            named = list(_capital_runs(words))
            for start, end in named:
                ends[words[end - 1].end] = words[start].start
                starts[words[start].start] = words[end - 1].end
                yield from _in_parts(words[start:end], lower, capitals)
                yield from _with_neighbours(words, start, end)
            yield from _hyphen_parts(words)
            yield from _free(words, named)
    yield from _bridged(tokens, ends, starts)


def _between_characters(run: list[Token]) -> Iterator[list[Token]]:
    words: list[Token] = []
    for token in run:
        if token.kind == "word":
            words.append(token)
            continue
        if words:
            yield words
        words = []
    if words:
        yield words


def _is_capital(token: Token) -> bool:
    """Whether a word looks like a name or a code: a capital letter or a digit among letters in it."""
    return _looks_capital(token.text, token.opens)


@lru_cache(maxsize=_REMEMBERED)
def _looks_capital(text: str, opens: bool) -> bool:
    if _ATTRIBUTE.search(text):
        return False
    if any(char.isupper() or char.istitle() for char in text):
        if not _is_function(text) or _INITIAL.fullmatch(text):
            return True
        if text.isupper():
            return text in ("US", "WHO", "IT")
        # Inside a sentence a function word has a capital only as part of a name or title.
        return text.lower() in NAME_BEGINNINGS or not opens
    has_letter = any(char.isalpha() for char in text)
    return (
        has_letter
        and any(char.isdigit() for char in text)
        and not re.fullmatch(r"\d+(?:st|nd|rd|th|s)", text)
    )


def _capital_runs(words: list[Token]) -> Iterator[tuple[int, int]]:
    """Longest stretches of capitalised words, links between them and numbers behind them included."""
    place = 0
    while place < len(words):
        if not _is_capital(words[place]):
            place += 1
            continue
        end = place + 1
        while end < len(words):
            step = _next_capital(words, end)
            if step is None:
                break
            end = step
        yield place, end
        place = end


def _next_capital(words: list[Token], place: int) -> int | None:
    """End of the name if it goes on at `place`, over at most three links."""
    if _is_capital(words[place]) or words[place].text.isdigit():
        return place + 1
    for width in range(1, 4):
        links, after = words[place : place + width], place + width
        if len(links) < width or not _is_link(links[-1]):
            return None
        if after < len(words) and _is_capital(words[after]):
            return after + 1
    return None


def _is_link(token: Token) -> bool:
    return token.text.lower() in LINKS


def _in_parts(words: list[Token], lower: Counter[str], capitals: set[str]) -> Iterator[Span]:
    """The names in a stretch of capitalised words, parted where an office stands in it."""
    parts = without_offices(words)
    if len(parts[0]) < len(words) <= _MAX_JOINED:
        yield _span(words, _PART, False)
    for part in parts:
        yield from _joined(part, lower, capitals)


def _joined(words: list[Token], lower: Counter[str], capitals: set[str]) -> Iterator[Span]:
    """A stretch of capitalised words, what lies between weaker links, and the parts of these."""
    first = words[0]
    if first.opens and len(words) > 1 and (lower[first.text.lower()] or is_function(first)):
        # The capital may be the sentence's, so what follows is offered on its own.
        rest = _without_links(words[1:])
        if lower[first.text.lower()] and not is_function(first):
            words = rest
        elif rest:
            yield _span(rest, _STRONG, True)
    segments = _split(words, weak=True)
    if len(segments) > 1 and len(words) <= _MAX_JOINED:
        yield _span(words, _PART + 2, False)
    for left, right in itertools.pairwise(segments) if len(segments) > 2 else ():
        inside = [word for word in words if left[0].start <= word.start <= right[-1].start]
        if len(inside) <= _MAX_JOINED:
            yield _span(inside, _PART + 1, False)
    for segment in segments:
        if _is_doubtful(segment, capitals):
            if not lower[segment[0].text.lower()] and not is_function(segment[0]):
                yield _span(segment, _PART, False)
        else:
            yield _span(segment, _STRONG + (0.5 if len(segment) > 1 else 0), len(segment) <= _MAX_JOINED)
        yield from _parts(segment)


def _is_doubtful(segment: list[Token], capitals: set[str]) -> bool:
    """Whether it is one word that may have its capital from the beginning of the sentence."""
    if len(segment) > 1 or not segment[0].opens:
        return False
    return segment[0].text not in capitals and not _is_code(segment[0])


def _parts(segment: list[Token]) -> Iterator[Span]:
    """What lies between links, neighbours of these joined, and shorter runs, most of them no names alone."""
    pieces = _split(segment, weak=False)
    for first, last in itertools.combinations(range(len(pieces)), 2):
        if last - first >= _MAX_JOINED // 2:
            continue
        inside = [word for word in segment if pieces[first][0].start <= word.start < pieces[last][-1].end]
        if len(inside) < len(segment) and len(inside) <= _MAX_JOINED:
            yield _span(inside, _PART + 1, False)
    for piece in pieces:
        behind = next((word for word in segment if word.start >= piece[-1].end), None)
        is_owner = piece is pieces[0] and behind is not None and behind.text in ("'s", "’s")
        if len(piece) < len(segment) and (len(piece) > 1 or is_owner):
            yield _span(piece, _STRONG - 1, len(piece) <= _MAX_JOINED)
        for width in range(1, min(len(piece), MAX_FREE_WORDS) + 1):
            for start in range(len(piece) - width + 1):
                part = piece[start : start + width]
                is_year = part[0].text.isdigit() and (len(part[0].text) != 4 or width == 1)
                if width < len(segment) and _is_capital(part[-1]) and not is_year:
                    yield _span(part, _PART, False)


def _with_neighbours(words: list[Token], start: int, end: int) -> Iterator[Span]:
    """The name with a number or ordinal before it, and with a word before it that may begin a title."""
    if start == 0:
        return
    before = words[start - 1]
    if re.fullmatch(r"\d+(?:st|nd|rd|th)?", before.text):
        # Behind "in" and the like a number is a year and ends there.
        if start == 1 or words[start - 2].text.lower() not in _BEFORE_YEARS:
            yield _span(words[start - 1 : end], _STRONG - 1, True)
    elif before.opens and before.text[0].isupper() and before.text.lower() in TITLE_BEGINNINGS:
        yield _span(words[start - 1 : end], _PART, False)


def _bridged(
    tokens: list[Token], capital_ends: dict[int, int], capital_starts: dict[int, int]
) -> Iterator[Span]:
    """Two names with a colon or comma between them, as in a title or a place: Lincoln, Nebraska."""
    for place in range(1, len(tokens) - 1):
        if tokens[place].text not in (":", ","):
            continue
        start, end = capital_ends.get(tokens[place - 1].end), capital_starts.get(tokens[place + 1].start)
        if start is not None and end is not None:
            yield Span(start, end, _PART - 1, False, "name")


def _hyphen_parts(words: list[Token]) -> Iterator[Span]:
    """Capitalised parts of a word such as Millville-based."""
    for word in words:
        if "-" in word.text:
            place = word.start
            for part in word.text.split("-"):
                if len(part) > 2 and part[0].isupper() and part.lower() not in FUNCTION_WORDS:
                    yield Span(place, place + len(part), _PART, False, "name")
                place += len(part) + 1


def _is_code(token: Token) -> bool:
    return sum(char.isupper() for char in token.text) > 1 or any(char.isdigit() for char in token.text)


def _without_links(words: list[Token]) -> list[Token]:
    while words and not _is_capital(words[0]):
        words = words[1:]
    return words


def _split(words: list[Token], *, weak: bool) -> list[list[Token]]:
    """The words between links: between those that may also join two names, or between all."""
    parts: list[list[Token]] = [[]]
    for word in words:
        is_border = _is_link(word) and not _is_capital(word)
        # Behind a firm's legal form "of" tells where the firm is.
        is_place = word.text == "of" and bool(parts[-1]) and parts[-1][-1].text.lower() in LEGAL_FORMS
        if is_border and (not weak or is_place or word.text.lower() not in STRONG_LINKS):
            parts.append([])
        else:
            parts[-1].append(word)
    trimmed = [_trimmed(part) for part in parts]
    return [part for part in trimmed if part]


def _trimmed(words: list[Token]) -> list[Token]:
    words = _without_links(words)
    while words and _is_link(words[-1]) and not _is_capital(words[-1]):
        words = words[:-1]
    return words


def _span(words: list[Token], score: float, strong: bool, kind: str = "name") -> Span:
    return Span(words[0].start, words[-1].end, score, strong, kind)


def _free(words: list[Token], named: list[tuple[int, int]]) -> Iterator[Span]:
    """Runs of one to five words that neither begin nor end with a function word."""
    function = [is_function(word) and not _begins_name(word) for word in words]
    blocked = [fn and word.text.lower() not in INSIDE_NAMES for fn, word in zip(function, words, strict=True)]
    for start in range(len(words)):
        if function[start]:
            continue
        for end in range(start + 1, min(start + MAX_FREE_WORDS, len(words)) + 1):
            if blocked[end - 1]:
                break
            if function[end - 1] or not any(
                char.isalpha() for word in words[start:end] for char in word.text
            ):
                continue
            yield _span(words[start:end], _free_score(words, function, start, end, named), False, "run")


def _begins_name(word: Token) -> bool:
    """Whether a function word has its capital from a name: New Mexico music."""
    return not word.opens and word.text.istitle() and word.text.lower() in NAME_BEGINNINGS


def _free_score(
    words: list[Token], function: list[bool], start: int, end: int, named: list[tuple[int, int]]
) -> float:
    score = _LENGTH_SCORES[end - start]
    score += 1.5 if start == 0 or _is_border(words[start - 1]) else 0.0
    score += 1.5 if end == len(words) or _is_border(words[end]) else 0.0
    score -= sum(function[start:end])
    first, last = words[start].text.lower(), words[end - 1].text.lower()
    score -= 1.0 if first.endswith("ly") or last.endswith(("ly", "ed")) else 0.0
    score -= 0.5 if first in BORDER_WORDS else 0.0
    score -= 3.0 if last in NOT_LAST else 0.0
    cuts_name = any(low < start < high or low < end < high for low, high in named)
    return score - (2.0 if cuts_name else 0.0)


def _is_border(word: Token) -> bool:
    """Whether a name often begins behind this word or ends before it."""
    return _separates(word.text)


@lru_cache(maxsize=_REMEMBERED)
def _separates(text: str) -> bool:
    lower = text.lower()
    is_verb_or_adverb = text.islower() and lower.endswith(("ly", "ed"))
    return _is_function(text) or is_verb_or_adverb or lower in BORDER_WORDS or lower in NOT_LAST


def frequency_bonus(count: int) -> float:
    """What a span gains by occurring more than once."""
    return min(math.log2(count), 3.0)
