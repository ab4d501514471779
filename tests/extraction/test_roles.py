"""An office between a body and a person parts their names."""

import pytest

from localrag.extraction.candidates import find_candidates
from localrag.extraction.roles import without_offices
from localrag.extraction.tokens import tokenise


def _parts(text: str) -> list[str]:
    words = [token for token in tokenise(text) if token.kind == "word"]
    return [" ".join(word.text for word in part) for part in without_offices(words)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Navy Capt. Ann Hill", ["Navy", "Ann Hill"]),
        ("Norhavn Harbour Board Chairman Otto Lund", ["Norhavn Harbour Board", "Otto Lund"]),
        ("Acting Mayor Edda Thorne", ["Edda Thorne"]),
        ("Norland President Otto Lund", ["Norland", "President Otto Lund"]),
        ("President Otto Lund", ["President Otto Lund"]),
        ("Judge Street", ["Judge Street"]),
        ("Secretary General Ann Hill", ["Ann Hill"]),
        ("Otto Lund", ["Otto Lund"]),
        ("Director", ["Director"]),
    ],
)
def test_parts(text: str, parts: list[str]) -> None:
    assert _parts(text) == parts


def test_both_names_are_offered_as_names() -> None:
    text = "On Monday it was said that Norhavn Harbour Board Chairman Ann Hill spoke in Oslo."
    found = {item.text: item for item in find_candidates(text)}
    whole = found["Norhavn Harbour Board Chairman Ann Hill"].chance
    assert min(found["Norhavn Harbour Board"].chance, found["Ann Hill"].chance) > whole
    assert found["Monday"].kind == "date"


def test_a_firm_is_told_from_its_place() -> None:
    found = {item.text: item for item in find_candidates("He bought Norhavn Plastics Inc. of Oslo in May.")}
    assert found["Norhavn Plastics Inc."].chance > found["Norhavn Plastics Inc. of Oslo"].chance
