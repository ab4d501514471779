"""The prompts that ship: all of them, in both languages, with the inputs that their users know."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from localrag.documents.tokens import estimate
from localrag.prompts import INPUTS, contract, load
from localrag.prompts.checking import Room
from localrag.prompts.contracts import VARIABLE
from localrag.prompts.personal import LANGUAGES, PromptFolder
from localrag.settings import data_path

NOWHERE = PromptFolder(Path("/nowhere"))
NAMES = NOWHERE.names()
_D = {"tuple_delimiter", "record_delimiter", "completion_delimiter"}

KNOWN_INPUTS: dict[tuple[str, str], set[str]] = {
    ("lightrag", "extraction_system"): {"entity_types", "language", "examples", "input_text", *_D},
    ("lightrag", "extraction_user"): {"completion_delimiter", "language"},
    ("lightrag", "extraction_continue"): {"completion_delimiter", "language"},
    ("lightrag", "extraction_examples"): _D,
    ("lightrag", "summarize_descriptions"): {
        *("summary_length", "language", "description_type", "description_name", "description_list")
    },
    ("lightrag", "keywords"): {"examples", "language", "query"},
    ("lightrag", "rag_response"): {"response_type", "user_prompt", "history", "context_data"},
    ("lightrag", "naive_response"): {"response_type", "user_prompt", "history", "content_data"},
    ("lightrag", "naive_response_flexible"): {"response_type", "user_prompt", "history", "content_data"},
    ("lightrag", "fail_response"): set(),
    ("graphrag", "extraction_system"): {"entity_types", "input_text", *_D},
    ("graphrag", "extraction_continue"): set(),
    ("graphrag", "extraction_loop"): {"tuple_delimiter"},
    ("graphrag", "summarize_descriptions"): {"entity_name", "description_list"},
    ("graphrag", "claim_extraction"): {"entity_specs", "claim_description", "input_text", *_D},
    ("graphrag", "community_report"): {"input_text"},
}
"""What the prompts of the two methods name, by the prompt that does the same here."""


@pytest.mark.parametrize(("family", "name"), KNOWN_INPUTS)
def test_every_input_that_users_know_has_a_value(family: str, name: str) -> None:
    rules = contract(family, name)
    assert rules is not None
    assert KNOWN_INPUTS[family, name] <= rules.given


def test_the_files_and_the_list_are_the_same() -> None:
    base = data_path("prompts")
    files = {path.relative_to(base).with_suffix("").as_posix() for path in base.rglob("*.md")}
    assert files == set(NAMES)
    assert len(set(NAMES)) == len(NAMES) >= 50


@pytest.mark.parametrize("name", NAMES)
def test_what_ships_has_no_mistakes(name: str) -> None:
    assert NOWHERE.check(name, Room(2048, estimate)) == ()
    prompt = NOWHERE.prompt(name)
    filled = prompt.render(**{item: f"«{item}»" for item in prompt.inputs})
    assert all(f"«{item}»" in filled for item in prompt.inputs)
    assert not any(f"{{{item}}}" in filled for item in INPUTS)


@pytest.mark.parametrize("name", sorted({name.replace("/zh/", "/en/") for name in NAMES}))
def test_both_languages_have_the_same_inputs(name: str) -> None:
    family, _, part = name.split("/")
    english, chinese = (load(family, language, part) for language in LANGUAGES)
    assert set(english.inputs) == set(chinese.inputs)
    assert re.search("[一-龥]", chinese.text)
    assert not re.search("[一-龥]", english.text)


@pytest.mark.parametrize("name", NAMES)
def test_what_differs_from_call_to_call_comes_last(name: str) -> None:
    prompt = NOWHERE.prompt(name)
    pieces = prompt.pieces({item: "VALUE" for item in prompt.inputs}, VARIABLE)
    if VARIABLE & set(prompt.inputs):
        assert len(pieces) == 2
        assert pieces[0].shared
        assert len(pieces[1].text) < 120


@pytest.mark.parametrize("language", LANGUAGES)
def test_graphrags_records_and_claims_are_shown_in_their_form(language: str) -> None:
    marks = {"tuple_delimiter": "<|>", "record_delimiter": "##", "completion_delimiter": "<|COMPLETE|>"}
    shown = load("graphrag", language, "extraction_examples").render(**marks)
    assert re.search(r'\("entity"<\|>[^<]+<\|>[^<]+<\|>[^<]+\)##', shown)
    assert re.search(r'\("relationship"<\|>[^<]+<\|>[^<]+<\|>[^<]+<\|>\d\)##', shown)
    claims = load("graphrag", language, "claim_examples").render(**marks)
    date = r"\d{4}-\d\d-\d\dT00:00:00"
    assert re.search(rf"\([^<]+<\|>NONE<\|>[^<]+<\|>SUSPECTED<\|>{date}<\|>{date}<\|>[^<]+<\|>\d\)##", claims)
    assert claims.rstrip().endswith("<|COMPLETE|>")
    assert "NONE" in load("graphrag", language, "claim_extraction").text


@pytest.mark.parametrize("family", ["lightrag", "graphrag"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_loop_question_is_answered_by_one_word(family: str, language: str) -> None:
    text = load(family, language, "extraction_loop").text
    assert "YES" in text and "NO" in text  # noqa: PT018


@pytest.mark.parametrize("language", LANGUAGES)
def test_reports_and_keywords_are_asked_for_as_json_with_their_keys(language: str) -> None:
    report = load("graphrag", language, "community_report").text
    for key in ("title", "summary", "rating", "rating_explanation", "findings", "explanation", "[Data: "):
        assert key in report
    keywords = load("lightrag", language, "keywords").text
    assert "high_level_keywords" in keywords and "low_level_keywords" in keywords  # noqa: PT018
