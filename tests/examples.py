"""How many examples a property is tried with: a third in the quick run, all in the long one."""

from __future__ import annotations

import os

ALL = "LOCALRAG_TEST_ALL"
"""Variable that `scripts/test --all` sets."""


def examples(full: int) -> int:
    """The number of examples of this run, of `full` in the long one."""
    return full if os.environ.get(ALL) else max(full // 3, 8)
