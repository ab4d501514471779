"""Names in Chinese and Japanese text: titles, quotations, dates, foreign names, short runs of words.

Chinese has no blanks between words, so runs are made of the words of `han_words`. That keeps nearly every
name that people marked on the open data, and offers a fraction of all runs of characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from localrag.extraction.foreign_names import DOT, joined_names
from localrag.extraction.han_words import Unit
from localrag.extraction.word_spans import Span
from localrag.extraction.words import (
    HAN_BORDER,
    HAN_ENDINGS,
    HAN_NOT_FIRST,
    HAN_NOT_LAST,
    HAN_SENTENCE_ENDS,
    HAN_TRANSLITERATION,
)
from localrag.graph.names import CJK

MAX_WORDS, MAX_CHARACTERS = 9, 20
"""Longest run of words; a word in other letters counts as two characters."""

_PARTICLES = frozenset("ucpyek")
"""Classes of words with which no name begins or ends: particles, conjunctions, prepositions, times of day."""

_STRONG, _PART = 10.0, 5.0
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
_AFTER_NAMES = HAN_BORDER | HAN_NOT_FIRST
_FOREIGN = re.compile(f"{_SOUNDS}{{2,}}")
_ABBREVIATED = re.compile(
    rf"(?<=[{CJK}A-Za-z》”])[（(]((?=[A-Za-z]*[A-Z][A-Za-z]*[A-Z])[A-Za-z]{{2,8}})[）)]"
)


def han_pattern_spans(text: str) -> Iterator[Span]:
    """Titles, quotations that are no sentences, dates, amounts, and names written by their sound."""
    for match in _QUOTED.finditer(text):
        inner = match.group(match.lastindex or 0)
        if re.search(rf"[{CJK}]", inner) and not re.search(r"[。！？，；]", inner):
            is_title = match.group()[0] in "《〈"
            place = match.span(match.lastindex or 0)
            yield Span(*place, _STRONG + is_title, True, "title" if is_title else "quoted")
    for match in _DATES.finditer(text):
        yield Span(*match.span(), _STRONG + 1, True, "date")
    for match in _AMOUNTS.finditer(text):
        yield Span(*match.span(), _PART, False, "amount")
    for match in _ABBREVIATED.finditer(text):
        yield Span(*match.span(1), _STRONG, True, "short")
    for start, end in _foreign(text):
        # A name is known to be whole if what follows it cannot belong to it.
        behind = text[end : end + 1]
        whole = behind in _AFTER_NAMES or not re.match(rf"[{CJK}A-Za-z]", behind)
        strong = whole and (end - start > 3 or re.search(DOT, text[start:end]) is not None)
        yield Span(start, end, _STRONG if strong else _PART, strong, "foreign")


def _foreign(text: str) -> Iterator[tuple[int, int]]:
    """Names written by their sound: those with points whole, then other runs of such characters."""
    place = 0
    for start, end in [*joined_names(text), (len(text), len(text))]:
        yield from (match.span() for match in _FOREIGN.finditer(text, place, start))
        if start < end:
            yield start, end
        place = end


def han_spans(sequences: Iterable[Sequence[Unit]]) -> Iterator[Span]:
    """Runs of one to nine words that hold a Chinese character and do not begin or end with a particle.

    The words are those of `han_words.units`, one sequence for each stretch between breaks.
    """
    for run in sequences:
        for start, unit in enumerate(run):
            if not _may_begin(unit):
                continue
            width, has_han = 0, False
            for end in range(start + 1, min(start + MAX_WORDS, len(run)) + 1):
                last = run[end - 1]
                is_letters = last.kind[0] == "L"
                has_han = has_han or not is_letters
                width += 2 if is_letters else len(last.text)
                if width > MAX_CHARACTERS or last.text in HAN_SENTENCE_ENDS:
                    break
                alone = end == start + 1 and len(last.text) == 1
                if has_han and not alone and _may_end(last):
                    yield Span(unit.start, last.end, _score(run, start, end), False)


def _may_begin(unit: Unit) -> bool:
    if unit.kind == "dot" or unit.kind[0] in _PARTICLES:
        return False
    return len(unit.text) > 1 or unit.text not in HAN_NOT_FIRST


def _may_end(unit: Unit) -> bool:
    if unit.kind == "dot" or unit.kind[0] in _PARTICLES:
        return False
    return len(unit.text) > 1 or unit.text not in HAN_NOT_LAST


def _score(run: Sequence[Unit], start: int, end: int) -> float:
    """How likely the run is a name, roughly; `chances` knows better."""
    score = 0.0
    score += 1.5 if start == 0 or run[start - 1].text in HAN_BORDER else 0.0
    score += 1.5 if end == len(run) or run[end].text in HAN_BORDER else 0.0
    score += 2.0 if run[end - 1].text.endswith(_ENDINGS) else 0.0
    return score - 0.5 * max(0, end - start - 3)
