"""Questions to the open knowledge base, one at a time, in a thread of its own."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from textual.message import Message

from localrag.errors import Cancelled
from localrag.plain import plain
from localrag.tui.choices import Choices
from localrag.tui.measuring import measure
from localrag.tui.messages import (
    AnswerEnded,
    AnswerPiece,
    AskFound,
    AskNote,
    AskRewritten,
    AskStage,
    AskStored,
)
from localrag.tui.words import count
from localrag.tui.work import Lane, Pieces

if TYPE_CHECKING:
    from localrag.answering.options import AskOptions
    from localrag.answering.types import Answer, AskEvent, Found, Reading, Step
    from localrag.kb import KnowledgeBase


@dataclass(frozen=True)
class Wish:
    """How a question is to be asked."""

    choices: Choices = field(default_factory=Choices)
    """How it is searched and answered."""

    conversation: int | None = None
    """The conversation that it belongs to; None begins one."""

    before: tuple[tuple[str, str], ...] = ()
    """Questions and answers before it; used where no conversation can be stored."""

    replaces: int | None = None
    """The message whose place it takes, as `AskOptions.replaces`."""

    fresh: bool = False
    """Whether to write anew although an answer is kept."""

    def options(self, kb: KnowledgeBase) -> AskOptions:
        """The options for the library. Raises `UsageError` for a filter that names what is not there."""
        from localrag.answering.conversation import NEW, bare
        from localrag.answering.options import Turn

        return replace(
            self.choices.options(kb),
            session=NEW if self.conversation is None else self.conversation,
            history=tuple(Turn(question, bare(answer)) for question, answer in self.before),
            replaces=self.replaces,
            fresh=self.fresh,
        )


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

    @property
    def stopping(self) -> bool:
        """Whether the open question was asked to end."""
        return self._open is not None and self._open.is_set()

    def ask(self, question: str, wish: Wish | None = None) -> int:
        """Ask; returns the number of the question. Ends with `AnswerEnded`."""
        self.number += 1
        number = self.number
        cancel = self._open = threading.Event()
        self.lane.submit(
            lambda kb: self._answer(kb, number, question, wish or Wish(), cancel),
            lambda fault: self._end(cancel, AnswerEnded(number, None, fault)),
        )
        return number

    def stop(self) -> None:
        """Let the open question end; what was written of its answer was posted already, and is stored."""
        if self._open is not None and not self._open.is_set():
            self._post(AskStage(self.number, "Stopping the answer"))
            self._open.set()

    def _answer(
        self, kb: KnowledgeBase, number: int, question: str, wish: Wish, cancel: threading.Event
    ) -> None:
        def post(message: Message) -> None:
            # Once it was stopped, nothing is told but that.
            if not (cancel.is_set() and isinstance(message, AskStage)):
                self._post(message)

        teller = AnswerTeller(post, number)
        post(AskStage(number, "Searching"))
        answer: Answer | None = None
        try:
            options = wish.options(kb)
            look_at_machine = partial(measure, kb, post, lambda text: post(AskStage(number, text)), cancel)
            if kb.read_only:
                look_at_machine()
            with contextlib.closing(kb.stream(question, options=options, cancel=cancel)) as events:
                for event in events:
                    answer = teller.tell(event)
                    if cancel.is_set():
                        break
                    if teller.stored_now:
                        # The question is safe; now there is time to find out how fast the machine is.
                        look_at_machine()
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
        self.stored_now = False
        """Whether the last event was that the question is stored."""

    def tell(self, event: AskEvent) -> Answer | None:
        """Post what the event says; the answer if it is the last one."""
        from localrag.answering.types import (
            Answer,
            AnswerText,
            Found,
            Kept,
            Reading,
            Rewritten,
            Step,
            Stored,
        )

        self.stored_now = isinstance(event, Stored)
        if isinstance(event, AnswerText):
            self._pieces.add(event.text)
        elif isinstance(event, Stored):
            self._post(AskStored(self._number, event.session, event.message))
        elif isinstance(event, Rewritten):
            self._post(AskRewritten(self._number, event.question))
        elif isinstance(event, Step):
            self._step(event)
        elif isinstance(event, Kept):
            self._post(AskNote(self._number, kept_words(event.created_at)))
        elif isinstance(event, Found):
            self._found(event)
        elif isinstance(event, Reading):
            self._reading(event)
        elif isinstance(event, Answer):
            return event
        return None

    def flush(self) -> None:
        """Pass on the last piece."""
        self._pieces.flush()

    def _step(self, event: Step) -> None:
        """What is looked up first, and what came of it."""
        if event.answer:
            self._post(AskNote(self._number, plain(f"Looked up: {event.question} {event.answer}")))
        else:
            self._post(AskStage(self._number, plain(f"Looking up first: {event.question}")))

    def _found(self, event: Found) -> None:
        passages = count(len(event.retrieved.passages), "passage")
        doing = "preparing the model" if event.final else "looking further"
        self._post(AskFound(self._number, event.retrieved, event.final))
        self._post(AskStage(self._number, f"Found {passages}, {doing}"))
        for note in event.retrieved.notes:
            self._post(AskNote(self._number, plain(note)))

    def _reading(self, event: Reading) -> None:
        rate = f", {event.rate:.0f} tokens/s" if event.rate else ""
        done = event.done / event.total if event.total else None
        part = f" {100 * event.done // event.total} %" if event.total else ""
        self._post(AskStage(self._number, f"Reading what was found{part}{rate}", done))


def kept_words(created_at: str) -> str:
    """That an answer is one that was given before, and from when."""
    from datetime import datetime

    moment = datetime.fromisoformat(created_at).astimezone().strftime("%Y-%m-%d %H:%M")
    return f"Kept answer of {moment}: nothing that it rests on has changed since. ctrl+r writes it anew."
