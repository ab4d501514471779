"""What goes on in an open knowledge base, as the status line tells it; kept in the application's thread."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from textual.message import Message

from localrag.plain import plain
from localrag.tui import messages
from localrag.tui.words import IDLE, Fault, IndexState, count, engine_words, share

if TYPE_CHECKING:
    from localrag.kb import Status


class Doings:
    """The last word of every run, and the state of the file when it was last read."""

    def __init__(self) -> None:
        self.stage = ""
        """How far the open question is; empty while none is."""
        self.index: IndexState | None = None
        """How far the index run is; None while none goes on."""
        self.paused = False
        """Whether the index run stands still because a person wants that."""
        self.stopping = ""
        """What is being stopped."""
        self.adding = ""
        """What is being added."""
        self.status: Status | None = None
        """The state of the file; None until it is open."""
        self.missing: Fault | None = None
        """What stands in the way of an answer, such as that no model is installed."""

    def take(self, message: Message) -> None:
        """Note what a message says."""
        if isinstance(message, messages.Opened):
            self.status, self.missing = message.status, message.missing
        elif isinstance(message, messages.Refreshed):
            self.status = message.status
        elif isinstance(message, messages.ModelsChanged):
            self.missing = message.missing
        elif isinstance(message, messages.AskStage):
            self.stage = message.words
        elif isinstance(message, messages.AnswerPiece):
            self.stage = "Answering"
        elif isinstance(message, messages.AnswerEnded):
            self.stage = ""
        elif isinstance(message, messages.AddProgress):
            place = f" ({message.done:,} of {message.total:,})" if message.total > 1 else ""
            self.adding = f"{message.verb} {plain(message.name)}{place}"
        elif isinstance(message, messages.AddEnded):
            self.adding = ""
        elif isinstance(message, messages.IndexProgress):
            self.index = message.state
        elif isinstance(message, messages.IndexPaused):
            self.paused = message.paused
        elif isinstance(message, messages.IndexStopping):
            self.stopping = "Stopping the index run"
        elif isinstance(message, messages.IndexEnded):
            self.index, self.stopping, self.paused = None, "", False

    @property
    def busy(self) -> bool:
        """Whether anything goes on."""
        return self.engine_words != IDLE

    @property
    def engine_words(self) -> str:
        """What the engine does, in one line."""
        index = replace(self.index, paused=self.paused) if self.index is not None else None
        return engine_words(self.stage, index, self.stopping, self.adding)

    @property
    def file_words(self) -> str:
        """How much is in the file and how much of it was read; empty until it is open."""
        if self.status is None:
            return ""
        documents = count(len(self.status.documents), "document")
        return f"{documents}, {share(self.status.coverage.read, self.status.coverage.total)}"
