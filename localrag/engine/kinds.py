"""Which kinds of models can read and answer here, found in the file and asked of llama.cpp once it is loaded.

The engine lets many texts share the cache of one prefix, and cuts a text back to where it was when a step is
stopped. Attention allows both; a sliding window does so while the whole cache is kept, which the engine asks
for; a running state allows only the copy of a whole sequence.
"""

from __future__ import annotations

from typing import Literal, Protocol

from localrag.engine.gguf import GgufInfo
from localrag.errors import ModelInvalid

Memory = Literal["attention", "window", "hybrid", "state"]
"""What a model keeps of what it read: all keys and values; the same, though some layers look only so far
back; a running state in some layers; a running state in all."""

_INSTEAD = "Choose a model with attention only, such as Qwen2.5, Qwen3 or Llama 3.2."


class Loaded(Protocol):
    """What the native library says of a loaded model."""

    recurrent: bool
    hybrid: bool
    diffusion: bool
    has_encoder: bool
    sliding_window: int


def memory_of(info: GgufInfo) -> Memory:
    """What a model keeps, as far as its file says."""
    if info.recurrent:
        return "hybrid" if info.hybrid else "state"
    return "window" if info.sliding_window else "attention"


def check_file(info: GgufInfo) -> None:
    """Refuse a file that cannot read and answer, before it is loaded.

    Raises `ModelInvalid` with the reason.
    """
    name = info.path.name
    if info.is_embedding:
        raise ModelInvalid(f"{name} is an embedding model; it cannot write.", "localrag models recommend")
    _refuse_state(name, memory_of(info))


def check_kind(info: GgufInfo, loaded: Loaded) -> Memory:
    """How a loaded model remembers. Raises `ModelInvalid` if that does not suit the engine."""
    name = info.path.name
    if loaded.diffusion:
        raise ModelInvalid(f"{name} writes all words at once, not one after the other.", _INSTEAD)
    if loaded.has_encoder:
        raise ModelInvalid(f"{name} has an encoder, which this engine does not run.", _INSTEAD)
    memory = memory_of(info)
    if loaded.recurrent:
        memory = "hybrid" if loaded.hybrid else "state"
    elif loaded.sliding_window:
        memory = "window"
    _refuse_state(name, memory)
    return memory


def _refuse_state(name: str, memory: Memory) -> None:
    where = {"state": "", "hybrid": " in part of its layers"}.get(memory)
    if where is not None:
        raise ModelInvalid(
            f"{name} keeps a running state of what it read{where}: it cannot go back to an earlier place "
            "of a text, which the engine needs.",
            _INSTEAD,
        )
