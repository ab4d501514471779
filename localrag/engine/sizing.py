"""How large the context is made and how many texts are read together: settings, measurement, memory.

A value that the settings give is kept. What they leave open comes from the measurement of this machine if
there is one, else from defaults that suit most processors; memory is the limit of both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import psutil

from localrag.engine import machine
from localrag.engine.gguf import GgufInfo
from localrag.engine.kv_cache import DEFAULT, bytes_per_token
from localrag.engine.tuned import Tuning

_MIB = 1024 * 1024
_SEQUENCES = 32
_BATCH = 256
_WIDTH = 32
_TOKENS_PER_SEQUENCE = 768
_PREFIX_TOKENS = 2048
_SMALLEST_CONTEXT = 2048
_SHARE_OF_MEMORY = 0.35


@dataclass(frozen=True)
class Size:
    """What a worker is started with."""

    n_ctx: int
    """Cells of the cache, over all sequences."""

    sequences: int
    """Jobs in one batch."""

    threads: int
    """Threads of the native library."""

    batch: int = _BATCH
    """Most tokens of a reading step; never more than `n_ctx`."""

    width: int = _WIDTH
    """Most tokens of a writing step; never more than `batch`."""

    ubatch: int = _BATCH
    """Most tokens computed at once within a step; never more than `batch`."""


def cells_in(info: GgufInfo, kv_type: str = DEFAULT) -> int:
    """Cells of cache for which there is memory: a third of what is free when the model is loaded."""
    free = max(machine.free_memory() - info.size, 0)
    return int(free * _SHARE_OF_MEMORY) // bytes_per_token(info, kv_type)


def cells_for(sequences: int) -> int:
    """Cells of cache that so many jobs want, shared prefixes included."""
    return _PREFIX_TOKENS + sequences * _TOKENS_PER_SEQUENCE


def sequences_in(cells: int) -> int:
    """Jobs that so many cells of cache are enough for; at least 1."""
    return max(1, (cells - _PREFIX_TOKENS) // _TOKENS_PER_SEQUENCE)


def choose(
    info: GgufInfo,
    *,
    n_ctx: int = 0,
    sequences: int = 0,
    threads: int = 0,
    batch: int = 0,
    width: int = 0,
    ubatch: int = 0,
    kv_type: str = DEFAULT,
    tuned: Tuning | None = None,
) -> Size:
    """The size for a model on this machine; values above 0 are kept as given.

    `tuned` is what was measured of the machine. A context is never larger than the sequences need, and never
    takes more than a third of the free memory unless `n_ctx` asks for it.
    """
    known = tuned or Tuning("")
    size = Size(
        n_ctx=n_ctx,
        sequences=sequences or known.sequences or _SEQUENCES,
        threads=threads or known.threads or machine.physical_cores(),
        batch=batch or known.batch or _BATCH,
        width=width or known.width or _WIDTH,
    )
    if not n_ctx:
        wanted, room = cells_for(size.sequences), cells_in(info, kv_type)
        least = min(_SMALLEST_CONTEXT, info.context_length or _SMALLEST_CONTEXT)
        fitting = max(min(wanted, room), least)
        if not sequences and fitting < wanted:
            size = replace(size, sequences=sequences_in(fitting))
        size = replace(size, n_ctx=max(fitting // 256, 1) * 256)
    most = min(size.batch, size.n_ctx)
    return replace(size, batch=most, width=min(size.width, most), ubatch=min(ubatch or most, most))


def memory_mb() -> int:
    """Resident memory of this process in MiB."""
    resident: int = psutil.Process().memory_info().rss
    return resident // _MIB
