"""The shipped tables that candidates are judged with: words by class, and fitted weights.

Where each table comes from, and under which terms, is told in `tables/SOURCES.txt`. A table is read once,
when it is first needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

_TABLES = Path(__file__).parent / "tables"


@cache
def english_words() -> Mapping[str, str]:
    """English words in lower case, each with a letter for its class and a digit for how common it is.

    N noun, V verb, D past form, G form in -ing, J adjective, R adverb, O other, X unknown class; 1 is the
    most common. Words that few texts hold are missing, and that tells something too.
    """
    return _classes("english_words.txt")


@cache
def chinese_words() -> Mapping[str, str]:
    """Chinese words of one to four characters, each with a letter for its class and a digit.

    The digit is half the binary logarithm of how often the word occurs among some 60 million.
    """
    return _classes("chinese_words.txt")


@cache
def weights(name: str) -> Mapping[str, float]:
    """The weights of features, by name: "words" for text with blanks between words, "han" for Chinese."""
    table: dict[str, float] = {}
    for line in (_TABLES / f"weights_{name}.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("# "):
            feature, _, weight = line.rpartition("\t")
            table[feature] = float(weight)
    return table


def _classes(file: str) -> Mapping[str, str]:
    table: dict[str, str] = {}
    for line in (_TABLES / file).read_text("utf-8").splitlines():
        kind, *words = line.split()
        if kind != "#":
            table.update(dict.fromkeys(words, kind))
    return table
