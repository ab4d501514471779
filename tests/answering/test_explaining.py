"""Explanations: they come back as they were kept, name what is still there, and hold no document's text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from localrag.answering.conversation import Conversation
from localrag.answering.explaining import GONE, Explanation, explained, named, without_names
from localrag.answering.options import AskOptions, to_json
from localrag.answering.types import Answer
from localrag.engine.scripted import ScriptedEmbedder
from localrag.engines import Engines
from localrag.errors import UsageError
from localrag.graph.names import fold
from localrag.kb import KnowledgeBase
from localrag.retrieval.trace import Candidate, Trace
from localrag.retrieval.types import Keywords
from localrag.store.database import Store
from localrag.store.filters import Filter
from localrag.store.rows import EntityMention, Reading
from tests.answering.helpers import QUESTION
from tests.conftest import TEXTS, reader
from tests.store.helpers import add, generation

ASKED = AskOptions(mode="mix", fresh=True)


def explanation_of(answer: Answer) -> Explanation:
    assert answer.explanation is not None
    return answer.explanation


def test_an_explanation_survives_being_kept(kb: KnowledgeBase) -> None:
    found = explanation_of(kb.ask(QUESTION, options=ASKED))
    again = Explanation.from_json(found.to_json())
    assert again.to_json() == found.to_json()
    assert found.mode == "mix"
    assert found.model == "scripted"
    assert found.call["prompt_tokens"] > 0
    assert found.context["shown"]
    assert found.seconds["total"] >= found.seconds["retrieval"]


def test_it_holds_no_text_of_a_document(kb: KnowledgeBase) -> None:
    found = explanation_of(kb.ask("What of granite?", options=ASKED))
    text = str(found.to_json())
    words = {word for part in TEXTS.values() for word in part.split() if len(word) > 5}
    assert not [word for word in words if word in text]


def test_names_are_those_of_now_and_what_went_is_told(kb: KnowledgeBase, store: Store) -> None:
    found = explanation_of(kb.ask(QUESTION, options=ASKED))
    data = kb.explain(kb.ask(QUESTION, options=ASKED))
    labels = {row["label"] for row in data["candidates"]["chunk"]}
    assert any(label.startswith("bridge.md") for label in labels)
    assert "Tomas Berg" in {row["label"] for row in data["candidates"]["entity"]}
    assert {row["kind"] for row in data["context"]["shown"]} >= {"chunk", "entity"}
    kb.delete("bridge.md")
    later = named(store, found)
    assert GONE in {row["label"] for row in later["candidates"]["chunk"]}
    assert GONE in {row["label"] for row in later["context"]["shown"]}
    assert not any(row["label"].startswith("bridge.md") for row in later["candidates"]["chunk"])


def test_names_that_the_question_does_not_hold_are_not_kept() -> None:
    words = Keywords(("bridges", "floods"), ("Marta Lind", "Halden"), "words")
    found = Explanation("Which FLOODS hit Halden?", "mix", keywords=words, trace=Trace())
    assert without_names(found).keywords == Keywords(("floods",), ("Halden",), "words")


def test_a_search_alone_is_explained_as_far_as_it_goes(kb: KnowledgeBase) -> None:
    retrieved = kb.search(QUESTION, mode="auto")
    found = explained(retrieved)
    assert found.asked in ("auto", "")
    assert found.why == retrieved.why
    assert found.context == {}
    assert found.to_json()["candidates"]["chunk"]


def test_what_lies_in_another_knowledge_base_is_named_by_it(
    kb: KnowledgeBase, engines: Engines, tmp_path: Path
) -> None:
    (tmp_path / "ferry.txt").write_text("Before the Halden Bridge, Ole Dahl ran the Halden ferry until 1930.")
    other = tmp_path / "ferries.localrag"
    with KnowledgeBase.create(other, engines=engines) as made:
        made.add([tmp_path / "ferry.txt"])
    answer = kb.ask("Who ran the Halden ferry?", options=replace(ASKED, bases=(other,)))
    assert answer.retrieved is not None
    assert {passage.base for passage in answer.retrieved.passages} >= {"ferries"}
    data = kb.explain(answer)
    assert "in ferries" in {row["label"] for row in data["candidates"]["chunk"]}
    assert "in ferries" in {row["label"] for row in data["context"]["shown"]}


def test_an_answer_from_two_knowledge_bases_is_written_and_stored(kb: KnowledgeBase, tmp_path: Path) -> None:
    engines = Engines(model=reader("Ole Dahl did [1]."), embedder=ScriptedEmbedder())
    (tmp_path / "ferry.txt").write_text("Ole Dahl ran the ferry of Glomma until 1930. The ferry was blue.")
    other = tmp_path / "ferries.localrag"
    with KnowledgeBase.create(other, engines=engines) as made:
        made.add([tmp_path / "ferry.txt"])
    before = other.read_bytes()
    with KnowledgeBase.open(kb.path, engines=engines) as opened:
        options = replace(ASKED, bases=(other,), session="new")
        answer = opened.ask("Who ran the ferry of Glomma until 1930?", options=options)
        assert "Ole Dahl did [1]" in answer.answer
        assert opened.sessions.messages("last")[1].text == answer.answer
        assert opened.sessions.explanation("last")["context"]["shown"]
    assert other.read_bytes() == before


def test_with_a_filter_names_are_those_that_the_passages_within_it_use(store: Store) -> None:
    """Most texts write a name otherwise than the one that may be found."""
    for name, text in (("a.txt", "KVERN GROUP"), ("b.txt", "KVERN GROUP"), ("c.txt", "Kvern Group")):
        chunk = store.chunks.of_document(add(store, name, f"{text} is here."))[0]
        reading = Reading((EntityMention(text, fold(text), "organization", "", 0, len(text)),))
        store.graph.record(chunk.id, reading, generation(name))
    (row,) = store.graph.find_by_keys([fold("Kvern Group")])
    trace = Trace({"entity": (Candidate(row.id, {}, 1),)})
    document = next(row.id for row in store.documents.list() if row.path == "c.txt")
    within = to_json(AskOptions(filter=Filter(documents=(document,))))["filter"]
    for narrowed, label in (({}, "KVERN GROUP"), (within, "Kvern Group")):
        found = named(store, Explanation("Who?", "mix", trace=trace, narrowed=narrowed))
        assert [item["label"] for item in found["candidates"]["entity"]] == [label]


def test_a_filter_is_kept_with_the_explanation(kb: KnowledgeBase) -> None:
    options = replace(ASKED, filter=kb.filter(documents=["mill.txt"]), session="new")
    answer = kb.ask("Who bought the old mill above the river Orla?", options=options)
    for data in (kb.explain(answer), kb.sessions.explanation("last")):
        assert list(data["filter"]) == ["documents"]
        labels = {row["label"] for kind in data["candidates"].values() for row in kind}
        assert any(label.startswith("mill.txt") for label in labels)
        assert not labels & {"Halden Bridge", "Tomas Berg", "Jon Aas", GONE}


@pytest.mark.parametrize("trace", [{}, {"question": 1}, {"keywords": {}, "candidates": 3}])
def test_a_trace_that_cannot_be_read_is_told(
    kb: KnowledgeBase, store: Store, trace: dict[str, object]
) -> None:
    kb.ask(QUESTION, options=replace(ASKED, session="new"))
    store.traces.put(kb.sessions.answer("last").id, trace)
    with pytest.raises(UsageError, match="cannot be read"):
        kb.sessions.explanation("last")


def test_a_stored_explanation_has_no_name_that_the_person_did_not_say(
    kb: KnowledgeBase, store: Store
) -> None:
    answer = kb.ask(QUESTION, options=ASKED)
    words = Keywords((), ("Marta Lind", "Halden Bridge"), "words")
    answer = replace(answer, explanation=replace(explanation_of(answer), keywords=words))
    Conversation(store, AskOptions(session="new")).keep(QUESTION, None, "So.", "whole", answer=answer)
    assert store.traces.get(store.talk.messages(1)[1].id)["keywords"]["low"] == ["Halden Bridge"]  # type: ignore[index]
