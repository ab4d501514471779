"""Keeps a search for common words short, however large the knowledge base is.

BM25 reads every row that holds one of the terms, which takes a second for words that stand in every third of
a million chunks and hardly change which chunks come first. So the rarest terms choose the candidates, as many
terms as the budget of rows allows, and the terms left over only add to the candidates' scores. In a knowledge
base of ordinary size all terms fit, and nothing is different.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from localrag.store.session import Session

BUDGET = 100_000
"""Rows of terms that one search ranks, which takes less than a tenth of a second. Among a million chunks the
first twenty are then nearly those of a search that ranks all (`localrag bench store` measures it)."""

FILTERED = 3
"""How many times as many it takes where a filter leaves most of them out before they are ranked."""

CANDIDATES = 400
"""Rows that the terms left over are looked for in."""

_SAMPLE = 20_000
_K1 = 1.2


@dataclass(frozen=True)
class Split:
    """The terms of a question, parted."""

    leading: tuple[str, ...]
    """FTS5 expressions that choose the candidates."""

    common: Mapping[str, float]
    """The words that are left over, folded, with their weights; empty in most searches."""


def split(session: Session, table: str, terms: Collection[str], least: int, budget: int) -> Split:
    """Part the terms so that the leading ones stand in at most `budget` rows, or are the rarest one alone,
    and in `least` rows if that can be."""
    total = int(session.value("SELECT max(id) FROM chunks") or 0)
    if total * len(terms) <= budget:
        return Split(tuple(terms), {})
    counts = {term: _rows(session, table, term, total) for term in terms}
    leading: list[str] = []
    common: dict[str, float] = {}
    used = 0
    for term in sorted(terms, key=lambda term: counts[term]):
        if not leading or used + counts[term] <= budget or used < least:
            leading.append(term)
            used += counts[term]
        else:
            weight = math.log((total - counts[term] + 0.5) / (counts[term] + 0.5))
            common[term.rstrip("*").strip('"').replace('""', '"')] = max(weight, 1e-6)
    return Split(tuple(leading), common)


def counts(session: Session, table: str, terms: Collection[str]) -> dict[str, int]:
    """About how many rows hold each of the terms, FTS5 expressions; exact for rare ones."""
    total = int(session.value("SELECT max(id) FROM chunks") or 0)
    return {term: _rows(session, table, term, total) for term in terms}


def added(common: Mapping[str, float], text: str) -> float:
    """What the common words of a folded text add to its score: BM25 without regard to its length."""
    counts: Counter[str] = Counter()
    words = [word for word in common if word.isascii()]
    if words:
        counts.update(_pattern(words).findall(text))
    counts.update({word: text.count(word) for word in common if not word.isascii()})
    return sum(common[word] * count * (_K1 + 1) / (count + _K1) for word, count in counts.items())


def _pattern(words: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, words))})(?![^\W_])")


def _rows(session: Session, table: str, term: str, total: int) -> int:
    """About how many rows hold a term; exact for rare ones."""
    count, last = session.row(
        f"SELECT count(*), max(rowid) FROM (SELECT rowid FROM {table} WHERE {table} MATCH ? LIMIT ?)",
        [term, _SAMPLE],
    ) or (0, 0)
    return int(count) if count < _SAMPLE else min(total - 1, round(count * total / last))
