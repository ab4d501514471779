"""`Store.merge`: two files become one that is as if all had been put into it."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.errors import Cancelled, KnowledgeBaseError, KnowledgeBaseReadOnly
from localrag.store import Store
from localrag.store.curation_rows import AddTag, Decision, DocumentRef, MergeEntities, SplitEntity, Where
from localrag.store.followed_rows import Place, RootRow
from localrag.store.report_rows import NewClaim
from localrag.store.rows import NewChunk, Reject
from localrag.store.sqlite import sqlite3
from localrag.store.talk_rows import NewCitation
from tests.examples import examples
from tests.store.curation import PATHS, TEXTS, Said, decisions, readings, view
from tests.store.helpers import (
    SPACE,
    add,
    chunks_of,
    document,
    embed_missing,
    entity,
    generation,
    quick_store,
    reading,
    relation,
    session_of,
)


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Store]:
    """A second open, empty knowledge base."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    with Store.create(folder / "other.localrag") as opened:
        session_of(opened).database.execute("PRAGMA synchronous = OFF")
        yield opened
        assert opened.check() == []


def everything(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables, ids and times included."""
    session = session_of(store)
    tables = session.column(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'chunk_%_%'"
    )
    return {table: session.rows(f"SELECT * FROM {table} ORDER BY 1") for table in tables}


def read(store: Store, path: str, text: str, said: Sequence[Said]) -> int:
    """Add a document with what is found in its chunks; returns its id."""
    document_id = add(store, path, text)
    for chunk, one in zip(store.chunks.of_document(document_id), said, strict=True):
        prompt = store.journal.put_prompt(f"Read: {chunk.text}")
        store.graph.record(
            chunk.id, one.reading, generation(chunk.text, prompt_hash=prompt), [Reject("entity", "?", "no")]
        )
        claims = [
            NewClaim(subject, "deed", "TRUE", "It was done.", ((0, 5),), other)
            for subject, other in one.claims
        ]
        if claims:
            store.claims.record(chunk.id, claims, replace(generation("claims"), task="claims"))
        for key, alias in one.aliases:
            store.aliases.put(chunk.id, key, alias.upper(), alias)
    return document_id


def write(store: Store, path: str, text: str) -> int:
    """Add a document in each of whose lines the first word writes to the second."""
    document_id = add(store, path, text)
    for chunk in store.chunks.of_document(document_id):
        names = chunk.text.split()[:2]
        mentions = [entity(name, f"{name} in: {chunk.text}") for name in names]
        relations = [relation(names[0], names[1], "They write.", "letters")] if len(names) == 2 else []
        store.graph.record(chunk.id, reading(mentions, relations), generation(chunk.text))
    return document_id


plans = st.lists(st.tuples(readings(), readings()), min_size=len(PATHS), max_size=len(PATHS))


def fill(
    store: Store, plan: Sequence[tuple[Said, Said]], numbers: Sequence[int], made: Sequence[Decision]
) -> None:
    """Put some of the documents in and make these decisions."""
    for number in numbers:
        read(store, PATHS[number], TEXTS[number], plan[number])
    for decision in made:
        store.decisions.add(decision)


@settings(max_examples=examples(40), deadline=None)
@given(plans, st.integers(0, len(PATHS)), decisions, decisions, st.booleans())
def test_merging_is_as_if_all_had_been_put_into_one_file(
    plan: list[tuple[Said, Said]], cut: int, first: list[Decision], second: list[Decision], embedded: bool
) -> None:
    numbers = range(len(PATHS))
    with quick_store() as left, quick_store() as right:
        fill(left, plan, numbers[:cut], first)
        fill(right, plan, numbers[cut:], second)
        if embedded:
            embed_missing(left)
            embed_missing(right)
        before = everything(right)
        report = left.merge(right)
        assert everything(right) == before
        assert left.check() == []
        assert len(report.added) == len(numbers[cut:])
        assert report.decisions == len(second)
        again = everything(left)
        twice = left.merge(right)
        assert not twice.changed
        assert everything(left) == again
        embed_missing(left)
        merged = view(left)
    with quick_store() as one:
        fill(one, plan, numbers[:cut], first)
        fill(one, plan, numbers[cut:], second)
        embed_missing(one)
        assert view(one) == merged


@settings(max_examples=15, deadline=None)
@given(plans, decisions, st.sets(st.integers(0, 2)), st.sets(st.integers(0, 2)))
def test_files_that_share_documents(
    plan: list[tuple[Said, Said]], made: list[Decision], mine: set[int], theirs: set[int]
) -> None:
    with quick_store() as left, quick_store() as right:
        fill(left, plan, sorted(mine), made)
        fill(right, plan, sorted(theirs), ())
        report = left.merge(right)
        assert report.known == len(mine & theirs)
        assert left.check() == []
        merged = view(left)
    with quick_store() as one:
        fill(one, plan, sorted(mine), made)
        fill(one, plan, sorted(theirs - mine), ())
        assert view(one) == merged


def test_what_comes_over_is_told(store: Store, other: Store) -> None:
    write(store, "a.txt", "Ada Bo")
    write(other, "b.txt", "Ada Cy\nBo Cy")
    other.roots.put(RootRow("/letters", include=("*.txt",)))
    report = store.merge(other)
    assert (report.added, report.passages, report.readings) == (("b.txt",), 2, 2)
    assert (report.known, report.places, report.taken, report.renamed) == (0, 0, (), ())
    assert report.source == other.path
    assert report.changed
    assert not report.dry
    assert [row.path for row in store.roots.list()] == ["/letters"]
    ada = store.graph.find_by_keys(["ada"])[0]
    assert ada.mentions == 2
    assert store.fulltext.search("Cy", 5)


def test_a_dry_run_tells_the_same_and_changes_nothing(store: Store, other: Store) -> None:
    write(store, "a.txt", "Ada Bo")
    write(other, "b.txt", "Ada Cy")
    before = everything(store)
    dry = store.merge(other, dry=True)
    assert dry.dry
    assert everything(store) == before
    assert replace(dry, dry=False) == store.merge(other)


def test_the_same_content_is_stored_once_and_places_are_joined(store: Store, other: Store) -> None:
    write(store, "a.txt", "Ada Bo")
    there = other.documents.add(document("copy.txt", "Ada Bo"), chunks_of("Ada Bo"))
    other.documents.add_place(there, Place("backup", "old.txt", 6, 1.0))
    report = store.merge(other)
    assert (report.added, report.known, report.places) == ((), 1, 2)
    (row,) = store.documents.list()
    places = [(place.root, place.path) for place in store.documents.places(row.id)]
    assert places == [("library", "a.txt"), ("backup", "old.txt"), ("library", "copy.txt")]
    assert store.chunks.count().read == 1
    assert not store.merge(other).changed


def test_a_passage_read_in_one_file_only_takes_that_reading(store: Store, other: Store) -> None:
    text = "Ada Bo\nCy Di\nEve Fay"
    mine = add(store, "a.txt", text)
    first, second, third = store.chunks.of_document(mine)
    store.graph.record(first.id, reading([entity("Ada", "mine")]), generation("mine"))
    store.chunks.mark_failed(second.id, "broken")
    there = write(other, "a.txt", text)
    last = other.chunks.of_document(there)[2]
    assert store.merge(other).taken == ("a.txt",)
    rows = store.chunks.of_document(mine)
    assert [(row.state, row.error) for row in rows] == [("read", "")] * 3
    assert [row.id for row in rows] == [first.id, second.id, third.id]
    assert store.graph.find_by_keys(["ada"])[0].descriptions == ("mine",)
    assert store.graph.find_by_keys(["bo"]) == []
    assert store.graph.find_by_keys(["eve"])[0].descriptions == (f"Eve in: {last.text}",)
    assert store.documents.get(mine).status == "indexed"
    assert store.documents.get(mine).reason == ""
    assert not store.merge(other).changed


def test_a_reading_here_is_not_replaced(store: Store, other: Store) -> None:
    write(store, "a.txt", "Ada Bo")
    before = everything(store)
    there = add(other, "a.txt", "Ada Bo")
    (chunk,) = other.chunks.of_document(there)
    other.graph.record(chunk.id, reading([entity("Zed")]), generation())
    assert not store.merge(other).changed
    assert everything(store) == before


def test_a_better_read_document_brings_its_own_cut(store: Store, other: Store) -> None:
    text = "Ada Bo\nCy Di"
    mine = store.documents.add(document("a.txt", text), [NewChunk(0, len(text), "", None, 4, "en", text)])
    write(other, "a.txt", text)
    report = store.merge(other)
    assert report.taken == ("a.txt",)
    assert [row.text for row in store.chunks.of_document(mine)] == ["Ada Bo", "Cy Di"]
    assert store.documents.get(mine).status == "indexed"
    assert {row.key for row in store.graph.top_entities(9)} == {"ada", "bo", "cy", "di"}
    assert not store.merge(other).changed


def test_a_worse_read_document_keeps_out(store: Store, other: Store) -> None:
    text = "Ada Bo\nCy Di"
    write(store, "a.txt", text)
    other.documents.add(document("a.txt", text), [NewChunk(0, len(text), "", None, 4, "en", text)])
    before = everything(store)
    assert not store.merge(other).changed
    assert everything(store) == before


def test_another_content_at_the_same_place_is_kept_under_another_name(store: Store, other: Store) -> None:
    mine = write(store, "a.txt", "Ada Bo")
    write(other, "a.txt", "Cy Di")
    other.decisions.add(AddTag(DocumentRef("library", "a.txt"), "theirs"))
    report = store.merge(other)
    assert report.renamed == (("library/a.txt", "merged from other/library/a.txt"),)
    rows = {(row.root, row.path): row.id for row in store.documents.list()}
    assert set(rows) == {("library", "a.txt"), ("merged from other/library", "a.txt")}
    assert store.documents.text(mine) == "Ada Bo"
    # What was decided there of the one is not said of the other.
    assert store.tags.of_document(mine) == []
    assert store.tags.of_document(rows["merged from other/library", "a.txt"]) == ["theirs"]
    assert not store.merge(other).changed
    with quick_store() as third:
        write(third, "a.txt", "Eve Fay")
        shown = store.merge(third).renamed
    assert shown == (("library/a.txt", "merged from q/library/a.txt"),)


def test_two_files_of_one_name_do_not_collide(store: Store) -> None:
    write(store, "a.txt", "Ada Bo")
    for text in ("Cy Di", "Eve Fay"):
        with quick_store() as third:
            write(third, "a.txt", text)
            store.merge(third)
    assert [row.root for row in store.documents.list()] == [
        "library",
        "merged from q (2)/library",
        "merged from q/library",
    ]


def failed(path: str) -> Any:
    """A document whose file could not be read."""
    return replace(document(path, ""), sha256="", size=0, status="failed", reason="It is damaged.")


def test_a_document_that_could_not_be_read_here_takes_the_other_ones_text(store: Store, other: Store) -> None:
    mine = store.documents.add(failed("a.txt"), [])
    write(other, "a.txt", "Ada Bo")
    assert store.merge(other).taken == ("a.txt",)
    row = store.documents.get(mine)
    assert (row.status, row.reason, row.read) == ("indexed", "", 1)
    assert store.fulltext.search("Ada", 3)
    assert not store.merge(other).changed


def test_a_document_that_could_not_be_read_there_changes_nothing_here(store: Store, other: Store) -> None:
    write(store, "a.txt", "Ada Bo")
    other.documents.add(failed("a.txt"), [])
    other.documents.add(failed("b.txt"), [])
    assert store.merge(other).added == ("b.txt",)
    assert [(row.path, row.status) for row in store.documents.list()] == [
        ("a.txt", "indexed"),
        ("b.txt", "failed"),
    ]
    assert not store.merge(other).changed


def test_empty_files_are_no_copies_of_each_other(store: Store, other: Store) -> None:
    add(store, "empty.txt", "")
    add(other, "blank.txt", "")
    add(other, "empty.txt", "")
    assert store.merge(other).added == ("blank.txt",)
    assert not store.merge(other).changed


def test_decisions_of_both_hold_in_the_order_of_their_making(store: Store, other: Store) -> None:
    write(store, "a.txt", "Ada Bo")
    write(other, "b.txt", "Bo Cy")
    store.decisions.add(MergeEntities(("bo",), ("Bo",), "ada", "Ada"))
    other.decisions.add(SplitEntity("ada", "zed", "Zed", Where(names=("Bo",))))
    store.merge(other)
    assert [row.decision.kind for row in store.decisions.list()] == ["entity.merge", "entity.split"]
    assert store.graph.find_by_keys(["zed"])[0].mentions == 2
    assert store.check() == []
    # What is taken back in one file is taken back in both.
    other.merge(store)
    other.decisions.undo()
    assert store.merge(other).decisions == 1
    assert [bool(row.undone_at) for row in store.decisions.list()] == [False, True]
    assert store.graph.find_by_keys(["ada"])[0].mentions == 2
    assert not store.merge(other).changed


def test_vectors_of_the_same_model_come_over(store: Store, other: Store) -> None:
    write(store, "a.txt", "Ada Bo")
    write(other, "b.txt", "Cy Di\nCy Eve")
    embed_missing(store)
    embed_missing(other)
    report = store.merge(other)
    assert report.vectors == 2 + 3 + 2
    assert embed_missing(store) == 0


def test_a_file_without_vectors_takes_the_model_of_the_other(store: Store, other: Store) -> None:
    write(other, "b.txt", "Cy Di")
    embed_missing(other)
    store.merge(other)
    space = store.vectors.active_space()
    assert space is not None
    assert space.fingerprint == SPACE.fingerprint
    assert embed_missing(store) == 0


def test_vectors_of_another_model_stay_behind_and_that_is_said(store: Store, other: Store) -> None:
    write(store, "a.txt", "Ada Bo")
    write(other, "b.txt", "Cy Di")
    embed_missing(store)
    other.vectors.ensure_space(replace(SPACE, fingerprint="space-b", model="large"))
    other.vectors.put(1, "chunk", [1], np.eye(8, dtype=np.float32)[:1])
    report = store.merge(other)
    assert report.vectors == 0
    assert "of another model (large)" in report.notes[0]
    assert len(store.vectors.spaces()) == 1
    assert embed_missing(store) == 1 + 2 + 1


def test_a_vector_of_a_text_that_changed_is_not_taken(store: Store, other: Store) -> None:
    """Ada is described in both files, so what her vector was made from is gone."""
    write(store, "a.txt", "Ada Bo")
    write(other, "b.txt", "Ada Cy")
    embed_missing(other)
    store.vectors.ensure_space(SPACE)
    store.merge(other)
    ada, bo, cy = (store.graph.find_by_keys([key])[0].id for key in ("ada", "bo", "cy"))
    assert store.vectors.missing(1, "entity") == [ada, bo]
    assert cy not in store.vectors.missing(1, "entity")


def talk(store: Store, *texts: str, cite: str = "") -> int:
    """A conversation of these messages; the last one cites."""
    session_id = store.talk.create("About letters")
    say(store, session_id, *texts, cite=cite)
    return session_id


def say(store: Store, session_id: int, *texts: str, cite: str = "") -> None:
    """Go on with a conversation."""
    for number, text in enumerate(texts):
        last = number == len(texts) - 1
        cited = (
            [NewCitation(1, "[a]", "document", "a.txt", None, 0, len(cite), cite)] if cite and last else []
        )
        call = (
            store.journal.add_generation(replace(generation(text), task="answer"), [1] if cited else ())
            if last
            else None
        )
        store.talk.add(session_id, "assistant" if last else "user", text, citations=cited, generation_id=call)


def test_conversations_come_over_with_what_they_cite(store: Store, other: Store) -> None:
    write(store, "first.txt", "Zed Yon")
    write(other, "a.txt", "Ada Bo")
    talk(other, "Who wrote?", "Ada [1].", cite="Ada Bo")
    report = store.merge(other)
    assert report.conversations == 1
    (session,) = store.talk.sessions()
    question, answer = store.talk.messages(session.id)
    assert (question.text, answer.text) == ("Who wrote?", "Ada [1].")
    (cited,) = answer.citations
    assert (cited.text, cited.gone) == ("Ada Bo", False)
    assert store.documents.get(2).path == "a.txt"
    assert not store.merge(other).changed
    # The answer's call came along and goes with its source, and the citation says so.
    assert session_of(store).value("SELECT count(*) FROM generations WHERE task = 'answer'") == 1
    store.documents.delete(2)
    assert session_of(store).value("SELECT count(*) FROM generations WHERE task = 'answer'") == 0
    assert store.talk.messages(session.id)[1].citations[0].gone


def test_a_citation_is_found_again_in_another_cut(store: Store, other: Store) -> None:
    text = "Ada Bo\nCy Di"
    add(store, "a.txt", text)
    store.documents.delete(1)
    store.documents.add(document("a.txt", text), [NewChunk(0, len(text), "", None, 4, "en", text)])
    add(other, "a.txt", text)
    talk(other, "Who?", "Ada.", cite="Ada Bo")
    store.merge(other)
    (session,) = store.talk.sessions()
    (cited,) = store.talk.messages(session.id)[1].citations
    assert (cited.text, cited.gone) == ("Ada Bo", False)


def test_a_conversation_that_went_on_is_joined_and_one_that_parted_is_kept_twice(
    store: Store, other: Store, tmp_path: Path
) -> None:
    write(store, "a.txt", "Ada Bo")
    talk(store, "One?", "One.")
    other.merge(store)
    say(other, 1, "Two?", "Two.")
    assert store.merge(other).conversations == 1
    (session,) = store.talk.sessions()
    assert [row.text for row in store.talk.messages(session.id)] == ["One?", "One.", "Two?", "Two."]
    assert not store.merge(other).changed
    say(store, session.id, "Three?", "Three.")
    say(other, 1, "Four?", "Four.")
    assert store.merge(other).conversations == 1
    assert len(store.talk.sessions()) == 2
    assert not store.merge(other).changed


def test_a_stop_changes_nothing(store: Store, other: Store) -> None:
    write(other, "b.txt", "Cy Di")
    before = everything(store)
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Cancelled):
        store.merge(other, cancel=cancel)
    assert everything(store) == before
    assert store.merge(other).changed


def test_a_file_that_cannot_be_written_takes_nothing(store: Store, other: Store, tmp_path: Path) -> None:
    write(other, "b.txt", "Cy Di")
    place = tmp_path / "copy.localrag"
    Store.create(place).close()
    with Store.open(place, read_only=True) as target, pytest.raises(KnowledgeBaseReadOnly):
        target.merge(other)


def test_a_source_that_is_only_read_can_be_joined(store: Store, path: Path, tmp_path: Path) -> None:
    place = tmp_path / "source.localrag"
    with Store.create(place) as made:
        write(made, "b.txt", "Cy Di")
    content = place.read_bytes()
    with Store.open(place, read_only=True) as source:
        assert store.merge(source).added == ("b.txt",)
    assert place.read_bytes() == content


def test_a_copy_that_went_on_brings_what_is_new(store: Store, path: Path, tmp_path: Path) -> None:
    write(store, "a.txt", "Ada Bo")
    copy = tmp_path / "copy.localrag"
    shutil.copy(path, copy)
    shutil.copy(path.with_name(f"{path.name}-wal"), tmp_path / "copy.localrag-wal")
    with Store.open(copy) as source:
        assert not store.merge(source).changed
        write(source, "b.txt", "Cy Di")
        assert store.merge(source).added == ("b.txt",)
        assert not source.merge(store).changed


def test_a_summary_comes_over_where_it_sums_up_all_that_is_said(store: Store, other: Store) -> None:
    write(store, "a.txt", "Ada Bo")
    write(other, "b.txt", "Ada Cy\nDi Cy")
    for key in ("ada", "cy"):
        row = other.graph.find_by_keys([key])[0]
        other.summaries.put("entity", row.id, f"All of {key}.", replace(generation(key), task="summary"))
    (relation_id,) = session_of(other).column("SELECT min(id) FROM relations")
    other.summaries.put("relation", relation_id, "They wrote.", replace(generation("r"), task="summary"))
    embed_missing(other)
    report = store.merge(other)
    assert report.summaries == 2
    assert [store.graph.find_by_keys([key])[0].summary for key in ("ada", "cy")] == ["", "All of cy."]
    # It goes with its sources, and its vector came along.
    cy = store.graph.find_by_keys(["cy"])[0].id
    assert cy not in store.vectors.missing(1, "entity")
    assert not store.merge(other).changed
    store.documents.replace(2, document("b.txt", "Ada Cy"), chunks_of("Ada Cy"))
    assert store.graph.find_by_keys(["cy"])[0].summary == ""
    assert session_of(store).value("SELECT count(*) FROM generations WHERE task = 'summary'") == 1


def test_a_damaged_file_is_not_joined_in_half(store: Store, tmp_path: Path) -> None:
    place = tmp_path / "damaged.localrag"
    with Store.create(place) as made:
        for number in range(30):
            write(made, f"{number}.txt", f"Ada{number} Bo{number}\nCy Di {'long ' * 200}")
    raw = sqlite3.connect(place)
    (root,) = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = 'mentions'").fetchone()
    raw.close()
    data = bytearray(place.read_bytes())
    data[(root - 1) * 4096 : root * 4096] = b"\xff" * 4096
    place.write_bytes(data)
    before = everything(store)
    with Store.open(place, read_only=True) as source, pytest.raises(KnowledgeBaseError, match="damaged"):
        store.merge(source)
    assert everything(store) == before
