"""The cache of keys and values: what its types cost, and which settings of it can go together.

Nothing here is native. The rules are those that llama.cpp checks when a context is made, where a refusal is
a NULL pointer; here they are told in words before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from localrag.engine.gguf import GgufInfo
from localrag.errors import SettingsError

TYPES: Final[Mapping[str, tuple[int, int]]] = {
    "f16": (1, 2),
    "f32": (1, 4),
    "bf16": (1, 2),
    "q8_0": (32, 34),
    "q5_1": (32, 24),
    "q4_0": (32, 18),
}
"""Type of a cell: the numbers in a block, the bytes of a block."""

DEFAULT: Final = "f16"
"""The type that llama.cpp takes if nobody asks."""

_NO_FLASH: Final = frozenset({"grok"})
"""Architectures for which llama.cpp turns flash attention off."""


@dataclass(frozen=True)
class CachePlan:
    """Settings of the cache that fit together."""

    kv_type: str
    """Type of keys and values; a key of `TYPES`."""

    flash_attention: str
    """`auto`, `on` or `off`."""

    note: str = ""
    """What was adjusted, for people; empty if nothing was."""


def is_quantised(kv_type: str) -> bool:
    """Whether a type packs numbers into blocks; such values can only be read by flash attention."""
    return TYPES[kv_type][0] > 1


def bytes_per_token(info: GgufInfo, kv_type: str = DEFAULT) -> int:
    """Bytes of cache that one token takes; at least 1.

    For a model whose layers differ it is the most that it can be.
    """
    numbers, size = TYPES[kv_type]
    heads = info.kv_heads or info.heads or 1
    row = heads * (max(info.head_size, 1) + max(info.value_size, 1))
    return max(-(-(info.layers or 1) * row * size // numbers), 1)


def plan(info: GgufInfo, *, kv_type: str, flash_attention: str, tuned: str = "") -> CachePlan:
    """Which cache a model gets; `kv_type` may be `auto`, which takes `tuned` or else the default.

    Raises `SettingsError` if a type that was asked for by name cannot be had, saying why. A measured one that
    cannot be had any more is replaced by the default, and the note says so.
    """
    if kv_type != "auto" and kv_type not in TYPES:
        raise SettingsError(f"There is no cache type {kv_type}.", f"There are: auto, {', '.join(TYPES)}.")
    if flash_attention not in ("auto", "on", "off"):
        raise SettingsError(f"Flash attention cannot be {flash_attention}.", "Take auto, on or off.")
    chosen = (tuned or DEFAULT) if kv_type == "auto" else kv_type
    problem = _problem(info, chosen, flash_attention)
    if problem and kv_type != "auto":
        raise SettingsError(f"engine.kv_type cannot be {chosen}: {problem}.", _hint(info, flash_attention))
    if problem:
        note = f"The cache is kept as {DEFAULT}, not as {chosen} as was measured: {problem}."
        return CachePlan(DEFAULT, flash_attention, note)
    if is_quantised(chosen) and flash_attention == "auto":
        # Left to choose, llama.cpp could leave it off, and the context would fail.
        asked = kv_type != "auto"
        note = f"Flash attention is on, since a cache of type {chosen} needs it." if asked else ""
        return CachePlan(chosen, "on", note)
    if flash_attention == "on" and info.architecture in _NO_FLASH:
        raise SettingsError(
            f"engine.flash_attention cannot be on: llama.cpp has none for {info.architecture} models.",
            "Set engine.flash_attention to auto.",
        )
    return CachePlan(chosen, flash_attention)


def _problem(info: GgufInfo, kv_type: str, flash_attention: str) -> str:
    """Why a type cannot be had with a model; empty if it can."""
    if not is_quantised(kv_type):
        return ""
    if flash_attention == "off":
        return "it needs flash attention, and engine.flash_attention is off"
    if info.architecture in _NO_FLASH:
        return f"it needs flash attention, which llama.cpp has not for {info.architecture} models"
    block = TYPES[kv_type][0]
    for name, size in (("keys", info.head_size), ("values", info.value_size)):
        if size % block:
            return f"its blocks hold {block} numbers and the model's {name} have {size} a head"
    return ""


def _hint(info: GgufInfo, flash_attention: str) -> str:
    if flash_attention == "off" and info.architecture not in _NO_FLASH:
        return "Set engine.flash_attention to auto, or engine.kv_type to f16."
    return "Set engine.kv_type to f16, or to auto."
