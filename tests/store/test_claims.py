"""Claims: what can be stored, what cannot, and that all of it adds up."""

from __future__ import annotations

from typing import Any

import pytest

from localrag.errors import UsageError
from localrag.store import Store
from localrag.store.curation_rows import DeleteEntity, MergeEntities
from localrag.store.report_rows import NewClaim
from localrag.store.rows import GenerationRow, Reject
from tests.store.helpers import add_lines, entity, generation, logical_rows, reading

TEXT = "Ada Holm took the money of Bruno. 她拿了钱。"


def call(output: str = "", task: str = "claims") -> GenerationRow:
    return GenerationRow(task, "p", "model", "{}", 1, 1, 1, "stop", output)


def claim(**changes: Any) -> NewClaim:
    values: dict[str, Any] = {
        "subject_key": "ada",
        "type": "THEFT",
        "status": "TRUE",
        "description": "She took money.",
        "quotes": ((0, 8),),
    }
    return NewClaim(**(values | changes))


def read(store: Store) -> int:
    (chunk,) = add_lines(store, TEXT)
    store.graph.record(chunk, reading([entity("Ada"), entity("Bruno")]), generation())
    return chunk


def test_a_claim_comes_back_with_the_words_that_say_so(store: Store) -> None:
    chunk = read(store)
    start = TEXT.index("她")
    said = claim(
        object_key="bruno",
        status="SUSPECTED",
        start_date="2022-01",
        end_date="2022-01-10T00:00:00",
        quotes=((start, start + 5), (0, 8)),
    )
    assert store.claims.record(chunk, [said], call())
    (found,) = store.claims.all(10)
    assert (found.subject, found.object, found.type, found.status) == ("Ada", "Bruno", "THEFT", "SUSPECTED")
    assert (found.start_date, found.end_date) == ("2022-01", "2022-01-10T00:00:00")
    assert found.quotes == ("Ada Holm", "她拿了钱。")
    assert store.claims.get(found.id) == found
    assert store.claims.of_chunk(chunk) == [found]
    for key in ("ada", "bruno"):
        (row,) = store.graph.find_by_keys([key])
        assert store.claims.of_entity(row.id) == [found]
    assert store.claims.among([found.subject_id or 0], 5) == [found]
    assert store.claims.count() == 1
    with pytest.raises(UsageError, match="no claim 99"):
        store.claims.get(99)
    assert store.claims.many([99, found.id]) == [found]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"subject_key": "nobody"}, "subject is not an entity"),
        ({"object_key": "nobody"}, "object is not an entity"),
        ({"status": "PERHAPS"}, "status is neither"),
        ({"type": " "}, "no type"),
        ({"description": ""}, "says nothing"),
        ({"quotes": ()}, "no quote"),
        ({"quotes": ((0, 8), (5, 5))}, "no quote"),
        ({"quotes": ((-1, 4),)}, "no quote"),
        ({"quotes": ((0, 4000),)}, "no quote"),
        ({"start_date": "yesterday"}, "date is none"),
        ({"end_date": "2022-13-01"}, "date is none"),
        ({"end_date": "20220110"}, "date is none"),
    ],
)
def test_what_cannot_be_stored_becomes_a_reject(store: Store, changes: dict[str, Any], reason: str) -> None:
    chunk = read(store)
    store.claims.record(chunk, [claim(), claim(**changes)], call(), [Reject("claim", "x", "broken")])
    assert store.claims.count() == 1
    newest, _ = store.journal.rejects(2)
    assert (newest.kind, newest.chunk_id) == ("claim", chunk)
    assert reason in newest.reason
    totals = store.journal.totals()
    assert totals.parsed == totals.stored + totals.rejected == 5


def test_recording_again_replaces_what_the_same_kind_of_call_found(store: Store) -> None:
    chunk = read(store)
    store.claims.record(chunk, [claim()], call("first"))
    before = logical_rows(store)
    store.claims.record(chunk, [claim(type="FRAUD")], call("other"))
    assert [row.type for row in store.claims.all(5)] == ["FRAUD"]
    store.claims.record(chunk, [claim()], call("first"))
    assert logical_rows(store) == before
    store.claims.record(chunk, [claim(type="MORE")], call("second", "more claims"))
    assert store.claims.count() == 2
    assert store.graph.counts().mentions == 2


def test_claims_go_with_a_new_reading_and_with_the_document(store: Store) -> None:
    chunk = read(store)
    store.claims.record(chunk, [claim()], call())
    store.graph.record(chunk, reading([entity("Ada")]), generation())
    assert store.claims.count() == 0
    store.claims.record(chunk, [claim()], call())
    store.documents.delete(1)
    assert store.claims.count() == 0
    assert not store.claims.record(chunk, [claim()], call())
    assert store.info().counts["generations"] == 0


def test_claims_follow_what_a_person_decides(store: Store) -> None:
    chunk = read(store)
    store.claims.record(chunk, [claim(object_key="bruno")], call())
    store.decisions.add(MergeEntities(("ada",), ("Ada",), "bruno", "Bruno"))
    (found,) = store.claims.all(5)
    assert (found.subject, found.object) == ("Bruno", "Bruno")
    store.decisions.undo()
    store.decisions.add(DeleteEntity("ada", "Ada"))
    (found,) = store.claims.all(5)
    assert (found.subject_id, found.subject, found.object) == (None, "ada", "Bruno")
    store.claims.record(chunk, [claim()], call())
    assert [row.subject_id for row in store.claims.all(5)] == [None]


def test_hostile_text_is_only_text(store: Store) -> None:
    chunk = read(store)
    nasty = "'); DROP TABLE claims;-- \0\ud800 \x1b[2J {x}"
    store.claims.record(chunk, [claim(type=nasty, description=nasty)], call())
    (found,) = store.claims.all(5)
    assert found.description == nasty.replace("\0", "\ufffd").replace("\ud800", "\ufffd")
