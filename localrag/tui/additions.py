"""Adding files to the open knowledge base and comparing it with its folders, in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message
from textual.message_pump import MessagePump

from localrag.plain import plain
from localrag.tui.messages import AddEnded, AddProgress, call
from localrag.tui.words import Fault
from localrag.tui.work import Lane

if TYPE_CHECKING:
    from localrag.adding import AddEvent
    from localrag.kb import KnowledgeBase, SyncReport


class _Stop(threading.Event):
    """Set for one addition, or for all when the application leaves the file."""

    def __init__(self, leaving: threading.Event) -> None:
        super().__init__()
        self._leaving = leaving

    def is_set(self) -> bool:
        """Whether to stop, for either reason."""
        return super().is_set() or self._leaving.is_set()


class Additions:
    """Adds files and compares folders, one thing after the other. Its methods return at once."""

    def __init__(
        self, lane: Lane[KnowledgeBase], post: Callable[[Message], None], leaving: threading.Event
    ) -> None:
        """`post` takes the messages, from any thread; `leaving` ends whatever is under way."""
        self.lane = lane
        self._post = post
        self._leaving = leaving
        self._stop = _Stop(leaving)
        # Each of the two is written by one thread only.
        self._begun = 0
        self._ended = 0

    @property
    def active(self) -> bool:
        """Whether files are being added or folders compared."""
        return self._begun > self._ended

    @property
    def stopping(self) -> bool:
        """Whether what is under way was asked to stop."""
        return self.active and self._stop.is_set()

    def stop(self) -> None:
        """Stop what is under way after the file in hand, and all that waits; what is in stays."""
        self._stop.set()

    def add(self, *paths: Path, then_index: bool) -> None:
        """Add files and folders; ends with `AddEnded`."""

        def job(kb: KnowledgeBase, stop: _Stop) -> None:
            report = kb.add(list(paths), on_event=self._teller("Adding"), cancel=stop)
            self._end(AddEnded(report, then_index=then_index and not report.cancelled))

        self._begin(job, lambda fault: self._end(AddEnded(None, fault)))

    def sync(self, *, delete: bool, then_index: bool) -> None:
        """Bring the knowledge base in line with the followed folders; ends with `AddEnded`.

        Documents whose files are gone are deleted only with `delete`.
        """

        def job(kb: KnowledgeBase, stop: _Stop) -> None:
            from localrag.adding import as_addition
            from localrag.kb import SyncOptions

            options = SyncOptions(delete=delete)
            report = kb.sync(options=options, on_event=self._teller("Comparing"), cancel=stop)
            then = then_index and not report.cancelled
            self._end(AddEnded(as_addition(report), then_index=then, synced=report))

        self._begin(job, lambda fault: self._end(AddEnded(None, fault)))

    def compare(
        self,
        target: MessagePump,
        done: Callable[[SyncReport], object],
        failed: Callable[[Fault], object],
    ) -> None:
        """Find out what `sync` would do, and change nothing; `done` is called in the thread of `target`."""

        def job(kb: KnowledgeBase, stop: _Stop) -> None:
            from localrag.kb import SyncOptions

            report = kb.sync(options=SyncOptions(dry_run=True), cancel=stop)
            self._ended += 1
            call(target, lambda: done(report))

        def on_fault(fault: Fault) -> None:
            self._ended += 1
            call(target, lambda: failed(fault))

        self._begin(job, on_fault)

    def _begin(self, job: Callable[[KnowledgeBase, _Stop], None], on_fault: Callable[[Fault], None]) -> None:
        if not self.active:
            self._stop = _Stop(self._leaving)
        stop = self._stop
        self._begun += 1
        self.lane.submit(lambda kb: job(kb, stop), on_fault)

    def _end(self, message: AddEnded) -> None:
        self._ended += 1
        self._post(message)

    def _teller(self, verb: str) -> Callable[[AddEvent], None]:
        return lambda event: self._post(AddProgress(plain(event.path), event.done, event.total, verb))
