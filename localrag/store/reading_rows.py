"""What earlier readings took, as plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ReadingsTaken:
    """What the last readings of a model took, in sums over their chunks."""

    chunks: int
    """Chunks."""

    chunk_tokens: int
    """Estimated tokens of their texts."""

    calls: int
    """Calls of the model."""

    prompt_tokens: int
    """Tokens that were read anew: of prompts without what calls share, and of names that were weighed."""

    written_tokens: int
    """Tokens written."""

    seconds: float
    """Time in which they were read, many side by side; gaps between runs are left out."""
