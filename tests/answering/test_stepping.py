"""Questions that are asked in steps: what they only describe is looked up, and its sources are cited too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from localrag.answering.described import Described
from localrag.answering.options import AskOptions
from localrag.answering.stepping import named
from localrag.answering.types import Answer, AskEvent, Found, Kept, Step
from localrag.engine.scripted import ScriptedEmbedder
from localrag.engine.types import GenerationRequest
from localrag.engines import Engines
from localrag.kb import KnowledgeBase
from localrag.settings import load_settings
from localrag.store import Store
from tests.answering.helpers import last, number_of, spans_hold
from tests.conftest import TEXTS, reader
from tests.store.helpers import session_of

QUESTION = "What did the builder of the Halden Bridge buy in 1934?"
STEP = "Who is the builder of the Halden Bridge?"
THEN = "What did Marta Lind buy in 1934?"

Write = Callable[[GenerationRequest], str]


def write(request: GenerationRequest) -> str:
    """A model that knows one fact a question."""
    asked = request.messages[-1].text
    if asked == STEP:
        return f"Marta Lind [{number_of(request, 'bridge.md')}]."
    assert asked == THEN
    return f"She bought the mill [{number_of(request, 'mill.txt')}]."


def asked(
    kb: KnowledgeBase, model: Write | str, question: str = QUESTION, **options: object
) -> list[AskEvent]:
    engines = Engines(load_settings(), reader(model), ScriptedEmbedder())
    with KnowledgeBase.open(kb.path, engines=engines) as opened:
        wanted = AskOptions(**{"mode": "mix", "fresh": True, **options})  # type: ignore[arg-type]
        return list(opened.stream(question, options=wanted))


def test_what_is_described_is_looked_up_first_and_cited(kb: KnowledgeBase) -> None:
    events = asked(kb, write)
    steps = [event for event in events if isinstance(event, Step)]
    assert [(step.question, step.answer) for step in steps] == [(STEP, ""), (STEP, "Marta Lind")]
    (found,) = [event for event in events if isinstance(event, Found)]
    assert events.index(steps[1]) < events.index(found)
    assert found.retrieved.question == THEN
    answer = last(events)
    assert answer.question == QUESTION
    body, _, listed = answer.answer.partition("\n\n### References\n")
    assert body == "She bought the mill [1]."
    assert listed == "- [DC] mill.txt\n- [DC] bridge.md\n"
    assert [(c.number, c.document) for c in answer.citations] == [(1, "mill.txt"), (2, "bridge.md")]
    assert spans_hold(kb, answer)
    assert "Marta Lind built it" in answer.citations[1].text
    assert answer.steps == (steps[1],)
    told = [{"question": STEP, "answer": "Marta Lind", "documents": ["bridge.md"]}]
    assert answer.to_json()["steps"] == told
    assert answer.explanation is not None
    assert answer.explanation.to_json()["steps"] == told


@pytest.mark.parametrize(
    "said",
    [
        "I do not know.",
        "Marta Lind, or perhaps her daughter Ida Lind, or the engineer Tomas Berg, or somebody else [1].",
        "No [1].",
    ],
)
def test_a_step_that_gives_no_name_leaves_the_question_as_it_was(kb: KnowledgeBase, said: str) -> None:
    questions: list[str] = []

    def model(request: GenerationRequest) -> str:
        questions.append(request.messages[-1].text)
        return said if questions[-1] == STEP else f"The mill [{number_of(request, 'mill.txt')}]."

    answer = last(asked(kb, model))
    assert questions == [STEP, QUESTION]
    assert answer.steps == ()


def test_steps_can_be_left_out(kb: KnowledgeBase) -> None:
    def model(request: GenerationRequest) -> str:
        assert request.messages[-1].text == QUESTION
        return "The mill."

    assert last(asked(kb, model, steps=False)).steps == ()
    assert last(asked(kb, model, mode="bypass")).steps == ()


def test_an_answer_in_steps_is_kept_with_them(kb: KnowledgeBase) -> None:
    first = last(asked(kb, write))
    again = asked(kb, "not asked", fresh=False)
    assert isinstance(again[0], Kept)
    assert last(again).steps == first.steps
    assert last(again).citations == first.citations


def test_what_a_step_rests_on_goes_with_its_document(kb: KnowledgeBase) -> None:
    engines = Engines(load_settings(), reader(write), ScriptedEmbedder())
    with KnowledgeBase.open(kb.path, engines=engines) as opened:
        answer: Answer = last(list(opened.stream(QUESTION, options=AskOptions(mode="mix", session="new"))))
        assert answer.session is not None
        assert {c.document for c in answer.citations} == {"mill.txt", "bridge.md"}
        opened.delete("bridge.md")
    with Store.open(kb.path) as store:
        # Both calls rest on it: the step read it, and the answer has its name from there.
        assert session_of(store).column("SELECT task FROM generations WHERE task = 'answer'") == []
        (row,) = [row for row in store.talk.messages(answer.session) if row.role == "assistant"]
        assert [citation.document for citation in row.citations if citation.text] == ["mill.txt"]


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ("Marta Lind", "Marta Lind"),
        ("the builder of the bridge is Marta Lind.", "Marta Lind"),
        ("**Marta  Lind**\n", "Marta Lind"),
        ("“Marta Lind”.", "Marta Lind"),
        ("Unknown.", ""),
        ("There is no builder.", ""),
        ("", ""),
        ("a b c d e f g h i j", ""),
        ("x" * 61, ""),
        ("陈" * 21, ""),
        ("陈玉兰。", "陈玉兰"),
    ],
)
def test_names_in_answers(answer: str, name: str) -> None:
    assert named(answer, Described(0, 5, "Who is the builder of the bridge?")) == name


def test_two_things_are_asked_about_one_by_one_and_compared(kb: KnowledgeBase) -> None:
    def model(request: GenerationRequest) -> str:
        question = request.messages[-1].text
        if question == "When was Halden Bridge built?":
            return f"1931 [{number_of(request, 'bridge.md')}]."
        assert question == "When was Ida Lind built?"
        return f"In 1972 [{number_of(request, 'mill.txt')}]."

    events = asked(kb, model, "Which was built first, Halden Bridge or Ida Lind?", response_type="short")
    answer = last(events)
    assert answer.answer == "Halden Bridge [1][2].\n\n### References\n- [DC] bridge.md\n- [DC] mill.txt\n"
    assert [step.answer for step in answer.steps] == ["1931.", "In 1972."]
    assert spans_hold(kb, answer)
    assert {citation.document for citation in answer.citations} == {"bridge.md", "mill.txt"}
    told = last(asked(kb, model, "Which was built first, Halden Bridge or Ida Lind?"))
    assert told.answer.partition("\n\n")[0] == (
        "Halden Bridge [1][2]. Halden Bridge: 1931 [1]. Ida Lind: In 1972 [2]."
    )


def test_what_cannot_be_compared_is_asked_as_a_whole(kb: KnowledgeBase) -> None:
    question = "Which was built first, Halden Bridge or Ida Lind?"
    seen: list[str] = []

    def model(request: GenerationRequest) -> str:
        seen.append(request.messages[-1].text)
        return f"The bridge [{number_of(request, 'bridge.md')}]."

    answer = last(asked(kb, model, question))
    assert seen[-1] == question
    assert answer.answer.startswith("The bridge [1]")
    assert answer.steps == ()


def test_a_step_may_rest_on_another_knowledge_base(kb: KnowledgeBase, tmp_path: Path) -> None:
    texts = tmp_path / "mill"
    texts.mkdir()
    (texts / "mill.txt").write_text(TEXTS["mill.txt"], encoding="utf-8")
    path = tmp_path / "mill.localrag"
    engines = Engines(load_settings(), reader(write), ScriptedEmbedder())
    with KnowledgeBase.create(path, engines=engines) as own:
        own.add([texts])
        answer = last(list(own.stream(QUESTION, options=AskOptions(mode="naive", bases=(kb.path,)))))
    assert answer.steps
    (elsewhere,) = [citation for citation in answer.citations if citation.document == "bridge.md"]
    assert elsewhere.base
    assert "Marta Lind built it" in elsewhere.text


def test_the_name_of_a_compared_document_is_no_markup(tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "a[x](y).md").write_text("Halden Mill was built in 1911 by Ada.\n", encoding="utf-8")
    (texts / "b.md").write_text("Varde Mill was built in 1923 by Jon.\n", encoding="utf-8")

    def model(request: GenerationRequest) -> str:
        halden = "Halden" in request.messages[-1].text
        name = "a[x](y).md" if halden else "b.md"
        return f"{1911 if halden else 1923} [{number_of(request, name)}]."

    engines = Engines(load_settings(), reader(model), ScriptedEmbedder())
    with KnowledgeBase.create(tmp_path / "mills.localrag", engines=engines) as own:
        own.add([texts])
        question = "Which was built first, Halden Mill or Varde Mill?"
        answer = last(list(own.stream(question, options=AskOptions(mode="naive", response_type="short"))))
    assert answer.answer.startswith("Halden Mill [1][2].")
    assert r"- [DC] a\[x\](y).md" in answer.answer
