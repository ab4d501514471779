"""Descriptions put together without a model: each said once, joined, the telling ones of many, spread."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.store.wording import distinct, gist, joined, likeness, spread
from tests.examples import examples

SAID = st.lists(
    st.sampled_from(
        (
            "Builds boats.",
            "builds  boats",
            "Bakes bread!",
            "住在海边。",
            "住在海边",
            "",
            " ",
            ".",
            "Sings",
            "a b c",
        )
    )
    | st.text(max_size=30),
    max_size=12,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("She built it.", "she built it"),
        ("She  built\nit.", "She built it"),
        ("住在海边。", "住在海边"),
        ("STRASSE", "straße"),
    ],
)
def test_case_blanks_and_the_last_stop_make_no_difference(one: str, other: str) -> None:
    assert likeness(one) == likeness(other)
    assert distinct([one, other]) == [one]


def test_different_words_make_one() -> None:
    texts = ["She built it in 1931.", "She built it in 1932.", "She built it."]
    assert distinct(texts) == texts


@settings(max_examples=examples(200), deadline=None)
@given(SAID)
def test_each_thing_is_said_once_and_in_its_order(texts: list[str]) -> None:
    found = distinct(texts)
    assert [likeness(text) for text in found] == list(
        dict.fromkeys(said for text in texts if (said := likeness(text)))
    )
    assert all(text in texts for text in found)
    assert distinct(found) == found


@settings(max_examples=examples(200), deadline=None)
@given(SAID)
def test_joining_loses_no_description(texts: list[str]) -> None:
    text = joined(texts)
    place = 0
    for part in distinct(texts):
        place = text.index(part.strip(), place) + len(part.strip())
    assert place == len(text)


def test_joined_texts_have_stops_between() -> None:
    assert joined(["Built a bridge", "Bought a mill.", "bought a mill", "Died"]) == (
        "Built a bridge; Bought a mill. Died"
    )
    assert joined(["开办茶馆", "收徒弟。", "住在海边"]) == "开办茶馆；收徒弟。住在海边"
    assert joined([]) == ""


@settings(max_examples=examples(200), deadline=None)
@given(SAID, st.integers(1, 80))
def test_the_gist_is_some_of_what_was_said(texts: list[str], most: int) -> None:
    all_of_it, found = distinct(texts), gist(texts, most)
    assert found == [text for text in all_of_it if text in found]
    assert sum(map(len, found)) <= most or len(found) == 1
    assert bool(found) == bool(all_of_it)
    if sum(map(len, all_of_it)) <= most:
        assert found == all_of_it


def test_the_gist_takes_what_adds_most() -> None:
    texts = [
        "Marta is from Halden.",
        "Marta is from Halden indeed.",
        "Founded the Kvern Works and built the bridge.",
        "Is from Halden.",
    ]
    assert gist(texts, 70) == ["Marta is from Halden.", "Founded the Kvern Works and built the bridge."]


def test_the_gist_of_a_thing_with_very_many_descriptions_is_found_fast() -> None:
    texts = [
        f"It is said in passage {number} that word{number} is word{number % 97}." for number in range(8000)
    ]
    assert 5 < len(gist(texts, 600)) < 20


@settings(deadline=None)
@given(st.lists(st.integers(), max_size=40), st.integers(1, 45))
def test_spreading_keeps_order_and_ends(items: list[int], most: int) -> None:
    places = spread(list(range(len(items))), most)
    assert len(places) == min(most, len(items))
    assert places == sorted(set(places))
    if 2 <= most <= len(items):
        assert (places[0], places[-1]) == (0, len(items) - 1)
