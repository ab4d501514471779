"""Counts over the whole file agree with what single rows say, under every filter."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.store import Store
from localrag.store.filters import Ids
from localrag.store.rows import EntityMention, RelationMention
from tests.store.helpers import add, add_lines, entity, generation, name_words, quick_store, reading

NAMES = ("Ada", "Bo", "Cy", "Dee")
KINDS = ("Person", "Place")

_WORLDS = st.lists(st.lists(st.sampled_from(NAMES), max_size=3, unique=True), min_size=1, max_size=6)


def kind_of(name: str) -> str:
    return KINDS[NAMES.index(name) % 2]


def read(store: Store, chunk_id: int, text: str, names: list[str]) -> None:
    mentions = [
        EntityMention(name, name.lower(), kind_of(name), "", text.find(name), text.find(name) + len(name))
        for name in names
    ]
    store.graph.record(chunk_id, reading(mentions), generation())


@settings(max_examples=60, deadline=None)
@given(_WORLDS, st.data())
def test_counts_are_those_of_the_passages(world: list[list[str]], data: st.DataObject) -> None:
    with quick_store() as store:
        lines = [f"{place}: {' '.join(names)} here" for place, names in enumerate(world)]
        chunks = add_lines(store, *lines)
        for chunk, line, names in zip(chunks, lines, world, strict=True):
            read(store, chunk, line, names)
        kept = data.draw(st.none() | st.sets(st.sampled_from(chunks)))
        wanted = data.draw(st.none() | st.sets(st.sampled_from(KINDS), min_size=1))
        expected = Counter(
            name
            for chunk, names in zip(chunks, world, strict=True)
            for name in names
            if (kept is None or chunk in kept) and (wanted is None or kind_of(name) in wanted)
        )
        found = store.aggregates.entities(wanted, None if kept is None else Ids(kept))
        assert {row.name: row.passages for row in found} == dict(expected)
        assert [row.passages for row in found] == sorted(expected.values(), reverse=True)
        text = "\n".join(lines)
        assert all(text[row.place.start : row.place.end] == row.name for row in found)
        assert all(kept is None or row.place.chunk_id in kept for row in found)


def test_read_and_types_and_documents() -> None:
    with quick_store() as store:
        first, second = add_lines(store, "Ada met Bo", "Cy slept")
        assert store.aggregates.read() == (0, 2)
        read(store, first, "Ada met Bo", ["Ada", "Bo"])
        assert store.aggregates.read() == (1, 2)
        assert store.aggregates.read(Ids([second])) == (0, 1)
        assert store.aggregates.types() == {"Person": 1, "Place": 1}
        (document,) = store.aggregates.documents()
        assert (document.passages, document.place.start, document.place.end) == (2, 0, 10)
        assert store.aggregates.documents(Ids([])) == []


def test_where_words_stand() -> None:
    with quick_store() as store:
        add(store, "b.txt", "Nothing.\nThe MOLE is old.")
        add(store, "a.txt", "A mole.")
        places = [(place.document, text) for place, text in store.aggregates.holding("mole")]
        assert places == [("a.txt", "A mole."), ("b.txt", "The MOLE is old.")]
        assert list(store.aggregates.holding("% or 1 = 1 --")) == []


def test_what_passages_say_of_two() -> None:
    with quick_store() as store:
        (chunk,) = add_lines(store, "Ada wrote to Bo and Cy")
        relations = [
            RelationMention("ada", "bo", "wrote to", "said"),
            RelationMention("cy", "ada", "", ""),
        ]
        store.graph.record(
            chunk, reading([entity("Ada"), entity("Bo"), entity("Cy")], relations), generation()
        )
        ada = next(row.id for row in store.aggregates.entities() if row.name == "Ada")
        links = store.aggregates.links(ada)
        assert [(link.name, link.outgoing, link.keywords) for link in links] == [
            ("Bo", True, "wrote to"),
            ("Cy", False, ""),
        ]
        assert store.aggregates.links(ada, Ids([])) == []
        assert store.aggregates.names_of(ada) == ["Ada"]
        assert list(store.aggregates.beside(ada)) == [chunk]
        ((passages, place),) = [
            (len(found), next(iter(found.values()))) for found in store.aggregates.documents_of(ada).values()
        ]
        # The place of the words is not known, so the passage is given.
        assert (passages, place.start, place.end) == (1, 0, 22)


def test_names_by_their_form() -> None:
    with quick_store() as store:
        document = add(store, "a.txt", "Ada Bo\nAda Cy")
        name_words(store, document)
        found = store.aggregates.zero_names()
        assert [(row.name, row.passages) for row in found] == [("A", 2), ("B", 1), ("C", 1)]
        store.documents.delete(document)
        assert store.aggregates.zero_names() == []
