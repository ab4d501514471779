"""The place where questions are asked and answers read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget

from localrag.plain import plain
from localrag.tui import messages
from localrag.tui.screens.dialogs import Reader
from localrag.tui.screens.place import STYLES, PlaceScreen
from localrag.tui.widgets.conversation import CitationList, Conversation
from localrag.tui.widgets.question import Question

if TYPE_CHECKING:
    from localrag.kb import Status
    from localrag.tui.words import Fault


class AskScreen(PlaceScreen):
    """The conversation, and the box to type in."""

    PLACE = "ask"
    CSS_PATH = STYLES / "ask.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Stop", id="ask.stop", show=False, tooltip="Stop the answer, or go back"),
        Binding("slash", "question", "Ask", id="ask.question", show=False, tooltip="Go to the question box"),
    ]

    def compose_body(self) -> Iterable[Widget]:
        """The conversation above the question."""
        with Vertical(id="asking"):
            yield Conversation()
            yield Question()

    def on_mount(self) -> None:
        """Put the cursor where a question is typed."""
        self.query_one("#asking").border_title = Content(plain(self.session.path.name))
        self.question.focus()

    @property
    def conversation(self) -> Conversation:
        """The turns."""
        return self.query_one(Conversation)

    @property
    def question(self) -> Question:
        """The box to type in."""
        return self.query_one(Question)

    def show_status(self, status: Status) -> None:
        """Say what can be asked."""
        self.conversation.welcome(welcome_words(status, self.app.doings.missing))

    # What a person does

    @on(Question.Asked)
    async def _asked(self, event: Question.Asked) -> None:
        if self.session.questions.active:
            self.notify("Wait for the answer, or stop it with escape.", severity="warning", markup=False)
            return
        number = self.session.questions.ask(event.text)
        self.question.accept()
        await self.conversation.begin(number, event.text)

    async def action_back(self) -> None:
        """Stop the answer if one is being written, else go to the question box."""
        if self.session.questions.active:
            self.session.questions.stop()
            turn = self.conversation.turn(self.session.questions.number)
            if turn is not None:
                await turn.stop()
        self.question.focus()

    async def action_new(self) -> None:
        """Begin a new conversation."""
        if self.session.questions.active:
            self.notify("Wait for the answer, or stop it with escape.", severity="warning", markup=False)
            return
        await self.conversation.clear()
        self.question.focus()

    def action_question(self) -> None:
        """Go to the question box."""
        self.question.focus()

    @on(CitationList.Opened)
    def _open_citation(self, event: CitationList.Opened) -> None:
        citation = event.citation
        place = [citation.document] if citation.document else []
        if citation.page is not None:
            place.append(f"page {citation.page}")
        if citation.end > citation.start:
            place.append(f"characters {citation.start:,} to {citation.end:,}")
        self.app.push_screen(Reader(citation.label, ", ".join(place), citation.text))

    # What the threads tell

    @on(messages.AskStage)
    def _ask_stage(self, message: messages.AskStage) -> None:
        turn = self.conversation.turn(message.number)
        if turn is not None:
            turn.show_stage(message.words)

    @on(messages.AskNote)
    def _ask_note(self, message: messages.AskNote) -> None:
        turn = self.conversation.turn(message.number)
        if turn is not None and not turn.ended:
            turn.add_note(message.text)

    @on(messages.AnswerPiece)
    async def _answer_piece(self, message: messages.AnswerPiece) -> None:
        turn = self.conversation.turn(message.number)
        if turn is not None and not turn.ended:
            await turn.write(message.text)

    @on(messages.AnswerEnded)
    async def _answer_ended(self, message: messages.AnswerEnded) -> None:
        turn = self.conversation.turn(message.number)
        if turn is None or turn.ended:
            return
        if message.answer is not None:
            await turn.complete(message.answer)
        elif message.fault is not None:
            await turn.fail(message.fault)
            self.app.show_fault(message.fault)
        else:
            await turn.stop()


def welcome_words(status: Status, missing: Fault | None) -> str:
    """What a person can do now, by the state of the knowledge base."""
    words = [f"{missing.text}\n"] if missing else []
    if not status.documents:
        words.append(
            "This knowledge base is empty. Press f3 to go to the library and add a file or a folder."
        )
    elif status.coverage.read == 0:
        words.append("Type a question below and press enter.")
        words.append("Nothing was indexed yet: answers rest on a word search alone. Press f4 to index.")
    else:
        words.append("Type a question below and press enter. Answers name the sources that they rest on.")
    words.append("Press f1 for help.")
    return "\n".join(words)
