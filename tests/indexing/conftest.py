"""A knowledge base that waits to be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from localrag.kb import KnowledgeBase


@pytest.fixture
def waiting(empty_kb: KnowledgeBase, library: Path) -> KnowledgeBase:
    """The library, added and not read."""
    empty_kb.add([library])
    return empty_kb
