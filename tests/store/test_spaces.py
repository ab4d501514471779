"""Embedding spaces: a second one grows beside the one that is searched, then takes its place or goes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from localrag.engine.types import EmbeddingSpace
from localrag.errors import KnowledgeBaseReadOnly, UsageError
from localrag.store import Store
from localrag.store.space_rows import SpaceProgress, VectorCounts
from tests.store.helpers import (
    KINDS,
    SPACE,
    add,
    add_lines,
    embed_missing,
    entity,
    files_beside,
    generation,
    logical_rows,
    reading,
    relation,
    session_of,
    vector,
)

OTHER = EmbeddingSpace("space-b", "larger", 16, "cls", "query: ", "passage: ", 256)
SAME_SIZE = EmbeddingSpace("space-c", "sibling", SPACE.dimension, "mean")


@pytest.fixture
def filled(store: Store) -> Store:
    """Chunks, entities and a relation with vectors of `SPACE`."""
    one, two, *_ = add_lines(store, "First passage", "Second passage", "Third passage")
    said = reading([entity("Tove", "Draws."), entity("Isle")], [relation("Tove", "Isle", "Drew it.")])
    store.graph.record(one, said, generation())
    store.graph.record(two, reading([entity("Tove", "Sails.")]), generation())
    embed_missing(store)
    return store


def fill(store: Store, space_id: int, dimension: int, most: int = 1000) -> int:
    """Make up to so many missing vectors of a space; returns how many."""
    made = 0
    for kind in KINDS:
        ids = store.vectors.missing(space_id, kind, most - made)
        texts = store.vectors.texts(kind, ids)
        if ids:
            store.vectors.put(space_id, kind, ids, np.stack([vector(text, dimension) for text in texts]))
        made += len(ids)
    return made


def active(store: Store) -> tuple[str, int]:
    space = store.vectors.active_space()
    assert space is not None
    return space.model, space.dimension


@pytest.mark.parametrize("space", [OTHER, SAME_SIZE], ids=["another dimension", "the same dimension"])
def test_a_space_grows_beside_the_searched_one_and_takes_its_place(
    filled: Store, space: EmbeddingSpace
) -> None:
    old = filled.vectors.active_space()
    assert old is not None
    before = filled.vectors.search(old.id, "chunk", vector("First passage"), 3)
    new = filled.vectors.begin_building(space)
    assert filled.vectors.building_progress() == SpaceProgress(space.model, 0, 6)
    revision = filled.revision()
    assert fill(filled, new, space.dimension, 2) == 2
    assert filled.vectors.building_progress() == SpaceProgress(space.model, 2, 6)
    assert not filled.vectors.finish_building(new, VectorCounts())
    assert active(filled) == (SPACE.model, SPACE.dimension)
    assert filled.vectors.search(old.id, "chunk", vector("First passage"), 3) == before
    assert fill(filled, new, space.dimension) == 4
    # What nobody searches yet is no content: caches of the searched space stay valid.
    assert filled.revision() == revision
    assert filled.vectors.finish_building(new, VectorCounts())
    assert filled.revision() == revision + 1
    assert active(filled) == (space.model, space.dimension)
    assert filled.vectors.building_progress() is None
    assert [row.id for row in filled.vectors.spaces()] == [new]
    assert filled.vectors.count_vectors(new) == VectorCounts(3, 2, 1)
    assert filled.info().counts["chunk_vectors"] == 3
    (best, *_) = filled.vectors.search(new, "chunk", vector("Second passage", space.dimension), 3)
    assert best.id == 2
    assert best.score == pytest.approx(1.0, abs=1e-6)


def test_a_row_that_came_last_keeps_the_switch_from_happening(filled: Store) -> None:
    new = filled.vectors.begin_building(OTHER)
    fill(filled, new, 16)
    add(filled, "late.txt", "Late passage")
    assert not filled.vectors.finish_building(new, VectorCounts())
    assert not filled.vectors.finish_building(new, VectorCounts(entity=5, relation=5))
    assert active(filled)[0] == SPACE.model
    fill(filled, new, 16)
    filled.graph.record(4, reading([entity("Tove", "Is late.")]), generation())
    assert filled.vectors.missing(new, "entity") == [1]
    assert not filled.vectors.finish_building(new, VectorCounts())
    assert filled.vectors.finish_building(new, VectorCounts(entity=1))
    assert filled.vectors.missing(new, "entity") == [1]


def test_going_on_keeps_what_was_made(filled: Store) -> None:
    new = filled.vectors.begin_building(OTHER)
    fill(filled, new, 16, 2)
    with Store.open(filled.path) as again:
        assert again.vectors.begin_building(OTHER) == new
        assert again.vectors.count_vectors(new).total == 2


def test_only_one_change_at_a_time(filled: Store) -> None:
    filled.vectors.begin_building(OTHER)
    with pytest.raises(UsageError, match="larger, are half made") as error:
        filled.vectors.begin_building(SAME_SIZE)
    assert "reembed --cancel" in error.value.hint
    with pytest.raises(UsageError, match="half made"):
        filled.vectors.begin_building(SPACE)
    assert len(filled.vectors.spaces()) == 2


def test_the_searched_space_is_no_change(filled: Store) -> None:
    with pytest.raises(UsageError, match="made by tiny already"):
        filled.vectors.begin_building(SPACE)
    assert filled.vectors.space_building() is None


def test_dropping_leaves_the_file_as_it_was(filled: Store) -> None:
    before, revision = logical_rows(filled), filled.revision()
    assert filled.vectors.drop_building() is None
    assert filled.revision() == revision
    new = filled.vectors.begin_building(OTHER)
    fill(filled, new, 16, 4)
    assert filled.vectors.drop_building() == SpaceProgress("larger", 4, 6)
    assert logical_rows(filled) == before
    with pytest.raises(UsageError, match="dropped by another program"):
        filled.vectors.finish_building(new, VectorCounts())
    assert filled.vectors.begin_building(SAME_SIZE) != new  # an id never comes to mean another model


def test_who_comes_second_to_the_switch_finds_it_done(filled: Store) -> None:
    new = filled.vectors.begin_building(OTHER)
    fill(filled, new, 16)
    with Store.open(filled.path) as other:
        assert other.vectors.finish_building(new, VectorCounts())
    assert filled.vectors.finish_building(new, VectorCounts())
    assert not filled.vectors.has_space(1)
    assert filled.vectors.has_space(new)


def test_a_failed_switch_changes_nothing(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    new = filled.vectors.begin_building(OTHER)
    fill(filled, new, 16)
    before = logical_rows(filled)

    def fails(space_id: int) -> None:
        raise OSError("no")

    monkeypatch.setattr(filled.vectors, "_drop", fails)
    with pytest.raises(OSError, match="no"):
        filled.vectors.finish_building(new, VectorCounts())
    assert logical_rows(filled) == before
    assert active(filled)[0] == SPACE.model


@pytest.mark.parametrize("cancelled", [False, True])
def test_no_byte_of_the_vectors_that_went_is_left(path: Path, cancelled: bool) -> None:
    lines = [f"line {number}" for number in range(200)]
    with Store.create(path) as store:
        add_lines(store, *lines)
        embed_missing(store)
        new = store.vectors.begin_building(OTHER)
        fill(store, new, 16)
    for dimension in (SPACE.dimension, 16):
        assert all(vector(line, dimension).tobytes() in path.read_bytes() for line in lines)
    with Store.open(path) as store:
        if cancelled:
            store.vectors.drop_building()
        else:
            assert store.vectors.finish_building(new, VectorCounts())
        assert store.check() == []
    assert files_beside(path) == [path.name]
    content = path.read_bytes()
    gone, kept = (16, SPACE.dimension) if cancelled else (SPACE.dimension, 16)
    assert not any(vector(line, gone).tobytes() in content for line in lines)
    assert all(vector(line, kept).tobytes() in content for line in lines)


def test_deleting_a_document_takes_its_vectors_out_of_both_spaces(filled: Store) -> None:
    new = filled.vectors.begin_building(OTHER)
    fill(filled, new, 16)
    add(filled, "more.txt", "More")
    filled.documents.delete(1)
    assert filled.vectors.count_vectors(new) == filled.vectors.count_vectors(1) == VectorCounts()
    assert filled.vectors.missing(new, "chunk") == [4]


def test_missing_rows_can_be_read_page_by_page(store: Store) -> None:
    add_lines(store, *(f"line {number}" for number in range(10)))
    space_id = store.vectors.ensure_space(SPACE)
    store.vectors.put(space_id, "chunk", [2, 5], np.stack([vector("a"), vector("b")]))
    assert store.vectors.missing(space_id, "chunk", 3) == [1, 3, 4]
    assert store.vectors.missing(space_id, "chunk", 3, after=4) == [6, 7, 8]
    assert store.vectors.missing(space_id, "chunk", after=8) == [9, 10]
    assert store.vectors.count_missing(space_id, "chunk") == 8


def test_a_file_that_cannot_be_written_keeps_its_space(filled: Store) -> None:
    new = filled.vectors.begin_building(OTHER)
    fill(filled, new, 16)
    with Store.open(filled.path, read_only=True) as locked:
        assert locked.vectors.building_progress() == SpaceProgress("larger", 6, 6)
        for change in (
            lambda: locked.vectors.begin_building(OTHER),
            lambda: locked.vectors.finish_building(new, VectorCounts()),
            locked.vectors.drop_building,
        ):
            with pytest.raises(KnowledgeBaseReadOnly):
                change()


def test_a_half_made_space_is_one_at_most_whatever_is_written(filled: Store) -> None:
    filled.vectors.begin_building(OTHER)
    third = filled.vectors.ensure_space(SAME_SIZE)
    session = session_of(filled)
    with pytest.raises(Exception, match="UNIQUE"), filled.transaction():
        session.run("UPDATE embedding_spaces SET building = 1 WHERE id = ?", [third])
