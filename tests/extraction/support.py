"""Chunks and generations for the tests of extraction."""

from __future__ import annotations

from localrag.engine.types import FinishReason, Generation
from localrag.store.rows import ChunkRow


def chunk(text: str, language: str = "en") -> ChunkRow:
    """A chunk of a document that is nothing but this text."""
    return ChunkRow(
        id=1,
        document_id=1,
        ordinal=0,
        start=0,
        end=len(text),
        heading="",
        page=None,
        tokens=len(text) // 4 + 1,
        language=language,
        state="pending",
        attempts=0,
        error="",
        text=text,
    )


def generation(text: str, finish: FinishReason = "stop", error: str = "") -> Generation:
    """What an engine returns that has written this text."""
    return Generation(text, (), finish, 10, 5, 20, 3, 40, "sha256:x", "0" * 64, error)
