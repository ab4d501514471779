"""Days as regular expressions: exactly those of the calendar, and exactly those from a day on."""

from __future__ import annotations

import re
from datetime import date, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from localrag.engine.iso_dates import any_day, days_from
from tests.examples import examples

ANY = re.compile(any_day())


def is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


@given(st.integers(0, 9999), st.integers(0, 13), st.integers(0, 32))
@example(1900, 2, 29)
@example(2000, 2, 29)
@example(2023, 2, 30)
@example(0, 1, 1)
@example(9999, 12, 31)
@settings(max_examples=examples(3000), deadline=None)
def test_only_days_of_the_calendar_match(year: int, month: int, day: int) -> None:
    text = f"{year:04}-{month:02}-{day:02}"
    assert bool(ANY.fullmatch(text)) == is_day(text)


@given(st.dates(), st.one_of(st.dates(), st.integers(-900, 900)))
@example(date(9999, 12, 31), date(9999, 12, 31))
@example(date(1, 1, 1), date(9999, 2, 28))
@example(date(1996, 2, 29), date(2000, 2, 29))
@example(date(1899, 12, 31), date(1904, 2, 29))
@settings(max_examples=examples(1500), deadline=None)
def test_an_end_is_never_before_its_start(start: date, other: date | int) -> None:
    if isinstance(other, int):
        if not date.min.toordinal() <= start.toordinal() + other <= date.max.toordinal():
            return
        other = start + timedelta(days=other)
    pattern = re.compile(days_from(start.isoformat()))
    assert bool(pattern.fullmatch(other.isoformat())) == (other >= start)
    assert not pattern.fullmatch(f"{start.year:04}-02-30")


@pytest.mark.parametrize("text", ["2023-02-30", "2023-13-01", "", "NONE"])
def test_what_is_no_day_cannot_be_a_start(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        days_from(text)
