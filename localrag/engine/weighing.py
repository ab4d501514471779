"""Weighing texts: what a model thinks of each token of many texts that might come next, without writing any.

The texts are a tree of tokens. Each place of the tree that has something behind it costs one token of the
model, and what texts have in common is read once. Places that lie in a row are read in one step.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from localrag.engine.decide import Move
from localrag.engine.odds import Odds, shared

Path = tuple[int, ...]
"""Tokens from the tree's root."""

RUN = 16
"""Most tokens of a move: the kernels multiply so many at a time."""


class Weigher:
    """Goes through the tree of some texts, depth first."""

    def __init__(self, paths: Sequence[Path], *, root: bool = True) -> None:
        """`paths` are the tokens of the texts, none empty; an empty list needs no walk.

        Without `root` nobody asks for the texts' first tokens: the walk begins with `begin`.
        """
        self._children: dict[Path, list[int]] = {}
        for path in paths:
            for depth, token in enumerate(path):
                behind = self._children.setdefault(path[:depth], [])
                if token not in behind:
                    behind.append(token)
        if not root:
            self._children.pop((), None)
        self._order = sorted(self._children)
        """Depth first: a place comes directly behind the one before it, or behind what lies in that."""
        self._next = 0
        self._logs: dict[Path, float] = {}
        self.asks = 1 if root else 0
        """How many scores are still to come for the places that the last move led to."""

    @property
    def cost(self) -> int:
        """Tokens that the walk reads beside the place where it begins."""
        return sum(1 for place in self._order if place)

    @property
    def done(self) -> bool:
        """Whether all places were seen."""
        return self._next >= len(self._order)

    def begin(self) -> Move:
        """How to get from the root, whose scores nobody needs, to the first place."""
        return self._move(())

    def take(self, logits: NDArray[np.float32]) -> Move | None:
        """Take the scores at the next place that the last move led to, or at the root.

        Returns how to get to the next places once all of a move are seen; None while some are still to
        come, and at the end. At the end the job stands at the last place; `leave` says how far that is from
        the root.
        """
        here = self._order[self._next]
        odds = Odds(logits)
        for token in self._children[here]:
            self._logs[(*here, token)] = odds.log(token)
        self._next += 1
        self.asks -= 1
        return None if self.asks or self.done else self._move(here)

    def _move(self, here: Path) -> Move:
        """To the next place, and through all that lie in a row behind it."""
        there = self._order[self._next]
        same = len(shared([here, there]))
        self.asks = 1
        while self._next + self.asks < len(self._order) and len(there) - same < RUN:
            deeper = self._order[self._next + self.asks]
            if deeper[:-1] != there:
                break
            there = deeper
            self.asks += 1
        return Move(len(here) - same, there[same:])

    @property
    def leave(self) -> int:
        """How many tokens behind the root the last place lies."""
        return len(self._order[-1]) if self._order else 0

    def logs(self, path: Path) -> tuple[float, ...]:
        """The logarithms of the probabilities of a text's tokens, each given those before it."""
        return tuple(self._logs[path[: depth + 1]] for depth in range(len(path)))

    def log(self, path: Path, start: int) -> float:
        """The logarithm of the probability of a text's tokens from the one at `start` on."""
        return sum(self._logs[path[: depth + 1]] for depth in range(start, len(path)))


def telling(paths: Sequence[Path]) -> list[Path]:
    """For each text the tokens up to the one that tells it from all others; all of them where none does."""
    found = []
    for number, path in enumerate(paths):
        others = [other for place, other in enumerate(paths) if place != number]
        same = max((len(shared([path, other])) for other in others), default=0)
        found.append(path[: same + 1])
    return found
