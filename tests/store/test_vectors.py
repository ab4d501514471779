"""Vectors: what is stored, what is missing, and one order of results whichever way is searched."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from localrag.engine.types import EmbeddingSpace
from localrag.errors import UsageError
from localrag.store import Store, capabilities
from localrag.store import matrix as matrix_module
from localrag.store import vectors as vectors_module
from localrag.store.vectors import Method
from tests.examples import examples
from tests.store.helpers import (
    SPACE,
    add_lines,
    embed_missing,
    entity,
    generation,
    quick_store,
    reading,
    relation,
    session_of,
    vector,
)

METHODS: list[Method] = ["numpy", *(["sqlite-vec"] if capabilities().vec_version else [])]  # type: ignore[list-item]


def filled(store: Store, matrix: NDArray[np.float32]) -> int:
    """Chunks 1.. with the rows of a matrix; returns the space."""
    add_lines(store, *(f"chunk {number}" for number in range(len(matrix))))
    space = EmbeddingSpace("f", "m", matrix.shape[1], "mean")
    space_id = store.vectors.ensure_space(space)
    store.vectors.put(space_id, "chunk", range(1, len(matrix) + 1), matrix)
    return space_id


def exact(matrix: NDArray[np.float32], query: NDArray[np.float32], limit: int, ids: list[int]) -> list[int]:
    """What any right search finds, computed on its own."""
    rows = matrix.astype(np.float64)
    scores = {number: float(rows[number - 1] @ query) for number in ids}
    return sorted(ids, key=lambda number: (-round(scores[number], 9), number))[:limit]


def test_this_machine_searches_as_it_says(store: Store) -> None:
    found = capabilities()
    assert store.vectors.method == found.search_path
    assert (found.search_path == "sqlite-vec") == (found.vec_version is not None)


@pytest.mark.parametrize("method", METHODS)
def test_the_nearest_come_first(store: Store, method: Method) -> None:
    matrix = np.stack([vector(str(number)) for number in range(60)])
    space_id = filled(store, matrix)
    for seed in range(5):
        query = vector(f"query {seed}")
        hits = store.vectors.search(space_id, "chunk", query, 10, method=method)
        assert [hit.id for hit in hits] == exact(matrix, query, 10, list(range(1, 61)))
        assert hits[0].score == pytest.approx(float(matrix[hits[0].id - 1] @ query), abs=1e-6)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    (best, *_) = store.vectors.search(space_id, "chunk", matrix[7] * 3.5, 1, method=method)
    assert best.id == 8
    assert best.score == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_the_filter_works_before_the_cut(store: Store, method: Method) -> None:
    matrix = np.stack([vector(str(number)) for number in range(80)])
    space_id = filled(store, matrix)
    query = vector("query")
    worst = exact(matrix, query, 80, list(range(1, 81)))[-7:]
    hits = store.vectors.search(space_id, "chunk", query, 5, ids=worst, method=method)
    assert [hit.id for hit in hits] == worst[:5]
    assert store.vectors.search(space_id, "chunk", query, 5, ids=[], method=method) == []
    assert store.vectors.search(space_id, "chunk", query, 5, ids={999}, method=method) == []
    assert store.vectors.search(space_id, "chunk", query, 0, method=method) == []
    many = list(range(1, 50_000))
    assert len(store.vectors.search(space_id, "chunk", query, 100, ids=many, method=method)) == 80


@pytest.mark.skipif(len(METHODS) < 2, reason="needs sqlite-vec")
@settings(max_examples=examples(40), deadline=None)
@given(
    st.integers(1, 90),
    st.integers(1, 12),
    st.integers(1, 30),
    st.integers(0, 2**32 - 1),
    st.booleans(),
    st.sampled_from([np.float32(0.0), np.float32(1e-8), np.float32(1e-3)]),
)
def test_both_ways_give_the_same_result(
    count: int, distinct: int, limit: int, seed: int, filtered: bool, jitter: np.float32
) -> None:
    """With many equal and nearly equal vectors, so that ties decide."""
    random = np.random.default_rng(seed)
    base = random.normal(size=(distinct, 16)).astype(np.float32)
    matrix = base[random.integers(0, distinct, count)] + jitter * random.normal(size=(count, 16)).astype(
        np.float32
    )
    ids = sorted(random.choice(count, max(1, count // 2), replace=False) + 1) if filtered else None
    with quick_store() as store:
        space_id = filled(store, matrix.astype(np.float32))
        query = base[0] + np.float32(0.1) * random.normal(size=16).astype(np.float32)
        first, second = (
            store.vectors.search(space_id, "chunk", query, limit, ids, method=m) for m in METHODS
        )
    assert first == second
    assert len(first) == min(limit, len(ids) if ids else count)


def test_equal_vectors_are_ordered_by_id_however_many(store: Store) -> None:
    space_id = filled(store, np.tile(vector("same", 16), (200, 1)))
    for method in METHODS:
        hits = store.vectors.search(space_id, "chunk", vector("q", 16), 7, method=method)
        assert [hit.id for hit in hits] == [1, 2, 3, 4, 5, 6, 7]
        assert len({hit.score for hit in hits}) == 1


def test_searching_in_blocks_finds_the_same(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.stack([vector(str(number)) for number in range(90)])
    space_id = filled(store, matrix)
    query = vector("query")
    whole = store.vectors.search(space_id, "chunk", query, 12, method="numpy")
    monkeypatch.setattr(matrix_module, "RESIDENT", 0)
    monkeypatch.setattr(vectors_module, "_BLOCK", 7)
    assert store.vectors.search(space_id, "chunk", query, 12, method="numpy") == whole


def test_the_resident_matrix_follows_every_change(path: Path) -> None:
    with Store.create(path) as store, Store.open(path) as other:
        space_id = filled(store, np.stack([vector(str(number)) for number in range(5)]))
        query = vector("2")

        def best(of: Store) -> int:
            return of.vectors.search(space_id, "chunk", query, 1, method="numpy")[0].id

        assert best(store) == best(other) == 3
        store.vectors.put(space_id, "chunk", [3, 5], np.stack([vector("x"), query]))
        assert best(store) == best(other) == 5
        with store.transaction():
            store.vectors.put(space_id, "chunk", [1, 5], np.stack([query, vector("y")]))
            assert best(store) == 1
            assert best(other) == 5
        assert best(other) == 1
        store.documents.delete(1)
        assert other.vectors.search(space_id, "chunk", query, 1, method="numpy") == []


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.full((1, 8), np.nan), "NaN"),
        (np.full((1, 8), np.inf), "NaN"),
        (np.zeros((1, 8)), "zero"),
        (np.ones((1, 7)), "shape"),
        (np.ones((2, 8)), "shape"),
        (np.ones(8), "shape"),
    ],
)
def test_vectors_that_would_poison_a_search_are_refused(
    store: Store, vectors: NDArray[np.float64], message: str
) -> None:
    add_lines(store, "one")
    space_id = store.vectors.ensure_space(SPACE)
    with pytest.raises(ValueError, match=message):
        store.vectors.put(space_id, "chunk", [1], vectors)
    assert store.vectors.missing(space_id, "chunk") == [1]
    if vectors.shape != (2, 8) and vectors.shape != (8,):
        with pytest.raises(ValueError, match=message):
            store.vectors.search(space_id, "chunk", vectors[0], 3)


def test_vectors_are_plain_little_endian_floats_of_length_one(store: Store) -> None:
    add_lines(store, "one")
    space_id = store.vectors.ensure_space(SPACE)
    store.vectors.put(space_id, "chunk", [1], np.array([[3.0, 4.0, 0, 0, 0, 0, 0, 0]]))
    blob = session_of(store).value("SELECT vec FROM chunk_vectors")
    assert np.frombuffer(blob, "<f4") == pytest.approx([0.6, 0.8, 0, 0, 0, 0, 0, 0])


def test_texts_to_embed(store: Store) -> None:
    one, two = add_lines(store, "First passage", "Second passage")
    tove, isle = entity("Tove", "Draws maps."), entity("Isle", "", "Place")
    store.graph.record(
        one, reading([tove, isle], [relation("Tove", "Isle", "Drew it.", "map, sea")]), generation()
    )
    store.graph.record(two, reading([entity("Tove", "Came home.")]), generation())
    assert store.vectors.texts("chunk", [two, 99, one]) == ["Second passage", "", "First passage"]
    assert store.vectors.texts("entity", [2, 1, 99]) == ["Isle", "Tove\nDraws maps. Came home.", ""]
    assert store.vectors.texts("relation", [1, 99]) == ["map, sea\tTove\tIsle\tDrew it.", ""]


def test_rows_are_missing_until_embedded_and_again_when_their_text_changes(store: Store) -> None:
    one, two = add_lines(store, "a", "b")
    said = reading(
        [entity("Tove", "Draws."), entity("Isle", "", "Place")], [relation("Tove", "Isle", "Drew.")]
    )
    store.graph.record(one, said, generation())
    space_id = store.vectors.ensure_space(SPACE)
    assert store.vectors.missing(space_id, "chunk") == [one, two]
    assert store.vectors.missing(space_id, "chunk", 1) == [one]
    assert store.vectors.missing(space_id, "entity") == [1, 2]
    assert embed_missing(store) == 5
    assert embed_missing(store) == 0
    store.graph.record(one, said, generation())
    assert embed_missing(store) == 0
    store.graph.record(two, reading([entity("Tove", "Sails.")]), generation())
    assert store.vectors.missing(space_id, "entity") == [1]
    assert store.vectors.missing(space_id, "relation") == []
    embed_missing(store)
    store.graph.record(two, reading([entity("TOVE", "Sails.")]), generation())
    assert store.graph.entity(1).name == "TOVE"
    assert store.vectors.missing(space_id, "entity") == [1]
    assert store.vectors.missing(space_id, "relation") == [1]
    embed_missing(store)
    store.documents.delete(1)
    assert [store.info().counts[f"{kind}_vectors"] for kind in ("chunk", "entity", "relation")] == [0, 0, 0]


def test_a_text_that_changed_while_it_was_embedded_stays_missing(store: Store) -> None:
    one, two = add_lines(store, "a", "b")
    store.graph.record(one, reading([entity("Tove", "Draws.")]), generation())
    space_id = store.vectors.ensure_space(SPACE)
    texts = store.vectors.texts("entity", [1])
    store.graph.record(two, reading([entity("Tove", "Sails.")]), generation())
    store.vectors.put(space_id, "entity", [1], np.stack([vector(texts[0])]), texts=texts)
    assert store.vectors.missing(space_id, "entity") == [1]
    with pytest.raises(ValueError, match="2 texts"):
        store.vectors.put(space_id, "entity", [1], np.stack([vector("x")]), texts=["a", "b"])


def test_an_entity_with_very_many_descriptions_is_not_embedded_again_for_each(store: Store) -> None:
    ids = add_lines(store, *(f"line {number}" for number in range(30)))
    space_id = store.vectors.ensure_space(SPACE)
    for number, chunk_id in enumerate(ids):
        store.graph.record(chunk_id, reading([entity("Hub", f"{number} " + "x" * 200)]), generation())
        if number == 20:
            embed_missing(store)
    assert store.vectors.missing(space_id, "entity") == []
    assert len(store.graph.entity(1).descriptions) == 30


def test_vectors_of_rows_that_are_gone_are_left_out(store: Store) -> None:
    add_lines(store, "one")
    space_id = store.vectors.ensure_space(SPACE)
    store.vectors.put(space_id, "chunk", [1, 77], np.stack([vector("a"), vector("b")]))
    assert store.info().counts["chunk_vectors"] == 1


def test_spaces_live_side_by_side(store: Store) -> None:
    assert store.vectors.active_space() is None
    add_lines(store, "one")
    first = store.vectors.ensure_space(SPACE)
    other = EmbeddingSpace("space-b", "larger", 16, "cls", "query: ", "passage: ", 256)
    second = store.vectors.ensure_space(other)
    assert store.vectors.ensure_space(SPACE) == first != second
    active = store.vectors.active_space()
    assert active is not None
    assert (active.id, active.fingerprint, active.active) == (first, "space-a", True)
    store.vectors.put(first, "chunk", [1], np.stack([vector("x")]))
    assert store.vectors.missing(second, "chunk") == [1]
    store.vectors.put(second, "chunk", [1], np.stack([vector("y", 16)]))
    assert len(store.vectors.search(first, "chunk", vector("x"), 5)) == 1
    store.vectors.activate(second)
    active = store.vectors.active_space()
    assert active is not None
    assert (active.model, active.dimension, active.pooling) == ("larger", 16, "cls")
    assert (active.query_prefix, active.passage_prefix, active.limit) == ("query: ", "passage: ", 256)
    assert [space.active for space in store.vectors.spaces()] == [False, True]
    for call in (
        lambda: store.vectors.activate(9),
        lambda: store.vectors.search(9, "chunk", vector("x"), 1),
        lambda: store.vectors.put(9, "chunk", [1], np.ones((1, 8))),
    ):
        with pytest.raises(UsageError, match="no embedding space 9"):
            call()
