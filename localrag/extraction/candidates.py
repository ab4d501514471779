"""The names that a chunk offers, found without a model, in English, Chinese and whatever looks like them.

Two kinds: names by their form (capitalised words, codes, titles, quotations, dates, foreign names in
Chinese), and short runs of words or characters that may be names. The model can write no others, so this
list decides what can be found at all; measured on the open data it holds most of the names that people
marked. It depends on the chunk alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from localrag.extraction.han_spans import han_pattern_spans, han_spans
from localrag.extraction.pronouns import is_pronoun
from localrag.extraction.spans import MAX_NAME, clean, one_line, writable
from localrag.extraction.tokens import runs, tokenise
from localrag.extraction.word_spans import Span, frequency_bonus, pattern_spans, word_spans
from localrag.graph.names import fold

MAX_CANDIDATES = 800
"""Most names that are offered: building a mask over them takes 4 ms at 900."""

LEAST_SCORE = 1.0
"""Score below which a run of words is not offered. On the open data this halves what is offered in Chinese
and costs 2 % of the names; a longer list makes the model take scraps for names."""


@dataclass(frozen=True)
class Candidate:
    """A name that is offered."""

    text: str
    """As the chunk writes it, white space folded to blanks."""

    start: int
    """Place of its first character in the chunk, at its first occurrence."""

    end: int
    """Place behind its last character there."""

    strong: bool
    """Whether its form marks it as a name; else it is a run of words."""

    score: float
    """How likely it is a name; only the order means something."""


def find_candidates(text: str, limit: int = MAX_CANDIDATES) -> tuple[Candidate, ...]:
    """The names that a text offers, in order of appearance, at most `limit`.

    If there are more, the ones with the highest score stay. No two have the same folded key, every one is
    found in the text by `spans.locate`, and every one can stand in a record.
    """
    source = clean(text)
    tokens = tokenise(source)
    stretches = runs(tokens)
    best: dict[str, Span] = {}
    counts: dict[str, set[int]] = {}
    marked = [*pattern_spans(source), *han_pattern_spans(source)]
    for found in (*marked, *word_spans(tokens, stretches), *han_spans(stretches, marked)):
        name = one_line(source[found.start : found.end])
        counts.setdefault(name, set()).add(found.start)
        known = best.get(name)
        best[name] = found if known is None else _better(known, found)
    candidates = [
        Candidate(name, span.start, span.end, span.strong, span.score + frequency_bonus(len(counts[name])))
        for name, span in best.items()
        if len(name) <= MAX_NAME and writable(name) and not is_pronoun(name)
    ]
    candidates = [item for item in candidates if item.strong or item.score >= LEAST_SCORE]
    candidates.sort(key=lambda item: (-item.strong, -item.score, item.start, item.end))
    chosen = _distinct(candidates, limit)
    return tuple(sorted(chosen, key=lambda item: (item.start, -item.end)))


def _better(known: Span, found: Span) -> Span:
    """The first place with the better of two judgements."""
    return Span(
        min(known.start, found.start),
        known.end if known.start <= found.start else found.end,
        max(known.score, found.score),
        known.strong or found.strong,
    )


def _distinct(candidates: list[Candidate], limit: int) -> list[Candidate]:
    """The first candidates, up to `limit`, of which no two are spellings of one name."""
    keys: set[str] = set()
    chosen: list[Candidate] = []
    for candidate in candidates:
        if len(chosen) >= limit:
            break
        key = fold(candidate.text)
        if key not in keys:
            keys.add(key)
            chosen.append(candidate)
    return chosen
