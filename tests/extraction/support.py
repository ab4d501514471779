"""Chunks and generations for the tests of extraction."""

from __future__ import annotations

import random

from localrag.engine.gbnf import to_gbnf
from localrag.engine.programs import Program
from localrag.engine.remote_writing import Written
from localrag.engine.types import FinishReason, Generation
from localrag.store.rows import ChunkRow
from tests.engine.remote_servers import from_gbnf, throw


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


def thrown(program: Program, seed: int, most: int = 14) -> Generation:
    """What a writer that knows nothing but the grammar writes: random text, whole segments only."""
    dice = random.Random(seed)
    written = Written(program)
    for _ in range(most):
        while written.add_forced():
            pass
        if written.step is None:
            break
        text, whole = throw(from_gbnf(to_gbnf(written.step.lark)), dice, 600)
        if not whole:
            break
        written.add(text)
    written.drop_half()
    return Generation(
        written.text, written.segments, "stop" if written.step is None else "length",
        10, 5, 20, 3, 40, "sha256:x", "0" * 64,
    )  # fmt: skip
