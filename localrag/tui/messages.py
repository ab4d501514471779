"""What the working threads tell the screens.

Each message is plain data. Those that only report how far something is may be replaced by a newer one of
their kind, so a busy screen never works through stale progress.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message
from textual.message_pump import MessagePump

from localrag.tui.paths import FoundFile
from localrag.tui.words import Fault, IndexState

if TYPE_CHECKING:  # these modules bring NumPy, which the first paint does not wait for
    from localrag.adding import AddReport
    from localrag.answering.types import Answer
    from localrag.indexing import IndexReport
    from localrag.kb import Status


def send(target: MessagePump, message: Message) -> None:
    """Post a message from any thread, unless the target or its event loop has gone."""
    with contextlib.suppress(RuntimeError):
        target.post_message(message)


@dataclass
class Opened(Message):
    """The knowledge base is open."""

    status: Status
    """Its state."""

    missing: Fault | None
    """What a person should know before asking, such as that no model is installed."""


@dataclass
class OpenFailed(Message):
    """The knowledge base cannot be opened or created."""

    fault: Fault
    """Why."""


@dataclass
class Refreshed(Message):
    """The state of the knowledge base, read anew."""

    status: Status
    """Its state."""

    def can_replace(self, message: Message) -> bool:
        """A newer state makes this one worthless."""
        return isinstance(message, Refreshed)


@dataclass
class WentWrong(Message):
    """Something failed that belongs to no question and no run."""

    fault: Fault
    """What."""


@dataclass
class AskStage(Message):
    """How far a question is before its answer begins."""

    number: int
    """Number of the question."""

    words: str
    """What is being done."""

    def can_replace(self, message: Message) -> bool:
        """Only the last stage matters."""
        return isinstance(message, AskStage) and message.number == self.number


@dataclass
class AskNote(Message):
    """Something that a person should know about the answer, such as a source that could not be searched."""

    number: int
    """Number of the question."""

    text: str
    """The note."""


@dataclass
class AnswerPiece(Message):
    """A piece of the streamed answer."""

    number: int
    """Number of the question."""

    text: str
    """The piece, as the model wrote it."""


@dataclass
class AnswerEnded(Message):
    """The last message of a question."""

    number: int
    """Number of the question."""

    answer: Answer | None
    """The answer; None if it was stopped or failed."""

    fault: Fault | None = None
    """Why it failed."""


@dataclass
class AddProgress(Message):
    """How far an addition is."""

    name: str
    """The file in hand."""

    done: int
    """Files done."""

    total: int
    """Files in all."""

    def can_replace(self, message: Message) -> bool:
        """Only the last file matters."""
        return isinstance(message, AddProgress)


@dataclass
class AddEnded(Message):
    """The last message of an addition."""

    report: AddReport | None
    """What came in; None if it failed."""

    fault: Fault | None = None
    """Why it failed."""

    then_index: bool = False
    """Whether to begin reading now."""


@dataclass
class IndexProgress(Message):
    """How far an index run is."""

    state: IndexState
    """The numbers."""

    def can_replace(self, message: Message) -> bool:
        """Only the last numbers matter."""
        return isinstance(message, IndexProgress)


@dataclass
class IndexNote(Message):
    """Something that a person should know about the run."""

    text: str
    """The note."""


@dataclass
class IndexEnded(Message):
    """The last message of an index run."""

    report: IndexReport | None
    """What it did; None if it failed."""

    fault: Fault | None = None
    """Why it failed."""


@dataclass
class TextRead(Message):
    """The text of a document, to be shown."""

    title: str
    """The document's path."""

    text: str
    """Its text, or the beginning of a long one."""


@dataclass
class FilesListed(Message):
    """The knowledge bases of the current folder."""

    files: list[FoundFile]
    """The one that changed last first."""


@dataclass
class PathChecked(Message):
    """The answer to a path that was typed."""

    path: Path | None
    """The path, None if it cannot be taken."""

    problem: str = ""
    """What is wrong with it."""

    create: bool = False
    """Whether it names a file that is to be created."""
