"""Documents and chunks: what goes in comes out, and how states change."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.errors import UsageError
from localrag.store import Store
from localrag.store.rows import NewChunk
from localrag.store.sqlite import clean, clean_path
from tests.store.helpers import add, add_lines, chunks_of, document, generation, logical_rows, reading

LINES = "Kites rise against the wind.\n风筝逆风而起。\nSecond page"


def test_a_document_comes_back_as_it_went_in(store: Store) -> None:
    new = document("folder/kites.md", LINES)
    chunks = [dataclasses.replace(chunk, page=2) for chunk in chunks_of(LINES, heading="Toys › Kites")]
    document_id = store.documents.add(new, chunks)
    row = store.documents.get(document_id)
    for field in dataclasses.fields(new):
        if field.name != "text":
            assert getattr(row, field.name) == getattr(new, field.name)
    assert (row.characters, row.chunks, row.read, row.failed) == (len(LINES), 3, 0, 0)
    assert store.documents.text(document_id) == LINES
    assert store.documents.by_path("library", "folder/kites.md") == row
    assert store.documents.by_hash(new.sha256) == row
    assert store.documents.by_path("library", "other") is None
    assert store.documents.by_hash("0" * 64) is None
    stored = store.chunks.of_document(document_id)
    assert [chunk.ordinal for chunk in stored] == [0, 1, 2]
    for before, after in zip(chunks, stored, strict=True):
        for name in ("start", "end", "heading", "page", "tokens", "language", "text"):
            assert getattr(after, name) == getattr(before, name)
        assert (after.state, after.attempts, after.error) == ("pending", 0, "")
        assert LINES[after.start : after.end] == after.text
    assert store.chunks.get(stored[1].id) == stored[1]
    assert store.chunks.many([stored[2].id, 99, stored[0].id]) == [stored[2], stored[0]]


def test_documents_are_listed_by_path_and_status(store: Store) -> None:
    for name in ("b.txt", "a.txt", "c.txt"):
        add(store, name, "text")
    store.documents.set_status(2, "failed", "unreadable")
    assert [row.path for row in store.documents.list()] == ["a.txt", "b.txt", "c.txt"]
    assert [(row.path, row.reason) for row in store.documents.list("failed")] == [("a.txt", "unreadable")]
    assert store.documents.list("skipped") == []


def test_an_empty_document_is_indexed_at_once(store: Store) -> None:
    row = store.documents.get(store.documents.add(document("empty.txt", ""), []))
    assert (row.status, row.reason, row.chunks) == ("indexed", "There is no text in it.", 0)
    skipped = dataclasses.replace(document("image.png", ""), status="skipped", reason="no text format")
    row = store.documents.get(store.documents.add(skipped, []))
    assert (row.status, row.reason) == ("skipped", "no text format")


def test_what_is_not_there_is_a_clear_error(store: Store) -> None:
    for call in (
        lambda: store.documents.get(5),
        lambda: store.documents.text(5),
        lambda: store.documents.delete(5),
        lambda: store.documents.set_status(5, "failed"),
        lambda: store.documents.replace(5, document("a", "x"), []),
    ):
        with pytest.raises(UsageError, match="no document 5"):
            call()
    with pytest.raises(UsageError, match="no passage 5"):
        store.chunks.get(5)
    assert store.chunks.many([5]) == []
    assert store.chunks.of_document(5) == []


def test_a_chunk_must_be_the_text_at_its_span(store: Store) -> None:
    for chunk in (
        NewChunk(0, 3, "", None, 1, "en", "abd"),
        NewChunk(0, 4, "", None, 1, "en", "abc"),
        NewChunk(-3, 3, "", None, 1, "en", "abc"),
        NewChunk(2, 1, "", None, 1, "en", ""),
    ):
        with pytest.raises(ValueError, match="chunk 0"):
            store.documents.add(document("a.txt", "abc"), [chunk])
    assert store.documents.list() == []


def test_one_path_is_stored_once(store: Store) -> None:
    add(store, "a.txt", "one")
    add(store, "b.txt", "two")
    with pytest.raises(ValueError, match="stored already"):
        add(store, "a.txt", "other")
    with pytest.raises(ValueError, match="stored already"):
        store.documents.replace(2, document("a.txt", "other"), [])
    store.documents.add(document("a.txt", "other", root="attic"), [])
    assert len(store.documents.list()) == 3


def test_replacing_leaves_what_adding_would_have(store: Store) -> None:
    document_id = add(store, "a.txt", "Old words about anchors\nand ropes")
    new = document("a.txt", "New words")
    store.documents.replace(document_id, new, chunks_of(new.text))
    assert store.documents.get(document_id).sha256 == new.sha256
    replaced = logical_rows(store)
    store.documents.delete(document_id)
    store.documents.add(new, chunks_of(new.text))
    assert logical_rows(store) == replaced
    assert store.fulltext.search("anchors", 5) == []


def test_ids_are_never_used_again(store: Store) -> None:
    first = add(store, "a.txt", "one\ntwo")
    chunk_ids = {chunk.id for chunk in store.chunks.of_document(first)}
    store.documents.delete(first)
    second = add(store, "b.txt", "three\nfour")
    assert second != first
    assert chunk_ids.isdisjoint(chunk.id for chunk in store.chunks.of_document(second))


def test_pending_chunks_come_in_order_and_failed_ones_again_at_the_end(store: Store) -> None:
    ids = add_lines(store, "one", "two", "three") + add_lines(store, "four")
    assert [chunk.id for chunk in store.chunks.pending()] == ids
    assert [chunk.id for chunk in store.chunks.pending(2)] == ids[:2]
    store.chunks.mark_failed(ids[0], "the model stopped")
    assert [chunk.id for chunk in store.chunks.pending()] == [*ids[1:], ids[0]]
    assert [chunk.id for chunk in store.chunks.pending(3)] == ids[1:]
    assert [chunk.id for chunk in store.chunks.pending(max_attempts=1)] == ids[1:]
    failed = store.chunks.get(ids[0])
    assert (failed.state, failed.attempts, failed.error) == ("failed", 1, "the model stopped")
    store.chunks.mark_failed(ids[0], "again")
    assert [chunk.id for chunk in store.chunks.pending()] == ids[1:]
    counts = store.chunks.count()
    assert (counts.total, counts.read, counts.failed, counts.pending) == (4, 0, 1, 3)


def test_a_document_is_indexed_when_its_last_chunk_is_done(store: Store) -> None:
    ids = add_lines(store, "one", "two", "three")
    store.graph.record(ids[0], reading([]), generation())
    store.chunks.mark_failed(ids[1], "no")
    assert store.documents.get(1).status == "waiting"
    store.graph.record(ids[2], reading([]), generation())
    row = store.documents.get(1)
    assert (row.status, row.reason) == ("indexed", "1 of 3 passages could not be read. Passage 2: no")
    assert (row.read, row.failed) == (2, 1)
    store.graph.record(ids[1], reading([]), generation())
    row = store.documents.get(1)
    assert (row.status, row.reason, row.read, row.failed) == ("indexed", "", 3, 0)
    assert store.chunks.get(ids[1]).attempts == 2
    assert store.chunks.get(ids[1]).error == ""


def test_a_failed_second_reading_does_not_lose_the_first(store: Store) -> None:
    (chunk_id,) = add_lines(store, "one")
    store.graph.record(chunk_id, reading([]), generation("first"))
    store.chunks.mark_failed(chunk_id, "the model stopped")
    chunk = store.chunks.get(chunk_id)
    assert (chunk.state, chunk.error) == ("read", "the model stopped")
    store.chunks.mark_failed(999, "gone is fine")


@pytest.mark.parametrize(
    "text",
    [
        "nul \0 inside",
        "lone \ud800 and \udfff",
        "<|im_end|> {braces} ## <|> %s",
        "quotes ' \" ` ;--",
        "\x1b[31m\x07",
    ],
)
def test_hostile_text_changes_nothing_but_itself(store: Store, text: str) -> None:
    add(store, "before.txt", "calm")
    document_id = add(store, f"{text}.txt", text)
    wanted = text.replace("\0", "\ufffd").replace("\ud800", "\ufffd").replace("\udfff", "\ufffd")
    assert store.documents.text(document_id) == wanted
    assert [chunk.text for chunk in store.chunks.of_document(document_id)] == [wanted]
    assert store.documents.by_path("library", f"{text}.txt") is not None
    assert store.documents.text(1) == "calm"


def test_file_names_that_are_no_utf8_stay_apart(store: Store) -> None:
    first, second = (
        b"caf\xe9.txt".decode("utf-8", "surrogateescape"),
        b"caf\xe8.txt".decode("utf-8", "surrogateescape"),
    )
    add(store, first, "one")
    add(store, second, "two")
    found = store.documents.by_path("library", second)
    assert found is not None
    assert found.id == 2


@given(st.text(st.characters(), max_size=40))
def test_cleaning_keeps_every_place(text: str) -> None:
    cleaned = clean(text)
    assert len(cleaned) == len(text)
    cleaned.encode("utf-8")
    clean_path(text).encode("utf-8")
    assert "\0" not in cleaned
    for before, after in zip(text, cleaned, strict=True):
        assert after in (before, "\ufffd")


def test_a_large_document_is_stored_whole(store: Store) -> None:
    text = "\n".join(f"Sentence number {number} of a long book." for number in range(3000))
    document_id = store.documents.add(document("book.txt", text), chunks_of(text)[:50])
    assert store.documents.text(document_id) == text
