"""What the tests of index runs share."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from localrag.engine.scripted import ScriptedEmbedder
from localrag.engine.types import Embedder, LanguageModel
from localrag.engines import Engines
from localrag.indexing import (
    Finished,
    IndexEvent,
    IndexReport,
    Started,
)
from localrag.kb import KnowledgeBase
from localrag.settings import Settings
from localrag.store.database import Store
from localrag.store.rows import ChunkRow
from tests.conftest import reader


def run(
    kb: KnowledgeBase,
    model: LanguageModel | None = None,
    embedder: Embedder | None = None,
    cancel: threading.Event | None = None,
) -> list[IndexEvent]:
    """Index with these models; gives all events."""
    engines = Engines(Settings(), model or reader(), embedder or ScriptedEmbedder())
    with KnowledgeBase.open(kb.path, engines=engines) as opened:
        return list(opened.index(cancel))


def report_of(events: Sequence[IndexEvent]) -> IndexReport:
    assert isinstance(events[-1], Finished)
    return events[-1].report


def bare(event: IndexEvent) -> IndexEvent:
    """The first event without its estimate."""
    assert isinstance(event, Started)
    assert event.estimate is not None
    return replace(event, estimate=None)


def chunks_of(kb: KnowledgeBase, document_id: int) -> list[ChunkRow]:
    """The chunks of a document."""
    with Store.open(kb.path, read_only=True) as store:
        return store.chunks.of_document(document_id)
