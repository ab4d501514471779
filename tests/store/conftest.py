"""An empty knowledge base for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localrag.store import Store
from tests.store.helpers import new_store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a knowledge base may be made."""
    return tmp_path / "notes.localrag"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    """An open, empty knowledge base; afterwards its file must be in order."""
    # Not waiting for the disk makes these tests several times faster; the crash tests do wait.
    with new_store(path) as opened:
        yield opened
        assert opened.check() == []
