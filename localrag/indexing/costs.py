"""What calls of a model take, in tokens and in time, where nothing was measured of the texts themselves.

The tables were fitted to readings of short and long passages, English and Chinese, with models of 0.5 and
1.5 billion parameters. A passage has a length of its own and a part that does not depend on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from localrag.engine.tuned import Tuning, WriteRate


@dataclass(frozen=True)
class Cost:
    """Tokens that one call over each chunk takes."""

    read: float
    """Tokens read anew for each token of a chunk, those included that are weighed before anything is
    written."""

    read_more: float
    """Tokens read anew beyond that, for each chunk."""

    written: float
    """Tokens written for each token of a chunk, forced ones too."""

    written_more: float
    """Tokens written beyond that, for each chunk."""

    def tokens(self, chunks: int, tokens: int) -> tuple[float, float]:
        """What is read anew and written for so many chunks of so many tokens together."""
        return (
            self.read * tokens + self.read_more * chunks,
            self.written * tokens + self.written_more * chunks,
        )


_RECORDS = Cost(1.0, 8, 2.2, 110)
READING = {"compact": Cost(1.1, 45, 0.0, 0), "lightrag": _RECORDS, "graphrag": _RECORDS}
"""The first pass over a chunk, by profile. With `compact` nothing is written as long as the types are given:
what is listed is weighed, which is counted as read."""

OPEN_TYPES = Cost(0.0, 0, 0.3, 5)
"""What `compact` writes where the model finds words of its own for the types."""

_FURTHER = Cost(5.4, 260, 0.8, 40)
GLEANING = {"compact": Cost(2.5, 160, 0.0, 3), "lightrag": _FURTHER, "graphrag": _FURTHER}
"""Asking whether something is missing, and the further pass as often as it is made, by profile. Both read the
passage and what was written about it once more."""

GLEANING_CALLS = 1.6
"""Calls of that for each chunk."""

CLAIMS = Cost(1.4, 4, 3.5, 60)
"""Reading a chunk's claims; its sentences are numbered and its names listed in the prompt."""

EFFICIENCY = {"compact": 0.75, "lightrag": 0.7, "graphrag": 0.7}
"""Share of the measured speed that whole runs reach, by profile. What is weighed comes in small steps, and
the last texts of a run are read and written alone."""

CLAIMS_EFFICIENCY = 0.7
"""The same for claims."""


def seconds(
    measured: Tuning | None, chunks: int, read: float, written: float, efficiency: float
) -> float | None:
    """Time for tokens that are read and written in calls over so many chunks; None if it is not known."""
    if measured is None or measured.read_rate <= 0 or measured.write_rate <= 0:
        return None
    rate = _write_rate(measured.writes, chunks) or measured.write_rate
    return (read / measured.read_rate + written / min(rate, measured.write_rate)) / efficiency


def _write_rate(rates: Sequence[WriteRate], chunks: int) -> float:
    """The best rate at which so many texts are written together; 0 if none was measured."""
    return max((item.rate for item in rates if item.sequences <= chunks), default=0.0)
