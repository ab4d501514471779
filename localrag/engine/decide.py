"""Deciding between options: their probabilities, read from the model's scores without writing anything.

The options are a tree of tokens. An option's probability is the product of the conditional probabilities of
its tokens, from the first at which the options differ to the one that tells it from all others; what is
common to all is read with the prompt and counts 1. Where an option ends inside another ("1" and "10"), it
gets what the longer ones leave. Each place at which options still lie together costs one more step of the
model; with single tokens that all differ there is only one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localrag.engine.odds import Odds, shared
from localrag.errors import ConstraintError


@dataclass(frozen=True)
class Move:
    """What is to be decoded so that the scores of the next place come."""

    back: int
    """Tokens to take back first."""

    tokens: tuple[int, ...]
    """Tokens to read then; not empty."""


class Decider:
    """Goes through the tree of one set of options."""

    def __init__(self, options: Sequence[str], encode: Callable[[str], Sequence[int]]) -> None:
        """`encode` is the model's tokenisation. Raises `ConstraintError` for options that cannot be told
        apart."""
        if len(options) < 2 or not all(options) or len(set(options)) != len(options):
            raise ConstraintError("A decision needs two or more options, distinct and not empty.")
        self._paths = [tuple(encode(option)) for option in options]
        if not all(self._paths) or len(set(self._paths)) != len(self._paths):
            raise ConstraintError("Two options of a decision have the same tokens.")
        self.common = shared(self._paths)
        """Tokens with which all options begin; read with the prompt."""
        self._raw = [0.0] * len(options)
        self._place = self.common
        self._chance = 1.0
        self._open: list[tuple[tuple[int, ...], float]] = []
        self.depth = max(len(path) for path in self._paths)
        """Most tokens that are ever read beside the prompt."""

    def take(self, logits: NDArray[np.float32]) -> Move | None:
        """Take the scores at the current place; returns how to get to the next, or None at the end."""
        odds = Odds(logits)
        reached = self._chance
        depth = len(self._place)
        here = [i for i, path in enumerate(self._paths) if path[:depth] == self._place]
        left = 1.0
        for token in dict.fromkeys(self._paths[i][depth] for i in here if len(self._paths[i]) > depth):
            chance = odds.chance(token)
            left -= chance
            inside = [i for i in here if self._paths[i][depth : depth + 1] == (token,)]
            if len(inside) == 1:
                self._raw[inside[0]] = reached * chance
            else:
                self._open.append(((*self._place, token), reached * chance))
        for i in here:
            if len(self._paths[i]) == depth:
                self._raw[i] = reached * max(left, 0.0)
        return self._move()

    def _move(self) -> Move | None:
        if not self._open:
            return None
        place, self._chance = self._open.pop()
        same = len(shared([place, self._place]))
        move = Move(len(self._place) - same, place[same:])
        self._place = place
        return move

    @property
    def reached(self) -> int:
        """How many tokens behind the prompt the last place lies."""
        return len(self._place)

    def probabilities(self) -> tuple[tuple[float, ...], float]:
        """The options' probabilities, which sum to 1, and the mass that they had among all texts."""
        mass = sum(self._raw)
        if not mass > 0:
            raise ConstraintError("The model gives none of the options any probability.")
        return tuple(value / mass for value in self._raw), mass
