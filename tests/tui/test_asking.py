"""Questions and answers in the application."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual import events
from textual.widgets import Button, Static

from localrag.answering.question import LONGEST
from localrag.engine.scripted import ScriptedModel
from localrag.engine.types import Event, GenerationRequest
from localrag.errors import EngineCrashed
from localrag.kb import KnowledgeBase
from localrag.tui import work
from localrag.tui.app import LocalragApp
from localrag.tui.screens.ask import AskScreen
from localrag.tui.turns import without_references
from localrag.tui.widgets.answer_text import answer_markdown, harmless_markdown, source_of
from localrag.tui.widgets.beside import Panel
from localrag.tui.widgets.cited import CitationList, FoundList
from localrag.tui.widgets.question import Question
from localrag.tui.widgets.turn import Turn
from tests.tui.support import (
    TEXTS,
    BrokenModel,
    SlowModel,
    ask,
    ask_screen,
    library,
    running,
    screen_text,
    sees,
    until,
)

QUESTION = "Who repaired the harbour bridge?"


def panel_has_focus(app: LocalragApp) -> bool:
    """Whether what was opened beside the conversation, or over it, can be used."""
    return any(panel.has_focus_within for panel in app.screen.query(Panel))


class WaitingModel(ScriptedModel):
    """Reads until it is let go on, then writes."""

    def __init__(self, text: str = "Ada Lund did [1].") -> None:
        super().__init__(lambda request: text)
        self.go_on = threading.Event()

    def stream(self, request: GenerationRequest) -> Iterator[Event]:
        """The events, the first of which tells that half of it was read."""
        for number, event in enumerate(super().stream(request)):
            if number == 1:
                self.go_on.wait(20)
            yield event


class DeadOnce(ScriptedModel):
    """Dies in the middle of its first answer."""

    def __init__(self, words: int = 2) -> None:
        super().__init__(lambda request: "Ada Lund repaired it [1]. She had eleven men.")
        self._words = words
        self._died = False

    def stream(self, request: GenerationRequest) -> Iterator[Event]:
        """The same events, once cut short."""
        for number, event in enumerate(super().stream(request)):
            if number > self._words and not self._died:
                self._died = True
                raise EngineCrashed("The engine stopped [b]while\x1b[31m it read[/b].", "Ask again.")
            yield event


async def test_a_question_is_answered_with_sources_that_open(tmp_path: Path) -> None:
    texts = {"harbour.md": TEXTS["harbour.md"]}
    async with running(library(tmp_path, texts, indexed=True)) as (app, pilot):
        assert isinstance(app.focused, Question)
        await sees(pilot, "small.localrag")
        await sees(pilot, "Type a question below")
        turn = await ask(pilot, app, QUESTION)
        await until(pilot, lambda: turn.ended)
        assert "[1]" in turn.text
        assert app.screen.query_one(Question).text == ""
        await until(pilot, lambda: turn.query(CitationList))
        await sees(pilot, "[DC] harbour.md")
        await sees(pilot, "100 % read")
        assert not turn.query(FoundList)
        turn.query_one(CitationList).focus()
        await pilot.press("enter")
        await until(pilot, lambda: panel_has_focus(app))
        await sees(pilot, "Ada Lund repaired the harbour bridge")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, AskScreen) and app.screen.is_mounted)


async def test_a_mark_in_the_answer_and_a_source_open_by_a_click(tmp_path: Path) -> None:
    async with running(library(tmp_path, indexed=True), size=(140, 40)) as (app, pilot):
        turn = await ask(pilot, app, QUESTION)
        await until(pilot, lambda: turn.query(CitationList))
        await pilot.pause(0.1)
        lines = screen_text(app).splitlines()
        row = next(place for place, line in enumerate(lines) if "[1]" in line)
        await pilot.click(offset=(lines[row].index("[1]") + 1, row))
        await until(pilot, lambda: panel_has_focus(app))
        await pilot.press("escape")
        await until(pilot, lambda: not app.screen.query(Panel))
        await pilot.click(turn.query_one(CitationList), offset=(3, 1))
        await until(pilot, lambda: panel_has_focus(app))
        ask_screen(app).question.focus()
        await pilot.press("escape")
        await until(pilot, lambda: not app.screen.query(Panel))


async def test_what_was_found_can_be_read_before_the_model_has(tmp_path: Path) -> None:
    model = WaitingModel()
    async with running(library(tmp_path, indexed=True), model) as (app, pilot):
        turn = await ask(pilot, app, QUESTION)
        await until(pilot, lambda: turn.query(FoundList))
        await sees(pilot, "harbour.md: Ada Lund repaired")
        await sees(pilot, "Reading what was found")
        found = turn.query_one(FoundList)
        assert "passage" in str(found.border_title)
        found.focus()
        await pilot.press("enter")
        await until(pilot, lambda: panel_has_focus(app))
        await sees(pilot, "Eleven men helped")
        await pilot.press("escape")
        await until(pilot, lambda: app.focused is found)
        model.go_on.set()
        await until(pilot, lambda: turn.ended)
        await until(pilot, lambda: isinstance(app.focused, CitationList))
        assert not turn.query(FoundList)


async def test_escape_stops_a_slow_answer_and_keeps_what_was_written(tmp_path: Path) -> None:
    kb = library(tmp_path)
    async with running(kb, SlowModel()) as (app, pilot):
        turn = await ask(pilot, app, QUESTION)
        await until(pilot, lambda: "slow slow" in turn.text)
        ask_screen(app).question.insert("And the mill?")
        await pilot.press("enter")
        await sees(pilot, "Wait for the answer")
        assert len(ask_screen(app).query(Turn)) == 1
        assert ask_screen(app).question.text == "And the mill?"
        await pilot.press("escape")
        await until(pilot, lambda: turn.ended, seconds=0.5)
        kept = turn.text
        await sees(pilot, "Stopped. The answer is not complete.")
        await until(pilot, lambda: not ask_screen(app).session.questions.active)
        assert turn.text == kept
        assert kept.count("slow") < 300
        await sees(pilot, "Engine idle")
        assert not turn.query(CitationList)
    with KnowledgeBase.open(kb) as file:
        asked, said = file.sessions.messages("last")
    assert asked.text == QUESTION
    assert said.state == "stopped"
    assert said.text.startswith(kept.strip())


async def test_a_question_is_stored_before_it_is_answered(tmp_path: Path) -> None:
    kb, model = library(tmp_path), WaitingModel()
    async with running(kb, model) as (app, pilot):
        turn = await ask(pilot, app, QUESTION)
        await until(pilot, lambda: turn.record.message is not None)
        with KnowledgeBase.open(kb) as other:
            (asked,) = other.sessions.messages("last")
            assert (asked.id, asked.text) == (turn.record.message, QUESTION)
        model.go_on.set()
        await until(pilot, lambda: turn.ended)


async def test_an_engine_that_dies_is_a_message_with_another_try_in_place(tmp_path: Path) -> None:
    kb = library(tmp_path)
    async with running(kb, DeadOnce()) as (app, pilot):
        turn = await ask(pilot, app, QUESTION)
        await until(pilot, lambda: turn.ended)
        fault = "The engine stopped [b]while it read[/b].\nAsk again."
        await until(pilot, lambda: [note.message for note in app._notifications] == [fault])
        await sees(pilot, "[b]while it read[/b]")
        await until(pilot, lambda: not ask_screen(app).session.questions.active)
        await pilot.click(turn.query_one(Button))
        await until(pilot, lambda: not turn.is_attached)
        (again,) = ask_screen(app).query(Turn)
        await until(pilot, lambda: again.ended)
        assert again.record.state == "whole"
        assert "eleven men" in again.text
    with KnowledgeBase.open(kb) as file:
        assert [row.state for row in file.sessions.messages("last")] == ["whole", "whole"]


async def test_an_engine_that_stays_dead_keeps_the_application_alive(tmp_path: Path) -> None:
    async with running(library(tmp_path), BrokenModel(ZeroDivisionError("by nought"))) as (app, pilot):
        turn = await ask(pilot, app, QUESTION)
        await until(pilot, lambda: turn.ended)
        await sees(pilot, "ZeroDivisionError")
        assert "Traceback" not in screen_text(app)
        await until(pilot, lambda: not ask_screen(app).session.questions.active)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: not turn.is_attached)
        (again,) = ask_screen(app).query(Turn)
        await until(pilot, lambda: again.ended)
        assert app.is_running
    work.unexpected.clear()


async def test_a_question_to_an_empty_knowledge_base_says_what_to_do(tmp_path: Path) -> None:
    async with running(library(tmp_path, {})) as (app, pilot):
        await sees(pilot, "Press f3 to go to the library")
        turn = await ask(pilot, app, "Who?")
        await until(pilot, lambda: turn.ended)
        assert turn.query_one(".fault", Static).display


async def test_a_turn_is_edited_copied_asked_again_and_explained(tmp_path: Path) -> None:
    async with running(library(tmp_path, indexed=True)) as (app, pilot):
        screen = ask_screen(app)
        turn = await ask(pilot, app, QUESTION)
        await until(pilot, lambda: turn.ended and not screen.session.questions.active)
        await pilot.press("ctrl+up")
        assert app.focused is turn
        await pilot.press("y")
        assert app.clipboard == turn.text
        await pilot.press("Y")
        assert app.clipboard == QUESTION
        await pilot.press("1")
        await until(pilot, lambda: panel_has_focus(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.focused is turn)
        await pilot.press("i")
        await until(pilot, lambda: panel_has_focus(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.focused is turn)
        await pilot.press("enter")
        assert turn.query_one(CitationList).has_focus
        turn.focus()
        await pilot.press("e")
        assert screen.question.has_focus
        assert screen.question.text == QUESTION
        await pilot.press("enter")
        await until(pilot, lambda: len(screen.query(Turn)) == 2 and screen.query(Turn).last().ended)
        await until(pilot, lambda: not screen.session.questions.active)
        second = screen.query(Turn).last()
        second.focus()
        await pilot.press("k")
        assert app.focused is turn
        await pilot.press("j")
        assert app.focused is second
        await pilot.press("r")
        await until(pilot, lambda: len(screen.query(Turn)) == 3 and screen.query(Turn).last().ended)
        await pilot.press("escape", "up", "up")
        assert screen.question.text == QUESTION
        await pilot.press("down")
        await until(pilot, lambda: not screen.session.questions.active)
        await pilot.press("ctrl+n")
        await until(pilot, lambda: not screen.query(Turn))
        kept = await ask(pilot, app, QUESTION)
        await until(pilot, lambda: kept.ended)
        await sees(pilot, "Kept answer of")


async def test_a_follow_up_is_shown_as_it_is_searched(tmp_path: Path) -> None:
    texts = {"rewrite": "When was the harbour bridge repaired?", "answer": "In 1911 [1]."}
    model = ScriptedModel(lambda request: texts.get(request.task, ""))
    async with running(library(tmp_path, indexed=True), model) as (app, pilot):
        first = await ask(pilot, app, QUESTION)
        await until(pilot, lambda: first.ended and not ask_screen(app).session.questions.active)
        second = await ask(pilot, app, "And when?")
        await until(pilot, lambda: second.ended)
        await sees(pilot, "Asked as: When was the harbour bridge repaired?")
        assert first.record.conversation == second.record.conversation is not None


async def test_a_long_paste_is_refused_and_new_lines_stay_one_question(tmp_path: Path) -> None:
    async with running(library(tmp_path)) as (app, pilot):
        box = ask_screen(app).question
        box.post_message(events.Paste("x" * 100_000))
        await sees(pilot, "Too long")
        assert box.text == ""
        box.post_message(events.Paste("wo\x1b[31mrd\x07\r\n" * 1_000))
        await until(pilot, lambda: box.text)
        assert box.text == "word\n" * 1_000
        await pilot.press("ctrl+j", "x")
        assert box.text.endswith("word\n\nx")
        assert box.size.height <= 6
        box.text = "x" * (LONGEST + 1)
        await pilot.press("enter")
        await until(pilot, lambda: any("Nothing was asked." in note.message for note in app._notifications))
        assert not ask_screen(app).query(Turn)


@pytest.mark.parametrize(
    "text",
    [
        "[a](http://x.example)",
        "![a](http://x.example)",
        "http://x.example",
        "<a href='x'>a</a>",
        "<http://x>",
        "[2](http://x.example)",
    ],
)
def test_markdown_of_a_model_holds_nothing_to_click(text: str) -> None:
    tokens = harmless_markdown().parse(f"{text}\n\n[a]: http://x.example\n")
    kinds = {child.type for token in tokens for child in token.children or []} | {
        token.type for token in tokens
    }
    assert kinds <= {"text", "softbreak", "paragraph_open", "paragraph_close", "inline"}
    assert tokens[1].content == text


def test_a_mark_is_the_only_thing_to_click_in_an_answer() -> None:
    tokens = answer_markdown().parse("It *was* [1][12]; `[2]` [3](http://x.example) [1234] [a]\n")
    links = [child for token in tokens for child in token.children or [] if child.type == "link_open"]
    assert [source_of(str(link.attrs["href"])) for link in links] == [1, 12, 3]
    assert source_of("http://x.example") is None
    words = "".join(child.content for token in tokens for child in token.children or [])
    assert words == "It was [1][12]; [2] [3](http://x.example) [1234] [a]"


def test_the_list_of_references_is_not_shown_twice() -> None:
    body = "She did [1].\n\n### References\n\nare named below."
    assert without_references(f"{body}\n\n### References\n- [DC] a.md\n") == body
    assert without_references("桥 [1]。\n\n### 参考资料\n- [DC] 甲.md") == "桥 [1]。"
    assert without_references("No list.") == "No list."
