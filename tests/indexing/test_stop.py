"""A stop is obeyed within half a second, whatever the models are doing, and loses nothing."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from localrag.engine.scripted import ScriptedEmbedder, ScriptedModel
from localrag.engine.types import Event, GenerationRequest, TextKind
from localrag.kb import KnowledgeBase
from tests.conftest import Stopper
from tests.indexing.helpers import report_of, run


class HangingModel(ScriptedModel):
    """Hangs before the first chunk or behind it."""

    def __init__(self, stage: str, stopper: Stopper) -> None:
        super().__init__(lambda request: "<|COMPLETE|>")
        self._stage = stage
        self._stopper = stopper

    def run(self, requests: Iterable[GenerationRequest]) -> Iterator[tuple[int, Event]]:
        if self._stage == "load":
            self._stopper.hang()
        yield from super().run(itertools.islice(requests, 1))
        self._stopper.hang()


@pytest.mark.parametrize(("stage", "read"), [("load", 0), ("read", 1)])
def test_a_stop_while_reading(waiting: KnowledgeBase, stopper: Stopper, stage: str, read: int) -> None:
    report = report_of(run(waiting, HangingModel(stage, stopper), cancel=stopper.cancel))
    assert stopper.took() < 0.5
    assert report.cancelled
    assert report.read == read == waiting.status().chunks.read
    assert report_of(run(waiting)).read == 4 - read


class HangingEmbedder(ScriptedEmbedder):
    """Hangs at its second batch."""

    def __init__(self, stopper: Stopper) -> None:
        super().__init__()
        self._stopper = stopper

    def embed(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
        if self.calls:
            self._stopper.hang()
        return super().embed(texts, kind)


def test_a_stop_while_embedding_keeps_the_batches_before(
    empty_kb: KnowledgeBase, tmp_path: Path, stopper: Stopper
) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for n in range(40):
        (folder / f"{n:02}.txt").write_text(f"Entry {n} of the log of the ferry to Halden.")
    empty_kb.add([folder])
    report = report_of(run(empty_kb, embedder=HangingEmbedder(stopper), cancel=stopper.cancel))
    assert stopper.took() < 0.5
    assert report.cancelled
    assert empty_kb.status().vectors.chunks == 32


def test_a_stop_before_the_beginning(waiting: KnowledgeBase) -> None:
    cancel = threading.Event()
    cancel.set()
    events = run(waiting, cancel=cancel)
    assert report_of(events).cancelled
    assert waiting.status().chunks.read == 0
