"""Compares an answer with those that are right.

English and other languages of words are compared as the measure of SQuAD does it: case, punctuation, articles
and blanks do not count; the sign & is a blank, since sets join with it what they list. Chinese is compared by
characters, without blanks and punctuation, and whichever way of writing its characters is used. Where the
right answer is yes or no, the first such word of the answer counts alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from localrag.answering.conversation import bare
from localrag.answering.request import GENERAL
from localrag.bench.chinese import simplified

MOST_WORDS = 60
"""An answer that is longer contains nothing: whoever says everything has said the right thing too."""

MOST_CHARACTERS = 120
"""The same for Chinese."""

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_YES_NO = re.compile(r"\b(yes|no)\b")
_YES_NO_CHINESE = re.compile(r"不|否|没|非|是|对|有|能|会")
_YES_CHINESE = frozenset("是对有能会")


@dataclass(frozen=True)
class Score:
    """How one answer compares with the right ones; each from 0 to 1."""

    em: float
    """1 if it is one of them."""

    f1: float
    """The largest overlap with one of them, in words or characters."""

    contains: float
    """1 if it contains one of them and is short."""


WRONG = Score(0.0, 0.0, 0.0)
"""What no answer scores."""


def plain(answer: str) -> str:
    """The text of an answer that is compared: without references, marks and signs of markup."""
    return bare(answer).replace(GENERAL, " ").replace("**", "").strip()


def score(answer: str, right: Sequence[str], *, chinese: bool) -> Score:
    """Compare the bare text of an answer with the right ones."""
    meant = yes_or_no(right)
    if meant is not None:
        hit = float(_first_yes_or_no(answer, chinese=chinese) == meant)
        return Score(hit, hit, hit)
    said = units(answer, chinese=chinese)
    short = len(said) <= (MOST_CHARACTERS if chinese else MOST_WORDS)
    wanted = [units(text, chinese=chinese) for text in right]
    return Score(
        em=float(any(said == text for text in wanted)),
        f1=max((overlap(said, text) for text in wanted), default=0.0),
        contains=float(short and any(_holds(said, text) for text in wanted)),
    )


def holds(text: str, right: Sequence[str], *, chinese: bool) -> bool:
    """Whether a text of any length contains one of the right answers."""
    said = units(text, chinese=chinese)
    return any(_holds(said, units(answer, chinese=chinese)) for answer in right)


def yes_or_no(right: Sequence[str]) -> bool | None:
    """Whether yes or no is right; None where it is something else."""
    words = {"".join(units(text, chinese=False)) for text in right}
    if words and words <= {"yes", "是"}:
        return True
    return False if words and words <= {"no", "否"} else None


def units(text: str, *, chinese: bool) -> tuple[str, ...]:
    """The words, or in Chinese the characters, by which texts are compared."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("&", " ")
    kept = "".join(sign for sign in folded if not _is_punctuation(sign))
    if chinese:
        return tuple(simplified("".join(kept.split())))
    return tuple(_ARTICLES.sub(" ", kept).split())


def overlap(said: Sequence[str], wanted: Sequence[str]) -> float:
    """F1 of the units of two texts."""
    if not said or not wanted:
        return float(said == wanted)
    same = sum((Counter(said) & Counter(wanted)).values())
    return 2 * same / (len(said) + len(wanted))


def _holds(said: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    size = len(wanted)
    return bool(size) and any(said[i : i + size] == wanted for i in range(len(said) - size + 1))


@cache
def _is_punctuation(sign: str) -> bool:
    return unicodedata.category(sign).startswith("P") or sign in "$+<=>^`|~"


def _first_yes_or_no(answer: str, *, chinese: bool) -> bool | None:
    folded = unicodedata.normalize("NFKC", answer).casefold()
    if found := _YES_NO.search(folded):
        return found[1] == "yes"
    if chinese and (sign := _YES_NO_CHINESE.search(simplified(folded))):
        return sign[0] in _YES_CHINESE
    return None
