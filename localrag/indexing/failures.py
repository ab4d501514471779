"""Why a chunk could not be read, in words: the same for whatever is read in it."""

from __future__ import annotations

from localrag.engine.types import Generation


def reason_of(generation: Generation) -> str:
    """Why a call failed; if the engine died over it, that nothing more is tried."""
    if not generation.deaths:
        return generation.failure
    return left_out(generation.deaths, generation.failure)


def left_out(deaths: int, reason: str) -> str:
    """A reason of a chunk that is left out, since the engine died over it so many times."""
    # Files of earlier formats are upgraded by the beginning of this sentence.
    return f"It made the engine fail {deaths} times and is left out. {reason}"


def unforeseen(error: Exception) -> str:
    """An error that nobody foresaw, told as the reason of the chunk that it came with."""
    return f"An error that nobody foresaw: {type(error).__name__}: {error}"
