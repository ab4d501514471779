"""One open knowledge base behind the screens: every call that can block, made in threads of its own.

Four lanes work side by side, each with its own `KnowledgeBase` on the same file: looking, asking, adding
and indexing. They share one set of engines. All that they have to tell goes out as messages.

The modules that do the work bring NumPy and more, so they are imported inside the jobs: the first paint
does not wait for them.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

from localrag.errors import Cancelled
from localrag.plain import plain, plain_lines
from localrag.settings import Settings
from localrag.tui.messages import (
    AddEnded,
    AddProgress,
    AnswerEnded,
    AnswerPiece,
    AskNote,
    AskStage,
    IndexEnded,
    IndexNote,
    IndexProgress,
    Opened,
    OpenFailed,
    Refreshed,
    TextRead,
    WentWrong,
)
from localrag.tui.words import Fault, IndexState, count
from localrag.tui.work import Lane, Pieces, in_background

if TYPE_CHECKING:
    from localrag.adding import AddEvent
    from localrag.answering.types import Answer, AskEvent
    from localrag.engines import Engines
    from localrag.indexing import IndexEvent, IndexReport, Progress
    from localrag.kb import KnowledgeBase

MODE = "auto"
LONGEST_SHOWN = 100_000
"""Characters of a document that the reader shows."""


class SharedEngines:
    """The engines of this run, made when a thread first needs them and closed once."""

    def __init__(self, settings: Settings, engines: Engines | None = None) -> None:
        self._settings = settings
        self._engines = engines
        self._lock = threading.Lock()

    def get(self) -> Engines:
        """The engines; safe from any thread, and starts no model."""
        with self._lock:
            if self._engines is None:
                from localrag.engines import Engines

                self._engines = Engines(self._settings)
            return self._engines

    def close(self) -> None:
        """Stop what runs; may block."""
        with self._lock:
            engines = self._engines
        if engines is not None:
            engines.close()


class Session:
    """An open knowledge base. Its methods return at once; what comes of them is posted from any thread."""

    def __init__(
        self,
        path: Path,
        settings: Settings,
        engines: SharedEngines,
        *,
        create: bool = False,
    ) -> None:
        self.path = path
        self._settings = settings
        self._engines = engines
        self._post: Callable[[Message], None] = lambda message: None
        self.question_number = 0
        """Number of the last question."""
        self._asking: threading.Event | None = None
        self._indexing: threading.Event | None = None
        # Each of the two is written by one thread only.
        self._adds_begun = 0
        self._adds_ended = 0
        self._looking = False
        self._leaving = threading.Event()
        self._closed = False
        self._look = self._lane("look", create=create)
        self._ask = self._lane("ask")
        self._add = self._lane("add")
        self._index = self._lane("index")

    @property
    def asking(self) -> bool:
        """Whether a question is open."""
        return self._asking is not None

    @property
    def indexing(self) -> bool:
        """Whether an index run goes on."""
        return self._indexing is not None

    @property
    def adding(self) -> bool:
        """Whether files are being added."""
        return self._adds_begun > self._adds_ended

    def open(self, post: Callable[[Message], None]) -> None:
        """Open the file, or create it; ends with `Opened` or `OpenFailed`.

        From now on `post` gets all messages; it must be safe to call from any thread.
        """
        self._post = post

        def job(kb: KnowledgeBase) -> None:
            self._post(Opened(kb.status(), self._missing()))

        self._look.submit(job, lambda fault: self._post(OpenFailed(fault)))

    def refresh(self) -> None:
        """Read the state anew, unless that is under way; ends with `Refreshed`."""
        if self._looking:
            return
        self._looking = True

        def job(kb: KnowledgeBase) -> None:
            status = kb.status()
            self._looking = False
            self._post(Refreshed(status))

        def on_fault(fault: Fault) -> None:
            self._looking = False
            self._post(WentWrong(fault))

        self._look.submit(job, on_fault)

    def read_text(self, document_id: int, title: str) -> None:
        """Read a document's text; ends with `TextRead`."""

        def job(kb: KnowledgeBase) -> None:
            text = kb.document_text(document_id)
            more = len(text) - LONGEST_SHOWN
            shown = plain_lines(text[:LONGEST_SHOWN])
            if more > 0:
                shown += f"\n\n[{count(more, 'more character')} not shown]"
            self._post(TextRead(title, shown))

        self._look.submit(job, lambda fault: self._post(WentWrong(fault)))

    def ask(self, question: str) -> int:
        """Ask; returns the number of the question. Ends with `AnswerEnded`."""
        self.question_number += 1
        number = self.question_number
        cancel = self._asking = threading.Event()
        self._ask.submit(
            lambda kb: self._answer(kb, number, question, cancel),
            lambda fault: self._end_answer(cancel, AnswerEnded(number, None, fault)),
        )
        return number

    def stop_asking(self) -> None:
        """Let the open question end; what was written of its answer was posted already."""
        if self._asking is not None:
            self._asking.set()

    def add(self, path: Path, *, then_index: bool) -> None:
        """Add a file or a folder; ends with `AddEnded`."""
        self._adds_begun += 1

        def job(kb: KnowledgeBase) -> None:
            def on_event(event: AddEvent) -> None:
                self._post(AddProgress(plain(event.path), event.done, event.total))

            report = kb.add([path], on_event=on_event, cancel=self._leaving)
            self._adds_ended += 1
            self._post(AddEnded(report, then_index=then_index))

        def on_fault(fault: Fault) -> None:
            self._adds_ended += 1
            self._post(AddEnded(None, fault))

        self._add.submit(job, on_fault)

    def index(self) -> None:
        """Begin an index run, unless one goes on; ends with `IndexEnded`."""
        if self._indexing is not None:
            return
        cancel = self._indexing = threading.Event()

        def job(kb: KnowledgeBase) -> None:
            report: IndexReport | None = None
            teller = IndexTeller(self._post)
            with contextlib.suppress(Cancelled):
                coverage = kb.status().coverage
                if coverage.read < coverage.total:
                    self._measure(
                        kb, lambda text: self._post(IndexProgress(IndexState(doing=plain(text)))), cancel
                    )
                with contextlib.closing(kb.index(cancel)) as events:
                    for event in events:
                        report = teller.tell(event) or report
                for note in kb.engine_notes():
                    self._post(IndexNote(plain(note)))
            self._indexing = None
            self._post(IndexEnded(report))

        def on_fault(fault: Fault) -> None:
            self._indexing = None
            self._post(IndexEnded(None, fault))

        self._index.submit(job, on_fault)

    def stop_indexing(self) -> None:
        """Let the index run end; every chunk that was read is kept."""
        if self._indexing is not None:
            self._indexing.set()

    def close(self, seconds: float, *, with_engines: bool = True) -> bool:
        """Stop everything and close the file; blocks for at most about `seconds`. Whether all has ended.

        The engine is stopped when the lanes have ended or half of the time is over: a call that did not
        come back until then fails, and its thread ends with it. A second call does not wait again.
        """
        lanes = (self._ask, self._add, self._index, self._look)
        if self._closed:
            return all([lane.join(0.0) for lane in lanes])
        deadline = time.monotonic() + seconds
        self._leaving.set()
        self.stop_asking()
        self.stop_indexing()
        for lane in lanes[:-1]:
            lane.close()
        for lane in lanes[:-1]:
            lane.join(deadline - seconds / 2)
        if with_engines:
            in_background(self._engines.close).join(max(0.0, deadline - time.monotonic()))
        # The lane that looks goes last, since the last connection tidies the file up.
        self._look.close()
        ended = all([lane.join(deadline) for lane in lanes])
        self._closed = True
        return ended

    def _lane(self, name: str, *, create: bool = False) -> Lane[KnowledgeBase]:
        def acquire() -> KnowledgeBase:
            from localrag.kb import KnowledgeBase

            make = KnowledgeBase.create if create else KnowledgeBase.open
            kb = make(self.path, settings=self._settings, engines=self._engines.get())
            if name == "look":
                # The others open the same file and would say the same.
                for note in kb.notes:
                    self._post(IndexNote(plain(note)))
            return kb

        return Lane(name, acquire, lambda kb: kb.close())

    def _missing(self) -> Fault | None:
        """What stands in the way of an answer, found without starting a model."""
        engines = self._engines.get()
        if not engines.has_model():
            return Fault(
                "No chat model is installed, so questions cannot be answered yet.",
                "In another terminal: localrag models recommend",
            )
        return None

    def _measure(self, kb: KnowledgeBase, tell: Callable[[str], None], cancel: threading.Event) -> None:
        """Before the engine first starts: measure the machine if that was never done."""
        if not kb.status().documents:
            return
        found = kb.measure_machine(tell, cancel)
        if found:
            self._post(IndexNote(plain(found)))

    def _answer(self, kb: KnowledgeBase, number: int, question: str, cancel: threading.Event) -> None:
        teller = AnswerTeller(self._post, number)
        self._post(AskStage(number, "Searching"))
        answer: Answer | None = None
        try:
            self._measure(kb, lambda text: self._post(AskStage(number, plain(text))), cancel)
            with contextlib.closing(kb.stream(question, mode=MODE, cancel=cancel)) as events:
                for event in events:
                    if cancel.is_set():
                        break
                    answer = teller.tell(event)
            for note in kb.engine_notes():
                self._post(AskNote(number, plain(note)))
        except Cancelled:
            answer = None
        finally:
            teller.flush()
        self._end_answer(cancel, AnswerEnded(number, answer))

    def _end_answer(self, cancel: threading.Event, message: AnswerEnded) -> None:
        if self._asking is cancel:
            self._asking = None
        self._post(message)


