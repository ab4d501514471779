"""Bounds of what a worker can be started with, checked before any native call.

Outside them the native library ends the process without a word: an assertion at a tiny context, a fault at
an absurd number of threads.
"""

from __future__ import annotations

from localrag.engine.options import EngineOptions
from localrag.errors import UsageError

BOUNDS = {
    "n_ctx": (256, 4_194_304, True),
    "sequences": (1, 250, True),
    "threads": (1, 1024, True),
    "batch": (8, 8192, True),
    "ubatch": (8, 8192, True),
    "width": (1, 8192, True),
    "gpu_layers": (-1, 10_000, False),
    "prefix_mb": (1, 1_048_576, True),
    "hang_seconds": (1, 86_400, True),
}
"""Least, most, and whether 0 is allowed too, where it means that localrag chooses or does without."""


def check_options(options: EngineOptions) -> EngineOptions:
    """The options, if all are within bounds. Raises `UsageError` with the value and the bounds."""
    for name, (least, most, or_zero) in BOUNDS.items():
        value = getattr(options, name)
        if not (least <= value <= most or (or_zero and value == 0)):
            zero = "0 or " if or_zero else ""
            raise UsageError(
                f"The engine cannot be started with {name} {value}.",
                f"It takes {zero}a whole number from {least} to {most}.",
            )
    return options
