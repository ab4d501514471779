"""Names in Chinese and Japanese text: titles, quotations, dates, foreign names, short runs of characters.

There is no word list of Chinese behind this. A run of characters scores by what the chunk itself shows (how
often it occurs, and whether it occurs without its neighbours), by borders beside it, by a telling ending or
surname, and by its length; the model chooses among the best.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from localrag.extraction.tokens import Token
from localrag.extraction.word_spans import Span, frequency_bonus
from localrag.extraction.words import (
    HAN_BORDER,
    HAN_ENDINGS,
    HAN_FIRST_ALLOWED,
    HAN_LAST_ALLOWED,
    HAN_LONG_ENDINGS,
    HAN_NEVER,
    HAN_NOT_FIRST,
    HAN_NOT_LAST,
    HAN_SENTENCE_ENDS,
    HAN_SURNAMES,
    HAN_TRANSLITERATION,
)
from localrag.graph.names import CJK

MIN_UNITS, MAX_UNITS, MAX_LONG_UNITS = 2, 12, 20
"""Length of a run in units (a character, or a word in Latin letters or digits); the last for names such as
those of companies, known by their ending."""

_STRONG, _PART = 10.0, 5.0
_LENGTH_SCORES = (0.0, 0.0, 0.6, 0.7, 1.0, 0.8, 0.7, 0.4, 0.3, 0.1, 0.0, -0.3, -0.5)
_CUT_PENALTY = 3.0
_MAX_QUOTED = 24
_ENDINGS = tuple(HAN_ENDINGS)

_QUOTED = re.compile(
    rf"《([^《》\n]{{1,60}})》|〈([^〈〉\n]{{1,60}})〉|「([^「」\n]{{2,{_MAX_QUOTED}}})」|『([^『』\n]{{2,{_MAX_QUOTED}}})』"
    rf"|“([^“”\n]{{2,{_MAX_QUOTED}}})”|‘([^‘’\n]{{2,{_MAX_QUOTED}}})’"
)
_DATES = re.compile(
    r"(?:公元前?|西元)?\d{1,4}\s?年(?:\s?\d{1,2}\s?月(?:\s?\d{1,2}\s?[日号])?)?"
    r"|\d{1,2}\s?月\s?\d{1,2}\s?[日号]|\d{1,2}世纪(?:\d{2}年代)?|\d{2,4}年代"
    r"|[〇零一二三四五六七八九十]{2,4}年(?:[一二三四五六七八九十]{1,2}月(?:[一二三四五六七八九十]{1,3}[日号])?)?"
)
_AMOUNTS = re.compile(
    r"\d[\d,.]*\s?(?:[%％]|[万亿千百]*(?:美元|欧元|日元|英镑|元|人|吨|公里|千米|米|平方公里|公斤))"
)
_SOUNDS = f"[{''.join(sorted(HAN_TRANSLITERATION))}]"
_DOT = "[·・•‧－-]"
_AFTER_NAMES = HAN_BORDER | HAN_NOT_FIRST
_INITIAL = "[A-Z](?![A-Za-z])"
_FOREIGN = re.compile(
    rf"{_SOUNDS}{{2,}}(?:{_DOT}(?:{_SOUNDS}{{1,8}}|{_INITIAL}))*|{_SOUNDS}(?:{_DOT}(?:{_SOUNDS}{{1,8}}|{_INITIAL}))+"
)


def han_pattern_spans(text: str) -> Iterator[Span]:
    """Titles, quotations that are no sentences, dates, amounts, and names written by their sound."""
    for match in _QUOTED.finditer(text):
        inner = match.group(match.lastindex or 0)
        if re.search(rf"[{CJK}]", inner) and not re.search(r"[。！？，；]", inner):
            yield Span(
                *match.span(match.lastindex or 0),
                _STRONG + (1.0 if match.group()[0] in "《〈" else 0.0),
                True,
            )
    for match in _DATES.finditer(text):
        yield Span(*match.span(), _STRONG + 1, True)
    for match in _AMOUNTS.finditer(text):
        yield Span(*match.span(), _PART, False)
    for match in _FOREIGN.finditer(text):
        # A name is known to be whole if what follows it cannot belong to it.
        whole = not text[match.end() : match.end() + 1] or text[match.end()] in _AFTER_NAMES
        whole = whole or re.match(rf"[^{CJK}A-Za-z]", text[match.end()]) is not None
        strong = whole and (len(match.group()) > 3 or re.search(_DOT, match.group()) is not None)
        yield Span(*match.span(), _STRONG if strong else _PART, strong)


def han_spans(runs: list[list[Token]], marked: list[Span]) -> Iterator[Span]:
    """Runs of 2 to 12 units that hold a character and do not begin or end with a particle.

    `marked` are the names that are known by their form; a run that cuts one of them scores low.
    """
    inside = {place for span in marked if span.strong for place in range(span.start + 1, span.end)}
    mixed = [run for run in runs if any(token.kind == "han" for token in run)]
    counts: Counter[str] = Counter()
    for run in mixed:
        for start in range(len(run)):
            for width in range(MIN_UNITS, min(MAX_LONG_UNITS, len(run) - start) + 1):
                counts[_key(run, start, start + width)] += 1
    for run in mixed:
        for start, token in enumerate(run):
            if not _may_begin(run, start):
                continue
            for width in range(MIN_UNITS, min(MAX_LONG_UNITS, len(run) - start) + 1):
                end = start + width
                if width > MAX_UNITS and not _key(run, start, end).endswith(HAN_LONG_ENDINGS):
                    continue
                if run[end - 1].text in HAN_SENTENCE_ENDS:
                    break
                if _may_end(run, end) and any(unit.kind == "han" for unit in run[start:end]):
                    score = _score(run, start, end, counts)
                    if token.start in inside or run[end - 1].end in inside:
                        score -= _CUT_PENALTY
                    yield Span(token.start, run[end - 1].end, score, False)


def _key(run: list[Token], start: int, end: int) -> str:
    return "".join(token.text for token in run[start:end])


def _may_begin(run: list[Token], start: int) -> bool:
    first = run[start]
    if first.kind == "dot":
        return False
    return first.text not in HAN_NOT_FIRST or _key(run, start, start + 2) in HAN_FIRST_ALLOWED


def _may_end(run: list[Token], end: int) -> bool:
    last = run[end - 1]
    if last.kind == "dot":
        return False
    return last.text not in HAN_NOT_LAST or _key(run, max(end - 2, 0), end) in HAN_LAST_ALLOWED


def _score(run: list[Token], start: int, end: int, counts: Counter[str]) -> float:
    text = _key(run, start, end)
    count = counts[text]
    score = _LENGTH_SCORES[min(end - start, MAX_UNITS)] + 2 * frequency_bonus(count)
    score += 1.5 if _is_border(run, start - 1) else 0.0
    score += 1.5 if _is_border(run, end) else 0.0
    if text.endswith(_ENDINGS):
        score += 2.0
    if len(text) in (2, 3) and text[0] in HAN_SURNAMES:
        score += 1.0
    score -= 2.0 * sum(char in HAN_NEVER for char in text)
    score -= 1.0 * sum(char in HAN_BORDER for char in text[1:-1])
    # What never occurs without the unit before or behind it is a piece of something longer.
    if count > 1 and any(counts[longer] == count for longer in _longer(run, start, end)):
        score -= 2.0
    return score


def _is_border(run: list[Token], place: int) -> bool:
    if not 0 <= place < len(run):
        return True
    return run[place].text in HAN_BORDER or run[place].kind == "word"


def _longer(run: list[Token], start: int, end: int) -> Iterator[str]:
    if end - start < MAX_UNITS:
        if start > 0:
            yield _key(run, start - 1, end)
        if end < len(run):
            yield _key(run, start, end + 1)
