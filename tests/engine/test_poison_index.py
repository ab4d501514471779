"""Indexing with a worker that dies over one chunk: the others are read, and a person is told which."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path

import pytest

from localrag.engine.client import WorkerModel
from localrag.engine.options import EngineOptions
from localrag.engine.run import Run
from localrag.engine.types import Event, GenerationRequest
from localrag.engines import Engines
from localrag.indexing import ChunkFailed, ChunkRead, Finished, IndexEvent
from localrag.kb import KnowledgeBase
from localrag.sections import ExtractionSettings
from localrag.settings import Settings
from tests.conftest import write_library
from tests.engine.random_model import build

POISON = "old mill stands"


class Fragile(WorkerModel):
    """A worker that is killed whenever a certain text is in its hands."""

    signals = 0

    def run(self, requests: Iterable[GenerationRequest]) -> Generator[tuple[int, Event]]:
        """As ever, but for the kills."""
        run = Run(self._worker, requests)
        over = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(run, over))
        watcher.start()
        try:
            yield from run.events()
        finally:
            over.set()
            watcher.join()

    def _watch(self, run: Run, over: threading.Event) -> None:
        last = None
        while not over.wait(0.002):
            texts = ["".join(m.text for m in f.request.messages) for f in list(run._flying.values())]
            pid = self.pid
            if pid is not None and pid != last and any(POISON in text for text in texts):
                last, self.signals = pid, self.signals + 1
                os.kill(pid, signal.SIGSEGV)


@pytest.fixture
def fragile(tmp_path: Path) -> Iterator[Fragile]:
    """With a model of random weights that can hold the prompts."""
    path = build(tmp_path / "long.gguf", context=16384)
    worker = Fragile(path, EngineOptions(n_ctx=32768, sequences=4, threads=1, prefix_mb=0))
    yield worker
    worker.close()


def test_the_chunk_that_kills_is_named_and_left_out(fragile: Fragile, tmp_path: Path) -> None:
    settings = Settings(extraction=ExtractionSettings(max_tokens=500, max_description=30))
    with KnowledgeBase.create(
        tmp_path / "n.localrag", settings=settings, engines=Engines(settings, fragile)
    ) as kb:
        kb.add([write_library(tmp_path / "library")])
        events: list[IndexEvent] = list(kb.index())
        (failed,) = [event for event in events if isinstance(event, ChunkFailed)]
        assert (failed.document, failed.ordinal, failed.left_out) == ("mill.txt", 0, True)
        assert "SIGSEGV" in failed.reason
        assert f"{fragile.signals} times" in failed.reason
        assert fragile.signals >= 2
        read = {event.document for event in events if isinstance(event, ChunkRead)}
        assert read == {"bridge.md", "library.txt", "茶馆.md"}
        report = next(event.report for event in events if isinstance(event, Finished))
        assert (report.failed, report.left_out, report.cancelled) == (1, 1, False)
        (mill,) = [row for row in kb.status().documents if row.path == "mill.txt"]
        assert mill.reason.startswith("1 of 1 passages could not be read. Passage 1: It made the engine fail")
        assert "SIGSEGV" in mill.reason
        # The next run does not pay for it again.
        before = fragile.signals
        again = next(event.report for event in kb.index() if isinstance(event, Finished))
        assert (again.read, again.failed, fragile.signals) == (0, 0, before)
