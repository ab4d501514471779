"""The cache of vectors as a knowledge base uses it: bounded by the settings, and never in the way."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from localrag.engine.scripted import ScriptedEmbedder
from localrag.engines import Engines
from localrag.indexing import Note
from localrag.kb import KnowledgeBase
from localrag.sections import RetrievalSettings
from localrag.settings import Settings
from localrag.store import matrix
from tests.conftest import reader

QUESTION = "Who repaired the bridge?"


@pytest.mark.parametrize(("megabytes", "files"), [(4096, True), (0, False)])
def test_the_setting_bounds_the_cache_and_changes_no_answer(
    tmp_path: Path,
    read_file: Path,
    engines: Engines,
    monkeypatch: pytest.MonkeyPatch,
    megabytes: int,
    files: bool,
) -> None:
    path = tmp_path / "kb.localrag"
    shutil.copyfile(read_file, path)
    with KnowledgeBase.open(path, engines=engines) as kb:
        wanted = kb.search(QUESTION)
    monkeypatch.setenv("LOCALRAG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(matrix, "LEAST", 2)
    settings = Settings(retrieval=RetrievalSettings(vector_cache_mb=megabytes))
    with KnowledgeBase.open(path, settings=settings, engines=engines) as kb:
        assert kb.search(QUESTION) == wanted
        assert bool(list(tmp_path.glob("cache/vectors/*/*.vectors"))) == files
        for document in kb.status().documents:
            kb.delete(document.id)
    kept = [file.read_bytes() for file in tmp_path.glob("cache/vectors/*/chunk-*.vectors")]
    # What is left of a cache whose vectors are all deleted: headers and zeros, no vector.
    assert all(data[4096 : 4096 + 64] == bytes(64) for data in kept)


def test_every_knowledge_base_has_a_cache_of_its_own(
    tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALRAG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(matrix, "LEAST", 2)
    for dimension in (16, 32):
        engines = Engines(Settings(), reader("In the texts."), ScriptedEmbedder(dimension=dimension))
        with KnowledgeBase.create(tmp_path / f"{dimension}.localrag", engines=engines) as kb:
            kb.add([library])
            for _ in kb.index():
                pass
            assert kb.search(QUESTION).passages
    assert len(list(tmp_path.glob("cache/vectors/*"))) == 2


def test_indexing_leaves_the_cache_ready(
    tmp_path: Path, library: Path, engines: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALRAG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(matrix, "LEAST", 2)
    with KnowledgeBase.create(tmp_path / "a.localrag", engines=engines) as kb:
        kb.add([library])
        notes = [event.text for event in kb.index() if isinstance(event, Note)]
    assert notes == []
    kinds = {file.name.split("-")[0] for file in tmp_path.glob("cache/vectors/*/*.vectors")}
    assert "chunk" in kinds


def test_a_cache_that_cannot_be_written_is_told(
    tmp_path: Path, library: Path, engines: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    monkeypatch.setenv("LOCALRAG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(matrix, "LEAST", 2)
    with KnowledgeBase.create(tmp_path / "a.localrag", engines=engines) as kb:
        kb.add([library])
        notes = [event.text for event in kb.index() if isinstance(event, Note)]
        assert "Searching will be slower" in notes[-1]
        assert kb.search(QUESTION).passages
