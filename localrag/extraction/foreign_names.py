"""Finds foreign names in Chinese whose parts are joined by a point or a hyphen, whole.

Between two points all characters belong to the name. Where it begins and ends has no mark: there it holds the
characters with which foreign names are written, and is not cut inside of a word.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from localrag.extraction.han_cutting import cuts
from localrag.extraction.lexicon import chinese_words
from localrag.extraction.words import HAN_TRANSLITERATION

DOT = "[·・•‧－-]"
"""What joins the parts of a foreign name; a class of a pattern."""

JOINED = re.compile(DOT)
"""Tells a name in parts from others."""

_HAN = "(?![和与及或的在是由被把她他])[\u3400-\u9fff]"
_MAX_PART = 8
_CHAIN = re.compile(rf"(?:{_HAN}){{1,12}}(?:{DOT}(?:(?:{_HAN}){{1,12}}|[A-Z](?![A-Za-z])))+")
_PART = re.compile(rf"(?:(?!{DOT}).)+")
_SHORT = 2
_ALSO = frozenset(
    "卫歌班冈冯永仑佛道历澳昂匹平保包鲍宗津敦朝延宏桂纽梭维容迭兼拔狄虎雨华理松孟良龙尚申绍翁钟恺铁春竹佳钦茂贡洪惠捷匡留柳聂潘蒲邱荣茹锐邵唐卓赞哲朱沁"
)
"""Characters of foreign names that stand too often in other words to tell a name without a point."""

_SOUNDS = HAN_TRANSLITERATION | _ALSO
_WHOLE = ("甘地",)
"""Ends of foreign names with a character that also is a particle."""

_NUMBERED = re.compile("[一二三四五六七八九十]{1,3}世")
_LEAST_SOUNDS = 0.7
_SELDOM = ("1", "2", "3")
"""Frequencies of words of which a foreign name may be one, whatever their class."""


def joined_names(text: str) -> Iterator[tuple[int, int]]:
    """Where such names begin and end in a text, in order, no two overlapping."""
    for match in _CHAIN.finditer(text):
        parts = [(part.start() + match.start(), part.group()) for part in _PART.finditer(match.group())]
        borders = [place for place in range(1, len(parts) - 1) if not _is_inner(parts[place][1])]
        for first, last in itertools.pairwise([0, *borders, len(parts) - 1]):
            start, end = _ends(parts[first], parts[last])
            if start < end and _is_foreign(text[start:end]):
                yield start, end


def _is_inner(part: str) -> bool:
    """Whether all of what stands between two points is part of a name; else one ends and one begins in it."""
    return len(part) <= _SHORT or sum(char in _SOUNDS for char in part) >= _LEAST_SOUNDS * len(part)


def _ends(first: tuple[int, str], last: tuple[int, str]) -> tuple[int, int]:
    """Where a name begins in its first part and ends in its last; nothing if it does not reach a point."""
    kept_behind, kept_before = _kept_behind(first[1]), _kept_before(last[1])
    if not kept_behind or not kept_before:
        return 0, 0
    return first[0] + len(first[1]) - kept_behind, last[0] + kept_before


def _is_foreign(name: str) -> bool:
    characters = [char for char in name if not re.fullmatch(DOT, char)]
    return sum(char in _SOUNDS or char.isascii() for char in characters) >= _LEAST_SOUNDS * len(characters)


def _kept_behind(part: str) -> int:
    """How many of the last characters of the part before the first point belong to the name."""
    count = 0
    while count < min(len(part), _MAX_PART) and part[-1 - count] in _SOUNDS:
        count += 1
    if not count:
        return 0
    place = len(part) - count
    borders = cuts(part)
    before = max(border for border in borders if border <= place)
    behind = min(border for border in borders if border > place)
    if before < place:
        place = before if _is_name(part[before:behind]) else behind
    return len(part) - place - _place_before(part[place:])


def _place_before(part: str) -> int:
    """How many of the first characters are a place that the person is from: 巴黎安托万-贝克勒尔."""
    for size in (4, 3, 2):
        if len(part) >= size + _SHORT and chinese_words().get(part[:size], "")[:1] == "s":
            return size
    return 0


def _is_name(word: str) -> bool:
    """Whether a word that the name begins inside of is part of it: 大卫 is, 总理 is not."""
    kind = chinese_words().get(word, "")
    return kind[:1] in ("h", "s") or kind[1:] in _SELDOM


def _kept_before(part: str) -> int:
    """How many of the first characters of the part behind the last point belong to the name."""
    count = 0
    while count < min(len(part), _MAX_PART) and part[count] in _SOUNDS:
        count += 1
    for whole in _WHOLE:
        if part[max(0, count - 1) :].startswith(whole):
            count = max(0, count - 1) + len(whole)
    if part.isascii():
        return len(part)
    if not count:
        return 0
    numbered = _NUMBERED.match(part, count)
    return numbered.end() if numbered else count
