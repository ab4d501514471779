"""What a worker's time goes into: the speed of the last seconds, and sums since its start."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

_WINDOW_SECONDS = 4.0


class Rates:
    """Tokens per second over the last seconds."""

    def __init__(self) -> None:
        self._steps: deque[tuple[float, float, int, int]] = deque()

    def add(self, began: float, ended: float, read: int, written: int) -> None:
        """Note one step of the model."""
        self._steps.append((began, ended, read, written))
        while self._steps and self._steps[0][1] < ended - _WINDOW_SECONDS:
            self._steps.popleft()

    def current(self) -> tuple[float, float]:
        """Tokens read and tokens written per second."""
        if not self._steps:
            return 0.0, 0.0
        seconds = max(self._steps[-1][1] - self._steps[0][0], 1e-6)
        return sum(s[2] for s in self._steps) / seconds, sum(s[3] for s in self._steps) / seconds


@dataclass
class Spent:
    """Where the time of a worker went, in seconds since its start; for measures."""

    reading: float = 0.0
    """Steps that read prompts."""

    writing: float = 0.0
    """Steps that wrote."""

    choosing: float = 0.0
    """Matchers: compiling grammars, checking and masking tokens, choosing the likeliest."""

    read: int = 0
    """Tokens read."""

    written: int = 0
    """Tokens written."""

    steps: int = 0
    """Steps in all."""

    writing_steps: int = 0
    """Those that wrote."""

    def book(self, read: int, written: int, native: float, choosing: float) -> None:
        """Book a step that took `native` seconds in the model and `choosing` beside it."""
        self.read += read
        self.written += written
        self.choosing += choosing
        if read:
            self.reading += native
        else:
            self.writing += native
            self.writing_steps += 1
