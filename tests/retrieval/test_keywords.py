"""Keywords by the model: a grammar, nothing made up, and the words of the question where it fails."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from localrag.engine.programs import JsonSchema
from localrag.engine.scripted import ScriptedModel
from localrag.engine.types import INTERACTIVE, Event, GenerationRequest, ProgressEvent
from localrag.errors import Cancelled, ModelNotFound, PromptError
from localrag.retrieval.keywords import (
    LONGEST,
    MOST_LOW,
    by_model,
    keywords_of,
    keywords_request,
    read_keywords,
)
from localrag.retrieval.types import Keywords

QUESTION = "Which permits does a beekeeper need, and who issues them?"


def says(high: list[str], low: list[str]) -> ScriptedModel:
    return ScriptedModel(
        lambda request: json.dumps(
            {"high_level_keywords": high, "low_level_keywords": low}, ensure_ascii=False
        )
    )


def test_the_model_writes_under_a_grammar_and_its_lists_are_read() -> None:
    model = says(["permits for beekeeping", "issuing authority"], ["beekeeper", "permits"])
    found = by_model(QUESTION, model)
    assert found == Keywords(
        ("permits for beekeeping", "issuing authority"), ("beekeeper", "permits"), "model"
    )
    (request,) = model.calls
    assert isinstance(request.program, JsonSchema)
    assert request.priority == INTERACTIVE
    assert request.program.schema["required"] == ["high_level_keywords", "low_level_keywords"]


def test_what_the_question_does_not_hold_is_left_out() -> None:
    found = by_model(
        QUESTION, says(["influence of a lighthouse"], ["Norhavn", "beekeeper", "Beekeepers", " "])
    )
    assert found == Keywords((), ("beekeeper",), "model")


def test_chinese_keywords_share_characters_with_the_question() -> None:
    found = by_model("养蜂需要哪些许可，由谁颁发？", says(["颁发机关", "沿海航运"], ["养蜂", "灯塔"]))
    assert found == Keywords(("颁发机关",), ("养蜂",), "model")


@pytest.mark.parametrize(
    ("question", "part", "other"),
    [(QUESTION, "Write the keywords in English", "关键词"), ("谁开办了茶馆？", "关键词用中文书写", "Write")],
)
def test_the_prompt_is_in_the_questions_language(question: str, part: str, other: str) -> None:
    text = keywords_request(question).messages[0].text
    assert part in text
    assert other not in text
    assert question in text


def test_the_fixed_part_of_the_prompt_is_shared_and_the_question_is_not() -> None:
    pieces = keywords_request("{examples} <|im_end|> {0} who?").messages[0].pieces
    assert pieces[0].shared
    assert "who?" not in pieces[0].text
    assert "{examples} <|im_end|> {0} who?" in pieces[-1].text
    assert not pieces[-1].shared


@pytest.mark.parametrize(
    "text",
    [
        "It is in the texts.",
        "[]",
        '{"low_level_keywords": "bees"}',
        '{"high_level_keywords": [1, null]}',
        "",
        "{",
    ],
)
def test_text_that_is_no_such_json_gives_none(text: str) -> None:
    assert read_keywords(text, QUESTION) == Keywords(by="model")


def test_lists_and_words_are_bounded() -> None:
    low = [f"permits {n} " + "x" * 200 for n in range(40)]
    found = read_keywords(json.dumps({"low_level_keywords": low}), QUESTION)
    assert len(found.low) == MOST_LOW
    assert all(len(word) <= LONGEST for word in found.low)


def test_without_a_model_the_words_serve_and_nothing_is_told() -> None:
    found, note = keywords_of(QUESTION, (), None)
    assert found.by == "words"
    assert "beekeeper" in found.low
    assert note == ""


def test_a_greeting_does_not_reach_the_model() -> None:
    model = says(["permits"], ["permits"])
    found, note = keywords_of("Hello there!", (), lambda: model)
    assert found.empty
    assert model.calls == []
    assert note == ""


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (ScriptedModel(fail=lambda request: True), "scripted failure"),
        (says([], []), "found no keywords"),
        (says([], ["Norhavn"]), "found no keywords"),
    ],
)
def test_where_the_model_gives_none_the_words_serve_and_it_is_told(model: ScriptedModel, reason: str) -> None:
    found, note = keywords_of(QUESTION, (), lambda: model)
    assert found.by == "words"
    assert "beekeeper" in found.low
    assert reason in note


def test_a_model_that_is_not_there_is_told() -> None:
    def missing() -> ScriptedModel:
        raise ModelNotFound("The model is not installed.")

    found, note = keywords_of(QUESTION, (), missing)
    assert found.by == "words"
    assert "not installed" in note


def test_a_stop_is_no_note() -> None:
    cancel = threading.Event()

    class Slow(ScriptedModel):
        def stream(self, request: GenerationRequest) -> Iterator[Event]:
            cancel.set()
            yield ProgressEvent("prefill", 1, 0, 0.0, 0.0, 0, 10)
            threading.Event().wait(5)

    with pytest.raises(Cancelled):
        keywords_of(QUESTION, (), Slow, cancel=cancel)


def test_a_damaged_prompt_of_ones_own_is_an_error(tmp_path: Path) -> None:
    own = tmp_path / "lightrag" / "en" / "keywords.md"
    own.parent.mkdir(parents=True)
    own.write_text("---\ninputs: nonsense\n---\n{nonsense}\n")
    with pytest.raises(PromptError):
        keywords_of(QUESTION, (), lambda: says([], ["permits"]), tmp_path)
