"""Stored vectors by id, and the mean of all of a kind, which follows what is stored and deleted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from localrag.store import vectors
from localrag.store.database import Store
from localrag.store.matrix_cache import Matrix
from tests.store.helpers import SPACE, add_lines, vector


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[tuple[Store, int, list[int]]]:
    with Store.create(tmp_path / "middle.localrag") as store:
        ids = add_lines(store, *(f"Line {n} of the text." for n in range(9)))
        space = store.vectors.ensure_space(SPACE)
        store.vectors.put(space, "chunk", ids[:8], np.stack([vector(str(n)) for n in range(8)]))
        yield store, space, ids


def middle_of(store: Store, space: int) -> Matrix:
    middle = store.vectors.middle(space, "chunk")
    assert middle is not None
    return middle


def test_vectors_come_by_id_and_those_without_one_are_left_out(filled: tuple[Store, int, list[int]]) -> None:
    store, space, ids = filled
    found, matrix = store.vectors.stored(space, "chunk", [ids[8], ids[3], ids[1], 999])
    assert found.tolist() == [ids[1], ids[3]]
    assert np.allclose(matrix, np.stack([vector("1"), vector("3")]))
    assert store.vectors.stored(space, "chunk", [])[1].shape == (0, SPACE.dimension)


def test_the_middle_is_the_mean_and_follows_the_content(filled: tuple[Store, int, list[int]]) -> None:
    store, space, ids = filled
    rows = np.stack([vector(str(n)) for n in range(8)])
    assert np.allclose(middle_of(store, space), rows.mean(axis=0), atol=1e-6)
    assert store.vectors.middle(space, "entity") is None
    store.vectors.put(space, "chunk", ids[8:], vector("8")[None])
    assert np.allclose(middle_of(store, space), np.vstack([rows, vector("8")]).mean(axis=0), atol=1e-6)
    # The same number of rows, but another one.
    store.vectors.put(space, "chunk", ids[:1], vector("other")[None])
    changed = np.vstack([vector("other"), rows[1:], vector("8")])
    assert np.allclose(middle_of(store, space), changed.mean(axis=0), atol=1e-6)


def test_of_many_a_sample_is_taken(
    filled: tuple[Store, int, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, space, _ = filled
    monkeypatch.setattr(vectors, "_SAMPLE", 2)
    ends = np.stack([vector("0"), vector("7")]).mean(axis=0)
    assert np.allclose(middle_of(store, space), ends, atol=1e-6)
