"""Questions and answers in the application."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.widgets import Static

from localrag.tui import work
from localrag.tui.screens.dialogs import Reader
from localrag.tui.screens.ask import AskScreen
from localrag.tui.widgets.conversation import CitationList, Turn, harmless_markdown, without_references
from localrag.tui.widgets.question import Question
from tests.tui.support import (
    TEXTS,
    BrokenModel,
    SlowModel,
    ask,
    library,
    ask_screen,
    running,
    screen_text,
    sees,
    until,
)


async def test_opens_with_the_cursor_in_the_question_box(tmp_path: Path) -> None:
    async with running(library(tmp_path)) as (app, pilot):
        assert isinstance(app.focused, Question)
        await sees(pilot, "harbour.md")
        assert "small.localrag" in screen_text(app)
        assert "Engine idle" in screen_text(app)


async def test_answer_and_citations_appear_and_the_passage_opens(tmp_path: Path) -> None:
    texts = {"harbour.md": TEXTS["harbour.md"]}
    async with running(library(tmp_path, texts, indexed=True)) as (app, pilot):
        turn = await ask(pilot, app, "Who repaired the harbour bridge?")
        await until(pilot, lambda: turn.ended)
        assert "[1]" in turn.text
        assert app.screen.query_one(Question).text == ""
        await until(pilot, lambda: turn.query(CitationList))
        sources = turn.query_one(CitationList)
        assert sources.option_count >= 1
        await sees(pilot, "[DC] harbour.md")
        await sees(pilot, "100 % read")
        sources.focus()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Reader))
        await sees(pilot, "Ada Lund repaired the harbour bridge")
        await pilot.press("escape", "escape", "q")
        await until(pilot, lambda: isinstance(app.screen, AskScreen))


async def test_a_click_opens_the_passage(tmp_path: Path) -> None:
    async with running(library(tmp_path, indexed=True), size=(140, 40)) as (app, pilot):
        turn = await ask(pilot, app, "Who repaired the harbour bridge?")
        await until(pilot, lambda: turn.query(CitationList))
        await pilot.pause(0.1)
        await pilot.click(turn.query_one(CitationList), offset=(3, 1))
        await until(pilot, lambda: isinstance(app.screen, Reader))


async def test_escape_stops_a_slow_answer_and_keeps_what_was_written(tmp_path: Path) -> None:
    async with running(library(tmp_path), SlowModel()) as (app, pilot):
        turn = await ask(pilot, app, "Who repaired the harbour bridge?")
        await until(pilot, lambda: "slow slow" in turn.text)
        await pilot.press("escape")
        await until(pilot, lambda: turn.ended, seconds=0.5)
        kept = turn.text
        await sees(pilot, "Stopped. The answer is not complete.")
        await until(pilot, lambda: not ask_screen(app).session.questions.active)
        assert turn.text == kept
        assert kept.count("slow") < 300
        await sees(pilot, "Engine idle")
        assert not turn.query(CitationList)


async def test_only_one_question_at_a_time(tmp_path: Path) -> None:
    async with running(library(tmp_path), SlowModel()) as (app, pilot):
        await ask(pilot, app, "Who repaired the harbour bridge?")
        ask_screen(app).question.insert("And the mill?")
        await pilot.press("enter")
        await sees(pilot, "Wait for the answer")
        assert len(ask_screen(app).query(Turn)) == 1
        assert ask_screen(app).question.text == "And the mill?"


async def test_an_engine_that_dies_is_a_message_and_the_application_lives(tmp_path: Path) -> None:
    async with running(library(tmp_path), BrokenModel()) as (app, pilot):
        turn = await ask(pilot, app, "Who repaired the harbour bridge?")
        await until(pilot, lambda: turn.ended)
        assert [note.message for note in app._notifications] == [
            "The engine stopped [b]while it read[/b].\nAsk again."
        ]
        await sees(pilot, "[b]while it read[/b]")
        await until(pilot, lambda: not ask_screen(app).session.questions.active)
        again = await ask(pilot, app, "And now?")
        await until(pilot, lambda: again.ended)
        assert app.is_running


async def test_an_error_that_nobody_foresaw_is_a_message_too(tmp_path: Path) -> None:
    async with running(library(tmp_path), BrokenModel(ZeroDivisionError("by nought"))) as (app, pilot):
        turn = await ask(pilot, app, "Who repaired the harbour bridge?")
        await until(pilot, lambda: turn.ended)
        await sees(pilot, "ZeroDivisionError")
        assert "Traceback" not in screen_text(app)
    work.unexpected.clear()


async def test_a_question_to_an_empty_knowledge_base_says_what_to_do(tmp_path: Path) -> None:
    async with running(library(tmp_path, {})) as (app, pilot):
        await sees(pilot, "Press f3 to add")
        turn = await ask(pilot, app, "Who?")
        await until(pilot, lambda: turn.ended)
        assert turn.query_one(".fault", Static).display


async def test_up_brings_the_last_question_back_and_new_clears(tmp_path: Path) -> None:
    async with running(library(tmp_path)) as (app, pilot):
        turn = await ask(pilot, app, "Who?")
        await until(pilot, lambda: not ask_screen(app).session.questions.active and turn.ended)
        await pilot.press("up")
        assert ask_screen(app).question.text == "Who?"
        await pilot.press("ctrl+n")
        await until(pilot, lambda: not ask_screen(app).query(Turn))


async def test_a_long_paste_and_new_lines_stay_one_question(tmp_path: Path) -> None:
    async with running(library(tmp_path)) as (app, pilot):
        box = ask_screen(app).question
        box.post_message(events.Paste("wo\x1b[31mrd\x07\r\n" * 20_000))
        await until(pilot, lambda: box.text)
        assert box.text == "word\n" * 20_000
        await pilot.press("ctrl+j", "x")
        assert box.text.endswith("word\n\nx")
        assert box.size.height <= 6
        assert not ask_screen(app).query(Turn)


@pytest.mark.parametrize(
    "text",
    [
        "[a](http://x.example)",
        "![a](http://x.example)",
        "http://x.example",
        "<a href='x'>a</a>",
        "<http://x>",
    ],
)
def test_markdown_of_a_model_holds_nothing_to_click(text: str) -> None:
    tokens = harmless_markdown().parse(f"{text}\n\n[a]: http://x.example\n")
    kinds = {child.type for token in tokens for child in token.children or []} | {
        token.type for token in tokens
    }
    assert kinds <= {"text", "softbreak", "paragraph_open", "paragraph_close", "inline"}
    assert tokens[1].content == text


def test_the_list_of_references_is_not_shown_twice() -> None:
    body = "She did [1].\n\n### References\n\nare named below."
    assert without_references(f"{body}\n\n### References\n- [DC] a.md\n") == body
    assert without_references("桥 [1]。\n\n### 参考资料\n- [DC] 甲.md") == "桥 [1]。"
    assert without_references("No list.") == "No list."
