"""The journal and the checks: what the model wrote adds up, and what does not is found."""

from __future__ import annotations

import hashlib

import pytest

from localrag.errors import UsageError
from localrag.store import Store
from localrag.store.rows import JournalTotals, Reject
from localrag.store.session import Session
from tests.store.helpers import (
    add,
    add_lines,
    embed_missing,
    entity,
    generation,
    reading,
    relation,
    session_of,
)


def test_an_empty_journal(store: Store) -> None:
    assert store.journal.totals() == JournalTotals(0, 0, 0, 0, 0, 0)
    assert store.journal.rejects(5) == []


def test_totals_add_up(store: Store) -> None:
    one, two = add_lines(store, "a", "b")
    said = reading([entity("Ada"), entity("Bruno")], [relation("Ada", "Bruno")])
    store.graph.record(one, said, generation(tokens=10), [Reject("entity", "x", "why")] * 2)
    store.graph.record(two, reading([entity("Ada")]), generation(tokens=5))
    assert store.journal.add_generation(generation("an answer", tokens=3)) > 0
    totals = store.journal.totals()
    assert totals == JournalTotals(3, 6, 4, 2, 18, 150)
    assert totals.parsed == totals.stored + totals.rejected


def test_rejects_are_shown_newest_first(store: Store) -> None:
    one, two = add_lines(store, "a", "b")
    store.graph.record(one, reading([]), generation(), [Reject("entity", "first", "a")])
    store.graph.record(two, reading([]), generation(), [Reject("claim", "sec\0ond", "b")])
    newest, oldest = store.journal.rejects(5)
    assert (newest.chunk_id, newest.kind, newest.text, newest.reason) == (two, "claim", "sec\ufffdond", "b")
    assert oldest.text == "first"
    assert store.journal.rejects(1) == [newest]


def test_prompts_are_kept_once_by_their_hash(store: Store) -> None:
    text = "Read {text} <|im_end|>"
    digest = store.journal.put_prompt(text)
    assert digest == hashlib.sha256(text.encode()).hexdigest()
    assert store.journal.put_prompt(text) == digest
    assert store.journal.prompt(digest) == text
    assert store.info().counts["prompts"] == 1
    assert store.journal.prompt(store.journal.put_prompt("\ud800")) == "\ufffd"
    with pytest.raises(UsageError, match="no prompt"):
        store.journal.prompt("unknown")


def test_prompts_go_when_no_call_used_them_any_more(store: Store) -> None:
    shared, own = store.journal.put_prompt("shared"), store.journal.put_prompt("own")
    unused = store.journal.put_prompt("for later")
    for name, prompt in (("a", shared), ("b", shared), ("c", own)):
        document_id = add(store, f"{name}.txt", name)
        (chunk,) = store.chunks.of_document(document_id)
        store.graph.record(chunk.id, reading([]), generation(prompt_hash=prompt))
    store.documents.delete(1)
    store.documents.delete(3)
    assert store.journal.prompt(shared) == "shared"
    assert store.journal.prompt(unused) == "for later"
    with pytest.raises(UsageError):
        store.journal.prompt(own)


DAMAGES: dict[str, tuple[str, str]] = {
    "span": ("UPDATE chunks SET text = 'other' WHERE id = 1", "1 passages are not the document's text"),
    "length": ("UPDATE documents SET characters = 3", "characters, 3 were noted"),
    "parsed": ("UPDATE generations SET parsed = parsed + 1", "do not add up"),
    "orphan entity": ("DELETE FROM mentions WHERE entity_id = 1", "1 entities have no mention"),
    "orphan relation": ("DELETE FROM relation_mentions", "1 relations have no mention"),
    "place": ("UPDATE mentions SET char_start = 2, char_end = 500 WHERE id = 1", "1 mentions lie outside"),
    "vector": (
        "REPLACE INTO entity_vectors (entity_id, space_id, text_hash, vec) VALUES (1, 1, 'x', x'00000000')",
        "1 vectors of entities have not length 1 or not their space's dimension",
    ),
    "words": (
        "INSERT INTO chunk_words (rowid, text) VALUES (99, 'ghost')",
        "0 passages are missing, 1 are too many",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_is_noticed(store: Store, name: str) -> None:
    (one,) = add_lines(store, "amber")
    said = reading([entity("Ada"), entity("Bruno")], [relation("Ada", "Bruno")])
    store.graph.record(one, said, generation())
    embed_missing(store)
    assert store.check() == []
    statement, sentence = DAMAGES[name]

    def look(session: Session) -> None:
        with store.transaction():
            session.run(statement)
            assert any(sentence in problem for problem in store.check()), store.check()
            raise LookupError

    with pytest.raises(LookupError):
        look(session_of(store))


def test_a_broken_foreign_key_is_noticed(store: Store) -> None:
    add_lines(store, "amber")
    session = session_of(store)
    session.database.execute("PRAGMA foreign_keys = OFF")
    with store.transaction():
        session.run("UPDATE chunks SET document_id = 7")
    assert "1 rows of chunks point to rows that are not there." in store.check()
    with store.transaction():
        session.run("UPDATE chunks SET document_id = 1")
