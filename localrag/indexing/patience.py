"""Waits for another program that writes, rather than lose what the model wrote meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from localrag.errors import KnowledgeBaseBusy

T = TypeVar("T")

SECONDS = 600.0
"""How long an index run waits for a writer that does not end."""


def patiently(action: Callable[[], T], cancel: threading.Event | None, seconds: float = SECONDS) -> T:
    """Do `action`, which stores something, as soon as no other program writes.

    Each try waits for the store's own busy timeout. Raises `KnowledgeBaseBusy` after `seconds`, or after the
    first try if `cancel` is set.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            return action()
        except KnowledgeBaseBusy:
            if time.monotonic() >= deadline or (cancel is not None and cancel.is_set()):
                raise
