"""The main screen: documents at the left, or above on a narrow terminal; the conversation beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Footer

from localrag.plain import plain
from localrag.tui import messages
from localrag.tui.screens.dialogs import Reader
from localrag.tui.session import Session
from localrag.tui.widgets.conversation import CitationList, Conversation
from localrag.tui.widgets.documents import DocumentsPane
from localrag.tui.widgets.question import Question
from localrag.tui.widgets.status import StatusLine
from localrag.tui.words import IDLE, Fault, IndexState, count, engine_words, share

if TYPE_CHECKING:
    from localrag.kb import Status
    from localrag.tui.app import LocalragApp
    from localrag.tui.screens.add import AddRequest

REFRESH_SECONDS = 1.0
"""How often the table is read anew while something is being added or read."""


class MainScreen(Screen[None]):
    """Everything that is done with an open knowledge base. Owns all state that is shown."""

    app: LocalragApp
    BINDING_GROUP_TITLE = "localrag"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "escape,f8", "back", "Stop", id="main.stop", show=False, tooltip="Stop the answer, or go back"
        ),
        Binding("f5,ctrl+r", "index", "Index", id="main.index", tooltip="Let the model read what was added"),
        Binding("f5,ctrl+r", "stop_index", "Stop indexing", id="main.stop-index", tooltip="Stop reading"),
        Binding("f3,ctrl+o", "add", "Add", id="main.add", tooltip="Add a file or a folder"),
        Binding(
            "f2,ctrl+b", "documents", "Documents", id="main.documents", tooltip="Show or hide the documents"
        ),
        Binding("f4,ctrl+n", "new", "New", id="main.new", show=False, tooltip="Begin a new conversation"),
        Binding("slash", "question", "Ask", id="main.question", show=False, tooltip="Go to the question box"),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self._stage = ""
        self._index: IndexState | None = None
        self._stopping = ""
        self._adding = ""
        self._missing: Fault | None = None
        self._index_again = False
        self._stopped_questions: set[int] = set()

    def compose(self) -> ComposeResult:
        """The panes, the status line and the footer."""
        with Horizontal(id="body"):
            yield DocumentsPane()
            with Vertical(id="asking"):
                yield Conversation()
                yield Question()
        yield StatusLine()
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Put the cursor where a question is typed, then open the file in its thread."""
        self._show_name("")
        self.question.focus()
        self.session.open(self._post_from_thread)
        self.set_interval(REFRESH_SECONDS, self._refresh_while_busy)

    def _post_from_thread(self, message: Message) -> None:
        """What the session calls."""
        messages.send(self, message)

    @property
    def documents(self) -> DocumentsPane:
        """The documents."""
        return self.query_one(DocumentsPane)

    @property
    def conversation(self) -> Conversation:
        """The turns."""
        return self.query_one(Conversation)

    @property
    def question(self) -> Question:
        """The box to type in."""
        return self.query_one(Question)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """One key begins and stops an index run."""
        if action == "index":
            return not self.session.indexing
        if action == "stop_index":
            return self.session.indexing
        return True

    # What a person does

    @on(Question.Asked)
    async def _asked(self, event: Question.Asked) -> None:
        if self.session.asking:
            self.notify("Wait for the answer, or stop it with escape.", severity="warning", markup=False)
            return
        number = self.session.ask(event.text)
        self.question.accept()
        self._stage = "Searching"
        self._show_engine()
        await self.conversation.begin(number, event.text)

    async def action_back(self) -> None:
        """Stop the answer if one is being written, else go to the question box."""
        if self.session.asking and self.session.question_number not in self._stopped_questions:
            await self._stop_answer()
        else:
            self.question.focus()

    async def _stop_answer(self) -> None:
        number = self.session.question_number
        self._stopped_questions.add(number)
        self.session.stop_asking()
        self._stage = "Stopping the answer"
        self._show_engine()
        turn = self.conversation.turn(number)
        if turn is not None:
            await turn.stop()

    def action_index(self) -> None:
        """Begin to read."""
        if self.session.indexing:
            return
        self.session.index()
        self._index = IndexState(doing="Preparing to index")
        self.refresh_bindings()
        self._show_engine()

    def action_stop_index(self) -> None:
        """Stop reading; what was read is kept."""
        self.session.stop_indexing()
        self._stopping = "Stopping the index run"
        self._show_engine()

    def action_add(self) -> None:
        """Ask for a path and add it."""
        from localrag.tui.screens.add import AddDialog

        self.app.push_screen(AddDialog(self.app.files, self.app.folder), self._add)

    def _add(self, request: AddRequest | None) -> None:
        if request is not None:
            self._adding = f"Adding {plain(request.path.name)}"
            self._show_engine()
            self.session.add(request.path, then_index=request.then_index)

    def action_documents(self) -> None:
        """Show or hide the documents; the cursor goes to what was shown."""
        hidden = not self.documents.display
        self.set_class(not hidden, "-no-documents")
        self.set_class(hidden, "-with-documents")
        if hidden:
            self.documents.table.focus()
        else:
            self.question.focus()

    async def action_new(self) -> None:
        """Begin a new conversation."""
        if self.session.asking:
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

    @on(DocumentsPane.Chosen)
    def _open_document(self, event: DocumentsPane.Chosen) -> None:
        self.session.read_text(event.document_id, event.title)

    # What the threads tell

    @on(messages.Opened)
    def _opened(self, message: messages.Opened) -> None:
        self._missing = message.missing
        if message.status.read_only:
            self._show_name(" (read only)")
        self._show_status(message.status)
        self._show_engine()

    @on(messages.OpenFailed)
    def _open_failed(self, message: messages.OpenFailed) -> None:
        self.app.leave_session(message.fault)

    @on(messages.Refreshed)
    def _refreshed(self, message: messages.Refreshed) -> None:
        self._show_status(message.status)

    @on(messages.WentWrong)
    def _went_wrong(self, message: messages.WentWrong) -> None:
        self.app.show_fault(message.fault)

    @on(messages.TextRead)
    def _text_read(self, message: messages.TextRead) -> None:
        self.app.push_screen(Reader(message.title, "", message.text))

    @on(messages.AskStage)
    def _ask_stage(self, message: messages.AskStage) -> None:
        if message.number in self._stopped_questions:
            return
        self._stage = message.words
        self._show_engine()
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
            if self._stage != "Answering":
                self._stage = "Answering"
                self._show_engine()
            await turn.write(message.text)

    @on(messages.AnswerEnded)
    async def _answer_ended(self, message: messages.AnswerEnded) -> None:
        if not self.session.asking:
            self._stage = ""
            self._show_engine()
        self._stopped_questions.discard(message.number)
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

    @on(messages.AddProgress)
    def _add_progress(self, message: messages.AddProgress) -> None:
        self._adding = f"Adding {message.done:,} of {message.total:,}"
        self._show_engine()

    @on(messages.AddEnded)
    def _add_ended(self, message: messages.AddEnded) -> None:
        if not self.session.adding:
            self._adding = ""
            self._show_engine()
        self.session.refresh()
        report = message.report
        if message.fault is not None:
            self.app.show_fault(message.fault)
        elif report is not None:
            come = report.added + report.changed
            words = [f"{count(come, 'document')} added"]
            if report.unchanged:
                words.append(f"{report.unchanged:,} unchanged")
            for found, word in ((report.moved, "moved"), (report.copied, "with the content of others")):
                words += [f"{len(found):,} {word}"] if found else []
            words += [f"{len(list_):,} {word}" for list_, word in _not_taken(report.skipped, report.failed)]
            first = next(iter((*report.failed, *report.skipped)), None)
            more = f"\n{plain(first[0])}: {plain(first[1])}" if first else ""
            severity = "warning" if report.failed or not come else "information"
            self.notify(f"{', '.join(words)}.{more}", severity=severity, markup=False)  # type: ignore[arg-type]
            if message.then_index and come:
                self._index_again = self.session.indexing
                self.action_index()

    @on(messages.IndexProgress)
    def _index_progress(self, message: messages.IndexProgress) -> None:
        if self.session.indexing:
            self._index = message.state
            self.documents.show_progress(message.state)
            self._show_engine()

    @on(messages.IndexNote)
    def _index_note(self, message: messages.IndexNote) -> None:
        self.notify(message.text, severity="warning", markup=False)

    @on(messages.IndexEnded)
    def _index_ended(self, message: messages.IndexEnded) -> None:
        self._index = None
        self._stopping = ""
        self.documents.show_progress(None)
        self.refresh_bindings()
        self._show_engine()
        self.session.refresh()
        report = message.report
        if message.fault is not None:
            self.app.show_fault(message.fault)
        elif report is None or report.cancelled:
            self.notify("Indexing was stopped. What was read is kept; f5 goes on.", markup=False)
        else:
            words = f"{count(report.read, 'chunk')} read." if report.read else "Nothing was left to read."
            if report.failed:
                words += f" {count(report.failed, 'chunk')} could not be read; f5 tries again."
            self.notify(words, title="Indexing is done", markup=False)
            if self._index_again:
                self.action_index()
        self._index_again = False

    # What is shown

    def _refresh_while_busy(self) -> None:
        if self.session.indexing or self.session.adding:
            self.session.refresh()

    def _show_name(self, more: str) -> None:
        # As content, since a border title that is a string would be read as markup.
        self.query_one("#asking").border_title = Content(plain(self.session.path.name) + more)

    def _show_engine(self) -> None:
        words = engine_words(self._stage, self._index, self._stopping, self._adding)
        self.query_one(StatusLine).show_engine(words, busy=words != IDLE)

    def _show_status(self, status: Status) -> None:
        self.documents.show(status.documents)
        documents = count(len(status.documents), "document")
        read = share(status.coverage.read, status.coverage.total)
        self.query_one(StatusLine).show_file(f"{documents}, {read}")
        self.conversation.welcome(welcome_words(status, self._missing))


def welcome_words(status: Status, missing: Fault | None) -> str:
    """What a person can do now, by the state of the knowledge base."""
    words = [f"{missing.text}\n"] if missing else []
    if not status.documents:
        words.append("This knowledge base is empty. Press f3 to add a file or a folder.")
    elif status.coverage.read == 0:
        words.append("Type a question below and press enter.")
        words.append("Nothing was indexed yet: answers rest on a word search alone. Press f5 to index.")
    else:
        words.append("Type a question below and press enter. Answers name the sources that they rest on.")
    words.append("Press f1 for help.")
    return "\n".join(words)


def _not_taken(
    skipped: tuple[tuple[str, str], ...], failed: tuple[tuple[str, str], ...]
) -> list[tuple[tuple[tuple[str, str], ...], str]]:
    """The kinds of files that did not come in, those that are not empty."""
    return [(files, word) for files, word in ((skipped, "skipped"), (failed, "failed")) if files]
