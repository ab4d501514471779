"""Kept answers: given again while nothing has changed, and never after any change of what they rest on."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localrag.answering.keeping import Keeper
from localrag.answering.options import AskOptions, Turn
from localrag.answering.types import Answer, AnswerText, Found, Kept
from localrag.engine.scripted import ScriptedEmbedder, ScriptedModel
from localrag.engine.types import GenerationRequest, ModelDescription
from localrag.engines import Engines
from localrag.kb import KnowledgeBase
from localrag.sections import AnsweringSettings, PromptSettings, RetrievalSettings
from localrag.settings import Settings
from localrag.store.claim_rows import ClaimTest
from localrag.store.database import Store
from localrag.store.filters import Filter
from tests.answering.helpers import QUESTION, number_of
from tests.conftest import DESCRIBED, reader
from tests.store.helpers import session_of

HISTORY = (Turn("Who built the bridge?", "Marta Lind did."),)


class Other(ScriptedModel):
    """Another model that writes the same."""

    def describe(self) -> ModelDescription:
        return replace(super().describe(), fingerprint="sha256:other")


def cite(request: GenerationRequest) -> str:
    return f"Tomas Berg repaired it [{number_of(request, 'bridge.md')}]."


@pytest.fixture
def model() -> ScriptedModel:
    """Answers with a citation."""
    return reader(cite)


def answers(model: ScriptedModel) -> int:
    return sum(request.task == "answer" for request in model.calls)


def test_the_same_question_is_answered_again_without_the_model(
    kb: KnowledgeBase, model: ScriptedModel
) -> None:
    first = kb.ask(QUESTION)
    events = list(kb.stream(f"  {QUESTION} "))
    again = events[-1]
    assert isinstance(again, Answer)
    assert answers(model) == 1
    assert [type(event) for event in events] == [Kept, AnswerText, Answer]
    assert (again.answer, again.citations, again.mode) == (first.answer, first.citations, first.mode)
    assert again.explanation is not None
    assert first.explanation is not None
    assert again.explanation.to_json() == first.explanation.to_json()
    assert first.kept == ""
    assert again.kept == events[0].created_at  # type: ignore[union-attr]
    assert first.citations


def test_a_refusal_is_kept_too(kb: KnowledgeBase, model: ScriptedModel) -> None:
    engines = Engines(DESCRIBED, refusing := reader("[no-context]"), ScriptedEmbedder())
    with KnowledgeBase.open(kb.path, settings=DESCRIBED, engines=engines) as opened:
        assert opened.ask(QUESTION).abstained
        assert opened.ask(QUESTION).abstained
    assert answers(refusing) == 1


def test_an_answer_can_be_written_anew_and_then_is_the_one_that_is_kept(
    kb: KnowledgeBase, model: ScriptedModel
) -> None:
    first = kb.ask(QUESTION)
    fresh = kb.ask(QUESTION, options=AskOptions(fresh=True))
    assert fresh.kept == ""
    assert answers(model) == 2
    assert kb.ask(QUESTION).kept != ""
    assert answers(model) == 2
    assert first.answer == fresh.answer


def test_any_change_of_the_content_is_a_miss(kb: KnowledgeBase, model: ScriptedModel, tmp_path: Path) -> None:
    kb.ask(QUESTION)
    (tmp_path / "new.txt").write_text("The Halden Bridge was painted in 2001.")
    kb.add([tmp_path / "new.txt"])
    assert kb.ask(QUESTION).kept == ""
    kb.delete("new.txt")
    assert kb.ask(QUESTION).kept == "", "deleted again is another revision"
    kb.entities.rename("Tomas Berg", "T. Berg")
    assert kb.ask(QUESTION).kept == ""
    assert answers(model) == 4


def test_an_answer_goes_when_a_document_that_it_rests_on_goes(
    kb: KnowledgeBase, store: Store, model: ScriptedModel
) -> None:
    kb.ask(QUESTION)
    assert store.answers.count() == 1
    kb.delete("bridge.md")
    assert store.answers.count() == 0
    kb.close()
    store.close()
    assert b"Tomas Berg repaired it" not in kb.path.read_bytes()


def test_another_model_is_a_miss(kb: KnowledgeBase, model: ScriptedModel) -> None:
    kb.ask(QUESTION)
    engines = Engines(DESCRIBED, Other(cite), ScriptedEmbedder())
    with KnowledgeBase.open(kb.path, settings=DESCRIBED, engines=engines) as opened:
        assert opened.ask(QUESTION).kept == ""


def test_an_edited_prompt_is_a_miss(kb: KnowledgeBase, engines: Engines, tmp_path: Path) -> None:
    own = tmp_path / "prompts"
    own.mkdir()
    described = replace(DESCRIBED, prompts=PromptSettings(directory=str(own)))
    with KnowledgeBase.open(kb.path, settings=described, engines=engines) as opened:
        assert opened.ask(QUESTION).kept == ""
        assert opened.ask(QUESTION).kept != ""
        file = own / "lightrag" / "zh" / "fail_response.md"
        file.parent.mkdir(parents=True)
        file.write_text("---\ndescription: Nothing.\ninputs:\n---\nNichts. [no-context]\n", encoding="utf-8")
        assert opened.ask(QUESTION).kept == ""
        assert opened.ask(QUESTION).kept != ""


def test_what_was_said_before_counts(kb: KnowledgeBase) -> None:
    kb.ask(QUESTION)
    assert kb.ask(QUESTION, options=AskOptions(history=HISTORY)).kept == ""
    assert kb.ask(QUESTION, options=AskOptions(history=HISTORY)).kept != ""


def test_a_file_that_cannot_be_written_gives_what_is_kept_and_keeps_nothing(
    kb: KnowledgeBase, engines: Engines
) -> None:
    kb.ask(QUESTION)
    kb.close()
    with KnowledgeBase.open(kb.path, settings=DESCRIBED, engines=engines, read_only=True) as opened:
        assert opened.ask(QUESTION).kept != ""
        assert opened.ask("Who built the mill?").kept == ""
        assert opened.ask("Who built the mill?").kept == ""


def test_a_stopped_answer_is_not_kept(kb: KnowledgeBase, store: Store) -> None:
    for event in kb.stream(QUESTION):
        if isinstance(event, AnswerText):
            break
    assert store.answers.count() == 0
    assert any(isinstance(event, Found) for event in kb.stream(QUESTION))


def test_other_knowledge_bases_count_with_their_revision(
    kb: KnowledgeBase, engines: Engines, store: Store, tmp_path: Path
) -> None:
    other = tmp_path / "other.localrag"
    (tmp_path / "o.txt").write_text("Another text.")
    keeper = Keeper(store, engines, DESCRIBED)
    options = AskOptions(bases=(other,))
    assert keeper.key(QUESTION, options, ()) == "", "it is not there, so nothing is known of it"
    with KnowledgeBase.create(other, engines=engines) as made:
        one = keeper.key(QUESTION, options, ())
        assert one not in ("", keeper.key(QUESTION, AskOptions(), ()))
        assert keeper.key(QUESTION, options, ()) == one
        made.add([tmp_path / "o.txt"])
        assert keeper.key(QUESTION, options, ()) not in ("", one)
    other.write_bytes(b"no knowledge base" * 100)
    assert keeper.key(QUESTION, options, ()) == ""


def changed(value: Any) -> list[Any]:
    """Other values of a setting or an option."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1]
    if isinstance(value, str):
        return [f"{value}x"]
    if isinstance(value, tuple):
        return [(*value, "x")]
    return []


