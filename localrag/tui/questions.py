"""Questions to the open knowledge base, one at a time, in a thread of its own."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.message import Message

from localrag.errors import Cancelled
from localrag.plain import plain
from localrag.tui.measuring import measure
from localrag.tui.messages import AnswerEnded, AnswerPiece, AskNote, AskStage
from localrag.tui.words import count
from localrag.tui.work import Lane, Pieces

if TYPE_CHECKING:
    from localrag.answering.types import Answer, AskEvent
    from localrag.kb import KnowledgeBase

MODE = "auto"


class Questions:
    """Asks, and posts what comes of it."""

    def __init__(self, lane: Lane[KnowledgeBase], post: Callable[[Message], None]) -> None:
        """`post` takes the messages, from any thread."""
        self.lane = lane
        self._post = post
        self.number = 0
        """Number of the last question."""
        self._open: threading.Event | None = None

    @property
    def active(self) -> bool:
        """Whether a question is open."""
        return self._open is not None

    def ask(self, question: str) -> int:
        """Ask; returns the number of the question. Ends with `AnswerEnded`."""
        self.number += 1
        number = self.number
        cancel = self._open = threading.Event()
        self.lane.submit(
            lambda kb: self._answer(kb, number, question, cancel),
            lambda fault: self._end(cancel, AnswerEnded(number, None, fault)),
        )
        return number

    def stop(self) -> None:
        """Let the open question end; what was written of its answer was posted already."""
        if self._open is not None and not self._open.is_set():
            self._post(AskStage(self.number, "Stopping the answer"))
            self._open.set()

    def _answer(self, kb: KnowledgeBase, number: int, question: str, cancel: threading.Event) -> None:
        def post(message: Message) -> None:
            # Once it was stopped, nothing is told but that.
            if not (cancel.is_set() and isinstance(message, AskStage)):
                self._post(message)

        teller = AnswerTeller(post, number)
        post(AskStage(number, "Searching"))
        answer: Answer | None = None
        try:
            measure(kb, post, lambda text: post(AskStage(number, text)), cancel)
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
        self._end(cancel, AnswerEnded(number, answer))

    def _end(self, cancel: threading.Event, message: AnswerEnded) -> None:
        if self._open is cancel:
            self._open = None
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
