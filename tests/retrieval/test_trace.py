"""The trace: every candidate with its place in each search, what was chosen, and what each step took."""

from __future__ import annotations

import json

import pytest

from localrag.engine.scripted import ScriptedEmbedder
from localrag.retrieval.search import Retriever
from localrag.retrieval.trace import MOST, Candidate, Place, Trace, Tracer
from localrag.sections import RetrievalSettings
from localrag.store.database import Store
from localrag.store.space_rows import Hit


@pytest.mark.parametrize("mode", ["naive", "local", "global", "hybrid", "mix", "path"])
def test_all_that_is_shown_is_in_the_trace_in_its_order(store: Store, mode: str) -> None:
    question = "How is Marta Lind connected with the Halden Bridge?"
    found = Retriever(store, ScriptedEmbedder(), RetrievalSettings()).retrieve(question, mode)
    shown = {
        "chunk": [passage.chunk_id for passage in found.passages],
        "entity": [entity.id for entity in found.entities],
        "relation": [relation.id for relation in found.relations],
    }
    for kind, ids in shown.items():
        candidates = found.trace.candidates[kind]  # type: ignore[index]
        chosen = sorted((item.chosen, item.id) for item in candidates if item.chosen)
        assert [row_id for _, row_id in chosen] == ids
        assert all(item.places for item in candidates)
        assert len({item.id for item in candidates}) == len(candidates)
    best = next(item for item in found.trace.candidates["chunk"] if item.chosen == 1)
    assert best.places["fulltext"].rank == 1
    assert {"query", "search", "keywords", "total"} <= set(found.trace.milliseconds)


def test_it_survives_json_and_holds_no_text(store: Store) -> None:
    found = Retriever(store, ScriptedEmbedder(), RetrievalSettings()).retrieve("Marta Lind at Halden", "mix")
    data = json.loads(json.dumps(found.trace.to_json()))
    assert Trace.from_json(data) == found.trace
    assert "Marta" not in json.dumps(data)


def test_candidates_that_were_not_chosen_come_behind_by_their_best_place() -> None:
    tracer = Tracer()
    tracer.add("chunk", {"fulltext": [Hit(1, 2.0), Hit(2, 1.0)], "vector": [Hit(3, 0.9), Hit(1, 0.8)]})
    trace = tracer.trace({"chunk": [2]})
    assert trace.candidates["chunk"] == (
        Candidate(2, {"fulltext": Place(2, 1.0)}, 1),
        Candidate(1, {"fulltext": Place(1, 2.0), "vector": Place(2, 0.8)}, 0),
        Candidate(3, {"vector": Place(1, 0.9)}, 0),
    )
    assert trace.candidates["entity"] == ()


def test_it_is_bounded_and_keeps_what_was_chosen() -> None:
    tracer = Tracer()
    tracer.add("chunk", {"fulltext": [Hit(number, 1.0) for number in range(1, 1000)]})
    trace = tracer.trace({"chunk": [999]})
    assert len(trace.candidates["chunk"]) == MOST
    assert trace.candidates["chunk"][0].id == 999


def test_times_of_a_step_add_up_and_do_not_count_in_comparisons() -> None:
    tracer = Tracer()
    for _ in range(2):
        with tracer.step("search"):
            sum(range(1000))
    first = tracer.trace({})
    assert 0 < first.milliseconds["search"] <= first.milliseconds["total"]
    assert first == Tracer().trace({})
