"""Plain words for a person's own types: shown to the model, led back to what the person wrote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.extraction.extractor import Extractor
from localrag.extraction.plain_types import REST, plain_word, plain_words
from localrag.extraction.types import OTHER, relation_types, relation_words, type_words
from localrag.sections import ExtractionSettings
from tests.extraction.test_compact import chunk, generation


@pytest.mark.parametrize(
    ("given_type", "shown"),
    [
        ("Peop", "person"),
        ("PER", "person"),
        ("loc", "location"),
        ("Org", "organization"),
        ("Work_Of_Art", "work of art"),
        ("WORK_OF_ART", "work of art"),
        ("SportsTeam", "sports team"),
        ("musicgenre", "music genre"),
        ("PERSON", "person"),
        # Plain already, or no word at all: as the person wrote it.
        ("person", "person"),
        ("Gadget", "Gadget"),
        ("biomarker", "biomarker"),
        ("football", "football"),
        ("XQZ", "XQZ"),
    ],
)
def test_plain_words_of_types(given_type: str, shown: str) -> None:
    assert plain_word(given_type) == shown


def test_a_plain_word_that_is_a_type_of_its_own_is_not_taken_twice() -> None:
    assert plain_words(("Peop", "person", "PER")) == {"Peop": "Peop", "person": "person", "PER": "PER"}
    assert plain_words(("Peop", "PER")) == {"Peop": "person", "PER": "PER"}


@given(
    types=st.lists(
        st.sampled_from(
            [
                "Peop",
                "PER",
                "person",
                "Org",
                "ORG",
                "misc",
                "Loc",
                "geo",
                "other",
                "musicgenre",
                "music genre",
            ]
        ),
        max_size=8,
        unique_by=str.casefold,
    ),
    language=st.sampled_from(["en", "zh"]),
    upper=st.booleans(),
)
def test_what_is_shown_leads_back_to_a_type_of_the_list(types: list[str], language: str, upper: bool) -> None:
    words = type_words(types, language, upper=upper)
    assert len({word.casefold() for word in words.shown}) == len(words.shown)
    stored = [words.store(word) for word in words.shown]
    assert set(stored) <= {*types, OTHER}
    assert len(set(stored)) == len(stored)
    # Nothing that the person listed is out of reach, but for two words of one thing in Chinese.
    if language == "en":
        assert {name for name in types if name != "other"} <= {*stored}


def test_a_type_for_the_rest_stands_for_other() -> None:
    words = type_words(("Peop", "misc"), "en")
    assert words.shown == ("person", OTHER)
    assert words.store(OTHER) == words.store("misc") == "misc"
    assert "misc" in REST


def test_relation_types_are_shown_plainly_and_stored_as_they_were_set() -> None:
    types = relation_types(["Work_For", "OrgBased_In", "Kill"])
    assert relation_words(types) == {
        "work for": "Work_For",
        "organization based in": "OrgBased_In",
        "Kill": "Kill",
    }
    settings = ExtractionSettings(relation_types=("Live_In",), entity_types=("Peop", "Loc"))
    extractor = Extractor(settings)
    request = extractor.request(chunk())
    assert "live in" in request.messages[0].text
    assert "Live_In" not in request.messages[0].text
    written = [
        ("entity", "Mira Holt | person\n"),
        ("entity", "Sele | location\n"),
        ("end", "END\n"),
        ("relationship", "Mira Holt -> Sele | live in\n"),
        ("end", "END"),
    ]
    reading, rejects = extractor.read(chunk(), generation(written))
    assert rejects == []
    assert [entity.type for entity in reading.entities] == ["Peop", "Loc"]
    assert [relation.keywords for relation in reading.relations] == ["Live_In"]
