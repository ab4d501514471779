"""The graph in memory holds what the file holds: names, entities, and nothing of what was deleted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.store.adjacency import COMMON, READ, NameGraph
from localrag.store.database import Store
from localrag.store.rows import EntityMention, Reading
from localrag.store.zero_rows import FORM, HEADING, TITLE, ZeroName
from tests.store.helpers import add, generation

RULES = 7


@pytest.fixture
def named(tmp_path: Path) -> Iterator[tuple[Store, list[int]]]:
    """Three documents of one chunk each; the first two share a name, the third has one of its own."""
    with Store.create(tmp_path / "named.localrag") as store:
        chunks = []
        for number, keys in enumerate((("orla", "halden"), ("orla",), ("tarn",))):
            document = add(store, f"d{number}.txt", f"Orla Halden Tarn {number}.")
            (chunk,) = store.chunks.of_document(document)
            inside = [ZeroName(key, FORM, place, place + 4) for place, key in enumerate(keys)]
            store.zero.put(document, RULES, {chunk.id: inside}, {chunk.id: [ZeroName(keys[-1], TITLE)]})
            chunks.append(chunk.id)
        yield store, chunks


def test_pairs_tell_who_has_what(named: tuple[Store, list[int]]) -> None:
    store, chunks = named
    graph = store.zero.adjacency.graph()
    assert graph.chunk_ids.tolist() == chunks
    nodes = {node.key: graph.name_places([node.id])[node.id] for node in store.zero.nodes(["orla", "halden"])}
    orla, halden = nodes["orla"], nodes["halden"]
    assert graph.commonness[[orla, halden]].tolist() == [2, 1]
    assert sorted(graph.rows[graph.of_nodes(np.array([orla]))].tolist()) == [0, 1]
    assert sorted(graph.nodes[graph.of_chunks(np.array([0]))].tolist()) == sorted([orla, halden])
    assert graph.titled[[orla, halden]].tolist() == [True, True]
    kinds = dict(zip(graph.nodes[graph.of_chunks(np.array([0]))], graph.kinds[:2], strict=True))
    assert kinds[halden] & TITLE
    assert not kinds[orla] & TITLE


def test_an_entity_and_the_name_that_it_was_read_under_are_one_node(named: tuple[Store, list[int]]) -> None:
    store, (first, _, third) = named
    reading = Reading((EntityMention("the Orla", "orla", "river", ""),))
    store.graph.record(third, reading, generation())
    graph = store.zero.adjacency.graph()
    (entity,) = store.graph.find_by_keys(["orla"])
    (name,) = store.zero.nodes(["orla"])
    place = graph.entity_places([entity.id])[entity.id]
    assert graph.name_places([name.id]) == {name.id: place}
    assert graph.commonness[place] == 3
    pairs = graph.of_nodes(np.array([place]))
    by_chunk = dict(
        zip(graph.chunk_ids[graph.rows[pairs]].tolist(), graph.kinds[pairs].tolist(), strict=True)
    )
    assert by_chunk[third] == READ
    assert by_chunk[first] == FORM


def test_what_was_deleted_is_in_it_no_more(named: tuple[Store, list[int]]) -> None:
    store, chunks = named
    assert len(store.zero.adjacency.graph()) == 4
    store.documents.delete(store.chunks.get(chunks[0]).document_id)
    graph = store.zero.adjacency.graph()
    assert graph.chunk_ids.tolist() == chunks[1:]
    assert len(graph) == 2


def test_it_is_read_once_for_a_content_and_never_kept_from_an_open_transaction(
    named: tuple[Store, list[int]],
) -> None:
    store, chunks = named
    kept = store.zero.adjacency.graph()
    assert store.zero.adjacency.graph() is kept
    with suppress(ZeroDivisionError), store.transaction():
        store.documents.delete(store.chunks.get(chunks[0]).document_id)
        assert len(store.zero.adjacency.graph()) == 2
        raise ZeroDivisionError
    assert store.zero.adjacency.graph() is kept


def test_another_connection_sees_what_was_stored_meanwhile(named: tuple[Store, list[int]]) -> None:
    store, chunks = named
    with Store.open(store.path, read_only=True) as other:
        assert len(other.zero.adjacency.graph()) == 4
        store.documents.delete(store.chunks.get(chunks[2]).document_id)
        assert len(other.zero.adjacency.graph()) == 3


def test_spots_tell_where_names_and_mentions_stand(named: tuple[Store, list[int]]) -> None:
    store, chunks = named
    graph = store.zero.adjacency.graph()
    spots = store.zero.adjacency.spots(graph, chunks[:1])
    assert [(spot.chunk_id, spot.start, spot.end) for spot in spots] == [(chunks[0], 0, 4), (chunks[0], 1, 5)]
    assert store.zero.adjacency.spots(graph, []) == []


def test_an_empty_file_has_an_empty_graph(tmp_path: Path) -> None:
    with Store.create(tmp_path / "empty.localrag") as store:
        graph = store.zero.adjacency.graph()
        assert len(graph) == 0
        assert graph.chunk_places([1, 2]).tolist() == []
        assert graph.name_places([1]) == {}
        assert graph.ties.tolist() == []
        assert graph.of_nodes(np.zeros(0, dtype=np.int64)).tolist() == []


@given(
    st.lists(
        st.tuples(st.integers(1, 9), st.integers(1, 9), st.sampled_from([FORM, HEADING, TITLE])), max_size=40
    )
)
def test_both_sides_hold_the_same_pairs(pairs: list[tuple[int, int, int]]) -> None:
    graph = NameGraph(np.array(pairs, dtype=np.int64).reshape(-1, 3), {3: -3})
    wanted: dict[tuple[int, int], int] = {}
    for chunk, name, kind in pairs:
        node = -3 if name == 3 else name
        wanted[chunk, node] = wanted.get((chunk, node), 0) | kind
    places = {place: name for name, place in graph.name_places(range(1, 10)).items()}
    ids = {place: (-3 if name == 3 else name) for place, name in places.items()}
    for side in (
        graph.of_chunks(np.arange(len(graph.chunk_ids))),
        graph.of_nodes(np.arange(len(graph.commonness))),
    ):
        found = {
            (int(graph.chunk_ids[graph.rows[pair]]), ids[int(graph.nodes[pair])]): int(graph.kinds[pair])
            for pair in side
        }
        assert found == wanted
        assert len(side) == len(graph) == len(wanted)


def test_a_name_of_too_many_chunks_ties_nothing_and_a_title_ties_most() -> None:
    pairs = [(chunk, 1, FORM) for chunk in range(1, COMMON + 2)]
    pairs += [(1, 2, FORM), (2, 2, TITLE), (1, 3, FORM), (2, 4, TITLE)]
    graph = NameGraph(np.array(pairs, dtype=np.int64), {})
    place = graph.name_places([1, 2, 3, 4])
    ties = {
        name: sorted(graph.ties[graph.of_nodes(np.array([place[name]]))].tolist()) for name in (1, 2, 3, 4)
    }
    assert set(ties[1]) == {0.0}
    assert ties[2][1] == pytest.approx(3 * ties[2][0])
    assert ties[3] == [0.0]
    assert ties[4][0] > ties[2][1]
