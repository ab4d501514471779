"""The measure of retrieval asks the product itself, counts rightly, and makes each knowledge base once."""

from __future__ import annotations

import io
import json
import threading
from pathlib import Path

import pytest

from localrag.bench.data import DataPassage
from localrag.bench.retrieval import METHODS, Ranked, Row, as_json, measure
from localrag.bench.retrieval_build import Builder, places_of
from localrag.bench.retrieval_data import DataQuestion, QuestionSet, crossings, load_sets
from localrag.bench.retrieval_speed import measure as measure_speed
from localrag.engine.scripted import ScriptedEmbedder
from localrag.engines import Engines
from localrag.errors import Cancelled
from localrag.settings import Settings
from localrag.store.database import Store
from tests.bench.test_retrieval_data import CHINESE_PASSAGES, CHINESE_QUESTIONS, PASSAGES, QUESTIONS, write
from tests.conftest import reader


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOCALRAG_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def sets(tmp_path: Path) -> list[QuestionSet]:
    write(tmp_path / "data", "tide", PASSAGES, QUESTIONS)
    write(tmp_path / "data", "chao", CHINESE_PASSAGES, CHINESE_QUESTIONS)
    return load_sets(tmp_path / "data", (), "M")


def engines() -> Engines:
    return Engines(Settings(), reader(), ScriptedEmbedder())


def question(*gold: str, many_hops: bool = False) -> DataQuestion:
    return DataQuestion("q", "?", gold, many_hops)


def test_figures_are_shares_of_what_is_needed() -> None:
    places = tuple(f"p{n}" for n in range(12))
    row = Row(
        "set",
        "fused",
        (
            Ranked(question("p0", "p5"), places, ("p0",)),
            Ranked(question("p7", many_hops=True), places, ("p7", "p8", "p9")),
            Ranked(question("p1", "p8", many_hops=True), places, ()),
            Ranked(question("none"), places, ()),
        ),
    )
    assert row.figures() == {"r2": 0.25, "r5": 0.25, "r10": 0.75, "all8": 0.5}
    assert row.figures(many_hops=True) == {"r2": 0.25, "r5": 0.25, "r10": 1.0, "all8": 0.5}
    assert row.passing() == {"passages": 1.0, "recall": 0.375}
    assert Row("set", "fulltext", (Ranked(question("p0"), places, None),)).passing() == {}


def test_every_method_is_measured_on_every_set(sets: list[QuestionSet]) -> None:
    dump = io.StringIO()
    rows = measure(sets, crossings(sets), Settings(), engines(), dump=dump)
    data = as_json(rows)
    assert set(data["sets"]) == {"tide", "chao", "tide-en-zh", "chao-zh-en"}
    assert all(set(figures) == set(METHODS) for figures in data["sets"].values())
    assert data["sets"]["tide"]["free_graph"] == {"r2": 1.0, "r5": 1.0, "r10": 1.0, "all8": 1.0}
    assert data["sets"]["tide-en-zh"]["fulltext"]["r10"] == 0.0
    assert set(data["many_hops"]) == {"tide", "tide-en-zh"}
    assert data["passing"]["tide"]["free_graph"]["passages"] >= 1
    lines = [json.loads(line) for line in dump.getvalue().splitlines()]
    assert len(lines) == 2 * 4 * len(METHODS)
    assert {line["method"] for line in lines} == set(METHODS)
    first = next(line for line in lines if line["set"] == "tide" and line["id"] == "q1")
    assert first["gold"] == ["p1", "p2"]


def test_a_set_is_made_once_and_again_when_its_texts_change(sets: list[QuestionSet], cache: Path) -> None:
    steps: list[str] = []

    def builder() -> Builder:
        return Builder(Settings(), engines(), lambda text, done, total: steps.append(text), threading.Event())

    path = builder().plain(sets[1])
    assert any(step.startswith("Adding") for step in steps)
    assert any(step.startswith("Vectors") for step in steps)
    steps.clear()
    assert builder().plain(sets[1]) == path
    assert steps == []
    with Store.open(path, read_only=True) as store:
        assert set(places_of(store, sets[1]).values()) == {passage.id for passage in sets[1].passages}
        assert store.chunks.count().read == 0
    changed = QuestionSet("tide", (DataPassage("p1", "", "Other."),), sets[1].questions, "en")
    assert builder().plain(changed) != path
    assert not list(cache.rglob("*.part"))


def test_the_model_reads_a_copy_and_goes_on_where_it_was_stopped(sets: list[QuestionSet]) -> None:
    stop = threading.Event()

    def step(text: str, done: int, total: int) -> None:
        if text.startswith("Reading"):
            stop.set()

    with pytest.raises(Cancelled):
        Builder(Settings(), engines(), step, stop).read(sets[1])
    builder = Builder(Settings(), engines(), lambda text, done, total: None, threading.Event())
    path = builder.read(sets[1])
    assert path != builder.plain(sets[1])
    with Store.open(path, read_only=True) as store:
        counts = store.chunks.count()
        assert counts.read == counts.total == 3
    with Store.open(builder.plain(sets[1]), read_only=True) as store:
        assert store.chunks.count().read == 0


def test_the_graph_is_measured_only_when_it_is_asked_for(sets: list[QuestionSet]) -> None:
    rows = measure(sets[1:], (), Settings(), engines(), graph=True)
    assert [row.method for row in rows] == [*METHODS, "graph"]


def test_a_stop_ends_the_measure(sets: list[QuestionSet]) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(Cancelled):
        measure(sets, (), Settings(), engines(), cancel=stop)


def test_the_speed_is_measured_on_a_graph_with_names(tmp_path: Path) -> None:
    (row,) = measure_speed([120], ScriptedEmbedder(), keep=tmp_path)
    assert row.chunks == 120
    assert row.ranking_ms > 0
    assert row.embedding_ms is not None
    assert row.total_ms == pytest.approx(row.ranking_ms + row.embedding_ms, abs=0.01)
    with Store.open(tmp_path / "named-120.localrag", read_only=True) as store:
        graph = store.zero.adjacency.graph()
        assert len(graph.chunk_ids) == 120
        assert (graph.ties > 0).any()
