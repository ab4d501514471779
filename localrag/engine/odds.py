"""What a model's scores say of single tokens, and what paths of tokens have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from localrag.errors import ConstraintError


class Odds:
    """The distribution over the vocabulary at one place."""

    def __init__(self, logits: NDArray[np.float32]) -> None:
        """`logits` are the scores of all tokens there. Raises `ConstraintError` if they are no numbers."""
        self._scores = logits
        top = float(np.max(logits))
        if not np.isfinite(top):
            raise ConstraintError("The model gave scores that are no numbers.")
        # Single precision halves the time, which counts: this is done for every token that is weighed.
        self._total = top + float(np.log(np.exp(logits - np.float32(top)).sum(dtype=np.float64)))

    def log(self, token: int) -> float:
        """The logarithm of a token's probability."""
        return float(self._scores[token]) - self._total

    def chance(self, token: int) -> float:
        """A token's probability."""
        return math.exp(self.log(token))


def shared(paths: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The longest beginning that all paths, at least one, have in common."""
    # What the first and the last in order have in common, all between them have.
    first, last = min(paths), max(paths)
    size = 0
    while size < min(len(first), len(last)) and first[size] == last[size]:
        size += 1
    return first[:size]
