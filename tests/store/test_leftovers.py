"""Nothing of a deleted, changed or newly read document is left in any byte of the closed file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from localrag.store import Store
from localrag.store.merges import mark
from localrag.store.rows import GenerationRow, Reading
from tests.store.helpers import chunks_of, document, embed_missing, files_beside, session_of
from tests.store.logical import QUERIES, logical_rows
from tests.store.secrets import (
    ANSWERED,
    READ,
    TEXT,
    found_in,
    keep_something,
    read_secrets,
    tell_secrets,
    words_of,
)

OTHER = "Quite another text now.\nWith two lines."


def delete(store: Store, document_id: int) -> None:
    store.documents.delete(document_id)


def replace(store: Store, document_id: int) -> None:
    store.documents.replace(document_id, document("secret.txt", OTHER), chunks_of(OTHER))


def delete_with_others_open(store: Store, document_id: int) -> None:
    """A reader keeps the log from being folded into the file while the document is deleted."""
    with Store.open(store.path, read_only=True) as reader:
        assert reader.documents.get(document_id).title == "Palimpsestic"
        store.documents.delete(document_id)


@pytest.mark.parametrize("act", [delete, replace, delete_with_others_open])
@pytest.mark.parametrize("kept_first", [True, False], ids=["kept first", "secret first"])
def test_no_byte_of_what_went_is_left(
    path: Path, act: Callable[[Store, int], None], kept_first: bool
) -> None:
    words = words_of(TEXT, READ, ANSWERED)
    with Store.create(path) as store:
        if kept_first:
            keep_something(store)
        secret = tell_secrets(store)
        if not kept_first:
            keep_something(store)
        embed_missing(store)
        assert_told_everywhere(store)
    assert (
        set(words) - {line.split(": ")[1].split(" in ")[0] for line in found_in(path.parent, words)} == set()
    )
    with Store.open(path) as store:
        act(store, secret)
        assert store.check() == []
    assert files_beside(path) == [path.name]
    assert found_in(path.parent, words) == []
    content = path.read_bytes()
    assert "普通".encode() in content
    assert b"zanzibarine" in content, "what the person typed stays"
    with Store.open(path) as store:
        entity, *_ = store.graph.find_by_keys(["kept"])
        assert (entity.summary, entity.descriptions) == ("", ("It stays.",))
        (message,) = [row for talk in store.talk.sessions() for row in store.talk.messages(talk.id)][1:]
        assert [(row.gone, row.text, row.document) for row in message.citations] == [
            (True, "", "secret.txt")
        ] * 2


def assert_told_everywhere(store: Store) -> None:
    """The secrets are in every table that can hold a document's words, so the test looks at all of them."""
    empty = {name for name, rows in logical_rows(store).items() if not rows}
    assert empty == {"roots", "copies", "decisions", "tags"}
    assert empty < set(QUERIES)


def test_no_byte_of_an_earlier_reading_is_left(path: Path) -> None:
    with Store.create(path) as store:
        keep_something(store)
        secret = tell_secrets(store)
        for chunk in store.chunks.of_document(secret):
            store.graph.record(chunk.id, Reading(), _nothing())
        assert store.check() == []
        message = store.talk.messages(store.talk.sessions()[0].id)[1]
        assert [row.gone for row in message.citations] == [False, False]
    assert found_in(path.parent, words_of(READ)) == []
    assert len(found_in(path.parent, words_of({"body": TEXT["body"][:1]}))) > 0


def test_no_byte_of_earlier_claims_is_left(path: Path) -> None:
    with Store.create(path) as store:
        secret = tell_secrets(store)
        for chunk in store.chunks.of_document(secret):
            assert store.claims.record(chunk.id, [], _nothing("claims"))
        assert store.claims.count() == 0
        assert store.check() == []
    gone = {name: READ[name] for name in ("claim", "claim type", "summary", "report", "report generation")}
    assert found_in(path.parent, words_of(gone)) == []


def test_no_byte_of_a_deleted_conversation_is_left(path: Path) -> None:
    with Store.create(path) as store:
        tell_secrets(store)
        talk, *_ = store.talk.sessions()
        store.talk.delete(talk.id)
        assert store.check() == []
    words = words_of({"said": ("zanzibarine", "a talk", "they said so")}, ANSWERED)
    del words["quokkaesque"]
    assert found_in(path.parent, words) == []


def test_a_program_that_was_killed_behind_a_deletion_leaves_it_to_the_next(path: Path) -> None:
    with Store.create(path) as store:
        secret = tell_secrets(store)
    store = Store.open(path)
    store.documents.delete(secret)
    # As if killed: closed without what `close` does.
    session_of(store).database.close()
    with Store.open(path) as store:
        assert session_of(store).value("SELECT removed FROM meta") > 0
    with Store.open(path) as store:
        assert session_of(store).value("SELECT removed FROM meta") == 0
    assert found_in(path.parent, words_of(TEXT, READ, ANSWERED)) == []


def test_reading_again_leaves_what_a_first_reading_would(store: Store) -> None:
    secret = tell_secrets(store)
    before = logical_rows(store)
    for chunk in store.chunks.of_document(secret):
        read_secrets(store, chunk.id)
    with store.transaction():
        mark(session_of(store), [secret])
    embed_missing(store)
    after = logical_rows(store)
    for rows in (before, after):
        # What was answered from the first reading went with it; that it was said stays.
        for table in ("answers", "generations", "generation_sources", "prompts"):
            rows[table] = [row for row in rows[table] if "responsorial" not in repr(row)]
        rows["answers"] = []
        rows["messages"] = [row[:1] + row[2:] for row in rows["messages"]]
    assert {table: after[table] for table in after if after[table] != before[table]} == {}


def _nothing(task: str = "extraction") -> GenerationRow:
    return GenerationRow(task, "", "model", "{}", 1, 1, 1, "stop", "")
