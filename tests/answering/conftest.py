"""A way to ask the library with a model that writes a given answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from localrag.answering.options import AskOptions
from localrag.answering.types import AskEvent
from localrag.engine.scripted import ScriptedEmbedder
from localrag.engine.types import GenerationRequest
from localrag.engines import Engines
from localrag.kb import KnowledgeBase
from localrag.settings import Settings
from tests.answering.helpers import (
    QUESTION,
    Ask,
)
from tests.conftest import reader


@pytest.fixture
def ask(kb: KnowledgeBase) -> Ask:
    """Ask the library with a model that writes the given answer; gives all events."""

    def answering(
        answer: str | Callable[[GenerationRequest], str], question: str = QUESTION, mode: str = "mix"
    ) -> list[AskEvent]:
        engines = Engines(Settings(), reader(answer), ScriptedEmbedder())
        with KnowledgeBase.open(kb.path, engines=engines) as opened:
            # Each model is asked, whatever another one has answered before.
            return list(opened.stream(question, mode=mode, options=AskOptions(fresh=True)))

    return answering
