"""The place where questions are asked and answers read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget

from localrag.plain import plain
from localrag.tui import messages
from localrag.tui.choices import Choices
from localrag.tui.questions import Wish
from localrag.tui.screens.asking_deeds import Deeds
from localrag.tui.screens.place import STYLES, PlaceScreen
from localrag.tui.widgets.ask_options import OptionsLine
from localrag.tui.widgets.beside import Beside, close_beside
from localrag.tui.widgets.cited import FoundList
from localrag.tui.widgets.conversation import Conversation
from localrag.tui.widgets.question import Question
from localrag.tui.widgets.sessions import SessionsPanel
from localrag.tui.widgets.turn import Turn

if TYPE_CHECKING:
    from localrag.kb import Status
    from localrag.tui.session import Session
    from localrag.tui.turns import TurnRecord
    from localrag.tui.words import Fault


class AskScreen(PlaceScreen):
    """The conversation, the box to type in, and beside them other conversations and what is looked at."""

    PLACE = "ask"
    CSS_PATH = STYLES / "ask.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Stop", id="ask.stop", show=False, tooltip="Stop the answer, or go back"),
        Binding("slash", "question", "Ask", id="ask.question", show=False, tooltip="Go to the question box"),
        Binding(
            "ctrl+b,ctrl+t",
            "sessions",
            "Sidebar",
            id="ask.sessions",
            tooltip="Show or hide the conversations of this knowledge base",
        ),
        Binding("ctrl+o", "options", "Options", id="ask.options", tooltip="Choose how questions are asked"),
        Binding(
            "ctrl+r", "again", "Again", id="ask.again", show=False, tooltip="Ask the last question again"
        ),
        Binding(
            "ctrl+up", "last_turn", "Answers", id="ask.answers", show=False, tooltip="Go to the last answer"
        ),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.choices = Choices()
        """How the next question is asked."""
        self.talk: int | None = None
        """The conversation that is open, once it is stored."""
        self.title_of_talk = ""
        """What it is called."""
        self._edited: TurnRecord | None = None
        self._deeds = Deeds(self)

    def compose_body(self) -> Iterable[Widget]:
        """The conversations, the one that is open above the question, and what stands beside it."""
        answering = self.session.settings.answering
        with Horizontal():
            yield SessionsPanel(self.session)
            with Vertical(id="asking"):
                yield Conversation()
                yield OptionsLine(answering.style, answering.response_type)
                yield Question()
            yield Beside()

    def on_mount(self) -> None:
        """Put the cursor where a question is typed."""
        self.sessions.display = False
        self._show_title()
        self.query_one(OptionsLine).show(self.choices)
        self.question.focus()

    @property
    def conversation(self) -> Conversation:
        """The turns."""
        return self.query_one(Conversation)

    @property
    def question(self) -> Question:
        """The box to type in."""
        return self.query_one(Question)

    @property
    def sessions(self) -> SessionsPanel:
        """The conversations."""
        return self.query_one(SessionsPanel)

    def show_status(self, status: Status) -> None:
        """Say what can be asked."""
        self.conversation.welcome(welcome_words(status, self.app.doings.missing))

    def renew(self) -> None:
        """Read the list of conversations anew."""
        self.sessions.renew()

    # What a person does

    @on(Question.Asked)
    async def _asked(self, event: Question.Asked) -> None:
        edited, self._edited = self._edited, None
        if await self.ask(event.text, instead=edited):
            self.question.accept()
        else:
            self._edited = edited

    async def ask(self, text: str, *, instead: TurnRecord | None = None, fresh: bool = False) -> bool:
        """Ask; whether it could be done now. `instead` is a turn whose place it may take."""
        if self.is_asking():
            return False
        replaced = instead if instead is not None and instead.replaceable else None
        before = tuple(
            (record.rewritten or record.question, record.text)
            for record in self.conversation.records
            if record is not replaced and record.text
        )
        if replaced is not None and replaced in self.conversation.records:
            await self.conversation.take_away(replaced)
        number = self.session.questions.ask(
            text,
            Wish(
                self.choices,
                conversation=self.talk,
                before=before,
                replaces=replaced.message if replaced is not None else None,
                fresh=fresh,
            ),
        )
        await self.conversation.begin(number, text)
        self.refresh_bindings()
        return True

    def is_asking(self) -> bool:
        """Whether a question is open, which is said then."""
        if self.session.questions.stopping:
            self.notify("The last answer is just being stopped. Try again.", severity="warning", markup=False)
        elif self.session.questions.active:
            self.notify("Wait for the answer, or stop it with escape.", severity="warning", markup=False)
        return self.session.questions.active

    async def action_back(self) -> None:
        """Stop the answer if one is being written, else go back to the question box."""
        if self.session.questions.active and not self.session.questions.stopping:
            self.session.questions.stop()
            turn = self.conversation.turn(self.session.questions.number)
            if turn is not None:
                await turn.stop()
        elif self.sessions.has_focus_within and self.has_class("-narrow"):
            self.action_sessions()
        elif self.question.has_focus:
            close_beside(self)
        self.question.focus()

    async def action_new(self) -> None:
        """Begin a new conversation."""
        if self.is_asking():
            return
        await self.show_talk(None, "", [])
        if self.has_class("-narrow"):
            self.hide_sessions()
        self.question.focus()

    def action_question(self) -> None:
        """Go to the question box."""
        self.question.focus()

    def action_sessions(self) -> None:
        """Show the conversations and go there, or hide them."""
        if self.sessions.display:
            self.hide_sessions()
            self.question.focus()
            return
        self.sessions.display = True
        self.add_class("-with-sessions")
        self.sessions.renew()
        self.sessions.list.focus()

    def hide_sessions(self) -> None:
        """Hide the conversations."""
        self.sessions.display = False
        self.remove_class("-with-sessions")

    def action_options(self, field: str = "") -> None:
        """Choose how questions are asked."""
        from localrag.tui.screens.asking_options import OptionsDialog

        self.app.push_screen(OptionsDialog(self.session, self.choices, field), self._choose)

    def _choose(self, choices: Choices | None) -> None:
        if choices is not None:
            self.take_choices(choices)

    def take_choices(self, choices: Choices) -> None:
        """Ask the next questions in this way."""
        self.choices = choices
        self.query_one(OptionsLine).show(choices)

    async def action_again(self) -> None:
        """Ask the last question once more."""
        if self.conversation.records:
            await self.ask_again(self.conversation.records[-1])

    async def ask_again(self, record: TurnRecord) -> None:
        """Ask a question once more; a kept answer is written anew."""
        among_turns = self.conversation.has_focus_within
        if await self.ask(record.question, instead=record, fresh=record.state == "whole") and among_turns:
            self.query(Turn).last().focus(scroll_visible=False)

    def edit(self, record: TurnRecord) -> None:
        """Put a question into the box again."""
        self._edited = record
        self.question.put(record.question)

    def action_last_turn(self) -> None:
        """Go to the last turn that is drawn."""
        turns = self.query(Turn)
        if turns:
            self.conversation.go_to(turns.last())

    async def show_talk(self, talk: int | None, title: str, records: list[TurnRecord]) -> None:
        """Show a conversation, or without an id a new one."""
        self.talk, self.title_of_talk, self._edited = talk, title, None
        self.sessions.mark_open(talk)
        self._show_title()
        await self.conversation.open(records)

    def call_it(self, title: str) -> None:
        """The open conversation has another title."""
        self.title_of_talk = title
        self._show_title()

    def _show_title(self) -> None:
        title = plain(self.session.path.name)
        if self.title_of_talk:
            title += f" · {plain(self.title_of_talk)}"
        self.query_one("#asking").border_title = Content(title)

    # What the threads tell

    @on(messages.ModelsChanged)
    def _models_changed(self) -> None:
        if self.app.doings.status is not None:
            self.show_status(self.app.doings.status)

    @on(messages.AskStored)
    def _ask_stored(self, message: messages.AskStored) -> None:
        record = self.conversation.record(message.number)
        if record is not None:
            record.conversation, record.message = message.conversation, message.message
            if self.talk != message.conversation:
                self.talk, self.title_of_talk = message.conversation, record.question
                self._show_title()
            self.sessions.mark_open(self.talk)
            self.sessions.renew()

    @on(messages.AskStage)
    def _ask_stage(self, message: messages.AskStage) -> None:
        turn = self.conversation.turn(message.number)
        if turn is not None:
            turn.show_stage(message.words, message.progress)

    @on(messages.AskNote)
    def _ask_note(self, message: messages.AskNote) -> None:
        turn = self.conversation.turn(message.number)
        if turn is not None and not turn.ended:
            turn.add_note(message.text)

    @on(messages.AskRewritten)
    def _ask_rewritten(self, message: messages.AskRewritten) -> None:
        turn = self.conversation.turn(message.number)
        if turn is not None:
            turn.show_rewritten(message.question)

    @on(messages.AskFound)
    async def _ask_found(self, message: messages.AskFound) -> None:
        turn = self.conversation.turn(message.number)
        if turn is not None:
            await turn.show_found(message.retrieved)

    @on(messages.AnswerPiece)
    async def _answer_piece(self, message: messages.AnswerPiece) -> None:
        turn = self.conversation.turn(message.number)
        if turn is not None:
            await turn.write(message.text)

    @on(messages.AnswerEnded)
    async def _answer_ended(self, message: messages.AnswerEnded) -> None:
        self.sessions.renew()
        turn = self.conversation.turn(message.number)
        if turn is None:
            return
        if message.answer is not None:
            await turn.complete(message.answer)
        elif message.fault is not None:
            told = turn.ended
            await turn.fail(message.fault)
            if not told:
                self.app.show_fault(message.fault)
        else:
            await turn.stop()

    # What is done with turns and conversations lies in `Deeds`

    @on(Turn.Asks)
    async def _turn_asks(self, event: Turn.Asks) -> None:
        await self._deeds.of_turn(event)

    @on(Turn.SourceChosen)
    def _source_chosen(self, event: Turn.SourceChosen) -> None:
        self._deeds.open_source(event)

    @on(FoundList.Opened)
    def _found_opened(self, event: FoundList.Opened) -> None:
        self._deeds.open_found(event.item, event.question)

    @on(SessionsPanel.Wanted)
    def _talk_wanted(self, event: SessionsPanel.Wanted) -> None:
        self._deeds.of_talk(event)


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
    words.append("ctrl+b shows earlier conversations, ctrl+o how questions are asked, f1 helps.")
    return "\n".join(words)
