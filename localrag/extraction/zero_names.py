"""The names of a chunk by form and statistics alone, for the graph that needs no model.

They depend on the chunk's text, the headings that it stands under and its document's title; which of them
count, because other chunks have them too, is found out when the graph is read (store/zero.py). This is a
quicker look than `candidates.find_candidates`: it need not offer every name, only those that tie chunks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from localrag.extraction.han_spans import han_pattern_spans
from localrag.extraction.pronouns import is_pronoun
from localrag.extraction.spans import MAX_NAME, clean, one_line, writable
from localrag.extraction.tokens import runs, tokenise
from localrag.extraction.word_spans import Span, frequency_bonus, pattern_spans, word_spans
from localrag.extraction.words import (
    HAN_BORDER,
    HAN_ENDINGS,
    HAN_NEVER,
    HAN_NOT_FIRST,
    HAN_NOT_LAST,
    HAN_SURNAMES,
)
from localrag.graph.names import CJK, VERSION, fold
from localrag.store.zero_rows import FORM, HEADING, TITLE, WORDS, ZeroName

RULES = 10 * VERSION + 1
"""Number of these rules and of those of folding; names that were found by others are found anew."""

MOST_MARKED = 32
"""Most names by form of a chunk."""

MOST_RUNS = 12
"""Most runs of words or characters of a chunk that may be names."""

LEAST_RUN = 2.0
"""Least score of such a run."""

MOST_HEADING_WORDS = 8
"""A heading of more words is a sentence, of which only the names by form are taken."""

HEADINGS = " › "
"""What parts the headings that a chunk stands under."""

MOST_CHARACTERS = 8
"""Longest run of Chinese characters that is counted."""

_LOOKED_THROUGH = 20_000
_BRACKETS = re.compile(r"\s*[(（\[【][^()（）\[\]【】]*[)）\]】]\s*")
_DATE = re.compile(r"[\d\W_]*(?:\d(?:s|st|nd|rd|th|年代?|月|日|号|世纪))?[\d\W_年月日号]*")
_DIGIT = re.compile(r"\d")
_HAN = re.compile(f"[{CJK}]")
_LETTER = re.compile(r"[^\W\d_]")
_PIECE = re.compile(rf"(?:(?![{''.join(sorted(HAN_BORDER))}])[{CJK}]){{2,}}")


def chunk_names(text: str) -> tuple[ZeroName, ...]:
    """The names in a chunk's text, each with its first place there, in the order of these places.

    Capitalised spans, quotations, titles, codes, dates and foreign names by their form; beside them the
    likeliest runs of words, and runs of Chinese characters that are repeated or begin and end as names do.
    """
    found = _distinct(text)
    marked = [item for item in found if item[1].strong]
    others = [item for item in found if not item[1].strong and item[1].score >= LEAST_RUN]
    names = [ZeroName(key, FORM, span.start, span.end) for key, span in _best(marked, MOST_MARKED)]
    names += [ZeroName(key, WORDS, span.start, span.end) for key, span in _best(others, MOST_RUNS)]
    return tuple(sorted(names, key=lambda name: (name.start, -name.end)))


def title_names(title: str) -> tuple[ZeroName, ...]:
    """The names in a document's title: the title itself, without what stands in brackets, and those in it."""
    return _of_line(title, TITLE)


def heading_names(headings: str) -> tuple[ZeroName, ...]:
    """The names in the headings that a chunk stands under, joined as the chunk has them."""
    names = {name.key: name for part in headings.split(HEADINGS) for name in _of_line(part, HEADING)}
    return tuple(names.values())


def _of_line(line: str, kind: int) -> tuple[ZeroName, ...]:
    bare = one_line(_BRACKETS.sub(" ", clean(line))) or one_line(clean(line))
    whole = len(bare) <= MAX_NAME and len(bare.split()) <= MOST_HEADING_WORDS and _LETTER.search(bare)
    keys = dict.fromkeys([fold(bare)] if whole else [])
    marked = [item for item in _distinct(bare[: 10 * MAX_NAME]) if item[1].strong]
    keys |= dict.fromkeys(key for key, _ in _best(marked, MOST_HEADING_WORDS))
    return tuple(ZeroName(key, kind) for key in keys)


def _distinct(text: str) -> list[tuple[str, Span]]:
    """What may be names, each key once: its first place with the best judgement of all of them."""
    source = clean(text)[:_LOOKED_THROUGH]
    tokens = tokenise(source)
    spans = [*pattern_spans(source), *han_pattern_spans(source), *word_spans(tokens, runs(tokens))]
    written: dict[str, list[Span]] = {}
    for span in (*spans, *_han_runs(source)):
        written.setdefault(source[span.start : span.end], []).append(span)
    found: dict[str, Span] = {}
    for raw, places in written.items():
        name = one_line(raw)
        if "\n" in raw or len(name) > MAX_NAME or not writable(name) or is_pronoun(name):
            continue
        if _DATE.fullmatch(name) or not (any(span.strong for span in places) or _is_telling(name)):
            # A year ties what has nothing in common, and so does a common word.
            continue
        first = min(places, key=lambda span: (span.start, span.end))
        strong = any(span.strong for span in places)
        score = max(span.score for span in places) + frequency_bonus(len({span.start for span in places}))
        key = fold(name)
        known = found.get(key)
        if known is not None:
            first = min(known, first, key=lambda span: (span.start, span.end))
            strong, score = strong or known.strong, max(score, known.score)
        found[key] = Span(first.start, first.end, score, strong)
    return list(found.items())


def _is_telling(run: str) -> bool:
    """Whether a run that no form marks as a name may tie chunks."""
    return _HAN.search(run) is not None or (" " in run and not _DIGIT.search(run))


def _han_runs(text: str) -> Iterator[Span]:
    """Runs of Chinese characters that are repeated, or stand between borders and look like a name."""
    places: dict[str, list[int]] = {}
    whole: dict[str, int] = {}
    for match in _PIECE.finditer(text):
        piece, offset = match.group(), match.start()
        if len(piece) <= MOST_CHARACTERS:
            whole.setdefault(piece, offset)
        for start in range(len(piece) - 1):
            for end in range(start + 2, min(start + MOST_CHARACTERS, len(piece)) + 1):
                places.setdefault(piece[start:end], []).append(offset + start)
    counts = Counter({run: len(found) for run, found in places.items() if len(found) > 1})
    inside = _inside_longer(counts)
    for run, count in counts.items():
        if not (run in inside or run[0] in HAN_NOT_FIRST or run[-1] in HAN_NOT_LAST or HAN_NEVER & set(run)):
            score = LEAST_RUN + 0.1 * len(run) + 2 * frequency_bonus(count)
            yield Span(places[run][0], places[run][0] + len(run), score, False)
    for run, offset in whole.items():
        named = len(run) in (2, 3) and run[0] in HAN_SURNAMES
        if named or run.endswith(HAN_ENDINGS):
            yield Span(offset, offset + len(run), LEAST_RUN + 0.5, False)


def _inside_longer(counts: Counter[str]) -> set[str]:
    """Repeated runs that never occur but within one longer run."""
    return {
        part for run, count in counts.items() for part in (run[1:], run[:-1]) if counts.get(part) == count
    }


def _best(items: Iterable[tuple[str, Span]], most: int) -> list[tuple[str, Span]]:
    """The likeliest names; of equal ones the first in the text."""
    return sorted(items, key=lambda item: (-item[1].score, item[1].start, item[1].end))[:most]
