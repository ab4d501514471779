"""What a run will take, before it begins: calls, tokens, and time at the speed that was measured.

What earlier readings of the same model in this file took is the best measure. Without them, what a model
writes is taken from a table, and the speed from the measurement of this machine; if there is none, the time
is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from localrag.engine.tuned import Tuning
from localrag.extraction.extractor import QUESTION, TASK
from localrag.store.database import Store

Basis = Literal["readings", "machine", "unknown"]
"""Where the time comes from: readings in this file, the measurement of this machine, or nowhere."""

LEAST_READ = 8
"""Readings from which more can be learned than from a table."""

FRAME = 12
"""Tokens of a prompt that are neither its chunk's text nor shared with all others: the marks of the turns."""

WRITTEN = {"lightrag": 1.1, "graphrag": 1.1, "compact": 1.1}
"""Tokens that a model writes for each token of a chunk, by profile, forced ones too.
Rough: they only serve until eight chunks of the file are read."""

READ = {"lightrag": 1.0, "graphrag": 1.0, "compact": 1.7}
"""Tokens that are read anew for each token of a chunk: the last weighs what it may write before it does."""

EFFICIENCY = 0.6
"""Share of the measured speed that whole runs reach."""


@dataclass(frozen=True)
class Estimate:
    """What reading the chunks that wait will take."""

    chunks: int
    """Chunks that wait."""

    chunk_tokens: int
    """Estimated tokens of their texts."""

    calls: int
    """Calls of the model."""

    prompt_tokens: int
    """Tokens of prompts that are read anew; what all calls share is read once and not counted."""

    written_tokens: int
    """Tokens that the model will write."""

    seconds: float | None
    """Time of the reading; None if the speed is not known."""

    basis: Basis
    """Where it comes from."""

    @property
    def tokens(self) -> int:
        """Tokens read anew and written."""
        return self.prompt_tokens + self.written_tokens

    @property
    def seconds_a_token(self) -> float | None:
        """Seconds for a token of a chunk; None if the speed is not known."""
        return self.seconds / self.chunk_tokens if self.seconds and self.chunk_tokens else None

    @property
    def cost_of_a_token(self) -> float | None:
        """Tokens read anew and written for a token of a chunk; None if there is nothing to read."""
        return self.tokens / self.chunk_tokens if self.chunk_tokens else None


def estimate(store: Store, profile: str, fingerprint: str, measured: Tuning | None) -> Estimate:
    """What reading all that waits will take by a profile, with the model that has this fingerprint.

    `measured` is the measurement of this machine. Nothing is changed, and no text is looked at. Without a
    fingerprint the model of the last reading counts.
    """
    waiting = [row for rows in store.chunks.waiting() for row in rows]
    tokens = sum(row.tokens for row in waiting)
    taken = store.chunks.taken((TASK, QUESTION), fingerprint)
    if taken.chunks >= LEAST_READ and taken.chunk_tokens:
        share = tokens / taken.chunk_tokens
        return Estimate(
            len(waiting),
            tokens,
            round(len(waiting) * taken.calls / taken.chunks),
            round(share * taken.prompt_tokens),
            round(share * taken.written_tokens),
            share * taken.seconds if taken.seconds else None,
            "readings" if taken.seconds else "unknown",
        )
    prompts = round(tokens * READ[profile]) + FRAME * len(waiting)
    written = round(tokens * WRITTEN[profile])
    seconds = None
    if measured is not None and measured.read_rate > 0 and measured.write_rate > 0:
        seconds = (prompts / measured.read_rate + written / measured.write_rate) / EFFICIENCY
    basis: Basis = "unknown" if seconds is None else "machine"
    return Estimate(len(waiting), tokens, len(waiting), prompts, written, seconds, basis)
