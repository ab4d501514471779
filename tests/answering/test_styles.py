"""Answers that need not rest on the documents: flexible ones, and those of the mode bypass."""

from __future__ import annotations

import pytest

from localrag.answering.options import AskOptions, Turn
from localrag.answering.types import Answer, AnswerText
from localrag.answering.writing import Writing
from localrag.engine.programs import CitedText, FreeText
from localrag.engine.scripted import ScriptedEmbedder
from localrag.engine.types import GenerationRequest
from localrag.engines import Engines
from localrag.kb import KnowledgeBase
from localrag.retrieval.types import Coverage, Retrieved
from localrag.settings import Settings
from localrag.store.database import Store
from tests.answering.helpers import QUESTION, number_of
from tests.conftest import reader


def asked(
    kb: KnowledgeBase, question: str, says: str, options: AskOptions
) -> tuple[Answer, list[GenerationRequest]]:
    model = reader(says)
    with KnowledgeBase.open(kb.path, engines=Engines(Settings(), model, ScriptedEmbedder())) as opened:
        answer = list(opened.stream(question, options=options))[-1]
    assert isinstance(answer, Answer)
    return answer, [call for call in model.calls if call.task == "answer"]


def test_a_flexible_answer_keeps_its_mark_of_general_knowledge(kb: KnowledgeBase) -> None:
    says = "Tomas Berg did [1]. Bridges are old [General Knowledge]."
    answer, (call,) = asked(kb, QUESTION, says, AskOptions(mode="naive", style="flexible"))
    assert isinstance(call.program, CitedText)
    assert "[General Knowledge]" in answer.answer
    assert not answer.abstained
    assert [citation.number for citation in answer.citations] == [1]


def without_anything(
    kb: KnowledgeBase, mode: str, options: AskOptions
) -> tuple[Writing, str, list[GenerationRequest]]:
    """What is written where nothing was found."""
    model = reader("It is a road [General Knowledge]. See [1].")
    nothing = Retrieved("What is a road?", mode, (), (), (), Coverage(1, 1))
    with Store.open(kb.path) as store:
        writing = Writing(
            store, Engines(Settings(), model, ScriptedEmbedder()), Settings(), nothing, None, options
        )
        text = "".join(event.text for event in writing.events() if isinstance(event, AnswerText))
        assert writing.citations() == ()
    return writing, text, [call for call in model.calls if call.task == "answer"]


@pytest.mark.parametrize("mode", ["naive", "mix"])
def test_a_flexible_answer_is_written_although_nothing_was_found(kb: KnowledgeBase, mode: str) -> None:
    writing, text, (call,) = without_anything(kb, mode, AskOptions(style="flexible"))
    assert isinstance(call.program, FreeText)
    assert text.startswith("It is a road [General Knowledge]. See")
    assert "[1]" not in text
    assert not writing.abstained


@pytest.mark.parametrize("mode", ["naive", "mix"])
def test_a_strict_answer_without_anything_found_asks_no_model(kb: KnowledgeBase, mode: str) -> None:
    writing, text, calls = without_anything(kb, mode, AskOptions())
    assert calls == []
    assert text.startswith("Sorry")
    assert writing.abstained


def test_bypass_asks_the_model_alone(kb: KnowledgeBase) -> None:
    said = (Turn("Where is it?", "In California."),)
    answer, (call,) = asked(kb, QUESTION, "A road [1].", AskOptions(mode="bypass", history=said))
    assert isinstance(call.program, FreeText)
    assert answer.citations == ()
    assert not answer.abstained
    assert "[1]" not in answer.answer
    assert "References" not in answer.answer
    prompt = "".join(message.text for message in call.messages)
    assert "In California." in prompt
    assert "Halden Bridge over" not in prompt


def test_the_form_and_the_wishes_of_a_question_reach_the_prompt(kb: KnowledgeBase) -> None:
    options = AskOptions(mode="naive", response_type="table", user_prompt="In capitals.")
    answer, (call,) = asked(kb, QUESTION, "Tomas Berg [1].", options)
    assert "Form of the answer: a Markdown table" in call.messages[0].text
    assert "Wishes of the user: In capitals." in call.messages[0].text
    assert number_of(call, "bridge.md") >= 1
    assert answer.explanation is not None
    assert answer.explanation.context["used"]["prompt"] > 0
