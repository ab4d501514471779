"""The graph as some chunks tell it is the graph that there would be with these chunks alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.store.curation_rows import EditEntity, RenameEntity
from localrag.store.database import Store
from localrag.store.filters import Ids
from localrag.store.narrowed import Edge
from localrag.store.rows import EntityMention, Reading, RelationMention
from tests.examples import examples
from tests.store.helpers import add_lines, entity, generation, quick_store, reading, relation, session_of

NAMES = ("Ada", "Bo", "Cy")
SPELLINGS = ("{}", "{}!", "THE {}")

mentions = st.builds(
    lambda name, form, kind, said: EntityMention(form.format(name), name.lower(), kind, said),
    st.sampled_from(NAMES),
    st.sampled_from(SPELLINGS),
    st.sampled_from(("person", "ship")),
    st.sampled_from(("", "It is old.", "It is new.", "It left.")),
)
relations = st.builds(
    lambda pair, words, said: RelationMention(pair[0].lower(), pair[1].lower(), words, said),
    st.permutations(NAMES),
    st.sampled_from(("kin", "trade, kin", "")),
    st.sampled_from(("", "They met.", "They sail.")),
)
readings = st.builds(
    lambda said, pairs: Reading(tuple(said), tuple(pairs)),
    st.lists(mentions, max_size=5),
    st.lists(relations, max_size=3),
)


@settings(max_examples=examples(120), deadline=None)
@given(st.lists(readings, min_size=1, max_size=4), st.data())
def test_it_is_the_graph_of_these_chunks_alone(said: list[Reading], data: st.DataObject) -> None:
    kept = sorted(data.draw(st.sets(st.integers(0, len(said) - 1))))
    with quick_store() as whole, quick_store() as alone:
        chunks = _recorded(whole, said)
        _recorded(alone, [said[place] for place in kept])
        allowed = Ids([chunks[place] for place in kept])
        every = whole.narrowed.within("entity", None, allowed)
        rows = whole.narrowed.entities(every, allowed)
        expected = alone.graph.entities(_ids(alone, "entity"))
        assert {_entity(row) for row in rows} == {_entity(row) for row in expected}
        lines = whole.narrowed.relations(whole.narrowed.within("relation", None, allowed), allowed)
        wanted = alone.graph.relations(_ids(alone, "relation"))
        assert {_relation(row) for row in lines} == {_relation(row) for row in wanted}


def _recorded(store: Store, said: list[Reading]) -> list[int]:
    chunks = []
    for number, spoken in enumerate(said):
        (chunk,) = add_lines(store, f"line {number} of {len(said)}")
        store.graph.record(chunk, spoken, generation())
        chunks.append(chunk)
    return chunks


def _ids(store: Store, kind: str) -> list[int]:
    return session_of(store).column(f"SELECT id FROM {'entities' if kind == 'entity' else 'relations'}")


def _entity(row: object) -> tuple[object, ...]:
    names = ("name", "key", "type", "mentions", "descriptions")
    return tuple(getattr(row, name) for name in names)


def _relation(row: object) -> tuple[object, ...]:
    names = ("source", "target", "keywords", "description", "weight")
    return tuple(getattr(row, name) for name in names)


@pytest.fixture
def pair(store: Store) -> tuple[Store, list[int]]:
    chunks = add_lines(store, "Ada saw Bo.", "Ada met Bo and Cy.")
    first = reading(
        [entity("Ada", "She saw."), entity("Bo")], [relation("Ada", "Bo", "She saw him.", "sight")]
    )
    second = reading(
        [entity("Ada", "She met."), entity("Bo"), entity("Cy")],
        [relation("Ada", "Bo", "They met.", "meeting"), relation("Bo", "Cy", "They met too.", "meeting")],
    )
    for chunk, said in zip(chunks, (first, second), strict=True):
        store.graph.record(chunk, said, generation())
    return store, chunks


def test_what_a_person_decided_holds_whatever_is_allowed(pair: tuple[Store, list[int]]) -> None:
    store, chunks = pair
    store.decisions.add(RenameEntity("ada", "Ada Quill", "ada quill", "Ada"))
    store.decisions.add(EditEntity("ada", description="A clerk."))
    ada = store.graph.find_by_keys(["ada"])[0].id
    (row,) = store.narrowed.entities([ada], Ids(chunks[:1]))
    assert (row.name, row.descriptions, row.mentions) == ("Ada Quill", ("A clerk.",), 1)


def test_order_is_kept_and_what_is_not_mentioned_is_left_out(pair: tuple[Store, list[int]]) -> None:
    store, chunks = pair
    ids = [row.id for row in store.graph.find_by_keys(["cy", "bo", "ada"])]
    assert [row.name for row in store.narrowed.entities(ids, Ids(chunks))] == ["Cy", "Bo", "Ada"]
    assert [row.name for row in store.narrowed.entities(ids, Ids(chunks[:1]))] == ["Bo", "Ada"]
    assert store.narrowed.entities(ids, Ids([])) == []


def test_edges_have_their_weights_the_heaviest_first(pair: tuple[Store, list[int]]) -> None:
    store, _ = pair
    ada, bo, cy = (row.id for row in store.graph.find_by_keys(["ada", "bo", "cy"]))
    (first, second) = store.narrowed.edges([bo])
    assert (first.source_id, first.target_id, first.weight) == (ada, bo, 2)
    assert (second.source_id, second.target_id, second.weight) == (bo, cy, 1)
    assert store.narrowed.edges([cy]) == [second]
    assert store.narrowed.edges([bo], Ids([second.id])) == [Edge(second.id, bo, cy, 1)]
    assert store.narrowed.edges([]) == []


def test_places_of_entities_and_relations(pair: tuple[Store, list[int]]) -> None:
    store, chunks = pair
    ada, cy = (row.id for row in store.graph.find_by_keys(["ada", "cy"]))
    assert store.narrowed.chunks_of("entity", [ada, cy]) == {ada: tuple(chunks), cy: (chunks[1],)}
    assert store.narrowed.chunks_of("entity", [ada, cy], Ids(chunks[:1])) == {ada: (chunks[0],), cy: ()}
    assert len(store.narrowed.stated_in("relation", chunks)) == 3
    assert store.narrowed.stated_in("entity", [chunks[0]])[0] == (chunks[0], ada)
