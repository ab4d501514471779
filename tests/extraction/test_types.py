"""Entity types in the words of a prompt's language."""

from __future__ import annotations

import pytest

from localrag.errors import SettingsError
from localrag.extraction.types import OTHER, type_words
from localrag.sections import ExtractionSettings


def test_english_types_are_shown_as_they_are_set_and_other_comes_last() -> None:
    words = type_words(("person", "Gadget"), "en")
    assert words.shown == ("person", "Gadget", OTHER)
    assert [words.store(word) for word in ("Person", " gadget ", "other", "nonsense", "")] == [
        "person",
        "Gadget",
        OTHER,
        OTHER,
        OTHER,
    ]


def test_chinese_types_lead_back_to_the_setting() -> None:
    words = type_words(("person", "organization", "gadget"), "zh")
    assert words.shown == ("人物", "组织", "gadget", "其他")
    assert [words.store(word) for word in words.shown] == ["person", "organization", "gadget", OTHER]
    assert words.store("person") == "person"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_default_type_has_its_word(language: str) -> None:
    types = ExtractionSettings().entity_types
    words = type_words(types, language)
    assert len(set(words.shown)) == len(types) + 1
    assert [words.store(word) for word in words.shown] == [*types, OTHER]
    if language == "zh":
        assert not any(word.isascii() for word in words.shown)


def test_double_types_and_other_are_listed_once() -> None:
    assert type_words(("person", "PERSON", "other", "Other"), "en").shown == ("person", OTHER)
    both = type_words(("place", "location"), "zh")
    assert both.shown == ("地点", "其他")
    assert both.store("location") == "place"


@pytest.mark.parametrize("name", ["", " ", "a|b", "a)b", "x" * 41, "#tag"])
def test_a_type_that_cannot_be_written_is_refused(name: str) -> None:
    with pytest.raises(SettingsError):
        type_words(("person", name), "en")
