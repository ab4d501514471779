"""What failed is listed with its tries, and can be tried once more."""

from __future__ import annotations

from localrag.store import Store
from localrag.store.failure_rows import Retried
from tests.store.helpers import add, generation, reading


def test_a_failed_passage_is_listed_until_it_is_read(store: Store) -> None:
    document_id = add(store, "a.txt", "one\ntwo\nthree")
    first, second, third = (chunk.id for chunk in store.chunks.of_document(document_id))
    store.chunks.mark_failed(second, "no words")
    store.chunks.mark_failed(third, "It made the engine fail 2 times.", attempts=2, left_out=True)
    two, three = store.failures.passages()
    assert (two.path, two.ordinal, two.attempts, two.left_out, two.waits) == ("a.txt", 1, 1, False, True)
    assert (three.chunk_id, three.attempts, three.left_out, three.waits) == (third, 2, True, False)
    assert (two.reason, three.reason) == ("no words", "It made the engine fail 2 times.")
    store.chunks.mark_failed(second, "no words")
    assert not store.failures.passages()[0].waits
    store.graph.record(second, reading([]), generation())
    store.graph.record(first, reading([]), generation())
    assert [row.chunk_id for row in store.failures.passages()] == [third]


def test_a_passage_that_killed_the_engine_is_pending_only_when_it_is_asked_for(store: Store) -> None:
    document_id = add(store, "a.txt", "one\ntwo")
    first, second = (chunk.id for chunk in store.chunks.of_document(document_id))
    store.chunks.mark_failed(first, "died", attempts=1, left_out=True)
    store.chunks.mark_failed(second, "no", attempts=2)
    assert store.chunks.pending() == []
    assert store.documents.get(document_id).status == "indexed"
    assert store.failures.retry() == Retried(passages=1, documents=1, left_out=1)
    assert [chunk.id for chunk in store.chunks.pending()] == [second]
    document = store.documents.get(document_id)
    assert (document.status, document.reason) == ("waiting", "")
    assert store.failures.retry(left_out=True) == Retried(1, 1, 0)
    again = store.chunks.get(first)
    assert (again.state, again.attempts, again.error) == ("pending", 0, "")
    assert len(store.chunks.pending()) == 2
    assert store.failures.retry(left_out=True) == Retried(0, 0, 0)


def test_a_retry_of_some_documents_leaves_the_others(store: Store) -> None:
    ids = [add(store, f"{name}.txt", name) for name in "abc"]
    for document_id in ids:
        store.chunks.mark_failed(store.chunks.of_document(document_id)[0].id, "no", 2)
    before = store.revision()
    assert store.failures.retry(ids[:1]) == Retried(1, 1, 0)
    assert store.failures.retry([]) == Retried(0, 0, 0)
    assert [row.document_id for row in store.failures.passages()] == ids[1:]
    assert [row.status for row in store.documents.list()] == ["waiting", "indexed", "indexed"]
    assert store.revision() == before  # no content changed


def test_a_read_passage_whose_second_reading_fails_is_no_failure(store: Store) -> None:
    document_id = add(store, "a.txt", "one")
    (chunk,) = store.chunks.of_document(document_id)
    store.graph.record(chunk.id, reading([]), generation())
    store.chunks.mark_failed(chunk.id, "no")
    assert store.failures.passages() == []
    assert store.failures.retry(left_out=True).passages == 0
