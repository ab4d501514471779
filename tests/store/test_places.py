"""A changed document keeps what its unchanged chunks hold; a document may lie in several places and move."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.errors import UsageError
from localrag.store import Store
from localrag.store.followed_rows import Place, RootRow
from localrag.store.rows import NewChunk
from tests.store.helpers import (
    add,
    chunks_of,
    document,
    embed_missing,
    entity,
    generation,
    logical_rows,
    quick_store,
    reading,
    session_of,
)


def place(path: str, root: str = "library", size: int = 5, mtime: float = 1.5) -> Place:
    return Place(root, path, size, mtime)


def paths(store: Store, document_id: int) -> list[str]:
    return [item.path for item in store.documents.places(document_id)]


def read_lines(store: Store, document_id: int) -> None:
    for chunk in store.chunks.of_document(document_id):
        if chunk.state == "pending":
            store.graph.record(chunk.id, reading([entity(chunk.text)]), generation(chunk.text))


def replace(store: Store, document_id: int, text: str, **changes: str) -> int:
    new = document(store.documents.get(document_id).path, text)
    chunks = [dataclasses.replace(chunk, **changes) for chunk in chunks_of(text)]  # type: ignore[arg-type]
    return store.documents.replace(document_id, new, chunks)


def test_only_new_chunks_are_new(store: Store) -> None:
    document_id = add(store, "a.txt", "one\ntwo\nthree\nfour")
    read_lines(store, document_id)
    embed_missing(store)
    before = {chunk.text: chunk for chunk in store.chunks.of_document(document_id)}
    assert replace(store, document_id, "zero\none\nthree\nfour\nfive") == 2
    after = {chunk.text: chunk for chunk in store.chunks.of_document(document_id)}
    for text in ("one", "three", "four"):
        assert after[text].id == before[text].id
        assert (after[text].state, after[text].attempts) == ("read", 1)
    assert [chunk.text for chunk in store.chunks.pending()] == ["zero", "five"]
    assert [chunk.ordinal for chunk in store.chunks.of_document(document_id)] == [0, 1, 2, 3, 4]
    assert {row.name for row in store.graph.top_entities(9)} == {"one", "three", "four"}
    assert store.info().counts["chunk_vectors"] == 3
    assert store.documents.get(document_id).status == "waiting"
    assert [hit.id for hit in store.fulltext.search("two", 5)] == []
    assert [hit.id for hit in store.fulltext.search("three", 5)] == [before["three"].id]


def test_a_document_without_new_chunks_stays_indexed(store: Store) -> None:
    document_id = add(store, "a.txt", "one\ntwo\nthree")
    read_lines(store, document_id)
    assert replace(store, document_id, "three\none") == 0
    assert store.documents.get(document_id).status == "indexed"
    assert [chunk.text for chunk in store.chunks.of_document(document_id)] == ["three", "one"]


def test_equal_chunks_are_matched_in_order(store: Store) -> None:
    document_id = add(store, "a.txt", "same\nsame\nother\nsame")
    ids = [chunk.id for chunk in store.chunks.of_document(document_id) if chunk.text == "same"]
    replace(store, document_id, "same\nnew\nsame")
    assert [chunk.id for chunk in store.chunks.of_document(document_id) if chunk.text == "same"] == ids[:2]


def test_the_same_words_in_another_language_are_read_again(store: Store) -> None:
    document_id = add(store, "a.txt", "Gift\nRat")
    read_lines(store, document_id)
    assert replace(store, document_id, "Gift\nRat", language="de") == 2
    assert store.graph.top_entities(9) == []


def test_another_heading_is_found_and_the_old_one_is_not(store: Store) -> None:
    new = document("a.txt", "one\ntwo")
    document_id = store.documents.add(new, chunks_of(new.text, heading="Zanzibar"))
    read_lines(store, document_id)
    assert store.documents.replace(document_id, new, chunks_of(new.text, heading="Reykjavik")) == 0
    assert len(store.fulltext.search("reykjavik", 5)) == 2
    assert store.fulltext.search("zanzibar", 5) == []
    assert {chunk.heading for chunk in store.chunks.of_document(document_id)} == {"Reykjavik"}
    assert {chunk.state for chunk in store.chunks.of_document(document_id)} == {"read"}


def test_failed_chunks_stay_failed_and_read_files_start_anew(store: Store) -> None:
    document_id = add(store, "a.txt", "one\ntwo")
    first, _ = store.chunks.of_document(document_id)
    store.chunks.mark_failed(first.id, "the model stopped")
    store.documents.note_failure(document_id, "unreadable")
    assert store.documents.attempts(document_id) == 1
    replace(store, document_id, "one\nthree")
    assert (store.chunks.get(first.id).state, store.chunks.get(first.id).error) == (
        "failed",
        "the model stopped",
    )
    assert store.documents.attempts(document_id) == 0


def test_a_wrong_span_leaves_everything_as_it_was(store: Store) -> None:
    document_id = add(store, "a.txt", "one\ntwo")
    before = logical_rows(store)
    wrong = [NewChunk(0, 3, "", None, 1, "en", "xxx")]
    with pytest.raises(ValueError, match="chunk 0"):
        store.documents.replace(document_id, document("a.txt", "one"), wrong)
    assert logical_rows(store) == before


def test_citations_move_with_their_chunk(store: Store) -> None:
    document_id = add(store, "a.txt", "one\ntwo")
    chunk = store.chunks.of_document(document_id)[1]
    session = session_of(store)
    with store.transaction():
        session.run("INSERT INTO sessions (title, created_at, changed_at) VALUES ('', '', '')")
        session.run(
            "INSERT INTO messages (session_id, role, state, created_at, text) "
            "VALUES (1, 'assistant', 'whole', '', 'two [1]')"
        )
        session.run(
            "INSERT INTO citations (message_id, number, label, kind, document_id, chunk_id, path, "
            "char_start, char_end, text) VALUES (1, 1, 'DC', 'document', ?, ?, 'a.txt', 5, 7, 'wo')",
            [document_id, chunk.id],
        )
    replace(store, document_id, "zero\none\ntwo")
    ((start, end),) = session.rows("SELECT char_start, char_end FROM citations")
    assert store.documents.text(document_id)[start:end] == "wo"


def test_places_come_and_go(store: Store) -> None:
    document_id = add(store, "a.txt", "one")
    revision = store.revision()
    store.documents.add_place(document_id, place("b.txt"))
    store.documents.add_place(document_id, place("b.txt", mtime=9.0))
    assert store.revision() > revision
    assert paths(store, document_id) == ["a.txt", "b.txt"]
    found = store.documents.by_place("library", "b.txt")
    assert found is not None
    assert found.id == document_id
    assert store.documents.by_path("library", "b.txt") is None
    with pytest.raises(ValueError, match="stored already"):
        add(store, "b.txt", "two")
    store.documents.move(document_id, place("c.txt", root="attic"))
    assert [item.full for item in store.documents.places(document_id)] == ["attic/c.txt", "library/b.txt"]
    store.documents.delete(document_id)
    assert store.info().counts["copies"] == 0
    assert add(store, "b.txt", "two") != document_id


def test_a_place_is_noted_once(store: Store) -> None:
    one, two = add(store, "a.txt", "one"), add(store, "b.txt", "two")
    for call in (store.documents.add_place, store.documents.move):
        with pytest.raises(ValueError, match="another document"):
            call(one, place("b.txt"))
    store.documents.add_place(one, place("c.txt"))
    with pytest.raises(ValueError, match="another document"):
        store.documents.move(two, place("c.txt"))
    # The place that was a further one becomes the first.
    store.documents.move(one, place("c.txt"))
    assert paths(store, one) == ["c.txt"]
    new = document("d.txt", "one more")
    store.documents.add_place(one, place("d.txt"))
    store.documents.replace(one, new, chunks_of(new.text))
    assert paths(store, one) == ["d.txt"]


def test_documents_are_found_by_a_path_under_any_root(store: Store) -> None:
    first, second = add(store, "a.txt", "one"), add(store, "b.txt", "two")
    store.documents.add_place(second, place("a.txt", "other"))
    assert store.documents.ids_of_path("a.txt") == [first, second]
    assert store.documents.ids_of_path("b.txt") == [second]
    assert store.documents.ids_of_path("c.txt") == []


def test_documents_swap_places_at_once(store: Store) -> None:
    one, two, three = (add(store, f"{name}.txt", name) for name in "abc")
    store.documents.arrange(
        {one: [place("b.txt"), place("x.txt")], two: [place("c.txt")], three: [place("a.txt")]}, {one: "B"}
    )
    assert [paths(store, number) for number in (one, two, three)] == [
        ["b.txt", "x.txt"],
        ["c.txt"],
        ["a.txt"],
    ]
    assert store.documents.get(one).title == "B"
    before = logical_rows(store)
    with pytest.raises(ValueError, match="at least one"):
        store.documents.arrange({one: [place("y.txt")], two: []})
    with pytest.raises(UsageError, match="no document 99"):
        store.documents.arrange({one: [place("y.txt")], 99: [place("z.txt")]})
    assert logical_rows(store) == before
    assert paths(store, one) == ["b.txt", "x.txt"]


def test_noting_times_is_no_change_of_content(store: Store) -> None:
    document_id = add(store, "a.txt", "one")
    store.documents.add_place(document_id, place("b.txt"))
    revision = store.revision()
    store.documents.note_times([place("a.txt", mtime=7.25), place("b.txt", mtime=8.25), place("gone")])
    assert [item.mtime for item in store.documents.places(document_id)] == [7.25, 8.25]
    assert store.revision() == revision


def test_places_of_no_document(store: Store) -> None:
    with pytest.raises(UsageError, match="no document 7"):
        store.documents.places(7)
    with pytest.raises(UsageError, match="no document 7"):
        store.documents.add_place(7, place("a.txt"))
    with pytest.raises(UsageError, match="no document 7"):
        store.documents.note_failure(7, "unreadable")


def test_followed_folders(store: Store) -> None:
    row = RootRow("/notes", ("*.md",), ("drafts/", "雪/**"), False)
    store.roots.put(row)
    store.roots.put(RootRow("/attic"))
    assert [found.path for found in store.roots.list()] == ["/attic", "/notes"]
    assert store.roots.get("/notes") == row
    assert store.roots.get("/other") is None
    store.roots.note_sync("/notes")
    synced = store.roots.get("/notes")
    assert synced is not None
    assert synced.synced_at
    store.roots.put(RootRow("/notes", gitignore=True))
    changed = store.roots.get("/notes")
    assert changed == RootRow("/notes", synced_at=synced.synced_at)
    assert store.roots.remove("/attic")
    assert not store.roots.remove("/attic")


LINES = st.lists(st.sampled_from(("harbour", "知识", "C++", "the sea", "same")), max_size=8)


@settings(max_examples=20, deadline=None)
@given(st.lists(LINES, min_size=2, max_size=4))
def test_changing_ends_as_adding_the_last_text_would(versions: list[list[str]]) -> None:
    """But for what was read: every text that stays keeps it, and nothing else is left of earlier texts."""
    with quick_store() as store, quick_store() as fresh:
        document_id = add(store, "a.txt", "\n".join(versions[0]))
        for lines in versions[1:]:
            read_lines(store, document_id)
            before = {chunk.id: chunk.text for chunk in store.chunks.of_document(document_id)}
            new = replace(store, document_id, "\n".join(lines))
            now = store.chunks.of_document(document_id)
            assert new == sum(chunk.id not in before for chunk in now)
            assert all(before[chunk.id] == chunk.text for chunk in now if chunk.id in before)
            assert all((chunk.state == "read") == (chunk.id in before) for chunk in now)
            texts = [chunk.text for chunk in now]
            stay = sum(min(texts.count(text), list(before.values()).count(text)) for text in set(texts))
            assert len(texts) - new == stay
            assert store.check() == []
        other = add(fresh, "a.txt", "\n".join(versions[-1]))
        read_lines(store, document_id)
        read_lines(fresh, other)
        embed_missing(store)
        embed_missing(fresh)
        assert logical_rows(store) == logical_rows(fresh)
