"""An empty knowledge base for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localrag.store import Store
from tests.store.helpers import session_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a knowledge base may be made."""
    return tmp_path / "notes.localrag"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    """An open, empty knowledge base; afterwards its file must be in order."""
    with Store.create(path) as opened:
        # Not waiting for the disk makes these tests several times faster; the crash tests do wait.
        session_of(opened).database.execute("PRAGMA synchronous = OFF")
        yield opened
        assert opened.check() == []
