"""Adding files to the open knowledge base, in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

from localrag.plain import plain
from localrag.tui.messages import AddEnded, AddProgress
from localrag.tui.words import Fault
from localrag.tui.work import Lane

if TYPE_CHECKING:
    from localrag.adding import AddEvent
    from localrag.kb import KnowledgeBase


class Additions:
    """Adds one path after the other."""

    def __init__(
        self, lane: Lane[KnowledgeBase], post: Callable[[Message], None], leaving: threading.Event
    ) -> None:
        """`post` takes the messages, from any thread; `leaving` ends whatever is under way."""
        self.lane = lane
        self._post = post
        self._leaving = leaving
        # Each of the two is written by one thread only.
        self._begun = 0
        self._ended = 0

    @property
    def active(self) -> bool:
        """Whether files are being added."""
        return self._begun > self._ended

    def add(self, path: Path, *, then_index: bool) -> None:
        """Add a file or a folder; ends with `AddEnded`."""
        self._begun += 1

        def job(kb: KnowledgeBase) -> None:
            def on_event(event: AddEvent) -> None:
                self._post(AddProgress(plain(event.path), event.done, event.total))

            report = kb.add([path], on_event=on_event, cancel=self._leaving)
            self._ended += 1
            self._post(AddEnded(report, then_index=then_index))

        def on_fault(fault: Fault) -> None:
            self._ended += 1
            self._post(AddEnded(None, fault))

        self.lane.submit(job, on_fault)
