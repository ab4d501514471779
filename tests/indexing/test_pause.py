"""Indexing stands still when it is told to, goes on where it stood, and can be stopped meanwhile."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from localrag.engine.scripted import ScriptedEmbedder, ScriptedModel
from localrag.engines import Engines
from localrag.indexing import ChunkRead, Embedded, IndexEvent
from localrag.kb import KnowledgeBase
from localrag.settings import Settings
from tests.conftest import reader
from tests.indexing.helpers import report_of

STANDS = 0.4


@pytest.mark.parametrize("kind", [ChunkRead, Embedded])
def test_it_stands_still_and_goes_on(waiting: KnowledgeBase, kind: type[IndexEvent]) -> None:
    engines = Engines(Settings(), reader(), ScriptedEmbedder())
    resumed: list[float] = []
    seen: list[float] = []
    events: list[IndexEvent] = []

    def resume() -> None:
        resumed.append(time.monotonic())
        engines.resume_background()

    with KnowledgeBase.open(waiting.path, engines=engines) as kb:
        for event in kb.index():
            events.append(event)
            if isinstance(event, kind):
                seen.append(time.monotonic())
                if len(seen) == 1:
                    kb.pause_indexing()
                    threading.Timer(STANDS, resume).start()
    assert report_of(events).read == 4
    assert len(seen) > 1
    assert seen[1] >= resumed[0] >= seen[0] + STANDS


def test_a_stop_is_obeyed_while_it_stands(waiting: KnowledgeBase) -> None:
    engines = Engines(Settings(), reader(), ScriptedEmbedder())
    cancel = threading.Event()
    with KnowledgeBase.open(waiting.path, engines=engines) as kb:
        kb.pause_indexing()
        threading.Timer(0.2, cancel.set).start()
        began = time.monotonic()
        report = report_of(list(kb.index(cancel)))
        assert time.monotonic() - began < 2
        assert (report.cancelled, report.read) == (True, 0)
        kb.resume_indexing()
        assert report_of(list(kb.index())).read == 4


class Told(ScriptedModel):
    """A model that can keep background work in place, and notes what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[bool] = []

    def pause_background(self) -> None:
        self.told.append(True)

    def resume_background(self) -> None:
        self.told.append(False)


def test_a_model_that_can_stand_still_is_told() -> None:
    model = Told()
    engines = Engines(Settings(), model, ScriptedEmbedder())
    engines.pause_background()
    engines.resume_background()
    assert model.told == [True, False]


def test_a_model_that_is_made_later_is_told_too(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Told()
    monkeypatch.setattr(Engines, "_found_model", lambda self: model)
    engines = Engines(Settings())
    engines.pause_background()
    assert engines.model is model
    assert model.told == [True]


def test_questions_are_answered_meanwhile(kb: KnowledgeBase) -> None:
    kb.pause_indexing()
    assert kb.ask("Who built the bridge?").to_markdown()


def test_pausing_needs_no_model(tmp_path: Path) -> None:
    with KnowledgeBase.create(tmp_path / "n.localrag") as kb:
        kb.pause_indexing()
        kb.resume_indexing()
