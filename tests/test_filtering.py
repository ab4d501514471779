"""What a person types becomes a filter; what is not there is an error that says what there is."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from localrag.curating.tags import TagDesk
from localrag.errors import UsageError
from localrag.filtering import filter_from
from localrag.kb import KnowledgeBase
from localrag.store.claim_rows import ClaimTest
from localrag.store.database import Store
from localrag.store.filters import Filter


def test_nothing_filters_nothing(store: Store) -> None:
    assert filter_from(store) == Filter()


def test_documents_by_name_number_folder_and_pattern(store: Store) -> None:
    ids = {row.path: row.id for row in store.documents.list()}
    assert filter_from(store, documents=["mill.txt"]).documents == (ids["mill.txt"],)
    assert filter_from(store, documents=[f"#{ids['mill.txt']}"]).documents == (ids["mill.txt"],)
    assert set(filter_from(store, documents=["*.txt"]).documents) == {ids["mill.txt"], ids["library.txt"]}
    with pytest.raises(UsageError, match="no document “mil"):
        filter_from(store, documents=["mil.txt"])


def test_a_folder_as_it_is_stored_or_in_full(store: Store) -> None:
    root = store.documents.list()[0].root
    assert filter_from(store, folder=root).folder == root
    assert filter_from(store, folder="mill.txt").folder == "mill.txt"
    with pytest.raises(UsageError, match="No document with text lies in “elsewhere”"):
        filter_from(store, folder="elsewhere")


def test_tags_however_they_are_written(kb: KnowledgeBase, store: Store) -> None:
    TagDesk(store).add("To Read", ["mill.txt"])
    assert filter_from(store, tags=["to  READ"]).tags == ("to  READ",)
    with pytest.raises(UsageError, match="has the tag “to rea”") as error:
        filter_from(store, tags=["to rea"])
    assert "to read" in error.value.hint


def test_types_of_entities(store: Store, empty_kb: KnowledgeBase) -> None:
    assert filter_from(store, entity_types=["PERSON"]).entity_types == ("PERSON",)
    with pytest.raises(UsageError, match="of the type “persona”") as error:
        filter_from(store, entity_types=["persona"])
    assert "person" in error.value.hint
    with pytest.raises(UsageError, match="of the type “zebra”") as error:
        filter_from(store, entity_types=["zebra"])
    assert "organization" in error.value.hint
    with pytest.raises(UsageError, match="nothing was read") as error:
        filter_from(empty_kb._store, entity_types=["person"])
    assert "localrag index" in error.value.hint


@pytest.mark.parametrize("name", ["md", ".MD", "markdown", "text/markdown"])
def test_media_by_ending_or_in_full(store: Store, name: str) -> None:
    assert filter_from(store, media=[name]).media_types == ("text/markdown",)


def test_media_that_no_document_has(store: Store) -> None:
    with pytest.raises(UsageError, match="of the kind “pdf”") as error:
        filter_from(store, media=["pdf"])
    assert "text/plain" in error.value.hint


def test_days_months_and_years_hold_to_their_end(store: Store) -> None:
    wanted = filter_from(store, modified_from="2024-02", modified_until="2024-02")
    assert wanted.modified_from == datetime(2024, 2, 1).astimezone()
    assert wanted.modified_until == datetime(2024, 3, 1).astimezone() - timedelta(microseconds=1)
    wanted = filter_from(store, added_from="2024", added_until="2024-12-31")
    assert wanted.added_from == datetime(2024, 1, 1).astimezone()
    assert wanted.added_until == datetime(2025, 1, 1).astimezone() - timedelta(microseconds=1)
    exact = filter_from(store, modified_from="2024-02-03T04:05:06+00:00").modified_from
    assert exact is not None
    assert exact.timestamp() == 1706933106


@pytest.mark.parametrize(
    "text", ["yesterday", "2024-13", "2024-02-30", "99999", "2024-1-1-1", "'; DROP", "0000"]
)
def test_what_is_no_day_is_told(store: Store, text: str) -> None:
    with pytest.raises(UsageError, match="is no day") as error:
        filter_from(store, modified_from=text)
    assert "2024-05-31" in error.value.hint


def test_an_end_before_its_beginning_is_told(store: Store) -> None:
    with pytest.raises(UsageError, match="is later than"):
        filter_from(store, modified_from="2024-05-02", modified_until="2024-05-01")
    filter_from(store, modified_from="2024-05-02", modified_until="2024-05-02")


def test_claims_are_handed_on(store: Store) -> None:
    test = ClaimTest(statuses=("TRUE",))
    wanted = filter_from(store, claims=test, without_claims=ClaimTest(types=("x",)))
    assert wanted.claims == test
    assert wanted.about_claims


def test_what_there_is_to_filter_by_is_listed(kb: KnowledgeBase, store: Store) -> None:
    TagDesk(store).add("To Read", ["mill.txt"])
    there = kb.filterable()
    assert "mill.txt" in there.documents
    assert list(there.documents) == sorted(there.documents)
    assert there.tags == ("To Read",)
    assert there.folders == ()
    for kind in there.types:
        assert filter_from(store, entity_types=[kind]).entity_types == (kind,)
