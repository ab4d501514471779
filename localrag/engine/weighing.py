"""Weighing texts: what a model thinks of each token of many texts that might come next, without writing any.

The texts are a tree of tokens. Each place of the tree that has something behind it costs one token of the
model, and what texts have in common is read once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from localrag.engine.decide import Move
from localrag.errors import ConstraintError

Path = tuple[int, ...]
"""Tokens from the tree's root."""


class Weigher:
    """Goes through the tree of some texts, depth first."""

    def __init__(self, paths: Sequence[Path]) -> None:
        """`paths` are the tokens of the texts, none empty; an empty list needs no walk."""
        self._children: dict[Path, list[int]] = {}
        for path in paths:
            for depth, token in enumerate(path):
                behind = self._children.setdefault(path[:depth], [])
                if token not in behind:
                    behind.append(token)
        self._order = sorted(self._children)
        """Depth first: a place comes directly behind the one before it, or behind what lies in that."""
        self._next = 0
        self._logs: dict[Path, float] = {}

    @property
    def cost(self) -> int:
        """Tokens that the walk reads beside the place where it begins."""
        return max(len(self._order) - 1, 0)

    @property
    def done(self) -> bool:
        """Whether all places were seen."""
        return self._next >= len(self._order)

    def take(self, logits: NDArray[np.float32]) -> Move | None:
        """Take the scores at the current place; returns how to get to the next, or None at the end.

        At the end the job stands where the last move led; `leave` says how far that is from the root.
        """
        here = self._order[self._next]
        for token, log in zip(self._children[here], _logs(logits, self._children[here]), strict=True):
            self._logs[(*here, token)] = log
        self._next += 1
        if self.done:
            return None
        there = self._order[self._next]
        shared = 0
        while shared < min(len(here), len(there)) and here[shared] == there[shared]:
            shared += 1
        return Move(len(here) - shared, there[shared:])

    @property
    def leave(self) -> int:
        """How many tokens behind the root the last place lies."""
        return len(self._order[-1]) if self._order else 0

    def logs(self, path: Path) -> tuple[float, ...]:
        """The logarithms of the probabilities of a text's tokens, each given those before it."""
        return tuple(self._logs[path[: depth + 1]] for depth in range(len(path)))


def _logs(logits: NDArray[np.float32], tokens: Sequence[int]) -> list[float]:
    """Logarithms of the probabilities of some tokens."""
    top = float(np.max(logits))
    if not np.isfinite(top):
        raise ConstraintError("The model gave scores that are no numbers.")
    total = top + float(np.log(np.exp(logits - np.float32(top)).sum(dtype=np.float64)))
    return [float(logits[token]) - total for token in tokens]
