"""What every test of the application has: files of its own for what is remembered of this person."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def remembered(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the list of recent files, and what else belongs to a person, apart from other tests."""
    monkeypatch.setenv("LOCALRAG_STATE", str(tmp_path_factory.mktemp("state")))
