"""Conversations in the application: kept, listed, searched, opened again, renamed, exported, deleted."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.containers import VerticalScroll
from textual.widgets import Input

from localrag.answering.options import AskOptions
from localrag.errors import UsageError
from localrag.kb import KnowledgeBase
from localrag.store.talk_rows import MessageRow
from localrag.tui.screens.ask import AskScreen
from localrag.tui.screens.asking_talks import ExportDialog, RenameDialog
from localrag.tui.screens.dialogs import Confirm
from localrag.tui.talks import file_name, records_of, write_markdown
from localrag.tui.widgets.beside import Panel
from localrag.tui.widgets.cited import CitationList
from localrag.tui.widgets.conversation import AT_ONCE, MOST_TURNS, Conversation, MoreLine
from localrag.tui.widgets.turn import Turn
from tests.tui.support import ask, ask_screen, engines, library, running, screen_text, sees, until

BRIDGE = "Who repaired the harbour bridge?"
MILL = "Who bought the old mill?"


def talked(folder: Path, *questions: str) -> Path:
    """A knowledge base with a conversation for each question."""
    path = library(folder, indexed=True)
    with KnowledgeBase.open(path, engines=engines()) as kb:
        for question in questions:
            kb.ask(question, options=AskOptions(session="new"))
    return path


def long_talk(folder: Path, turns: int) -> Path:
    """A knowledge base with one conversation of many turns."""
    path = library(folder)
    with KnowledgeBase.open(path, engines=engines()) as kb:
        talk = kb.sessions.begin("A long one")
        for number in range(turns):
            kb._store.talk.add(talk, "user", f"Question {number}?")
            kb._store.talk.add(talk, "assistant", f"Answer {number}.")
    return path


async def test_conversations_are_searched_opened_and_go_on(tmp_path: Path) -> None:
    async with running(talked(tmp_path, BRIDGE, MILL)) as (app, pilot):
        screen = ask_screen(app)
        await pilot.press("ctrl+b")
        await until(pilot, lambda: screen.sessions.list.count == 2)
        assert screen.sessions.list.has_focus
        await sees(pilot, "Who bought the old")
        await pilot.press("slash")
        assert screen.sessions.search.has_focus
        screen.sessions.search.value = "HARBOUR eleven"
        await until(pilot, lambda: screen.sessions.list.count == 0)
        await sees(pilot, "No conversation has all")
        screen.sessions.search.value = "HARBOUR"
        await until(pilot, lambda: screen.sessions.list.count == 1)
        await pilot.press("enter", "enter")
        await until(pilot, lambda: len(screen.query(Turn)) == 1)
        turn = screen.query_one(Turn)
        assert (turn.question, turn.record.state) == (BRIDGE, "whole")
        await sees(pilot, "100 % read")
        await until(pilot, lambda: turn.query(CitationList) and screen.question.has_focus)
        await sees(pilot, "▸ Who repaired")
        turn.query_one(CitationList).focus()
        await pilot.press("enter")
        await until(pilot, lambda: any(panel.has_focus_within for panel in app.screen.query(Panel)))
        await sees(pilot, "Ada Lund repaired the harbour bridge")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, AskScreen) and app.screen.is_mounted)
        second = await ask(pilot, app, "Who helped?")
        await until(pilot, lambda: second.ended and not screen.session.questions.active)
        assert second.record.conversation == turn.record.conversation
        await pilot.press("ctrl+n")
        await until(pilot, lambda: not screen.query(Turn))
        assert screen.talk is None
        await pilot.press("ctrl+t")
        await until(pilot, lambda: not screen.sessions.display)


async def test_conversations_are_renamed_exported_and_deleted(tmp_path: Path) -> None:
    kb = talked(tmp_path, BRIDGE)
    async with running(kb, folder=tmp_path) as (app, pilot):
        screen = ask_screen(app)
        await pilot.press("ctrl+b")
        await until(pilot, lambda: screen.sessions.list.count == 1)
        await pilot.press("enter")
        await until(pilot, lambda: screen.query(Turn) and screen.question.has_focus)
        screen.sessions.list.focus()
        await pilot.press("r")
        await until(pilot, lambda: isinstance(app.screen, RenameDialog) and app.screen.is_mounted)
        app.screen.query_one(Input).value = "[b]Bridges[/b]"
        await pilot.press("enter")
        await sees(pilot, "· [b]Bridges[/b]")
        screen.sessions.list.focus()
        await pilot.press("x")
        await until(pilot, lambda: isinstance(app.screen, ExportDialog) and app.screen.is_mounted)
        target = tmp_path / "b-bridges-b.md"
        target.write_text("Mine.")
        await until(pilot, lambda: app.screen.query_one(Input).value == str(target))
        await pilot.press("enter")
        await sees(pilot, "Press enter again to replace it")
        assert target.read_text() == "Mine."
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, AskScreen) and app.screen.is_mounted)
        assert f"## {BRIDGE}" in target.read_text()
        screen.sessions.list.focus()
        await pilot.press("delete")
        await until(pilot, lambda: isinstance(app.screen, Confirm) and app.screen.is_mounted)
        await sees(pilot, "2 messages? It cannot be brought back")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, AskScreen) and app.screen.is_mounted)
        assert screen.sessions.list.count == 1
        await pilot.press("delete")
        await until(pilot, lambda: isinstance(app.screen, Confirm) and app.screen.is_mounted)
        await pilot.press("y")
        await until(pilot, lambda: not screen.sessions.list.count and not screen.query(Turn))
        await sees(pilot, "No conversation yet.")
        assert screen.talk is None
    with KnowledgeBase.open(kb) as file:
        assert file.sessions.list() == []


@pytest.mark.slow
async def test_a_long_conversation_is_drawn_in_parts(tmp_path: Path) -> None:
    async with running(long_talk(tmp_path, 75)) as (app, pilot):
        screen = ask_screen(app)
        await pilot.press("ctrl+b")
        await until(pilot, lambda: screen.sessions.list.count == 1)
        await pilot.press("enter")
        await until(pilot, lambda: len(screen.query(Turn)) == AT_ONCE)
        await sees(pilot, "Answer 74.")
        conversation = screen.query_one(Conversation)
        assert len(conversation.records) == 75
        before = screen.query(MoreLine).first()
        conversation.scroll_home(animate=False)
        await until(pilot, lambda: len(screen.query(Turn)) == 2 * AT_ONCE)
        await until(pilot, lambda: conversation.scroll_y > 0)
        await sees(pilot, "Question 65?")
        for _ in range(6):
            await conversation.more(earlier=True)
        shown = [turn.question for turn in screen.query(Turn)]
        assert len(shown) == MOST_TURNS
        assert shown[0] == "Question 0?"
        assert not before.display
        screen.query(Turn).first().focus()
        await pilot.press("G")
        await until(pilot, lambda: getattr(app.focused, "question", "") == "Question 74?")
        await pilot.press("g")
        await until(pilot, lambda: getattr(app.focused, "question", "") == "Question 0?")
        await pilot.press("k", "j")
        await until(pilot, lambda: getattr(app.focused, "question", "") == "Question 1?")
        screen.question.put(BRIDGE)
        await pilot.press("enter")
        await until(pilot, lambda: len(conversation.records) == 76 and conversation.records[-1].ended)
        await sees(pilot, BRIDGE)
        assert [turn.question for turn in screen.query(Turn)][-2:] == ["Question 74?", BRIDGE]
        assert len(screen.query(Turn)) <= MOST_TURNS


@pytest.mark.slow
@pytest.mark.parametrize("size", [(140, 40), (110, 30), (60, 20)])
async def test_the_sidebar_fits_every_size(tmp_path: Path, size: tuple[int, int]) -> None:
    async with running(talked(tmp_path, BRIDGE), size=size) as (app, pilot):
        screen = ask_screen(app)
        turn = await ask(pilot, app, MILL)
        await until(pilot, lambda: turn.ended and not screen.session.questions.active)
        await pilot.press("ctrl+b")
        await until(pilot, lambda: screen.sessions.list.count == 2)
        for words in ("Conversations", "Search", "New", "Rename", "Export", "Delete", "2 conversations"):
            assert words in screen_text(app)
        assert screen.query_one("#asking").display == (size[0] >= 76)
        await pilot.press("enter")
        await until(pilot, lambda: screen.question.has_focus)
        assert screen.sessions.display == (size[0] >= 76)
        assert isinstance(screen.query_one(Conversation), VerticalScroll)
        await sees(pilot, "Ask a question")
        turn = screen.query(Turn).last()
        turn.focus()
        await pilot.press("i")
        await until(pilot, lambda: any(panel.has_focus_within for panel in app.screen.query(Panel)))
        assert (app.screen is screen) == (size[0] >= 110)
        # Where all three would be too narrow, the conversations give way.
        assert screen.sessions.display == (size[0] >= 76 and not 110 <= size[0] < 140)


def test_messages_become_turns_whatever_is_missing() -> None:
    def message(number: int, role: str, text: str, state: str = "whole", **details: object) -> MessageRow:
        return MessageRow(number, 7, role, state, "", details, text)  # type: ignore[arg-type]

    records = records_of(
        [
            message(1, "assistant", "An answer without its question."),
            message(2, "user", "One?", rewritten="What is one?"),
            message(3, "assistant", "Half", "stopped"),
            message(4, "user", "Two?"),
            message(5, "user", "Three?"),
            message(
                6, "assistant", "Yes.", mode="mix", coverage={"read": 1, "total": 2}, seconds={"total": 3}
            ),
        ]
    )
    assert [(each.question, each.text, each.state) for each in records] == [
        ("One?", "Half", "stopped"),
        ("Two?", "", "lost"),
        ("Three?", "Yes.", "whole"),
    ]
    assert [each.place for each in records] == [2, None, 3]
    assert [each.replaceable for each in records] == [False, True, False]
    assert records[0].rewritten == "What is one?"
    assert (records[0].message, records[0].conversation) == (2, 7)
    assert records[2].facts == "Mode mix · 50 % read · 3 s"
    assert len({each.number for each in records}) == 3


def test_a_file_is_named_after_its_conversation_and_never_written_over(tmp_path: Path) -> None:
    assert file_name("Who *was* Ada\x1b[31m/../Lund?") == "who-was-ada-lund.md"
    assert file_name("¿?") == "conversation.md"
    path = write_markdown(tmp_path / "a.md", "One.", replace=False)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError, match="there already"):
        write_markdown(path, "Two.", replace=False)
    assert path.read_text() == "One."
    write_markdown(path, "Two.", replace=True)
    assert path.read_text() == "Two."
    with pytest.raises(UsageError, match="cannot be written"):
        write_markdown(tmp_path / "no" / "a.md", "", replace=False)
