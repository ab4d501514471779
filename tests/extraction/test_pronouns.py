"""Pronouns are no names: not offered, and not stored if something writes them all the same."""

from __future__ import annotations

import pytest

from localrag.extraction.candidates import find_candidates
from localrag.extraction.extractor import Extractor
from localrag.extraction.pronouns import is_pronoun
from localrag.sections import ExtractionSettings
from tests.extraction.support import chunk, generation


@pytest.mark.parametrize(
    "name",
    [
        "he",
        "He",
        "I",
        "they",
        "itself",
        "this document",
        "Our company",
        "he/she",
        "ｈｅ",
        "他们",
        "本文",
        "我们公司",
    ],
)
def test_words_that_only_point_are_pronouns(name: str) -> None:
    assert is_pronoun(name)


@pytest.mark.parametrize(
    "name",
    [
        "IT",
        "US",
        "WHO",
        "Hera",
        "Our Town",
        "This Document",
        "the document",
        "他山集团",
        "文件",
        "His Master's Voice",
        "",
    ],
)
def test_names_are_none(name: str) -> None:
    assert not is_pronoun(name)


def test_they_are_not_offered() -> None:
    text = (
        "“He” and “They” met. Our company sells lamps, says this document. “它们”在“本公司”里，“他们”不在。"
    )
    offered = {candidate.text for candidate in find_candidates(text)}
    assert "lamps" in offered
    assert not offered & {"He", "They", "Our company", "this document", "它们", "本公司", "他们"}


@pytest.mark.parametrize(("profile", "name"), [("lightrag", "he"), ("graphrag", "HE")])
def test_one_that_is_written_all_the_same_is_rejected(profile: str, name: str) -> None:
    extractor = Extractor(ExtractionSettings(profile=profile))
    text = f'("entity"<|>{name}<|>PERSON<|>Someone.)##\n<|COMPLETE|>'
    reading, rejects = extractor.read(chunk("“he” went to Oslo."), generation(text))
    assert reading.entities == ()
    assert [reject.reason for reject in rejects] == ["the name is a pronoun"]
