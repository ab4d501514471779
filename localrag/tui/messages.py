"""What the working threads tell the application and its places.

Each message is plain data. Those that only report how far something is may be replaced by a newer one of
their kind, so a busy screen never works through stale progress.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message
from textual.message_pump import MessagePump

from localrag.tui.paths import FoundFile
from localrag.tui.run_state import RunState
from localrag.tui.words import Fault, IndexState

if TYPE_CHECKING:  # these modules bring NumPy, which the first paint does not wait for
    from localrag.adding import AddReport
    from localrag.answering.types import Answer
    from localrag.indexing import IndexReport
    from localrag.kb import Status, SyncReport
    from localrag.retrieval.types import Retrieved
    from localrag.tui.session import Session


def send(target: MessagePump, message: Message) -> None:
    """Post a message from any thread, unless the target or its event loop has gone."""
    with contextlib.suppress(RuntimeError):
        target.post_message(message)


def call(target: MessagePump, callback: Callable[[], object]) -> None:
    """Run something in the thread of a screen or widget, from any thread, unless it has gone."""
    with contextlib.suppress(RuntimeError):
        target.call_later(callback)


class FromSession(Message, bubble=False):
    """A message of the open knowledge base: the application takes note of it and gives it to every place."""


class Often(FromSession, bubble=False):
    """A message that only says how far something is, many times a minute: no key works otherwise by it."""


@dataclass
class Said(Message, bubble=False):
    """Carries a message of a session to the application."""

    session: Session
    """Who says it; the application does not listen to one that it has left."""

    message: Message
    """What it says."""

    def can_replace(self, message: Message) -> bool:
        """If that holds for what is carried."""
        return (
            isinstance(message, Said)
            and message.session is self.session
            and self.message.can_replace(message.message)
        )


@dataclass
class Opened(FromSession):
    """The knowledge base is open."""

    status: Status
    """Its state."""

    missing: Fault | None
    """What a person should know before asking, such as that no model is installed."""


@dataclass
class OpenFailed(FromSession):
    """The knowledge base cannot be opened or created."""

    fault: Fault
    """Why."""


@dataclass
class Refreshed(Often):
    """The state of the knowledge base, read anew."""

    status: Status
    """Its state."""

    def can_replace(self, message: Message) -> bool:
        """A newer state makes this one worthless."""
        return isinstance(message, Refreshed)


@dataclass
class WentWrong(FromSession):
    """Something failed that belongs to no question and no run."""

    fault: Fault
    """What."""


@dataclass
class Changed(FromSession):
    """Something was changed by a person: a place that is shown reads anew what it shows."""


@dataclass
class ModelsChanged(FromSession):
    """Models were installed, removed or chosen."""

    missing: Fault | None
    """What stands in the way of an answer now."""


@dataclass
class AskStage(Often):
    """How far a question is before its answer begins."""

    number: int
    """Number of the question."""

    words: str
    """What is being done."""

    progress: float | None = None
    """How much of it is done, between 0 and 1; None where that is not known."""

    def can_replace(self, message: Message) -> bool:
        """Only the last stage matters."""
        return isinstance(message, AskStage) and message.number == self.number


@dataclass
class AskStored(FromSession):
    """The question is stored in its conversation, whatever becomes of its answer."""

    number: int
    """Number of the question."""

    conversation: int
    """The conversation's id."""

    message: int
    """The id of the question in it."""


@dataclass
class AskRewritten(FromSession):
    """A question that needs what was said before was written out."""

    number: int
    """Number of the question."""

    question: str
    """As it is searched."""


@dataclass
class AskFound(FromSession):
    """What was found for a question, before the model has read it."""

    number: int
    """Number of the question."""

    retrieved: Retrieved
    """What was found."""

    final: bool
    """False for what words and names alone have found; what all searches find follows."""


@dataclass
class AskNote(FromSession):
    """Something that a person should know about the answer, such as a source that could not be searched."""

    number: int
    """Number of the question."""

    text: str
    """The note."""


@dataclass
class AnswerPiece(Often):
    """A piece of the streamed answer."""

    number: int
    """Number of the question."""

    text: str
    """The piece, as the model wrote it."""


@dataclass
class AnswerEnded(FromSession):
    """The last message of a question."""

    number: int
    """Number of the question."""

    answer: Answer | None
    """The answer; None if it was stopped or failed."""

    fault: Fault | None = None
    """Why it failed."""


@dataclass
class AddProgress(Often):
    """How far an addition is."""

    name: str
    """The file in hand."""

    done: int
    """Files done."""

    total: int
    """Files in all."""

    verb: str = "Adding"
    """What is done with it."""

    def can_replace(self, message: Message) -> bool:
        """Only the last file matters."""
        return isinstance(message, AddProgress)


@dataclass
class AddEnded(FromSession):
    """The last message of an addition."""

    report: AddReport | None
    """What came in; None if it failed."""

    fault: Fault | None = None
    """Why it failed."""

    then_index: bool = False
    """Whether to begin reading now."""

    synced: SyncReport | None = None
    """All that was found, if the followed folders were compared."""


@dataclass
class IndexProgress(Often):
    """How far an index run is."""

    state: IndexState
    """The numbers, for one line."""

    run: RunState | None = None
    """All that is known of it; None from whoever tells of less."""

    def can_replace(self, message: Message) -> bool:
        """Only the last numbers matter."""
        return isinstance(message, IndexProgress)


@dataclass
class IndexPaused(FromSession):
    """An index run stands still, or goes on, because a person wants that."""

    paused: bool
    """Whether it stands still."""


@dataclass
class IndexStopping(FromSession):
    """An index run was asked to end."""


@dataclass
class IndexNote(FromSession):
    """Something that a person should know about the run."""

    text: str
    """The note."""


@dataclass
class IndexEnded(FromSession):
    """The last message of an index run."""

    report: IndexReport | None
    """What it did; None if it failed."""

    fault: Fault | None = None
    """Why it failed."""


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
