"""The sidebar of conversations: search, open, rename, delete, export."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Button, Input

from localrag.plain import TYPEABLE
from localrag.tui.widgets.lines import Column, LineList, Row, Toned
from localrag.tui.words import count

if TYPE_CHECKING:
    from localrag.kb import KnowledgeBase
    from localrag.store.talk_rows import SessionRow
    from localrag.tui.session import Session

Deed = Literal["open", "rename", "delete", "export"]

_NONE = "No conversation yet. Each begins with its first question and is kept here."
_NO_MATCH = "No conversation has all these words."


class SessionList(LineList):
    """The conversations, the one in which something was said last first."""

    HELP = """
    The conversations that are kept in this knowledge base. **enter** opens one, **r** renames it, **x**
    writes it into a Markdown file, **delete** deletes it with all that was said in it. **/** searches in
    titles, questions and answers, **ctrl+n** begins anew, **escape** goes back to the question.
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "deed('rename')", "Rename", id="talks.rename", tooltip="Rename the conversation"),
        Binding(
            "x", "deed('export')", "Export", id="talks.export", tooltip="Write the conversation into a file"
        ),
        Binding(
            "delete,backspace",
            "deed('delete')",
            "Delete",
            id="talks.delete",
            tooltip="Delete the conversation",
        ),
        Binding(
            "n", "app.new_conversation", "New", show=False, id="talks.new", tooltip="Begin a new conversation"
        ),
        Binding(
            "slash", "search", "Search", show=False, id="talks.search", tooltip="Search the conversations"
        ),
    ]

    def __init__(self) -> None:
        columns = [Column("title", "Title"), Column("day", "Day", 6, right=True, room=26)]
        super().__init__(columns, header=False, empty=_NONE, id="talks")

    def action_deed(self, deed: Deed) -> None:
        """Do something with the conversation at the cursor."""
        self.query_ancestor(SessionsPanel).do(deed)

    def action_search(self) -> None:
        """Go to the search box."""
        self.query_ancestor(SessionsPanel).search.focus()


class SessionsPanel(Vertical):
    """All conversations of the file, beside the one that is open."""

    @dataclass
    class Wanted(Message):
        """Something is to be done with a conversation."""

        row: SessionRow
        """The conversation."""

        deed: Deed
        """What."""

    def __init__(self, session: Session) -> None:
        super().__init__(id="sessions")
        self._session = session
        self._rows: Sequence[SessionRow] = ()
        self._open: int | None = None
        self.border_title = "Conversations"

    def compose(self) -> ComposeResult:
        """Search box, list, and buttons for the mouse."""
        yield Input(placeholder="Search", compact=True, id="talk-search", restrict=TYPEABLE)
        yield SessionList()
        with Horizontal(classes="buttons"):
            yield Button("New", id="talk-new", compact=True)
            yield Button("Rename", id="talk-rename", compact=True)
            yield Button("Export", id="talk-export", compact=True)
            yield Button("Delete", id="talk-delete", compact=True)

    @property
    def search(self) -> Input:
        """The search box."""
        return self.query_one("#talk-search", Input)

    @property
    def list(self) -> SessionList:
        """The conversations."""
        return self.query_one(SessionList)

    def renew(self) -> None:
        """Read the list anew."""
        words = self.search.value

        def job(kb: KnowledgeBase) -> Sequence[SessionRow]:
            return kb.sessions.search(words) if words.strip() else kb.sessions.list()

        self._session.look(self, job, lambda rows: self._show(rows, words), key="talks")

    def mark_open(self, conversation: int | None) -> None:
        """Say which one is open."""
        self._open = conversation
        self.list.redraw()

    def do(self, deed: Deed) -> None:
        """Ask for something to be done with the conversation at the cursor."""
        if self._rows:
            self.post_message(self.Wanted(self._rows[self.list.cursor], deed))

    def _show(self, rows: Sequence[SessionRow], words: str) -> None:
        self._rows = rows
        self.border_subtitle = count(len(rows), "conversation")
        self.list.say_empty(_NO_MATCH if words.strip() else _NONE)
        self.list.show(len(rows), self._row, key=lambda place: rows[place].id)

    def _row(self, place: int) -> Row | None:
        row = self._rows[place]
        is_open = row.id == self._open
        title = f"{'▸ ' if is_open else ''}{row.title or 'Without a title'}"
        return [Toned(title, "strong") if is_open else title, Toned(_day(row.changed_at), "faint")]

    @on(Input.Changed, "#talk-search")
    def _searched(self, event: Input.Changed) -> None:
        event.stop()
        self.renew()

    @on(Input.Submitted, "#talk-search")
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.list.focus()

    @on(LineList.Opened, "#talks")
    def _opened(self, event: LineList.Opened) -> None:
        event.stop()
        self.do("open")

    @on(Button.Pressed)
    async def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        deeds: dict[str, Deed] = {
            "talk-rename": "rename",
            "talk-export": "export",
            "talk-delete": "delete",
        }
        if event.button.id in deeds:
            self.do(deeds[event.button.id])
        else:
            await self.run_action("app.new_conversation")


def _day(text: str) -> str:
    """The time of the last change, as short as it can be."""
    moment, now = datetime.fromisoformat(text).astimezone(), datetime.now().astimezone()
    if moment.date() == now.date():
        return moment.strftime("%H:%M")
    return moment.strftime("%d %b") if moment.year == now.year else moment.strftime("%Y")