def settings_changes() -> Iterator[Settings]:
    """The settings with each single value changed that bounds allow."""
    base: Any = Settings()
    for section in dataclasses.fields(Settings):
        group: Any = getattr(base, section.name)
        if section.name == "origins":
            continue
        for item in dataclasses.fields(group):
            for value in changed(getattr(group, item.name)):
                try:
                    other = replace(group, **{item.name: value})
                except ValueError:
                    continue
                yield replace(base, **{section.name: other})


OPTIONS = (
    AskOptions(),
    AskOptions(mode="naive"),
    AskOptions(style="strict"),
    AskOptions(style="flexible"),
    AskOptions(response_type="one word"),
    AskOptions(user_prompt="Be brief."),
    AskOptions(keywords="words"),
    AskOptions(rerank=True),
    AskOptions(limit=3),
    AskOptions(seed=0),
    AskOptions(seed=1),
    AskOptions(filter=Filter(documents=(1,))),
    AskOptions(filter=Filter(tags=("1",))),
    AskOptions(filter=Filter(folder="a")),
    AskOptions(filter=Filter(entity_types=("a",))),
    AskOptions(filter=Filter(claims=ClaimTest(types=("a",)))),
    AskOptions(filter=Filter(without_claims=ClaimTest(types=("a",)))),
    AskOptions(filter=Filter(claims=ClaimTest(statuses=("a",)))),
)


def test_every_setting_and_every_option_counts(store: Store, engines: Engines) -> None:
    keys = [Keeper(store, engines, each).key(QUESTION, AskOptions(), ()) for each in settings_changes()]
    keys += [Keeper(store, engines, Settings()).key(QUESTION, each, ()) for each in OPTIONS]
    assert len(keys) > 60
    assert len(set(keys)) == len(keys)
    # What only says where an answer goes, or whether one is wanted anew, does not.
    keeper = Keeper(store, engines, Settings())
    same = [keeper.key(QUESTION, each, ()) for each in (AskOptions(session="new"), AskOptions(fresh=True))]
    assert {*same} == {keeper.key(QUESTION, AskOptions(), ())}


ASKED = st.tuples(
    st.text(max_size=4),
    st.sampled_from(OPTIONS),
    st.lists(st.builds(Turn, st.text(max_size=3), st.text(max_size=3)), max_size=2).map(tuple),
    st.sampled_from(
        (
            Settings(),
            Settings(retrieval=RetrievalSettings(passages=6)),
            Settings(answering=AnsweringSettings(response_type="x")),
        )
    ),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(one=ASKED, other=ASKED)
def test_two_keys_are_equal_only_if_all_is_equal(
    store: Store, engines: Engines, one: tuple[Any, ...], other: tuple[Any, ...]
) -> None:
    keys = [Keeper(store, engines, each[3]).key(*each[:3]) for each in (one, other)]
    assert (keys[0] == keys[1]) == (one == other)


@pytest.mark.parametrize("text", ["{}", "[1]", "null", '{"answer": 1', '{"answer": "x", "citations": [{}]}'])
def test_what_cannot_be_read_is_written_anew(
    kb: KnowledgeBase, store: Store, model: ScriptedModel, text: str
) -> None:
    kb.ask(QUESTION)
    session = session_of(store)
    with store.transaction():
        session.run("UPDATE answers SET answer = ?", [text])
    again = kb.ask(QUESTION)
    assert again.kept == ""
    assert answers(model) == 2
