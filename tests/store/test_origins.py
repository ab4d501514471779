"""What `check` says where something no longer rests on the passages that it came from."""

from __future__ import annotations

import pytest

from localrag.store import Store
from localrag.store.origins import Origins, problems
from tests.store.helpers import session_of
from tests.store.secrets import tell_secrets

DAMAGES = {
    "subject": ("UPDATE claims SET subject_key = 'x'", "2 claims are about something"),
    "object": ("UPDATE claims SET object_key = 'x' WHERE id = 1", "1 claims are about something"),
    "citation": ("UPDATE citations SET gone = 1", "2 citations have a text"),
    "no passage": ("UPDATE citations SET chunk_id = NULL WHERE id = 1", "1 citations have a text"),
    "facts": ("UPDATE reports SET made_from = 'facts'", "1 reports of facts hold a text"),
    "call": (
        "INSERT INTO generation_sources SELECT min(id), 1 FROM generations WHERE chunk_id IS NOT NULL",
        "1 calls of the model belong to one passage",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_what_rests_on_nothing_is_noticed(store: Store, name: str) -> None:
    tell_secrets(store)
    session = session_of(store)
    assert problems(session) == []
    statement, sentence = DAMAGES[name]

    def look() -> None:
        with store.transaction():
            session.run(statement)
            assert any(text.startswith(sentence) for text in store.check()), store.check()
            raise LookupError

    with pytest.raises(LookupError):
        look()


def test_a_footprint_counts_what_comes_from_documents(store: Store) -> None:
    secret = tell_secrets(store)
    found = Origins(session_of(store)).footprint()
    assert (found.documents, found.passages, found.entities, found.relations) == (1, 2, 3, 1)
    assert (found.mentions, found.claims, found.summaries, found.reports) == (10, 2, 4, 1)
    assert (found.answers, found.citations) == (1, 2)
    store.documents.delete(secret)
    assert found.without(store.origins.footprint()) == found
