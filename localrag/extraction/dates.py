"""Times that a text names, as first and last day: "in 2015" is 2015-01-01 to 2015-12-31.

English, Chinese and numeric forms: days, months, quarters, halves, years, decades, centuries, ranges, and
open ends such as "since 2015". A day or month without a year takes the year that the text named before it.
Four digits that can mean a number as well are a year only behind a word such as "in", or where no noun
follows.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date

_MONTHS = [
    "January|Jan",
    "February|Feb",
    "March|Mar",
    "April|Apr",
    "May",
    "June|Jun",
    "July|Jul",
    "August|Aug",
    "September|Sept|Sep",
    "October|Oct",
    "November|Nov",
    "December|Dec",
]
_MONTH_OF = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split("|")}
_ORDINALS = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
    "twentieth",
    "twenty-first",
]
_NUMBERS = {name: number for number, name in enumerate(_ORDINALS, 1)}
_DECADES = {
    name: number
    for number, name in enumerate(
        ["twenties", "thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties"], 2
    )
}
_LEAP_YEAR = 2000
_HAN_DIGITS = {digit: number for number, digit in enumerate("〇一二三四五六七八九")} | {"零": 0, "○": 0}

_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})\b\.?"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>[12]\d{3})(?!\d|[.,]\d|\s?%)"
_DASH = r"\s?(?:-|–|—|to|until|till|and|through)\s?"
_HAN_FOUR = r"\d{4}|[〇零○一二三四五六七八九]{4}"
_HAN_YEAR = rf"(?<![\d前])(?P<year>{_HAN_FOUR})\s?年"
_HAN_NUMBER = r"\d{1,2}|[一二三四五六七八九十]{1,3}"
_HAN_MONTH = rf"(?P<month>{_HAN_NUMBER})\s?月"
_HAN_DAY = rf"(?P<day>{_HAN_NUMBER})\s?[日号]"
_HAN_DASH = r"\s?(?:至|到|—{1,2}|–|-|~|～)\s?"

_CUE = re.compile(
    r"\b(?:in|since|until|till|from|of|by|during|years?|after|before|early|late|mid|around|about|circa|"
    r"spring|summer|autumn|fall|winter|between|and|to|through|season|dated)[\s-]+(?:the\s)?$",
    re.IGNORECASE,
)
_NO_NOUN = re.compile(
    r"\s*(?:[,.;:)\]!?—–\"”’']|$|\s(?:and|but|when|while|the|he|she|it|they|as|to|by|with|[A-Z]))"
)
_OPEN_START = re.compile(r"(?:\b[Ss]ince|自从?)\s?(?:early |late |mid-?|the )?$")
_OPEN_END = re.compile(
    r"(?:\b(?:[Uu]ntil|[Tt]ill|[Uu]p to|[Tt]hrough)|直到|截至)\s?(?:early |late |mid-?|the )?$"
)
_OPEN_START_BEHIND = re.compile(r"\s?(?:以来|起|onwards?\b|to the present\b|to date\b)")
_OPEN_END_BEHIND = re.compile(r"\s?为止")


@dataclass(frozen=True)
class Period:
    """A time that a text names."""

    start: str
    """First day, ISO 8601; empty if it is open."""

    end: str
    """Last day; empty if it is open. Never before the start, and not empty with it."""

    at: tuple[int, int]
    """Where the text names it: first character and one past the last."""


@dataclass(frozen=True)
class _Found:
    """A time as a form reads it."""

    first: date
    last: date
    year: int
    """The year that a later day without one belongs to."""
    closed: bool = False
    """Whether the text names both ends."""


_Reader = Callable[[re.Match[str], int], _Found | None]


def find_periods(text: str) -> list[Period]:
    """All times that the text names, in its order. Where several forms overlap, the fullest counts."""
    found = []
    year = 0
    for reader, match in _matches(text):
        read = _read(reader, match, year)
        if read is not None:
            year = read.year
            found.append(_bounded(read, text, match.start(), match.end()))
    return found


def no_days(text: str) -> list[str]:
    """Words of the text that name a day which the calendar does not have, such as 1999-02-31."""
    found = []
    for reader, match in _matches(text):
        try:
            # Without a year, any day that a leap year has is one.
            reader(match, _LEAP_YEAR)
        except ValueError:
            found.append(match[0])
    return found


def _matches(text: str) -> list[tuple[_Reader, re.Match[str]]]:
    """What the forms find, in the order of the text."""
    taken: list[tuple[int, int, _Reader, re.Match[str]]] = []
    for pattern, reader in _FORMS:
        for match in pattern.finditer(text):
            if not any(start < match.end() and match.start() < end for start, end, *_ in taken):
                taken.append((match.start(), match.end(), reader, match))
    return [(reader, match) for _, _, reader, match in sorted(taken, key=lambda item: item[0])]


def parse_period(text: str) -> Period | None:
    """The time that a whole text means, such as `2015`, `March 2020`, `2022年1月`; None if it means none."""
    plain = re.sub(r"^(?:in\s)?(?:the\s(?!\w+ies$))?", "", text.strip())
    if re.fullmatch(r"\d{4}", plain, re.ASCII) and plain != "0000":
        return Period(f"{plain}-01-01", f"{plain}-12-31", (0, len(text)))
    found = find_periods(plain)
    if len(found) != 1 or found[0].at != (0, len(plain)):
        return None
    return replace(found[0], at=(0, len(text)))


def _read(reader: _Reader, match: re.Match[str], year: int) -> _Found | None:
    """What a match means; None if it is no day of the calendar, such as the 31st of June."""
    try:
        return reader(match, year)
    except ValueError:
        return None


def _bounded(read: _Found, text: str, start: int, end: int) -> Period:
    """The period, with an open end where the words around it say so."""
    before, behind = text[max(start - 16, 0) : start], text[end : end + 16]
    first, last = read.first.isoformat(), read.last.isoformat()
    if not read.closed:
        if _OPEN_START.search(before) or _OPEN_START_BEHIND.match(behind):
            last = ""
        elif _OPEN_END.search(before) or _OPEN_END_BEHIND.match(behind):
            first = ""
    return Period(first, last, (start, end))


# What the forms mean.


def _number(text: str) -> int:
    """A number in digits, in Chinese digits, or in Chinese up to 99. Raises `ValueError` for another."""
    if text.isdecimal():
        return int(text)
    if not all(char in _HAN_DIGITS or char == "十" for char in text) or text.count("十") > 1:
        raise ValueError(text)
    if "十" in text:
        tens, _, ones = text.partition("十")
        return 10 * (_number(tens) if tens else 1) + (_number(ones) if ones else 0)
    return int("".join(str(_HAN_DIGITS[char]) for char in text))


def _month(text: str) -> int:
    return _MONTH_OF.get(text, 0) or _number(text)


def _years(first: int, last: int, year: int, *, closed: bool = False) -> _Found | None:
    return _Found(date(first, 1, 1), date(last, 12, 31), year, closed) if first <= last else None


def _months(first: tuple[int, int], last: tuple[int, int], *, closed: bool = False) -> _Found | None:
    begin = date(*first, 1)
    end = date(*last, monthrange(*last)[1]) if 1 <= last[1] <= 12 and last[0] else begin
    return _Found(begin, end, last[0], closed) if begin <= end else None


def _own(match: re.Match[str], year: int, name: str = "year") -> int:
    """The year that a form names, else the one before it."""
    named = match.groupdict().get(name)
    return _number(named) if named else year


def _whole_day(match: re.Match[str], year: int) -> _Found | None:
    own = _own(match, year)
    day = date(own, _month(match["month"]), _number(match["day"]))
    return _Found(day, day, own)


def _whole_month(match: re.Match[str], year: int) -> _Found | None:
    month = (_own(match, year), _month(match["month"]))
    return _months(month, month)


def _range_of_days(match: re.Match[str], year: int) -> _Found | None:
    own = _own(match, year)
    month = _month(match["month"])
    other = match.groupdict().get("month2")
    first = date(own, month, _number(match["day"]))
    last = date(own, _month(other) if other else month, _number(match["day2"]))
    return _Found(first, last, own, closed=True) if first <= last else None


def _range_of_months(match: re.Match[str], year: int) -> _Found | None:
    until = _own(match, _own(match, year), "year2")
    first = (_own(match, until), _month(match["month"]))
    return _months(first, (until, _month(match["month2"])), closed=True)


def _quarter(match: re.Match[str], year: int) -> _Found | None:
    named = match["quarter"].casefold()
    last = 3 * (_NUMBERS.get(named) or _number(named))
    return _months((_own(match, 0), last - 2), (_own(match, 0), last))


def _half(match: re.Match[str], year: int) -> _Found | None:
    own = _own(match, 0)
    first = match["half"].casefold() in ("first", "1", "上")
    return _months((own, 1), (own, 6)) if first else _months((own, 7), (own, 12))


def _range_of_years(match: re.Match[str], year: int) -> _Found | None:
    first, until = _own(match, 0), match["until"]
    last = _number(until) + (first // 100 * 100 if len(until) == 2 else 0)
    return _years(first, last, last, closed=True)


def _decade(match: re.Match[str], year: int) -> _Found | None:
    named = match.groupdict()
    first = _own(match, 0)
    if not first:
        text = named["decade"].casefold()
        decade = 10 * _DECADES[text] if text in _DECADES else _number(text)
        first = 100 * (_number(named.get("century") or "20") - 1) + decade
    return _years(first, first + 9, year) if first % 10 == 0 else None


def _century(match: re.Match[str], year: int) -> _Found | None:
    text = match["century"].casefold()
    number = _NUMBERS.get(text) or _number(text)
    return _years(100 * number - 99, 100 * number, year) if number <= 21 else None


def _year(match: re.Match[str], year: int) -> _Found | None:
    return _years(_own(match, 0), _own(match, 0), _own(match, 0))


def _plain_year(match: re.Match[str], year: int) -> _Found | None:
    """Four digits: a year behind a word such as "in", or if they look like one and no noun follows."""
    before = match.string[max(match.start() - 24, 0) : match.start()]
    likely = _own(match, 0) >= 1500 and _NO_NOUN.match(match.string, match.end())
    return _year(match, year) if likely or _CUE.search(before) else None


def _second(pattern: str) -> str:
    """A part of a form for the second time."""
    return re.sub(r"\?P<(\w+)>", r"?P<\g<1>2>", pattern)


def _forms() -> Iterator[tuple[str, _Reader]]:
    """The forms, the fullest first: what one has taken, no later one reads."""
    ordinal = "|".join(sorted(_ORDINALS, key=len, reverse=True))
    until = rf"(?P<until>{_HAN_FOUR})\s?年(?!代)"
    # Ranges.
    yield (
        rf"{_HAN_YEAR}{_HAN_MONTH}{_HAN_DAY}{_HAN_DASH}(?:{_second(_HAN_MONTH)})?{_second(_HAN_DAY)}",
        _range_of_days,
    )
    yield (
        rf"{_HAN_YEAR}{_HAN_MONTH}{_HAN_DASH}(?:{_second(_HAN_YEAR)})?{_second(_HAN_MONTH)}(?!\s?\d)",
        _range_of_months,
    )
    yield rf"{_HAN_YEAR}{_HAN_DASH}{until}", _range_of_years
    yield rf"(?<!\d)(?P<year>[12]\d{{3}}){_HAN_DASH}{until}", _range_of_years
    yield rf"\b{_DAY}{_DASH}{_second(_DAY)}\s(?:of\s)?{_MONTH},?\s{_YEAR}", _range_of_days
    yield rf"\b{_DAY}\s{_MONTH}{_DASH}{_second(_DAY)}\s{_second(_MONTH)},?\s{_YEAR}", _range_of_days
    yield rf"\b{_MONTH}\s{_DAY}{_DASH}(?:{_second(_MONTH)}\s)?{_second(_DAY)},?\s{_YEAR}", _range_of_days
    yield rf"\b{_MONTH}(?:,?\s{_YEAR})?{_DASH}{_second(_MONTH)},?\s{_second(_YEAR)}", _range_of_months
    yield rf"(?<![\d-])(?P<year>[12]\d{{3}}){_DASH}(?P<until>[12]\d{{3}})(?![\d-]|\s?年)", _range_of_years
    yield (
        r"(?<![\d-])(?P<year>1\d{3}|20\d\d)(?:–|/|-(?=1[3-9]|[2-9]\d))(?P<until>\d\d)(?![\d/-])",
        _range_of_years,
    )
    # Days.
    yield r"(?<!\d)(?P<year>\d{4})([-/.])(?P<month>[01]?\d)\2(?P<day>[0-3]?\d)(?!\d)", _whole_day
    yield rf"{_HAN_YEAR}{_HAN_MONTH}{_HAN_DAY}", _whole_day
    yield rf"\b{_DAY}\s(?:of\s)?{_MONTH},?\s{_YEAR}", _whole_day
    yield rf"\b{_MONTH}\s{_DAY}(?:,\s?|\s){_YEAR}", _whole_day
    # Months, quarters, halves.
    yield rf"{_HAN_YEAR}{_HAN_MONTH}", _whole_month
    yield rf"\b{_MONTH}(?:\sof)?,?\s{_YEAR}", _whole_month
    yield r"(?<![\d-])(?P<year>[12]\d{3})-(?P<month>0[1-9]|1[0-2])(?![\d-])", _whole_month
    yield rf"{_HAN_YEAR}第?(?P<quarter>[1-4一二三四])季度?", _quarter
    yield rf"\bQ(?P<quarter>[1-4])(?:\sof)?,?\s?{_YEAR}", _quarter
    yield rf"\b(?i:(?P<quarter>first|second|third|fourth)\squarter)(?:\sof)?\s{_YEAR}", _quarter
    yield r"(?<!\d)(?P<year>[12]\d{3})\s?Q(?P<quarter>[1-4])\b", _quarter
    yield rf"{_HAN_YEAR}(?P<half>[上下])半年", _half
    yield rf"\bH(?P<half>[12])\s{_YEAR}", _half
    yield rf"\b(?i:(?P<half>first|second)\shalf\sof)\s{_YEAR}", _half
    # Decades and centuries.
    yield rf"(?<!前)(?P<century>{_HAN_NUMBER})\s?世纪(?P<decade>{_HAN_NUMBER})\s?年代", _decade
    yield rf"上个?世纪(?P<decade>{_HAN_NUMBER})\s?年代", _decade
    yield rf"(?<![\d前])(?P<year>{_HAN_FOUR})\s?年代", _decade
    yield r"\b(?P<year>[12]\d{2}0)['’]?s\b", _decade
    yield rf"\bthe\s(?P<decade>{'|'.join(_DECADES)})\b", _decade
    yield rf"(?<!前)(?P<century>{_HAN_NUMBER})\s?世纪", _century
    yield r"\b(?P<century>\d{1,2})(?:st|nd|rd|th)[\s-]century\b(?!\s?B)", _century
    yield rf"\b(?i:(?P<century>{ordinal})[\s-]century\b)(?!\s?B)", _century
    # Years.
    yield _HAN_YEAR, _year
    yield r"\b(?:A\.?D\.?|CE)\s(?P<year>\d{1,4})\b", _year
    yield r"\b(?P<year>\d{1,4})\s(?:A\.?D\b\.?|CE\b)", _year
    yield rf"(?<![\w$€£¥.,/-]){_YEAR}(?![\w-]|\s?B\.?C)", _plain_year
    # Without a year: the one that was named before.
    yield rf"(?<![\d年]){_HAN_MONTH}{_HAN_DAY}", _whole_day
    yield rf"\b{_DAY}\s(?:of\s)?{_MONTH}(?!\s?\d)", _whole_day
    yield rf"\b{_MONTH}\s{_DAY}\b(?!,?\s?\d)", _whole_day


_FORMS = [(re.compile(pattern), reader) for pattern, reader in _forms()]
