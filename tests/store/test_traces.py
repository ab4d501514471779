"""Traces of answers: kept with a message, gone with it and with any chunk that it rests on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from localrag.errors import UsageError
from localrag.store import Store
from localrag.store.talk_rows import NewCitation
from tests.store.helpers import add, add_lines, generation, session_of

TRACE = {"question": "Who? \0", "context": [{"kind": "chunk", "id": 1}], "问": "谁"}


def said(store: Store) -> int:
    return store.talk.add(store.talk.create("Talk"), "assistant", "She did.")


def test_a_trace_comes_back_as_it_was_put_and_a_later_one_takes_its_place(store: Store) -> None:
    add(store, "a.txt", "First line.")
    message, revision = said(store), store.revision()
    assert store.traces.get(message) is None
    assert store.traces.put(message, TRACE, [1, 1])
    assert store.traces.get(message) == TRACE
    assert store.traces.put(message, {"question": "x"})
    assert store.traces.get(message) == {"question": "x"}
    assert session_of(store).value("SELECT count(*) FROM trace_sources") == 0
    assert store.revision() == revision, "what was said is no content"
    with pytest.raises(UsageError, match="no message 99"):
        store.traces.put(99, TRACE)


@pytest.mark.parametrize("rests_on", ["first", "both"])
def test_a_trace_goes_with_any_of_its_sources(store: Store, rests_on: str) -> None:
    one, two = add(store, "a.txt", "First line."), add(store, "b.txt", "Second line.")
    chunks = [store.chunks.of_document(document)[0].id for document in (one, two)]
    message, other = said(store), said(store)
    assert store.traces.put(message, TRACE, chunks[:1] if rests_on == "first" else chunks)
    assert store.traces.put(other, TRACE, chunks[1:])
    store.documents.delete(one)
    assert store.traces.get(message) is None
    assert store.traces.get(other) is not None
    assert store.check() == []
    assert [row.text for talk in store.talk.sessions() for row in store.talk.messages(talk.id)] == [
        "She did."
    ] * 2


def test_a_trace_of_what_is_gone_is_not_kept(store: Store) -> None:
    document_id = add(store, "a.txt", "First line.")
    chunk = store.chunks.of_document(document_id)[0].id
    message = said(store)
    store.documents.delete(document_id)
    assert not store.traces.put(message, TRACE, [chunk])
    assert store.traces.get(message) is None


def test_a_trace_goes_with_its_conversation(store: Store) -> None:
    add_lines(store, "One.")
    message = said(store)
    store.traces.put(message, TRACE, [1])
    store.talk.delete(store.talk.sessions()[0].id)
    assert session_of(store).column("SELECT message_id FROM traces") == []
    assert session_of(store).column("SELECT message_id FROM trace_sources") == []


def test_what_was_said_tells_which_chunks_it_rests_on(store: Store) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        add(store, name, "First line.")
    call = store.journal.add_generation(replace(generation("x"), task="answer"), [2])
    talk, other = store.talk.create("Talk"), store.talk.create("Other")
    cited = NewCitation(1, "[DC] a.txt", "document", "a.txt", None, 0, 5, "First")
    store.talk.add(talk, "assistant", "[1]", citations=[cited], generation_id=call)
    assert sorted(store.talk.sources(talk)) == [1, 2]
    assert store.talk.sources(other) == []
