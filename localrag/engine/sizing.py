"""How large the context is made and how many texts are read together, from the model and the machine."""

from __future__ import annotations

from dataclasses import dataclass

import psutil

from localrag.engine.gguf import GgufInfo

_MIB = 1024 * 1024
_DEFAULT_SEQUENCES = 16
_TOKENS_PER_SEQUENCE = 1024
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


def cache_bytes_per_token(info: GgufInfo) -> int:
    """Bytes of 16-bit KV cache that one token takes."""
    heads = info.kv_heads or info.heads or 1
    return 2 * 2 * (info.layers or 1) * heads * max(info.head_size, 1)


def choose(info: GgufInfo, *, n_ctx: int = 0, sequences: int = 0, threads: int = 0) -> Size:
    """The size for a model on this machine; values above 0 are kept as given.

    A third of the free memory, less the model itself, may become cache; a context is never larger than
    the sequences need.
    """
    chosen_threads = threads or psutil.cpu_count(logical=False) or psutil.cpu_count() or 1
    chosen_sequences = sequences or _DEFAULT_SEQUENCES
    if n_ctx:
        return Size(n_ctx, chosen_sequences, chosen_threads)
    free = max(psutil.virtual_memory().available - info.size, 0)
    room = int(free * _SHARE_OF_MEMORY) // cache_bytes_per_token(info)
    wanted = _PREFIX_TOKENS + chosen_sequences * _TOKENS_PER_SEQUENCE
    fitting = max(min(wanted, room), min(_SMALLEST_CONTEXT, info.context_length or _SMALLEST_CONTEXT))
    if not sequences and fitting < wanted:
        chosen_sequences = max(1, (fitting - _PREFIX_TOKENS) // _TOKENS_PER_SEQUENCE)
    return Size(max(fitting // 256, 1) * 256, chosen_sequences, chosen_threads)


def memory_mb() -> int:
    """Resident memory of this process in MiB."""
    resident: int = psutil.Process().memory_info().rss
    return resident // _MIB
