"""What a person does with turns and conversations of the place "ask": open, explain, rename, export."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localrag.plain import plain
from localrag.tui.screens.asking_talks import ExportDialog, RenameDialog
from localrag.tui.screens.dialogs import Confirm, Reader
from localrag.tui.talks import Talk, read_talk
from localrag.tui.widgets.beside import WIDE, show_explain, show_passage, show_source
from localrag.tui.words import count

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from localrag.kb import KnowledgeBase
    from localrag.retrieval.types import EntityHit, Passage
    from localrag.store.talk_rows import SessionRow
    from localrag.tui.screens.ask import AskScreen
    from localrag.tui.widgets.sessions import SessionsPanel
    from localrag.tui.widgets.turn import Turn


_SHORT_WORD = 2
_ROOM_FOR_ALL = 140
"""Columns from which the conversations may stay beside a panel."""


class Deeds:
    """Does it for one screen."""

    def __init__(self, screen: AskScreen) -> None:
        self._screen = screen
        self._session = screen.session

    # Turns

    async def of_turn(self, event: Turn.Asks) -> None:
        """What a key of a turn asks for."""
        record = event.turn.record
        if event.wanted == "edit":
            self._screen.edit(record)
        elif event.wanted == "again":
            await self._screen.ask_again(record)
        elif event.wanted == "explain":
            self._make_room()
            show_explain(
                self._screen,
                record.answer,
                record.rewritten or record.question,
                session=record.conversation,
                number=record.place,
            )
        else:
            self.export_open()

    def open_source(self, event: Turn.SourceChosen) -> None:
        """Show a source of an answer in its document."""
        record = event.turn.record
        if event.place in record.gone:
            self._screen.notify(
                "This source was deleted, or changed since the answer was written.", severity="warning"
            )
            return
        question = record.rewritten or record.question
        self._make_room()
        show_source(
            self._screen, record.citations[event.place], question, answer=record.answer or record.text
        )

    def open_found(self, item: Passage | EntityHit, question: str) -> None:
        """Show a passage that was found in its document, or an entity in the graph.

        What lies in another knowledge base is shown as it was found, since its file is not open.
        """
        from localrag.retrieval.types import EntityHit
        from localrag.tui.screens.document import go_to_entity

        if isinstance(item, EntityHit):
            if item.base:
                text = item.description or "Nothing more is known of it."
                self._screen.app.push_screen(Reader(f"{item.base}: {item.name}", item.type, text))
            else:
                go_to_entity(self._screen.app, item.id)
        elif item.base:
            place = f"{item.base}: {item.document}"
            self._screen.app.push_screen(Reader(place, item.heading, item.text))
        else:
            words = [word for word in question.split() if len(word) > _SHORT_WORD]
            self._make_room()
            show_passage(
                self._screen, item.document_id, item.start, item.end, words=words, title=item.document
            )

    def _make_room(self) -> None:
        """Hide the conversations where they and a panel would leave the answers too little room."""
        if self._screen.sessions.display and WIDE <= self._screen.size.width < _ROOM_FOR_ALL:
            self._screen.hide_sessions()

    # Conversations

    def of_talk(self, event: SessionsPanel.Wanted) -> None:
        """What the sidebar asks for."""
        row = event.row
        if event.deed == "open":
            self._open(row)
        elif event.deed == "rename":
            self._rename(row)
        elif event.deed == "export":
            self._export(row.id, row.title)
        else:
            self._delete(row)

    def export_open(self) -> None:
        """Write the conversation that is shown into a file."""
        screen = self._screen
        records = screen.conversation.records
        if screen.talk is not None:
            self._export(screen.talk, screen.title_of_talk)
        elif records:
            text = "\n".join(record.markdown() for record in records)
            self._ask_for_file(records[0].question, lambda kb: text)

    def _open(self, row: SessionRow) -> None:
        screen = self._screen
        if row.id == screen.talk:
            self._done_in_sidebar()
        elif not screen.is_asking():
            self._session.look(screen, lambda kb: read_talk(kb, row.id), self._show, key="talk")

    async def _show(self, talk: Talk) -> None:
        screen = self._screen
        if screen.is_asking():
            return
        screen.take_choices(talk.choices)
        await screen.show_talk(talk.id, talk.title, list(talk.records))
        self._done_in_sidebar()

    def _done_in_sidebar(self) -> None:
        """Go on with the conversation; on a narrow screen the sidebar covers it."""
        if self._screen.has_class("-narrow"):
            self._screen.action_sessions()
        self._screen.question.focus()

    def _rename(self, row: SessionRow) -> None:
        def rename(title: str | None) -> None:
            if title is not None and title != row.title:
                self._session.change(
                    self._screen, lambda kb: kb.sessions.rename(row.id, title), lambda _: renamed(title)
                )

        def renamed(title: str) -> None:
            if row.id == self._screen.talk:
                self._screen.call_it(title)

        self._screen.app.push_screen(RenameDialog(row.title), rename)

    def _delete(self, row: SessionRow) -> None:
        screen = self._screen
        if row.id == screen.talk and screen.is_asking():
            return

        def delete(sure: bool | None) -> None:
            if sure:
                self._session.change(screen, lambda kb: kb.sessions.delete(row.id), lambda _: deleted())

        async def deleted() -> None:
            if row.id == screen.talk:
                await screen.show_talk(None, "", [])
            screen.notify(f"Deleted: {plain(row.title)}", markup=False)

        said = count(row.messages, "message")
        question = f"Delete the conversation “{plain(row.title)}” with its {said}? It cannot be brought back."
        screen.app.push_screen(Confirm(question, "Delete", "Keep"), delete)

    def _export(self, talk: int, title: str) -> None:
        def text(kb: KnowledgeBase) -> str:
            return kb.sessions.markdown(talk)

        self._ask_for_file(title, text)

    def _ask_for_file(self, title: str, text: Callable[[KnowledgeBase], str]) -> None:
        app = self._screen.app

        def told(path: Path | None) -> None:
            if path is not None:
                self._screen.notify(f"Wrote {plain(str(path))}", markup=False)

        app.push_screen(ExportDialog(self._session, app.folder, title, text), told)