class AnswerTeller:
    """Turns the events of an answer into messages."""

    def __init__(self, post: Callable[[Message], None], number: int) -> None:
        self._post = post
        self._number = number
        self._pieces = Pieces(lambda text: post(AnswerPiece(number, text)))

    def tell(self, event: AskEvent) -> Answer | None:
        """Post what the event says; the answer if it is the last one."""
        from localrag.answering.types import Answer, AnswerText, Found, Kept, Reading, Rewritten

        if isinstance(event, AnswerText):
            self._pieces.add(event.text)
        elif isinstance(event, Rewritten):
            self._post(AskNote(self._number, plain(f"Asked as: {event.question}")))
        elif isinstance(event, Kept):
            self._post(AskNote(self._number, "Kept answer: nothing has changed since it was written."))
        elif isinstance(event, Found):
            passages = count(len(event.retrieved.passages), "passage")
            self._post(AskStage(self._number, f"Found {passages}, preparing the model"))
            for note in event.retrieved.notes:
                self._post(AskNote(self._number, plain(note)))
        elif isinstance(event, Reading):
            part = f" {100 * event.done // event.total} %" if event.total else ""
            self._post(AskStage(self._number, f"Reading the passages{part}"))
        elif isinstance(event, Answer):
            return event
        return None

    def flush(self) -> None:
        """Pass on the last piece."""
        self._pieces.flush()


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
