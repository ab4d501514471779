"""A change between two real embedding models, by the command line, offline."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from localrag.catalogue.installed import find_model
from localrag.kb import KnowledgeBase
from localrag.sections import ModelSettings
from localrag.settings import Settings
from localrag.store.database import Store
from tests.conftest import write_library

pytestmark = [pytest.mark.slow, pytest.mark.model, pytest.mark.timeout(600)]

OLD, NEW = "multilingual-e5-small", "all-minilm-l6-v2"


def localrag(
    *arguments: str, folder: Path, code: int = 0, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "localrag", *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done


def vectors(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(localrag("status", "--json", folder=folder).stdout)["vectors"]
    return found


def test_from_one_real_model_to_another_and_back(tmp_path: Path) -> None:
    for name in (OLD, NEW):
        find_model(name, "embed")
    write_library(tmp_path / "library")
    localrag("init", "n", folder=tmp_path)
    localrag("add", "library", folder=tmp_path)
    # Nothing is read: the vectors come first, then the language model is missed.
    no_chat = {"LOCALRAG_MODELS__CHAT": "none"}
    localrag("index", "--embed-model", OLD, folder=tmp_path, code=3, **no_chat)
    assert (vectors(tmp_path)["model"], vectors(tmp_path)["chunks"]) == (OLD, 4)

    refused = localrag("index", "--embed-model", NEW, folder=tmp_path, code=1, **no_chat).stderr
    assert f"localrag reembed --embed-model {NEW}" in refused
    report = json.loads(localrag("reembed", "--embed-model", NEW, "--json", folder=tmp_path).stdout)
    assert (report["switched"], report["made"], report["before"]) == (True, 4, OLD)
    now = vectors(tmp_path)
    # Both have 384 dimensions, so only the fingerprint tells them apart.
    assert (now["model"].casefold(), now["dimension"], now["chunks"]) == (NEW, 384, 4)

    # The file's own model is taken by itself, and its search is right.
    (tmp_path / "library" / "more.txt").write_text("The lighthouse keeper paints boats.", encoding="utf-8")
    localrag("add", "library", folder=tmp_path)
    localrag("index", folder=tmp_path, code=3, **no_chat)
    assert vectors(tmp_path)["chunks"] == 5
    settings = Settings(models=ModelSettings(embed=OLD))
    with KnowledgeBase.open(tmp_path / "n.localrag", settings=settings) as kb:
        found = kb.search("Who mended the damage to the crossing?", mode="naive")
        assert found.passages[0].document == "bridge.md"
        assert "vector" in found.passages[0].sources
        assert any(f"name the embedding model {OLD}" in note for note in found.notes)
    refused = localrag("index", "--embed-model", OLD, folder=tmp_path, code=1, **no_chat).stderr
    assert f"localrag reembed --embed-model {OLD}" in refused
    localrag("reembed", "--embed-model", OLD, folder=tmp_path)
    assert vectors(tmp_path)["model"] == OLD
    with Store.open(tmp_path / "n.localrag", read_only=True) as store:
        assert store.check() == []
        assert len(store.vectors.spaces()) == 1
