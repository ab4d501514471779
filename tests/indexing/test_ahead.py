"""What lies ahead of a run is told before it begins, and what it does while it goes on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest

from localrag.engine.job_messages import progress
from localrag.engine.scripted import ScriptedEmbedder, ScriptedModel
from localrag.engine.types import Event, GenerationRequest, ProgressEvent
from localrag.engine.wire import progress_of
from localrag.engines import Engines
from localrag.indexing import ChunkFailed, ChunkRead, Link, Preference, Progress, ahead
from localrag.indexing.order import plan
from localrag.kb import KnowledgeBase
from localrag.sections import ExtractionSettings
from localrag.settings import Settings
from localrag.store.database import Store
from tests.conftest import DESCRIBED, reader


def test_documents_stand_in_the_order_of_reading_with_what_is_missing(waiting: KnowledgeBase) -> None:
    engines = Engines(Settings(), reader(), ScriptedEmbedder())
    with KnowledgeBase.open(waiting.path, engines=engines) as kb:
        found = kb.ahead()
        with Store.open(kb.path, read_only=True) as store:
            order = [store.chunks.get(chunk).document_id for chunk in plan(store)]
        assert [item.document_id for item in found.documents] == list(dict.fromkeys(order))
        assert found.documents[0].first == 1
        assert sum(item.chunks for item in found.documents) == found.estimate.chunks == 4
        assert (found.ordered, found.embedder, found.left_out) == (True, True, 0)
        assert (found.missing.chunk, found.missing.entity) == (4, 0)
        last = found.documents[-1].document_id
        wanted = kb.ahead(Preference([last])).documents
        assert (wanted[0].document_id, wanted[0].preferred, wanted[1].preferred) == (last, True, False)
        list(kb.index())
        after = kb.ahead()
        assert (after.documents, after.estimate.chunks, after.missing.total) == ((), 0, 0)


def test_what_failed_for_good_is_counted_and_no_vectors_come_without_a_model(
    waiting: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(waiting.path) as store:
        first = plan(store)[0]
        store.chunks.mark_failed(first, "no", 2)
    monkeypatch.setattr(Engines, "has_embedder", lambda self: False)
    found = waiting.ahead()
    assert (found.left_out, found.estimate.chunks, found.embedder) == (1, 3, False)


def test_of_very_many_chunks_the_order_is_not_looked_for(
    waiting: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "MOST_CHOSEN", 3)
    monkeypatch.setattr(ahead, "planned", lambda *args, **options: pytest.fail("the graph was read"))
    last = max(row.id for row in waiting.status().documents)
    found = waiting.ahead(Preference([last]))
    assert not found.ordered
    assert found.documents[0].document_id == last
    assert len(found.documents) == 4


class Telling(ScriptedModel):
    """Tells how it goes before each result too, now and then with a person's question before it."""

    def run(self, requests: Iterable[GenerationRequest]) -> Iterator[tuple[int, Event]]:
        """One after the other."""
        told = ProgressEvent("decode", 1, 0, 100.0, 50.0)
        for number, (index, request) in enumerate(zip(range(99), requests, strict=False)):
            yield -1, replace(told, urgent=number == 1)
            yield index, self._generate(request)


def test_a_run_tells_what_it_reads_what_comes_out_and_when_it_stands(waiting: KnowledgeBase) -> None:
    model = Telling(reader()._answers, fail=lambda request: "library of Halden" in str(request.messages))
    settings = replace(DESCRIBED, extraction=ExtractionSettings(profile="lightrag"))
    engines = Engines(settings, model, ScriptedEmbedder())
    with KnowledgeBase.open(waiting.path, engines=engines, settings=settings) as kb:
        events = list(kb.index())
        paths = {row.path: row.id for row in kb.status().documents}
    told = [event for event in events if isinstance(event, Progress) and event.in_hand]
    assert {event.in_hand[0].document for event in told} == set(paths)
    bridge = next(event.in_hand[0] for event in told if event.in_hand[0].document == "bridge.md")
    assert bridge.heading.startswith("The Bridge of Halden")
    assert [event.stands for event in told] == [False, True, False, False]
    assert told[0].spent == 0 < told[-1].spent
    mill = next(event for event in events if isinstance(event, ChunkRead) and event.document == "mill.txt")
    assert (mill.entities, mill.types) == (("Marta Lind", "Ida Lind"), ("person", "person"))
    assert mill.links == (Link("Ida Lind", "Marta Lind", "Ida Lind is the daughter of Marta Lind."),)
    assert mill.document_id == paths["mill.txt"]
    failed = next(event for event in events if isinstance(event, ChunkFailed))
    assert failed.document_id == paths["library.txt"]


def test_the_worker_says_when_a_person_waits() -> None:
    message = progress([], 0, (1.0, 2.0), None, None)
    assert progress_of(message).urgent is False
    assert progress_of(message | {"urgent": True}).urgent is True
