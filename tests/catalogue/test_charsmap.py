"""The packed table of characters answers as the plain one does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.catalogue.charsmap import build_charsmap, look_up, unpack_charsmap
from localrag.errors import ModelInvalid
from tests.examples import examples

CHARACTER = st.characters(min_codepoint=1, codec="utf-8")
TABLE = st.dictionaries(CHARACTER, st.text(CHARACTER, max_size=4), min_size=1)


@settings(max_examples=examples(100), deadline=None)
@given(table=TABLE, others=st.lists(CHARACTER, max_size=40))
def test_every_key_is_found_and_nothing_else(table: dict[str, str], others: list[str]) -> None:
    units, texts = unpack_charsmap(build_charsmap(table))
    for character in [*table, *others]:
        assert look_up(units, texts, character) == table.get(character)


@settings(max_examples=examples(30), deadline=None)
@given(table=TABLE)
def test_layout(table: dict[str, str]) -> None:
    packed = build_charsmap(table)
    assert packed == build_charsmap(table)
    units, texts = unpack_charsmap(packed)
    assert len(units) % 256 == 0
    assert texts.endswith(b"\0")
    assert len(packed) == 4 + 4 * len(units) + len(texts)


def test_neighbours_in_one_byte_are_kept_apart() -> None:
    """All characters of one block of the code, half of them in the table."""
    table = {chr(0x4E00 + n): f"{n}" for n in range(0, 512, 2)}
    units, texts = unpack_charsmap(build_charsmap(table))
    for n in range(512):
        assert look_up(units, texts, chr(0x4E00 + n)) == (None if n % 2 else f"{n}")


def test_equal_replacements_are_stored_once() -> None:
    _, texts = unpack_charsmap(build_charsmap({"\n": " ", "\t": " ", "\u3000": " ", "\u0007": ""}))
    assert texts == b" \0\0"


def test_an_empty_table_is_refused() -> None:
    with pytest.raises(ModelInvalid):
        build_charsmap({})
