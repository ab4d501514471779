"""A stop is obeyed within half a second, whatever the models are doing."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from localrag.answering.types import AnswerText
from localrag.engine.scripted import ScriptedEmbedder, ScriptedModel
from localrag.engine.types import (
    Event,
    GenerationRequest,
    ModelDescription,
    ProgressEvent,
    TextEvent,
    TextKind,
)
from localrag.engines import Engines
from localrag.errors import Cancelled
from localrag.kb import KnowledgeBase
from localrag.settings import Settings
from tests.answering.helpers import QUESTION
from tests.conftest import Stopper, reader


class HangingModel(ScriptedModel):
    """Loads, reads or writes for ever."""

    def __init__(self, stage: str, stopper: Stopper) -> None:
        super().__init__()
        self._stage = stage
        self._stopper = stopper
        self.closed_stream = threading.Event()
        """Whether its stream was closed."""

    def describe(self) -> ModelDescription:
        if self._stage == "load":
            self._stopper.hang()
        # Nothing is asked of it before it writes.
        return replace(super().describe(), decides=False)

    def stream(self, request: GenerationRequest) -> Iterator[Event]:
        try:
            yield ProgressEvent("prefill", 1, 0, 50.0, 0.0, 10, 100)
            if self._stage == "read":
                self._stopper.hang()
            yield TextEvent("body", "word ")
            self._stopper.hangs()
            while True:
                yield TextEvent("body", "word ")
                time.sleep(0.01)
        finally:
            self.closed_stream.set()


class HangingEmbedder(ScriptedEmbedder):
    """Never gives a vector."""

    def __init__(self, stopper: Stopper) -> None:
        super().__init__()
        self._stopper = stopper

    def embed(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
        self._stopper.hang()
        return super().embed(texts, kind)


@pytest.mark.parametrize("stage", ["load", "read", "write"])
def test_a_stop_while_the_model_works(kb: KnowledgeBase, stopper: Stopper, stage: str) -> None:
    model = HangingModel(stage, stopper)
    with KnowledgeBase.open(kb.path, engines=Engines(Settings(), model, ScriptedEmbedder())) as opened:
        with pytest.raises(Cancelled):
            opened.ask(QUESTION, cancel=stopper.cancel)
        assert stopper.took() < 0.5
    stopper.release()
    if stage != "load":
        assert model.closed_stream.wait(2)


def test_a_stop_while_the_question_is_embedded(kb: KnowledgeBase, stopper: Stopper) -> None:
    engines = Engines(Settings(), reader(), HangingEmbedder(stopper))
    with KnowledgeBase.open(kb.path, engines=engines) as opened:
        with pytest.raises(Cancelled):
            opened.ask(QUESTION, cancel=stopper.cancel)
        assert stopper.took() < 0.5


def test_closing_the_stream_stops_the_model(kb: KnowledgeBase, stopper: Stopper) -> None:
    model = HangingModel("write", stopper)
    with KnowledgeBase.open(kb.path, engines=Engines(Settings(), model, ScriptedEmbedder())) as opened:
        events = opened.stream(QUESTION)
        while not isinstance(next(events), AnswerText):
            pass
        events.close()
    assert model.closed_stream.wait(2)
