"""Tells where in a text the words, numbers, names and times of a statement stand, so that they can be shown.

It goes by what the checks of an answer go by (`particulars`), so what is marked is what counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from localrag.answering.amounts import find_amounts
from localrag.answering.conversation import bare
from localrag.answering.particulars import Ground, Particulars, particulars
from localrag.documents import sentences
from localrag.extraction.dates import find_periods
from localrag.retrieval.content_words import content_words

Span = tuple[int, int]
"""First character and the one behind the last."""

LONGEST = 20_000
"""Characters of a text that are looked at."""

_WIDE_RUN = re.compile(r"[\u2e80-\ud7ff]+")
_WORD = re.compile(r"[^\W_\u2e80-\ud7ff]+")
_MARK = re.compile(r"\[(\d{1,3})\]")
_LIST = re.compile(r"^#{1,4} (?:References|参考资料)[ \t]*$", re.MULTILINE)


def shared_spans(statements: Sequence[str], text: str) -> tuple[Span, ...]:
    """Where a text says what the statements say, in order; spans that touch or overlap are one."""
    text = text[:LONGEST]
    spans: list[Span] = []
    for statement in statements:
        found = particulars(statement)
        spans += _words(found, text)
        spans += _numbers(found, text)
        spans += _times(found, text)
    return merged(spans)


def name_spans(names: Sequence[str], text: str) -> tuple[Span, ...]:
    """Where names stand in a text as they are written, whatever their case."""
    text = text[:LONGEST]
    spans = [
        match.span()
        for name in names
        if name.strip()
        for match in re.finditer(re.escape(name.strip()), text, re.IGNORECASE)
    ]
    return merged(spans)


def merged(spans: Sequence[Span]) -> tuple[Span, ...]:
    """The spans in order, those that touch or overlap as one."""
    result: list[Span] = []
    for start, end in sorted(spans):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return tuple(result)


def sentences_on(answer: str, number: int) -> tuple[str, ...]:
    """The sentences of an answer's Markdown that carry the mark of a reference; all if none does."""
    headings = list(_LIST.finditer(answer))
    body = answer[: headings[-1].start()] if headings else answer
    found = [body[start:end] for start, end in sentences.split(body)]
    marked = [text for text in found if str(number) in _MARK.findall(text)]
    return tuple(text for text in (bare(said) for said in marked or found) if text)


def _words(found: Particulars, text: str) -> Iterator[Span]:
    for match in _WORD.finditer(text):
        if not found.words.isdisjoint(content_words(match.group())):
            yield match.span()
    for run in _WIDE_RUN.finditer(text):
        for place in range(run.start(), run.end() - 1):
            if not found.words.isdisjoint(content_words(text[place : place + 2])):
                yield place, place + 2


def _numbers(found: Particulars, text: str) -> Iterator[Span]:
    wanted = {value for item in found.numbers for value in item.values}
    if wanted:
        yield from (item.at for item in find_amounts(text) if not wanted.isdisjoint(item.values))


def _times(found: Particulars, text: str) -> Iterator[Span]:
    for period in find_periods(text) if found.times else ():
        ground = Ground(text[slice(*period.at)])
        if any(ground.has_time(said, wanted) for said, wanted in found.times):
            yield period.at
