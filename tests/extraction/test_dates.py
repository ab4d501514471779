"""Times that a text names."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.extraction.dates import find_periods, parse_period
from tests.examples import examples


def found(text: str) -> list[tuple[str, str]]:
    return [(period.start, period.end) for period in find_periods(text)]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("in 2015", "2015-01-01", "2015-12-31"),
        ("It fell in March 2020.", "2020-03-01", "2020-03-31"),
        ("on 10 January 2022", "2022-01-10", "2022-01-10"),
        ("on the 10th of January, 2022", "2022-01-10", "2022-01-10"),
        ("January 10, 2022", "2022-01-10", "2022-01-10"),
        ("Sept. 3rd, 1999", "1999-09-03", "1999-09-03"),
        ("2022-01-10", "2022-01-10", "2022-01-10"),
        ("at 2022-01-10T08:15:00", "2022-01-10", "2022-01-10"),
        ("2022/1/10", "2022-01-10", "2022-01-10"),
        ("2015-03", "2015-03-01", "2015-03-31"),
        ("revenue in Q3 2019 rose", "2019-07-01", "2019-09-30"),
        ("the third quarter of 2019", "2019-07-01", "2019-09-30"),
        ("2019 Q4", "2019-10-01", "2019-12-31"),
        ("the first half of 2018", "2018-01-01", "2018-06-30"),
        ("H2 2018", "2018-07-01", "2018-12-31"),
        ("in the 1990s", "1990-01-01", "1999-12-31"),
        ("in the nineties", "1990-01-01", "1999-12-31"),
        ("the 19th century", "1801-01-01", "1900-12-31"),
        ("a nineteenth-century mill", "1801-01-01", "1900-12-31"),
        ("from 1914 to 1918", "1914-01-01", "1918-12-31"),
        ("1914–18", "1914-01-01", "1918-12-31"),
        ("(1899-1961)", "1899-01-01", "1961-12-31"),
        ("March 3-5, 2020", "2020-03-03", "2020-03-05"),
        ("30 April to 2 May 2020", "2020-04-30", "2020-05-02"),
        ("from November 2019 to March 2020", "2019-11-01", "2020-03-31"),
        ("March to May 2020", "2020-03-01", "2020-05-31"),
        ("since 2015", "2015-01-01", ""),
        ("until early 2018", "", "2018-12-31"),
        ("in AD 79", "0079-01-01", "0079-12-31"),
        ("February 2024", "2024-02-01", "2024-02-29"),
        ("2022年1月", "2022-01-01", "2022-01-31"),
        ("2022年1月10日", "2022-01-10", "2022-01-10"),
        ("二〇二〇年三月十五号", "2020-03-15", "2020-03-15"),
        ("一九八七年", "1987-01-01", "1987-12-31"),
        ("2020年第一季度", "2020-01-01", "2020-03-31"),
        ("2018年下半年", "2018-07-01", "2018-12-31"),
        ("20世纪90年代", "1990-01-01", "1999-12-31"),
        ("上世纪八十年代", "1980-01-01", "1989-12-31"),
        ("十九世纪", "1801-01-01", "1900-12-31"),
        ("1914年至1918年", "1914-01-01", "1918-12-31"),
        ("2022年1月至3月", "2022-01-01", "2022-03-31"),
        ("2022年1月10日至2月3日", "2022-01-10", "2022-02-03"),
        ("自2015年起", "2015-01-01", ""),
        ("2015年以来", "2015-01-01", ""),
        ("截至2018年", "", "2018-12-31"),
        ("１９９９年", "1999-01-01", "1999-12-31"),
    ],
)
def test_forms(text: str, start: str, end: str) -> None:
    assert found(text) == [(start, end)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1500 people came",
        "31 June 2020",
        "30 February 2020",
        "2023-02-29",
        "1046 BC",
        "公元前221年",
        "公元前三世纪",
        "paid $1999 and 1,914 men",
        "phone 0123-456-7890",
        "version 1.2015.3",
        "12月",
        "on 10 March",
        "he may 5",
        "2020 boxes",
        "13月2020",
    ],
)
def test_what_is_no_time(text: str) -> None:
    assert found(text) == []


def test_a_day_without_a_year_takes_the_year_before_it() -> None:
    text = "In 2020 it began. On 10 March it stopped, in 2021 it went on until April 2. 2022年起，1月10日完。"
    starts = [period.start or period.end for period in find_periods(text)]
    assert starts == ["2020-01-01", "2020-03-10", "2021-01-01", "2021-04-02", "2022-01-01", "2022-01-10"]


def test_places_are_those_of_the_text() -> None:
    text = "Fined on 10 January 2022; 2023年 again."
    assert [text[slice(*period.at)] for period in find_periods(text)] == ["10 January 2022", "2023年"]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2015", "2015-01-01", "2015-12-31"),
        (" in 2015 ", "2015-01-01", "2015-12-31"),
        ("the 1990s", "1990-01-01", "1999-12-31"),
        ("the nineties", "1990-01-01", "1999-12-31"),
        ("March 2020", "2020-03-01", "2020-03-31"),
        ("1024", "1024-01-01", "1024-12-31"),
    ],
)
def test_a_whole_text_that_is_a_time(text: str, start: str, end: str) -> None:
    period = parse_period(text)
    assert period is not None
    assert (period.start, period.end) == (start, end)


@pytest.mark.parametrize("text", ["", "0000", "soon", "2015 or 2016", "March 2020 perhaps", "20155"])
def test_a_whole_text_that_is_none(text: str) -> None:
    assert parse_period(text) is None


PIECES = (
    *(
        "in",
        "since",
        "until",
        "to",
        "2015",
        "1914",
        "79",
        "10",
        "31",
        "th",
        "19th",
        "century",
        "January",
        "Feb.",
    ),
    *(
        "May",
        "Q3",
        "AD",
        "1990s",
        "2022年",
        "1月",
        "30日",
        "第一季度",
        "上半年",
        "世纪",
        "年代",
        "十",
        "二〇",
    ),
    *("起", "至", "-", "–", ",", ".", "$", "０", "Ⅳ"),
)
PATCHED = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(["", " "])), max_size=14).map(
    lambda pairs: "".join(part + gap for part, gap in pairs)
)


@given(st.one_of(st.text(max_size=60), PATCHED))
@settings(max_examples=examples(1500), deadline=None)
def test_whatever_is_found_is_a_time_of_the_calendar(text: str) -> None:
    end = 0
    for period in find_periods(text):
        days = [date.fromisoformat(day) for day in (period.start, period.end) if day]
        assert days
        assert days == sorted(days)
        # In order, within the text, and no two over each other.
        assert end <= period.at[0] < period.at[1] <= len(text)
        end = period.at[1]
    assert find_periods(text) == find_periods(text)
