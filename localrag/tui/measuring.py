"""Before the engine first starts: measure the machine, if that was never done."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.message import Message

from localrag.plain import plain
from localrag.tui.messages import IndexNote

if TYPE_CHECKING:
    from localrag.kb import KnowledgeBase


def measure(
    kb: KnowledgeBase,
    post: Callable[[Message], None],
    tell: Callable[[str], None],
    cancel: threading.Event,
) -> None:
    """Measure unless it was done or there is nothing to read; what came of it is posted as a note.

    `tell` gets what is being done, harmless to show. Called in a working thread.
    """
    if not kb.status().documents:
        return
    found = kb.measure_machine(lambda text: tell(plain(text)), cancel)
    if found:
        post(IndexNote(plain(found)))
