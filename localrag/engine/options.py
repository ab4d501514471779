"""How a worker is started: the options of the engine, and their way over the pipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(frozen=True)
class EngineOptions:
    """How a worker loads its model."""

    n_ctx: int = 0
    """Tokens of context over all sequences; 0 chooses by the model and the machine."""

    sequences: int = 0
    """Sequences decoded together; 0 chooses."""

    threads: int = 0
    """Threads; 0 takes the physical cores."""

    batch: int = 0
    """Most tokens in one step; 0 chooses."""

    width: int = 0
    """Most tokens of a step that writes; 0 takes what suits processors."""

    prefix_mb: int = 512
    """MiB on disk for the cache of shared prefixes of all models; 0 keeps none."""

    gpu_layers: int = 0
    """Layers put on a GPU; -1 puts all there if the build has one."""

    ubatch: int = 0
    """Most tokens computed at once within a step; 0 takes the whole step."""

    kv_type: str = "auto"
    """Type of the cache's numbers, such as `f16`; `auto` chooses."""

    flash_attention: str = "auto"
    """`auto`, `on` or `off`."""

    devices: tuple[str, ...] = ()
    """Names of the devices to use; empty takes all."""

    split_mode: str = "layer"
    """How a model is split over several GPUs: `none`, `layer`, `row` or `tensor`."""

    tensor_split: tuple[float, ...] = ()
    """Shares of the devices; empty splits by free memory."""

    main_gpu: int = 0
    """Number of the device used with split mode `none`."""

    chat_template: str = ""
    """A file in Jinja's dialect or the name of a built-in template, instead of the model's own; empty takes
    the model's own."""

    hang_seconds: int = 180
    """Seconds without a sign of life after which a worker that has work is ended and started again; 0 never.
    Must be longer than the longest step of the model."""

    extra: dict[str, str] = field(default_factory=dict)
    """Reserved for settings of one backend."""


def options_of(message: Mapping[str, Any]) -> EngineOptions:
    """The options in a message that a worker is started with; what it leaves out keeps its default."""
    given: dict[str, Any] = {}
    for item in fields(EngineOptions):
        if item.name in message:
            value = message[item.name]
            # JSON knows lists only.
            given[item.name] = tuple(value) if isinstance(value, list) else value
    return EngineOptions(**given)
