"""Conversations and kept answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from localrag.errors import KnowledgeBaseReadOnly, SourceGone, UsageError
from localrag.store import Store
from localrag.store.talk_rows import NewCitation
from tests.store.helpers import add, add_lines, chunks_of, document, generation, session_of

TEXT = "First line of it.\nSecond line of it."


def cited(
    start: int, end: int, *, text: str = "", path: str = "a.txt", chunk: int | None = None
) -> NewCitation:
    return NewCitation(1, f"[DC] {path}", "document", path, None, start, end, text or TEXT[start:end], chunk)


def test_sessions_are_made_renamed_listed_and_deleted(store: Store) -> None:
    first, second = store.talk.create("  One\n talk "), store.talk.create("x" * 900)
    assert store.talk.get(first).title == "One talk"
    assert len(store.talk.get(second).title) == 200
    assert [row.id for row in store.talk.sessions()] == [second, first]
    store.talk.rename(first, "Boats")
    assert [row.title for row in store.talk.sessions(1)] == ["Boats"]
    message = store.talk.add(first, "user", "Who? \0")
    assert store.talk.get(first).messages == 1
    store.talk.delete(first)
    assert [row.id for row in store.talk.sessions()] == [second]
    assert store.talk.citations(message) == ()
    for act in (
        lambda: store.talk.get(first),
        lambda: store.talk.rename(first, "x"),
        lambda: store.talk.delete(first),
        lambda: store.talk.add(first, "user", "x"),
        lambda: store.talk.messages(first),
    ):
        with pytest.raises(UsageError, match="no conversation"):
            act()


def test_messages_come_back_in_their_order_with_what_they_rest_on(store: Store) -> None:
    document_id = add(store, "a.txt", TEXT)
    talk = store.talk.create("Talk")
    store.talk.add(talk, "user", "Who?")
    revision = store.revision()
    store.talk.add(
        talk,
        "assistant",
        "She did [1].",
        state="stopped",
        details={"mode": "mix", "模型": "小"},
        citations=[cited(18, 24), cited(0, 5, chunk=1)],
    )
    one, two = store.talk.messages(talk)
    assert (one.role, one.state, one.text, one.citations) == ("user", "whole", "Who?", ())
    assert (two.role, two.state, two.details) == ("assistant", "stopped", {"mode": "mix", "模型": "小"})
    second, first = two.citations
    assert (second.document_id, second.chunk_id, second.text) == (document_id, 2, "Second")
    assert (first.document_id, first.chunk_id, first.text, first.gone) == (document_id, 1, "First", False)
    assert store.talk.citations(two.id) == two.citations
    assert store.revision() == revision


@pytest.mark.parametrize(
    "citation",
    [
        cited(0, 5, text="Fourth"),
        cited(0, 5, path="other.txt"),
        cited(0, 25),
        cited(0, 5, chunk=2),
        cited(0, 5, chunk=99),
        NewCitation(1, "[KG] Secret", "entity", "", None, 0, 0, "text without a place"),
    ],
)
def test_a_citation_of_what_is_not_there_is_stored_as_gone(store: Store, citation: NewCitation) -> None:
    add(store, "a.txt", TEXT)
    talk = store.talk.create("Talk")
    message = store.talk.add(talk, "assistant", "x", citations=[citation])
    (found,) = store.talk.citations(message)
    assert (found.gone, found.text, found.chunk_id, found.document_id) == (True, "", None, None)
    assert found.document == citation.document
    assert "Secret" not in found.label


def test_citations_move_with_their_passage_and_go_with_it(store: Store) -> None:
    document_id = add(store, "a.txt", TEXT)
    talk = store.talk.create("Talk")
    message = store.talk.add(talk, "assistant", "x", citations=[cited(0, 5), cited(18, 24)])
    new = "Something before.\nSecond line of it."
    store.documents.replace(document_id, document("b.txt", new), chunks_of(new))
    first, second = store.talk.citations(message)
    assert (first.gone, first.text, first.document) == (True, "", "a.txt")
    assert (second.gone, second.document, new[second.start : second.end]) == (False, "b.txt", "Second")


def test_search_finds_all_words_in_titles_and_messages(store: Store) -> None:
    boats, letters = store.talk.create("BOATS of the Straße"), store.talk.create("Letters")
    store.talk.add(boats, "user", "Who built the Øresund ferry?")
    store.talk.add(letters, "user", "谁写了信？100% _sure_")

    def found(query: str) -> list[int]:
        return [row.id for row in store.talk.search(query)]

    assert found("boats øresund") == [boats]
    assert found("STRASSE") == [boats]
    assert found("写了") == [letters]
    assert found("100% _SURE_") == [letters]
    assert found("boats letters") == []
    assert found("' OR 1=1 --") == []
    assert found(" ") == [letters, boats]
    assert [row.id for row in store.talk.search("e", 1)] == [letters]


def test_a_deleted_conversation_takes_its_calls_along(store: Store) -> None:
    (chunk,) = add_lines(store, "one")
    call = store.journal.add_generation(generation("raw"), [chunk])
    one, other = store.talk.create("One"), store.talk.create("Other")
    store.talk.add(one, "assistant", "x", generation_id=call)
    store.talk.add(other, "assistant", "x", generation_id=call)
    store.talk.delete(one)
    assert store.info().counts["generations"] == 1
    store.talk.delete(other)
    assert store.info().counts["generations"] == 0


def test_an_answer_is_kept_while_nothing_changes(store: Store) -> None:
    (chunk,) = add_lines(store, "one")
    revision = store.revision()
    call = store.journal.add_generation(generation("raw"), [chunk])
    assert store.answers.put("k", "Who?", '{"answer": "她"}', revision=revision, generation_id=call)
    found = store.answers.get("k")
    assert found is not None
    assert (found.question, found.answer, found.revision) == ("Who?", '{"answer": "她"}', revision)
    assert store.answers.get("other") is None
    assert store.answers.put("k", "Who?", "new", revision=revision, generation_id=call)
    assert store.answers.count() == 1
    add_lines(store, "two")
    assert store.answers.get("k") is None
    assert not store.answers.put("k", "Who?", "late", revision=revision, generation_id=call)
    assert store.answers.put("j", "Who?", "x", revision=store.revision(), generation_id=call)
    assert store.answers.count() == 1, "what can never be found again is gone"
    with pytest.raises(UsageError, match="no call 99"):
        store.answers.put("i", "Who?", "x", revision=store.revision(), generation_id=99)


def test_kept_answers_can_be_cleared(store: Store) -> None:
    (chunk,) = add_lines(store, "one")
    calls = [store.journal.add_generation(generation(f"raw {number}"), [chunk]) for number in range(2)]
    talk = store.talk.create("Talk")
    store.talk.add(talk, "assistant", "x", generation_id=calls[1])
    for number, call in enumerate(calls):
        store.answers.put(str(number), "?", "x", revision=store.revision(), generation_id=call)
    assert store.answers.clear() == 2
    assert session_of(store).column("SELECT output FROM generations") == ["raw 1"]


def test_an_answer_goes_with_its_source(store: Store) -> None:
    one, two = add(store, "a.txt", "one"), add(store, "b.txt", "two")
    for key, chunk in (("a", 1), ("b", 2)):
        call = store.journal.add_generation(generation(f"raw {key}"), [chunk, chunk])
        store.answers.put(key, "?", "x", revision=store.revision(), generation_id=call)
    store.documents.delete(one)
    assert session_of(store).column("SELECT key FROM answers") == ["b"]
    assert session_of(store).column("SELECT output FROM generations") == ["raw b"]
    with pytest.raises(SourceGone):
        store.journal.add_generation(generation("late"), [1, 2])
    store.documents.delete(two)
    assert store.info().counts["generations"] == 0


def test_nothing_is_said_in_a_file_that_is_read_only(path: Path) -> None:
    with Store.create(path) as store:
        store.talk.create("Talk")
    with Store.open(path, read_only=True) as store:
        assert len(store.talk.sessions()) == 1
        with pytest.raises(KnowledgeBaseReadOnly):
            store.talk.create("x")


def test_a_question_is_described_later_and_taken_back_with_its_answer(store: Store) -> None:
    talk = store.talk.create("Bridges")
    first = store.talk.add(talk, "user", "Who?")
    store.talk.add(talk, "assistant", "She", state="stopped")
    second = store.talk.add(talk, "user", "When?")
    store.talk.describe(second, {"rewritten": "When was she born?"})
    assert store.talk.messages(talk)[2].details == {"rewritten": "When was she born?"}
    with pytest.raises(UsageError):
        store.talk.describe(99, {})
    other = store.talk.create("Other")
    store.talk.take_back(other, first)
    store.talk.take_back(talk, first + 1)
    assert len(store.talk.messages(talk)) == 3
    store.talk.take_back(talk, first)
    assert [row.id for row in store.talk.messages(talk)] == [second]
    store.talk.take_back(talk, second)
    assert store.talk.messages(talk) == []
