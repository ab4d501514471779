"""ISO 8601 days as regular expressions: only those that the calendar has, and only from a given one on.

A grammar that counts days of months leaves no room for the 30th of February, and one that is made for a
start leaves no room for an end before it.
"""

from __future__ import annotations

from calendar import isleap, monthrange
from datetime import date

MIDNIGHT = "T00:00:00"
"""What stands behind a day where a moment is written, as GraphRAG's claims have it."""

_YEAR = "(000[1-9]|00[1-9][0-9]|0[1-9][0-9][0-9]|[1-9][0-9][0-9][0-9])"
_IN_ANY_YEAR = (
    "((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
)
_LEAP_IN_CENTURY = "(0[48]|[2468][048]|[13579][26])"
"""The last two digits of leap years that begin no century."""

_LEAP_CENTURY = "(0[48]|[2468][048]|[13579][26])00"
_LEAP_YEAR = f"([0-9][0-9]{_LEAP_IN_CENTURY}|{_LEAP_CENTURY})"


def any_day() -> str:
    """A regular expression for every day from 0001-01-01 to 9999-12-31, and for nothing else."""
    return f"({_YEAR}-{_IN_ANY_YEAR}|{_LEAP_YEAR}-02-29)"


def days_from(start: str) -> str:
    """A regular expression for `start`, a day, and every later one. Raises `ValueError` if it is no day."""
    first = date.fromisoformat(start)
    options = [*_rest_of_month(first), *_rest_of_year(first)]
    later = _numbers_above(first.year, 4)
    if later:
        options.append(f"({'|'.join(later)})-{_IN_ANY_YEAR}")
        leap = _leap_years_above(first.year)
        if leap:
            options.append(f"({'|'.join(leap)})-02-29")
    return f"({'|'.join(options)})"


def _rest_of_month(first: date) -> list[str]:
    last = monthrange(first.year, first.month)[1]
    days = "|".join(f"{day:02}" for day in range(first.day, last + 1))
    return [f"{first.year:04}-{first.month:02}-({days})"]


def _rest_of_year(first: date) -> list[str]:
    if first.month == 12:
        return []
    longest = {31: "(0[1-9]|[12][0-9]|3[01])", 30: "(0[1-9]|[12][0-9]|30)"}
    longest |= {29: "(0[1-9]|[12][0-9])", 28: "(0[1-9]|1[0-9]|2[0-8])"}
    months = (
        f"{month:02}-{longest[monthrange(first.year, month)[1]]}" for month in range(first.month + 1, 13)
    )
    return [f"{first.year:04}-({'|'.join(months)})"]


def _numbers_above(number: int, digits: int) -> list[str]:
    """Regular expressions for the numbers of so many digits that are larger."""
    text = f"{number:0{digits}}"
    found = []
    for place in reversed(range(digits)):
        if text[place] != "9":
            higher = f"[{int(text[place]) + 1}-9]"
            found.append(f"{text[:place]}{higher}{'[0-9]' * (digits - place - 1)}")
    return found


def _leap_years_above(year: int) -> list[str]:
    century, _ = divmod(year, 100)
    same = [f"{other:04}" for other in range(year + 1, 100 * century + 100) if isleap(other)]
    higher = _numbers_above(century, 2)
    found = [*same, *([f"({'|'.join(higher)}){_LEAP_IN_CENTURY}"] if higher else [])]
    centuries = [f"{other:02}00" for other in range(century + 1, 100) if other % 4 == 0]
    return [*found, *centuries]
