"""Filters: what passes, and that they hold before the best are taken."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.store import Store
from localrag.store.curation_rows import AddTag, DocumentRef
from localrag.store.filters import Filter, Ids
from tests.examples import examples
from tests.store.helpers import (
    chunks_of,
    document,
    embed_missing,
    entity,
    generation,
    quick_store,
    reading,
    relation,
    session_of,
    vector,
)

ROOT = "/home/me/library"


def add(
    store: Store,
    path: str,
    text: str = "one\ntwo",
    *,
    root: str = ROOT,
    media_type: str = "text/plain",
    mtime: float = 1_700_000_000.0,
) -> tuple[int, ...]:
    """Store a document; returns the ids of its chunks."""
    row = replace(document(path, f"{text} {path}", root=root), media_type=media_type, mtime=mtime)
    document_id = store.documents.add(row, chunks_of(row.text))
    return tuple(chunk.id for chunk in store.chunks.of_document(document_id))


def passing(store: Store, wanted: Filter) -> set[int]:
    """The chunks that pass."""
    ids = store.filters.ids(wanted, "chunk")
    assert ids is not None
    return set(ids)


def tag(store: Store, path: str, name: str) -> None:
    """Give a document a tag, as a person does."""
    store.decisions.add(AddTag(DocumentRef(ROOT, path, ""), name))


def test_nothing_given_leaves_nothing_out(store: Store) -> None:
    add(store, "a.txt")
    assert [store.filters.ids(Filter(), kind) for kind in ("chunk", "entity", "relation")] == [None] * 3
    assert store.filters.ids(Filter(entity_types=("person",)), "chunk") is None


def test_by_document(store: Store) -> None:
    one, two, three = add(store, "a.txt"), add(store, "b.txt"), add(store, "c.txt")
    assert passing(store, Filter(documents=(1, 3))) == {*one, *three}
    assert passing(store, Filter(documents=(2, 99))) == {*two}
    assert passing(store, Filter(documents=(99,))) == set()


def test_by_tag_however_it_is_written(store: Store) -> None:
    one, two, _ = add(store, "a.txt"), add(store, "b.txt"), add(store, "c.txt")
    tag(store, "a.txt", "Taxes  2024")
    tag(store, "b.txt", "家")
    assert passing(store, Filter(tags=("TAXES 2024",))) == {*one}
    assert passing(store, Filter(tags=("taxes 2024", "家"))) == {*one, *two}
    assert passing(store, Filter(tags=("taxes",))) == set()


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("letters", {"a", "b"}),
        ("letters/", {"a", "b"}),
        ("./letters", {"a", "b"}),
        ("letters/2020", {"b"}),
        ("letters/2020/b.txt", {"b"}),
        (f"{ROOT}/letters", {"a", "b"}),
        (ROOT, {"a", "b", "c", "d"}),
        (f"{ROOT}/", {"a", "b", "c", "d"}),
        ("/home/me", {"a", "b", "c", "d", "e"}),
        ("/home/m", set()),
        ("letter", set()),
        ("letter_", set()),
        ("%", set()),
        ("lett*", set()),
        ("[l]etters", set()),
        ("' OR 1 --", set()),
        ("信件", {"d"}),
    ],
)
def test_by_folder(store: Store, folder: str, expected: set[str]) -> None:
    chunks = {
        "a": add(store, "letters/a.txt"),
        "b": add(store, "letters/2020/b.txt"),
        "c": add(store, "letters-old/c.txt"),
        "d": add(store, "信件/d.txt"),
        "e": add(store, "e.txt", root="/home/me/other"),
    }
    assert passing(store, Filter(folder=folder)) == {item for name in expected for item in chunks[name]}


def test_a_copy_in_the_folder_is_enough(store: Store) -> None:
    chunks = add(store, "first/a.txt")
    add(store, "first/b.txt")
    with store.transaction():
        session_of(store).run(
            "INSERT INTO copies (document_id, root, path, size, mtime) VALUES (1, ?, 'second/a.txt', 1, 1.0)",
            [ROOT],
        )
    assert passing(store, Filter(folder="second")) == {*chunks}


def test_by_type_and_date(store: Store) -> None:
    old = add(store, "old.md", media_type="text/markdown", mtime=1_600_000_000.0)
    new = add(store, "new.md", media_type="text/markdown", mtime=1_700_000_000.0)
    add(store, "new.txt", mtime=1_700_000_000.0)
    assert passing(store, Filter(media_types=("text/markdown",))) == {*old, *new}
    assert passing(store, Filter(media_types=("TEXT/Markdown",))) == {*old, *new}
    edge = datetime.fromtimestamp(1_700_000_000, UTC)
    markdown = Filter(media_types=("text/markdown",))
    assert passing(store, replace(markdown, modified_from=edge)) == {*new}
    assert passing(store, replace(markdown, modified_until=edge)) == {*old, *new}
    assert passing(store, replace(markdown, modified_until=edge - timedelta(seconds=1))) == {*old}
    assert passing(store, replace(markdown, modified_from=edge + timedelta(seconds=1))) == set()


def test_by_the_day_it_was_added_in_any_zone(store: Store) -> None:
    old, new = add(store, "old.txt"), add(store, "new.txt")
    with store.transaction():
        session_of(store).run("UPDATE documents SET added_at = '2024-03-01T12:00:00+00:00' WHERE id = 1")
        session_of(store).run("UPDATE documents SET added_at = '2025-03-01T12:00:00+00:00' WHERE id = 2")
    noon = datetime.fromisoformat("2025-03-01T13:00:00+01:00")
    assert passing(store, Filter(added_from=noon)) == {*new}
    assert passing(store, Filter(added_until=noon)) == {*old, *new}
    assert passing(store, Filter(added_until=noon - timedelta(seconds=1))) == {*old}
    assert passing(store, Filter(added_from=datetime(2024, 6, 1), added_until=datetime(2024, 7, 1))) == set()


def test_entities_and_relations_pass_with_a_chunk_and_a_type(store: Store) -> None:
    (one,), (two,) = add(store, "a/1.txt", "x"), add(store, "b/2.txt", "y")
    tove, isle, ship = entity("Tove"), entity("Isle", kind="Place"), entity("Ship", kind="Thing")
    store.graph.record(one, reading([tove, isle], [relation("Tove", "Isle")]), generation())
    store.graph.record(two, reading([tove, ship], [relation("Tove", "Ship")]), generation())
    name = {store.graph.entity(number).name: number for number in (1, 2, 3)}

    def entities(wanted: Filter) -> set[int]:
        return set(store.filters.ids(wanted, "entity") or ())

    def relations(wanted: Filter) -> set[int]:
        return set(store.filters.ids(wanted, "relation") or ())

    assert entities(Filter(folder="a")) == {name["Tove"], name["Isle"]}
    assert entities(Filter(folder="b", entity_types=("thing", "place"))) == {name["Ship"]}
    assert entities(Filter(entity_types=("PLACE",))) == {name["Isle"]}
    assert relations(Filter(folder="a")) == {1}
    assert relations(Filter(entity_types=("thing",))) == {2}
    assert relations(Filter(entity_types=("person",))) == {1, 2}
    assert relations(Filter(folder="b", entity_types=("place",))) == set()
    embed_missing(store)
    for kind, wanted in (("entity", entities), ("relation", relations)):
        ids = store.filters.ids(Filter(folder="b"), kind)  # type: ignore[arg-type]
        hits = store.vectors.search(1, kind, vector("q"), 9, ids)  # type: ignore[arg-type]
        assert {hit.id for hit in hits} == wanted(Filter(folder="b"))


def test_it_holds_before_the_best_are_taken(store: Store) -> None:
    for number in range(30):
        add(store, f"many/{number}.txt", "bridge bridge bridge")
    few = add(store, "few/a.txt", "a bridge far away from the long and winding river")
    embed_missing(store)
    ids = store.filters.ids(Filter(folder="few"), "chunk")
    assert [hit.id for hit in store.fulltext.search("bridge", 5, ids)] == list(few)
    assert [hit.id for hit in store.vectors.search(1, "chunk", vector("q"), 5, ids)] == list(few)
    assert [hit.id for hit in store.fulltext.search("→", 5, ids)] == []


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "a/b", "ab", "a b"]),
            st.sampled_from(["text/plain", "text/html"]),
            st.integers(0, 5),
        ),
        max_size=12,
    ),
    st.sampled_from(["", "a", "a/b", "ab", "b"]),
    st.sampled_from([(), ("text/plain",), ("text/html", "text/plain")]),
    st.one_of(st.none(), st.integers(0, 5)),
    st.one_of(st.none(), st.integers(0, 5)),
)
def test_all_conditions_together_are_what_they_are_one_by_one(
    rows: list[tuple[str, str, int]],
    folder: str,
    types: tuple[str, ...],
    first: int | None,
    last: int | None,
) -> None:
    def day(number: int | None) -> datetime | None:
        return None if number is None else datetime.fromtimestamp(number * 86_400, UTC)

    wanted = Filter(folder=folder, media_types=types, modified_from=day(first), modified_until=day(last))
    with quick_store() as store:
        expected: set[int] = set()
        for number, (place, media_type, mtime) in enumerate(rows):
            chunks = add(store, f"{place}/{number}.txt", media_type=media_type, mtime=mtime * 86_400.0)
            if (
                (not folder or f"{place}/".startswith(f"{folder}/"))
                and (not types or media_type in types)
                and (first is None or mtime >= first)
                and (last is None or mtime <= last)
            ):
                expected |= {*chunks}
        if wanted == Filter():
            assert store.filters.ids(wanted, "chunk") is None
        else:
            assert passing(store, wanted) == expected


def test_ids_are_ascending_and_each_is_there_once() -> None:
    ids = Ids([5, 1, 5, 3])
    assert list(ids) == [1, 3, 5]
    assert len(ids) == 3
    assert 3 in ids
    assert 2 not in ids
    assert None not in ids
    assert ids.listed == "[1, 3, 5]"
    assert Ids.of(ids) is ids
    assert not Ids([])
    assert Ids(range(3)).array.dtype == np.int64
