"""What is chosen among times that were taken: numbers of threads to try, the best of the steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from localrag.engine import machine
from localrag.engine.tuned import ReadRate, WriteRate

_CLOSE: Final = 0.05
"""Rates that differ by less are taken as equal. Then the longer reading step is chosen, since every step
also costs what is done between steps. Of writing steps the middle one is: wide ones have fewer of those
costs, narrow ones fewer texts in the cache, and every token written pays for looking at the cells of all."""

_HALVED: Final = 4
"""From so many cores on half of them are tried, since part of them may be slow ones."""


def thread_candidates(given: int) -> list[int]:
    """Numbers of threads to try, the usual one first; only the given one if there is one."""
    if given:
        return [given]
    physical, logical = machine.physical_cores(), machine.logical_cores()
    half = physical // 2 if physical >= _HALVED else physical
    return list(dict.fromkeys((physical, logical, half)))


def best_read(reads: Sequence[ReadRate]) -> ReadRate:
    """The longest reading step that is as fast as any."""
    most = max(read.rate for read in reads)
    return max((r for r in reads if r.rate >= most * (1 - _CLOSE)), key=lambda read: read.tokens)


def best_write(writes: Sequence[WriteRate]) -> WriteRate:
    """The middle one of the numbers of texts that give as much as any."""
    most = max(write.rate for write in writes)
    close = sorted((w for w in writes if w.rate >= most * (1 - _CLOSE)), key=lambda write: write.sequences)
    return close[len(close) // 2]
