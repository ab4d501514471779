"""Vectors of an index run: of one space, made again where texts change, never a reason to stop."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from localrag.engine.scripted import ScriptedEmbedder
from localrag.engine.types import TextKind
from localrag.engines import Engines
from localrag.errors import (
    EmbeddingSpaceMismatch,
    EngineError,
    ModelNotFound,
)
from localrag.indexing import (
    Note,
)
from localrag.kb import KnowledgeBase
from localrag.settings import Settings
from localrag.store.database import Store
from tests.conftest import reader, write_library
from tests.indexing.helpers import report_of, run


def test_another_embedding_model_is_refused_before_anything_is_done(kb: KnowledgeBase, library: Path) -> None:
    kb.add([write_library(library.parent / "again")])
    (library / "new.txt").write_text("Olga Ness painted the bridge.")
    kb.add([library / "new.txt"])
    model = reader()
    with pytest.raises(EmbeddingSpaceMismatch, match="scripted") as error:
        run(kb, model, ScriptedEmbedder(32, "other"))
    assert "models.embed" in error.value.hint
    assert model.calls == []
    assert kb.status().chunks.pending > 0


def test_no_embedding_model_is_a_note_and_reading_goes_on(
    waiting: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(name: str, role: str) -> Path:
        raise ModelNotFound("No model that makes vectors is installed.", "Pull one.")

    monkeypatch.setattr("localrag.engines.find_model", nothing)
    with KnowledgeBase.open(waiting.path, engines=Engines(Settings(), reader())) as opened:
        events = list(opened.index())
    (note,) = [event for event in events if isinstance(event, Note)]
    assert "makes vectors" in note.text
    assert "Pull one." in note.text
    assert report_of(events).read == 4
    assert waiting.status().vectors.chunks == 0


class Picky(ScriptedEmbedder):
    """Refuses some texts, and with them their batch."""

    def __init__(self, refused: str) -> None:
        super().__init__()
        self.refused = refused

    def embed(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
        if any(self.refused in text for text in texts):
            raise EngineError("It has no direction.")
        return super().embed(texts, kind)


def test_a_text_without_a_vector_stops_nothing(waiting: KnowledgeBase) -> None:
    events = run(waiting, embedder=Picky("poet"))
    notes = [event.text for event in events if isinstance(event, Note)]
    assert "It has no direction." in notes[0]
    assert waiting.status().vectors.chunks == 3
    assert report_of(events).read == 4


def test_an_embedding_model_that_refuses_everything_is_given_up(waiting: KnowledgeBase) -> None:
    events = run(waiting, embedder=Picky(""))
    assert report_of(events).read == 4
    notes = [event.text for event in events if isinstance(event, Note)]
    assert any("left for the next run" in note for note in notes)
    assert waiting.status().vectors.chunks == 0


def test_an_entity_that_gains_a_description_is_embedded_again(kb: KnowledgeBase, tmp_path: Path) -> None:
    before = kb.status().vectors
    assert kb.search("Ida Lind").entities
    (tmp_path / "more.txt").write_text(
        "The old mill stands above the town of Varn. Ida Lind lives in the old mill."
    )
    kb.add([tmp_path / "more.txt"])
    embedder = ScriptedEmbedder()
    run(kb, embedder=embedder)
    assert kb.status().vectors.entities >= before.entities
    with Store.open(kb.path) as store:
        space = store.vectors.active_space()
        assert space is not None
        assert store.vectors.missing(space.id, "entity") == []
