"""What connects most is read first, and always in the same order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.engine.scripted import ScriptedEmbedder
from localrag.engines import Engines
from localrag.indexing import ChunkRead, order
from localrag.indexing.order import plan, reading_order
from localrag.kb import KnowledgeBase
from localrag.settings import Settings
from localrag.store.database import Store
from localrag.store.rows import WaitingChunk
from localrag.store.zero_rows import FORM, Incidence
from tests.conftest import reader
from tests.examples import examples


def names(*pairs: tuple[int, int]) -> Incidence:
    """Pairs of a chunk and a name."""
    table = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    return Incidence(table[:, 0], table[:, 1], np.full(len(table), FORM, dtype=np.int64), 0)


def waiting(*chunks: int, tokens: int = 100, document: int | None = None) -> list[WaitingChunk]:
    return [WaitingChunk(chunk, document or chunk, tokens) for chunk in chunks]


def test_chunks_that_share_names_come_before_those_that_share_none() -> None:
    assert reading_order(waiting(1, 2, 3, 4), names((2, 7), (4, 7))) == [2, 4, 1, 3]


def test_a_chunk_that_completes_a_connection_goes_before_one_that_begins_another() -> None:
    # 1 has most names; 5 shares one of them, 3 and 4 share two with each other.
    shared = names((1, 7), (5, 7), (1, 8), (2, 8), (1, 9), (2, 9), (3, 10), (4, 10))
    assert reading_order(waiting(1, 2, 3, 4, 5), shared)[:3] == [1, 2, 5]


def test_a_run_goes_on_at_what_was_read_before() -> None:
    shared = names((1, 7), (2, 7), (3, 8), (9, 8))
    assert reading_order(waiting(1, 2, 3), shared)[0] == 3  # 9 is read, so 3 completes a connection


def test_short_chunks_come_before_long_ones_that_connect_no_more() -> None:
    rows = [WaitingChunk(1, 1, 900), WaitingChunk(2, 2, 100)]
    assert reading_order(rows, names((1, 7), (2, 7))) == [2, 1]


def test_documents_take_turns() -> None:
    rows = [*waiting(1, 2, 3, 4, document=1), *waiting(5, 6, 7, 8, document=2)]
    shared = names(*((chunk, 10 + (chunk > 4)) for chunk in range(1, 9)))
    first = reading_order(rows, shared)
    assert {chunk > 4 for chunk in first[:4]} == {True, False}


def test_common_names_say_little() -> None:
    rare = [(150, 99), (151, 99)]
    everywhere = [(chunk, name) for chunk in range(200) if chunk not in (150, 151) for name in range(6)]
    assert set(reading_order(waiting(*range(200)), names(*everywhere, *rare))[:2]) == {150, 151}


@settings(max_examples=examples(50), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5000)), max_size=12),
    st.sets(st.tuples(st.integers(0, 15), st.integers(0, 6)), max_size=40),
    st.integers(0, 12),
)
def test_every_chunk_comes_once_and_always_in_the_same_order(
    chunks: list[tuple[int, int]], pairs: set[tuple[int, int]], most: int
) -> None:
    rows = [WaitingChunk(number, document, tokens) for number, (document, tokens) in enumerate(chunks)]
    before, order.MOST_CHOSEN = order.MOST_CHOSEN, most
    try:
        found = reading_order(rows, names(*pairs))
        assert reading_order(rows, names(*pairs)) == found
    finally:
        order.MOST_CHOSEN = before
    assert sorted(found) == list(range(len(chunks)))


def test_a_run_reads_in_this_order_and_takes_in_what_comes_meanwhile(
    empty_kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localrag.indexing.feed.AHEAD", 2)
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_text("The keeper Olga Ness was alone on the island.")
    (folder / "b.txt").write_text("Marta Lind met Tomas Berg at the Halden Bridge.")
    (folder / "c.txt").write_text("Tomas Berg sold the Halden Bridge to Marta Lind.")
    empty_kb.add([folder])
    engines = Engines(Settings(), reader(), ScriptedEmbedder())
    seen = []
    with KnowledgeBase.open(empty_kb.path, engines=engines) as opened:
        for event in opened.index():
            if isinstance(event, ChunkRead):
                seen.append(event.document)
                if len(seen) == 1:
                    (folder / "new.txt").write_text("A late word from Ida Lind.")
                    empty_kb.add([folder])
    assert set(seen[:2]) == {"b.txt", "c.txt"}
    assert sorted(seen) == ["a.txt", "b.txt", "c.txt", "new.txt"]


def test_a_part_of_the_graph_gives_the_order_of_the_whole(
    waiting_kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(waiting_kb.path) as store:
        few = plan(store)
        monkeypatch.setattr(order, "FEW", 0)
        assert plan(store) == few


def test_nothing_left_is_found_out_without_the_graph(
    waiting_kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(waiting_kb.path) as store:
        held = {row.id for row in store.chunks.pending()}
        monkeypatch.setattr(store.zero, "incidence", lambda **options: pytest.fail("the graph was read"))
        assert plan(store, held) == []


def test_failed_chunks_come_last_and_held_ones_not_at_all(waiting_kb: KnowledgeBase) -> None:
    with Store.open(waiting_kb.path) as store:
        ids = [row.id for row in store.chunks.pending()]
        first = plan(store)
        assert sorted(first) == sorted(ids)
        store.chunks.mark_failed(first[0], "no")
        assert plan(store)[-1] == first[0]
        assert first[1] not in plan(store, {first[1]})


@pytest.fixture
def waiting_kb(empty_kb: KnowledgeBase, library: Path) -> KnowledgeBase:
    """The library, added and not read."""
    empty_kb.add([library])
    return empty_kb
