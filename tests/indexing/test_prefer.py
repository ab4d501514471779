"""Documents that a person wants first are read first, in a run that goes on too."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from localrag.engine.scripted import ScriptedEmbedder
from localrag.engines import Engines
from localrag.extraction.extractor import Extractor
from localrag.indexing import Budget, ChunkRead, Preference
from localrag.indexing.budget import Meter
from localrag.indexing.feed import Feed
from localrag.indexing.order import plan
from localrag.kb import KnowledgeBase
from localrag.sections import ExtractionSettings
from localrag.settings import Settings
from localrag.store.database import Store
from tests.conftest import reader
from tests.indexing.helpers import report_of


@pytest.fixture
def many(empty_kb: KnowledgeBase, tmp_path: Path) -> KnowledgeBase:
    """Twelve documents that connect equally."""
    folder = tmp_path / "in"
    folder.mkdir()
    for n in range(12):
        (folder / f"{n:02}.txt").write_text(f"Marta Lind met Tomas Berg in the year {1900 + n} at Halden.")
    empty_kb.add([folder])
    return empty_kb


def ids(kb: KnowledgeBase) -> dict[str, int]:
    return {row.path: row.id for row in kb.status().documents}


def test_a_preference_is_an_order_without_doubles() -> None:
    wanted = Preference([3, 1, 3])
    assert wanted.documents == (3, 1)
    assert wanted.ranks() == {3: 0, 1: 1}
    before = wanted.documents
    wanted.put([1, 3])
    assert wanted.documents != before


def test_the_plan_has_preferred_documents_at_its_head_and_keeps_the_rest(many: KnowledgeBase) -> None:
    with Store.open(many.path) as store:
        usual = plan(store)
        document_of = {row.id: row.document_id for part in store.chunks.waiting() for row in part}
        last, before = document_of[usual[-1]], document_of[usual[-2]]
        wanted = plan(store, prefer={last: 0, before: 1})
    assert wanted == [usual[-1], usual[-2], *usual[:-2]]


def test_failed_passages_of_a_preferred_document_come_first_too(many: KnowledgeBase) -> None:
    with Store.open(many.path) as store:
        first = plan(store)[0]
        document = store.chunks.get(first).document_id
        store.chunks.mark_failed(first, "no")
        assert plan(store)[-1] == first
        assert plan(store, prefer={document: 0})[0] == first


def test_a_run_reads_them_first(many: KnowledgeBase) -> None:
    wanted = [ids(many)["11.txt"], ids(many)["07.txt"]]
    engines = Engines(Settings(), reader(), ScriptedEmbedder())
    with KnowledgeBase.open(many.path, engines=engines) as kb:
        events = list(kb.index(prefer=Preference(wanted)))
    assert [e.document for e in events if isinstance(e, ChunkRead)][:2] == ["11.txt", "07.txt"]
    assert report_of(events).read == 12


def test_a_change_takes_effect_in_a_run_that_goes_on(many: KnowledgeBase) -> None:
    wanted = Preference()
    engines = Engines(Settings(), reader(), ScriptedEmbedder())
    seen: list[str] = []
    with KnowledgeBase.open(many.path, engines=engines) as kb:
        for event in kb.index(prefer=wanted):
            if isinstance(event, ChunkRead):
                seen.append(event.document)
                if len(seen) == 2:
                    rest = [path for path in ids(many) if path not in seen]
                    last, before = rest[-1], rest[-2]
                    wanted.put([ids(many)[last], ids(many)[before]])
    assert seen[2:4] == [last, before]
    assert sorted(seen) == sorted(ids(many))


def test_a_document_that_came_in_meanwhile_can_be_next(many: KnowledgeBase, tmp_path: Path) -> None:
    wanted = Preference()
    engines = Engines(Settings(), reader(), ScriptedEmbedder())
    seen: list[str] = []
    with KnowledgeBase.open(many.path, engines=engines) as kb:
        for event in kb.index(prefer=wanted):
            if isinstance(event, ChunkRead):
                seen.append(event.document)
                if len(seen) == 1:
                    (tmp_path / "in" / "late.txt").write_text("Ida Lind wrote to Jon Aas.")
                    many.add([tmp_path / "in"])
                    wanted.put([ids(many)["late.txt"]])
    assert seen[1] == "late.txt"
    assert len(seen) == 13


def test_a_budget_goes_to_what_is_wanted(many: KnowledgeBase) -> None:
    wanted = [ids(many)["11.txt"]]
    engines = Engines(Settings(), reader(), ScriptedEmbedder())
    with KnowledgeBase.open(many.path, engines=engines) as kb:
        events = list(kb.index(budget=Budget(tokens=1), prefer=Preference(wanted)))
    assert [e.document for e in events if isinstance(e, ChunkRead)] == ["11.txt"]


def test_what_was_begun_goes_on_and_is_not_begun_twice(many: KnowledgeBase) -> None:
    """A second call over a chunk keeps its place when the order changes under it."""
    with Store.open(many.path) as store:
        wanted = Preference()
        feed = Feed(store, Extractor(ExtractionSettings()), prefer=wanted)
        assert feed.refill()
        first = next(feed)
        job = feed.drawn(0)
        job.calls.append(None)  # type: ignore[arg-type]  # as after a first call
        feed.follow(job, first)
        wanted.put([store.chunks.get(plan(store)[-1]).document_id])
        assert feed.refill()
        assert next(feed) is first
        further = sum(1 for _ in feed)
        begun = [feed.drawn(number).chunk.id for number in range(1, 2 + further)]
        assert len(begun) == len(set(begun)) == 12


class Disturbed(Meter):
    """While a request is being drawn, the thread of the store puts another one before it."""

    def __init__(self) -> None:
        super().__init__(Budget())
        self.between: threading.Thread | None = None

    def begin(self, chunk_id: int, tokens: int) -> bool:
        """Let the other thread go, and give it time to come between."""
        between, self.between = self.between, None
        if between is not None:
            between.start()
            between.join(0.2)
        return super().begin(chunk_id, tokens)


def test_a_following_call_that_comes_while_another_is_drawn_is_not_lost(many: KnowledgeBase) -> None:
    meter = Disturbed()
    with Store.open(many.path) as store:
        feed = Feed(store, Extractor(ExtractionSettings()), meter=meter)
        feed.refill()
        first = next(feed)
        job = feed.drawn(0)
        between = meter.between = threading.Thread(target=lambda: feed.follow(job, first))
        drawn = next(feed)
        between.join(5)
        assert feed.drawn(1).chunk.id != job.chunk.id
        assert drawn is not first
        assert next(feed) is first
        assert sum(1 for _ in feed) == 10
