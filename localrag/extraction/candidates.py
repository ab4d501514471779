"""The names that a chunk offers, found without a model, in English, Chinese and whatever looks like them.

Two kinds: names by their form (capitalised words, codes, titles, quotations, dates, foreign names in
Chinese), and short runs of words that may be names. Each has a chance to be one, from weights that were
fitted on hand-marked texts (`chances`). The model can write no others, so this list decides what can be found
at all. It depends on the chunk, on which types are asked for, and on the shipped tables alone.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from localrag.extraction import han_features, word_features
from localrag.extraction.chances import Sighting, chances, sums
from localrag.extraction.foreign_names import JOINED
from localrag.extraction.han_spans import han_pattern_spans, han_spans
from localrag.extraction.han_words import Unit, units
from localrag.extraction.number_spans import number_spans
from localrag.extraction.pronouns import is_pronoun
from localrag.extraction.spans import MAX_NAME, clean, one_line, writable
from localrag.extraction.tokens import runs, tokenise
from localrag.extraction.wanted import Wanted, wanted
from localrag.extraction.word_features import Words
from localrag.extraction.word_spans import Span, pattern_spans, word_spans
from localrag.extraction.words import WEEKDAYS
from localrag.graph.names import fold

MAX_CANDIDATES = 800
"""Most names that are offered: building a mask over them takes 4 ms at 900."""

LEAST_CHANCE = 0.001
"""Chance below which a run of words is not offered; a longer list makes the model take scraps for names."""

_LEAST_RUN = 0.5
"""Score below which a run of words is not looked at more closely."""

_MOST_PLACES = 4
"""Places of one name that are looked at; more would tell nothing new."""

_HAN_SHARE = 0.2
"""Share of Chinese characters among words and characters above which words in other letters are guests."""

_PLAIN_WORDS = re.compile(r"(?!the )(?:[a-z0-9]+ )*([a-z0-9]+)")
_PLAIN_CHARACTERS = re.compile(r"[0-9\u4e00-\u9fff]+")
"""Names in lower case of which folding changes the last word at most, or nothing."""

_DATE_IN_HAN, _AMOUNT_IN_HAN = 0.8, 0.5
"""Chances of dates and amounts in Chinese where they count: the marked texts in Chinese leave them out."""

_SURE_IN_HAN = 0.8
"""Chance at least of titles, foreign names in parts, and abbreviations in brackets: their form says that they
are names, and marked texts have few of them, or cut them wrongly."""


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
    """How plain its form is; only the order means something."""

    chance: float
    """How likely a person would mark it as a name, from 0 to 1, names that overlap it considered."""

    kind: str
    """What the form says: date, amount, quoted, title, foreign, short, name, or run."""


def find_candidates(
    text: str, limit: int = MAX_CANDIDATES, types: Iterable[str] = ()
) -> tuple[Candidate, ...]:
    """The names that a text offers, in order of appearance, at most `limit`.

    If there are more, the ones with the highest chance stay. `types` are the names of the types that are
    asked for; they say whether terms, dates and numbers count. No two have the same folded key, every one is
    found in the text by `spans.locate`, and every one can stand in a record.
    """
    ask = wanted(types)
    look = _Look(clean(text), ask)
    found = look.candidates()
    found = [item for item in found if item.strong or item.chance >= LEAST_CHANCE]
    found.sort(key=lambda item: (-item.chance, -item.strong, -item.score, item.start, item.end))
    chosen = _distinct(found, limit)
    return tuple(sorted(chosen, key=lambda item: (item.start, -item.end)))


class _Look:
    """One text, its tokens, and the features of the places in it."""

    def __init__(self, source: str, ask: Wanted) -> None:
        self._source = source
        self._ask = ask
        tokens = tokenise(source)
        self._stretches = runs(tokens)
        self._words = Words(tokens)
        self._starts = [token.start for token in tokens]
        han = sum(token.kind == "han" for token in tokens)
        self._is_han = han > _HAN_SHARE * sum(token.kind in ("han", "word") for token in tokens)
        self._sequences = [units(source, run) for run in self._stretches] if han else []
        breaks = (
            Unit(t.start, t.end, t.text, "brk") for t in tokens if t.kind == "break" and t.end > t.start
        )
        sequence = [unit for run in self._sequences for unit in run]
        self._sequence = sorted([*sequence, *breaks], key=lambda unit: unit.start) if han else []
        self._unit_starts = {unit.start: place for place, unit in enumerate(self._sequence)}
        self._unit_ends = {unit.end: place for place, unit in enumerate(self._sequence)}

    def candidates(self) -> list[Candidate]:
        """Every place that can be a name, places with the same name as one, each with its chance."""
        named = self._named()
        language = {name: "han" if self._judged_as_han(name) else "words" for name in named}
        sightings = {
            name: [self._sighting(name, span, len(spans), language[name]) for span in spans[:_MOST_PLACES]]
            for name, spans in named.items()
        }
        own = sums(sightings, language)
        chance = chances(sightings, own, language)
        return [self._candidate(name, spans, chance[name], language[name]) for name, spans in named.items()]

    def _spans(self) -> Iterator[Span]:
        yield from pattern_spans(self._source)
        yield from han_pattern_spans(self._source)
        if self._ask.numbers:
            yield from number_spans(self._source)
        for span in word_spans(self._words.tokens, self._stretches):
            if span.kind != "run" or span.score >= _LEAST_RUN:
                yield span
        yield from han_spans(self._sequences)

    def _named(self) -> dict[str, list[Span]]:
        """The places of each name, one span for each place."""
        places: dict[tuple[int, int], Span] = {}
        for span in self._spans():
            known = places.get((span.start, span.end))
            places[span.start, span.end] = span if known is None else _better(known, span)
        named: dict[str, list[Span]] = {}
        for span in places.values():
            named.setdefault(one_line(self._source[span.start : span.end]), []).append(span)
        return {
            name: spans
            for name, spans in named.items()
            if len(name) <= MAX_NAME and writable(name) and not is_pronoun(name)
        }

    def _judged_as_han(self, name: str) -> bool:
        return self._is_han or (not name.isascii() and any(ord(char) > 0x2E7F for char in name))

    def _sighting(self, name: str, span: Span, times: int, language: str) -> Sighting:
        found = self._features(name, span, times, language)
        return Sighting(span.start, span.end, found)

    def _features(self, name: str, span: Span, times: int, language: str) -> list[str]:
        if language == "han":
            first, last = self._unit_starts.get(span.start), self._unit_ends.get(span.end)
            if first is None or last is None:
                return han_features.unaligned(self._source, span)
            return han_features.features(self._source, self._sequence, first, last + 1, span, times)
        first = bisect.bisect_right(self._starts, span.start) - 1
        end = bisect.bisect_left(self._starts, span.end)
        found = word_features.features(self._words, first, end, span, name, times)
        return [*found, *_asked(found[0], span.kind, name, self._ask)]

    def _candidate(self, name: str, spans: Sequence[Span], chance: float, language: str) -> Candidate:
        best = spans[0]
        for span in spans[1:]:
            best = _better(best, span)
        first = min(spans, key=lambda span: (span.start, span.end))
        if language == "han" and best.kind == "date" and self._ask.dates:
            chance = max(chance, _DATE_IN_HAN)
        if language == "han" and best.kind == "amount" and self._ask.numbers:
            chance = max(chance, _AMOUNT_IN_HAN)
        if language == "han" and (best.kind in ("short", "title") or _is_joined(name, best.kind)):
            chance = max(chance, _SURE_IN_HAN)
        kind = "date" if name.lower() in WEEKDAYS else best.kind
        return Candidate(name, first.start, first.end, best.strong, best.score, chance, kind)


def _is_joined(name: str, kind: str) -> bool:
    return kind == "foreign" and JOINED.search(name) is not None


def _asked(group: str, kind: str, name: str, ask: Wanted) -> Iterator[str]:
    """Features that depend on what counts as an entity."""
    if group in ("f", "m"):
        yield f"{group} T{int(ask.terms)}"
    if group == "f":
        yield f"f n{min(len(name.split()), 3)} T{int(ask.terms)}"
    if kind == "date":
        yield f"date D{int(ask.dates)}"
    if kind == "amount" or group == "n":
        yield f"num N{int(ask.numbers)}"


def _better(known: Span, found: Span) -> Span:
    """The first span with the better of two judgements, and the kind that says more."""
    kind = found.kind if known.kind == "run" else known.kind
    score, strong = max(known.score, found.score), known.strong or found.strong
    return Span(known.start, known.end, score, strong, kind)


def folded(name: str) -> str:
    """The folded key of a name, the same as `fold` gives; most names are told at once."""
    lower = name.lower()
    if _PLAIN_CHARACTERS.fullmatch(lower):
        return lower
    # Folding makes a hyphen inside a name a blank.
    lower = lower.replace("-", " ")
    plain = _PLAIN_WORDS.fullmatch(lower)
    if plain is None:
        return fold(name)
    if not lower.endswith("s"):
        return lower
    return lower[: plain.start(1)] + _folded_word(plain.group(1))


@lru_cache(maxsize=4096)
def _folded_word(word: str) -> str:
    return fold(word)


def _distinct(candidates: Sequence[Candidate], limit: int) -> list[Candidate]:
    """The first candidates, up to `limit`, of which no two are spellings of one name."""
    keys: set[str] = set()
    chosen: list[Candidate] = []
    for candidate in candidates:
        if len(chosen) >= limit:
            break
        key = folded(candidate.text)
        if key not in keys:
            keys.add(key)
            chosen.append(candidate)
    return chosen
