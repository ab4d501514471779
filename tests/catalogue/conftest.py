"""Fixtures: a cache, a catalogue and a pip of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from localrag import settings
from localrag.catalogue import listing, wheels
from tests.catalogue.support import FakePip

SetCatalogue = Callable[..., None]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache; models are looked for there and in an empty checkout only."""
    monkeypatch.setenv("LOCALRAG_CACHE", str(tmp_path / "cache"))
    checkout = tmp_path / "checkout" / "models"
    monkeypatch.setattr(settings, "model_folders", lambda: (settings.models_dir(), checkout))
    return tmp_path / "cache"


@pytest.fixture
def pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePip:
    """A pip that copies wheels made by the test."""
    stub = FakePip(tmp_path / "pip")
    monkeypatch.setattr(wheels, "pip_command", stub.command)
    monkeypatch.setattr(wheels, "_POLL_SECONDS", 0.01)
    return stub


@pytest.fixture
def set_catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SetCatalogue]:
    """Replaces the catalogue by one of the given tables, as TOML text."""
    path = tmp_path / "catalogue.toml"
    monkeypatch.setattr(listing, "data_path", lambda *parts: path)

    def replace(*tables: str) -> None:
        path.write_text("format = 1\n" + "\n".join(tables), encoding="utf-8")
        listing.catalogue.cache_clear()

    yield replace
    listing.catalogue.cache_clear()
