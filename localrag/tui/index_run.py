"""Index runs in the open knowledge base, in a thread of its own."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.message import Message

from localrag.errors import Cancelled
from localrag.plain import plain
from localrag.tui.measuring import measure
from localrag.tui.messages import IndexEnded, IndexNote, IndexProgress, IndexStopping
from localrag.tui.words import Fault, IndexState
from localrag.tui.work import Lane

if TYPE_CHECKING:
    from localrag.indexing import IndexEvent, IndexReport, Progress
    from localrag.kb import KnowledgeBase


class IndexRun:
    """Lets the model read, and posts how far it is."""

    def __init__(self, lane: Lane[KnowledgeBase], post: Callable[[Message], None]) -> None:
        """`post` takes the messages, from any thread."""
        self.lane = lane
        self._post = post
        self._open: threading.Event | None = None

    @property
    def active(self) -> bool:
        """Whether an index run goes on."""
        return self._open is not None

    def begin(self) -> None:
        """Begin an index run, unless one goes on; ends with `IndexEnded`."""
        if self._open is not None:
            return
        cancel = self._open = threading.Event()
        self._post(IndexProgress(IndexState(doing="Preparing to index")))

        def job(kb: KnowledgeBase) -> None:
            report: IndexReport | None = None
            teller = IndexTeller(self._post)
            with contextlib.suppress(Cancelled):
                coverage = kb.status().coverage
                if coverage.read < coverage.total:
                    measure(
                        kb, self._post, lambda text: self._post(IndexProgress(IndexState(doing=text))), cancel
                    )
                with contextlib.closing(kb.index(cancel)) as events:
                    for event in events:
                        report = teller.tell(event) or report
                for note in kb.engine_notes():
                    self._post(IndexNote(plain(note)))
            self._open = None
            self._post(IndexEnded(report))

        def on_fault(fault: Fault) -> None:
            self._open = None
            self._post(IndexEnded(None, fault))

        self.lane.submit(job, on_fault)

    def stop(self) -> None:
        """Let the index run end; every chunk that was read is kept."""
        if self._open is not None and not self._open.is_set():
            self._open.set()
            self._post(IndexStopping())


class IndexTeller:
    """Turns the events of an index run into messages."""

    def __init__(self, post: Callable[[Message], None]) -> None:
        self._post = post

    def tell(self, event: IndexEvent) -> IndexReport | None:
        """Post what the event says; the report if it is the last one."""
        from localrag import indexing

        if isinstance(event, indexing.Started):
            self._post(IndexProgress(IndexState(doing="Starting the model")))
        elif isinstance(event, indexing.Embedded):
            doing = f"Making vectors: {event.done:,} of {event.total:,} {plain(event.what)}"
            self._post(IndexProgress(IndexState(doing=doing)))
        elif isinstance(event, indexing.Progress):
            self._post(IndexProgress(index_state(event)))
        elif isinstance(event, indexing.ChunkFailed):
            self._post(IndexNote(f"{plain(event.document)}: {plain(event.reason)}"))
        elif isinstance(event, indexing.Note):
            self._post(IndexNote(plain(event.text)))
        elif isinstance(event, indexing.Finished):
            return event.report
        return None


def index_state(event: Progress) -> IndexState:
    """The numbers of a `Progress` event; the rate is that of writing, or of reading before any is written."""
    rate = event.decode_rate or event.prefill_rate
    return IndexState(event.read, event.total, rate, event.seconds_left)
