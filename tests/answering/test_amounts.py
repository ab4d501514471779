"""Numbers by their values, whatever they look like."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.answering.amounts import find_amounts


def values(text: str) -> list[set[Decimal]]:
    return [set(amount.values) for amount in find_amounts(text)]


@pytest.mark.parametrize(
    "text",
    [
        *("1000", "1,000", "1.000", "1 000", "1\u202f000", "1'000", "１，０００", "1千", "一千", "1k"),
        *("one thousand", "a thousand", "1 thousand", "1000.0"),
    ],
)
def test_a_thousand_in_its_forms(text: str) -> None:
    (found,) = values(f"it has {text} stones")
    assert Decimal(1000) in found


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3.2 billion", "3200000000"),
        ("$1.5m", "1500000"),
        ("1.5万", "15000"),
        ("两千万", "20000000"),
        ("三百二十", "320"),
        ("一九三四年", "1934"),
        ("twenty-three", "23"),
        ("12.5%", "12.5"),
        ("3,5", "3.5"),
    ],
)
def test_values(text: str, value: str) -> None:
    (found,) = values(text)
    assert Decimal(value) in found


def test_a_point_that_can_part_thousands_means_both() -> None:
    assert values("1.500") == [{Decimal("1.5"), Decimal(1500)}]


def test_ranges_scores_and_ordinals_are_numbers_and_versions_are_none() -> None:
    assert values("They won 5-4 on the 21st.") == [{Decimal(5)}, {Decimal(4)}, {Decimal(21)}]
    assert values("see v1.2.3 and B52") == []


def test_small_words_count_things_and_are_told_apart() -> None:
    assert [amount.in_digits for amount in find_amounts("two of 7, and 三个人, and 八十个")] == [
        False,
        True,
        False,
        True,
    ]


def test_a_run_of_digits_without_end_is_no_number() -> None:
    assert find_amounts("9" * 100_000) == []


@given(st.integers(0, 10**15), st.sampled_from(["{:d}", "{:,d}"]))
def test_a_number_is_found_at_its_place(number: int, form: str) -> None:
    text = f"there are {form.format(number)} of them"
    (found,) = find_amounts(text)
    assert Decimal(number) in found.values
    assert text[slice(*found.at)] == found.text == form.format(number)


@given(st.text(max_size=60))
def test_any_text_is_read_and_places_hold(text: str) -> None:
    for amount in find_amounts(text):
        assert text[slice(*amount.at)] == amount.text
        assert amount.values
