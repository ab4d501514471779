"""Documents as a list shows them, passages without their text, and what was found in one."""

from __future__ import annotations

from localrag.store import Store
from localrag.store.curation_rows import AddTag, DeleteEntity, DocumentRef
from localrag.store.failure_rows import Retried
from localrag.store.report_rows import NewClaim
from localrag.store.rows import EntityMention, GenerationRow
from tests.store.helpers import add, generation, reading, relation

CLAIMS = GenerationRow("claims", "p", "model", "{}", 1, 1, 1, "stop", "")


def test_a_row_has_what_the_document_has_and_what_is_known_of_its_passages(store: Store) -> None:
    first, second = add(store, "a.txt", "one\ntwo\nthree"), add(store, "b.txt", "four")
    one, two, three = (chunk.id for chunk in store.chunks.of_document(first))
    store.graph.record(one, reading([]), generation())
    store.chunks.mark_failed(two, "no words")
    store.chunks.mark_failed(three, "died", attempts=1, left_out=True)
    row = store.documents.get(second)
    store.decisions.add(AddTag(DocumentRef(row.root, row.path, row.sha256), "Ships"))
    rows = store.documents.shelf.rows()
    assert [row.document for row in rows] == store.documents.list()
    assert [(row.tags, row.left_out, row.pages) for row in rows] == [((), 1, None), (("Ships",), 0, None)]
    assert all(row.added_at.startswith("20") for row in rows)
    assert (rows[0].document.read, rows[0].document.failed, rows[0].document.chunks) == (1, 2, 3)
    states = [(place.id, place.state, place.error) for place in store.documents.shelf.passages(first)]
    assert states == [(one, "read", ""), (two, "failed", "no words"), (three, "failed", "died")]
    starts = [place.start for place in store.documents.shelf.passages(first)]
    assert starts == [chunk.start for chunk in store.chunks.of_document(first)]


def test_findings_have_their_places_in_the_passage(store: Store) -> None:
    text = "Ada paid Bruno. Ada left."
    document_id = add(store, "a.txt", text)
    (chunk,) = store.chunks.of_document(document_id)
    mentions = [
        EntityMention("Ada", "ada", "Person", "Pays.", 0, 3),
        EntityMention("Bruno", "bruno", "Person", "", 9, 14),
        EntityMention("Ada", "ada", "Person", "Leaves.", 16, 19),
    ]
    store.graph.record(chunk.id, reading(mentions, [relation("ada", "bruno")]), generation())
    claim = NewClaim("ada", "PAYMENT", "TRUE", "She paid.", ((0, 15),), "bruno", "1911-01-01", "1911-02-01")
    assert store.claims.record(chunk.id, [claim], CLAIMS)
    found = store.documents.shelf.findings(chunk.id)
    assert [(item.kind, item.name) for item in found] == [
        ("entity", "Ada"),
        ("entity", "Bruno"),
        ("relation", "Ada → Bruno"),
        ("claim", "Ada → Bruno"),
    ]
    ada, bruno, joined, said = found
    assert (ada.spans, ada.description) == (((0, 3), (16, 19)), "Pays. Leaves.")
    assert joined.entity_id == said.entity_id == ada.entity_id
    assert (said.type, said.detail, said.spans) == (
        "PAYMENT",
        "TRUE, 1911-01-01 to 1911-02-01",
        ((0, 15),),
    )
    store.decisions.add(DeleteEntity("bruno", "Bruno"))
    gone = store.documents.shelf.findings(chunk.id)[1]
    assert (gone.name, gone.id, gone.entity_id) == ("Bruno", None, None)
    assert bruno.id is not None


def test_single_passages_are_tried_again(store: Store) -> None:
    document_id = add(store, "a.txt", "one\ntwo\nthree")
    one, two, three = (chunk.id for chunk in store.chunks.of_document(document_id))
    for chunk_id in (one, two):
        store.chunks.mark_failed(chunk_id, "no", attempts=2)
    store.chunks.mark_failed(three, "died", attempts=1, left_out=True)
    assert store.documents.get(document_id).status == "indexed"
    assert store.failures.retry_passages([two, three]) == Retried(2, 1, 0)
    assert [place.state for place in store.documents.shelf.passages(document_id)] == [
        "failed",
        "pending",
        "pending",
    ]
    assert store.documents.get(document_id).status == "waiting"
    assert store.failures.retry_passages([two]) == Retried(0, 0, 0)
