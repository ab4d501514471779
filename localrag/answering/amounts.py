"""Numbers of a text by their values, so that 1,000, 1000, １０００, 1千 and 一千 are one number.

English and Chinese forms, in digits and in words. Which separator groups digits and which is the decimal
point is told by where it stands; where both are possible, both values count.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

LONGEST = 24
"""Digits that a number may have; a longer run is compared as it is written."""

_SCALES = {
    "hundred": 2,
    "thousand": 3,
    "k": 3,
    "million": 6,
    "mn": 6,
    "m": 6,
    "billion": 9,
    "bn": 9,
    "b": 9,
    "trillion": 12,
    "十": 1,
    "百": 2,
    "千": 3,
    "万": 4,
    "萬": 4,
    "亿": 8,
    "億": 8,
}
_UNITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"]
_UNITS += ["twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_WORDS = {word: value for value, word in enumerate(_UNITS)}
_WORDS |= {word: 10 * value for value, word in enumerate(_TENS, start=2)}
_HAN = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_HAN_SCALES = {"十": 10, "百": 100, "千": 1000}
_HAN_BLOCKS = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}

_DIGITS = re.compile(
    r"(?<![^\W\u2e80-\ud7ff])(?<![.,])"
    r"(?P<number>\d+(?:[.,'\u00a0\u202f ]\d{3}(?!\d))+(?:[.,]\d+)?|\d+(?:[.,]\d+)*)"
    r"(?:\s?(?P<scale>[百千万萬亿億]{1,2}|hundred|thousand|million|billion|trillion|(?:k|mn|m|bn|b)(?![a-z])))?",
    re.IGNORECASE,
)
_HAN_NUMBER = re.compile(
    r"[零〇一二三四五六七八九两兩十][零〇一二三四五六七八九两兩十百千万萬亿億]+|"
    r"[一二三四五六七八九十](?=[个個人年月日号岁歲次条條位名家座])"
)
_WORD = re.compile(
    rf"\b(?:(?:{'|'.join(_TENS)})(?:[- ](?:{'|'.join(_UNITS[1:10])}))?|{'|'.join(_UNITS)}|"
    r"a(?= (?:hundred|thousand|million|billion)\b))"
    r"(?:[- ](?P<scale>hundred|thousand|million|billion|trillion))?\b",
    re.IGNORECASE,
)
_GROUPS = re.compile(r"\d{1,3}(?:[,'\u00a0\u202f ]\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+(?:,\d+)?")


@dataclass(frozen=True)
class Amount:
    """One number that a text gives."""

    text: str
    """As the text writes it."""

    values: frozenset[Decimal]
    """What it can mean; two values where a sign can be a decimal point as well as a separator."""

    at: tuple[int, int]
    """Where it stands: first character and one past the last."""

    in_digits: bool
    """Whether it is written in digits; a small number in words often counts what the text lists."""


def find_amounts(text: str) -> list[Amount]:
    """All numbers of a text, in its order."""
    plain = _plain(text)
    found = [*_in_digits(plain, text), *_in_words(plain, text)]
    return sorted(found, key=lambda amount: amount.at)


def _plain(text: str) -> str:
    """The text with each full-width sign as its plain one; every character keeps its place."""
    return "".join(
        folded if len(folded := unicodedata.normalize("NFKC", char)) == 1 else char for char in text
    )


def _in_digits(plain: str, text: str) -> Iterator[Amount]:
    for match in _DIGITS.finditer(plain):
        values = {
            value.scaleb(sum(_SCALES[part] for part in _parts(match["scale"])))
            for value in _values(match["number"])
        }
        if values:
            yield Amount(text[match.start() : match.end()], frozenset(map(_same, values)), match.span(), True)


def _parts(scale: str | None) -> list[str]:
    if scale is None:
        return []
    folded = scale.lower()
    return [folded] if folded in _SCALES else list(folded)


def _values(number: str) -> set[Decimal]:
    """What digits with separators can mean; nothing if they are too many."""
    if sum(char.isdigit() for char in number) > LONGEST:
        return set()
    readings = [number.replace(",", "")]
    if _GROUPS.fullmatch(number):
        readings.append(re.sub(r"[,'\u00a0\u202f ]", "", number))
        if "." in number:
            readings.append(number.replace(".", "").replace(",", "."))
    elif number.count(",") == 1:
        readings.append(number.replace(",", "."))
    values = set()
    for reading in readings:
        try:
            values.add(Decimal(reading))
        except InvalidOperation:  # dots of a version or a date
            continue
    return values


def _in_words(plain: str, text: str) -> Iterator[Amount]:
    for match in _WORD.finditer(plain):
        words = re.split(r"[- ]", match[0].lower())
        value = Decimal(sum(_WORDS.get(word, 0) for word in words) or ("zero" not in words))
        if match["scale"]:
            value = value.scaleb(_SCALES[match["scale"].lower()])
        yield Amount(text[match.start() : match.end()], frozenset({_same(value)}), match.span(), False)
    taken = [match.span() for match in _DIGITS.finditer(plain)]
    for match in _HAN_NUMBER.finditer(plain):
        if any(start < match.end() and match.start() < end for start, end in taken):
            continue
        han = _han_value(match[0])
        # A small one counts what the text lists, as in English.
        yield Amount(text[match.start() : match.end()], frozenset({Decimal(han)}), match.span(), han > 12)


def _han_value(text: str) -> int:
    """The value of a number in Chinese characters: 三百二十, 一九三四, 二十万."""
    if not any(char in _HAN_SCALES or char in _HAN_BLOCKS for char in text):
        return int("".join(str(_HAN[char]) for char in text))
    total, block, digit = 0, 0, 0
    for char in text:
        if char in _HAN:
            digit = _HAN[char]
        elif char in _HAN_SCALES:
            block += (digit or 1) * _HAN_SCALES[char]
            digit = 0
        else:
            total = (total + block + digit or 1) * _HAN_BLOCKS[char]
            block = digit = 0
    return total + block + digit


def _same(value: Decimal) -> Decimal:
    """One form for each value: 5, 5.0 and 5.00 are equal and hash alike."""
    return value.normalize()
