"""Documents: their table, adding, indexing."""

from __future__ import annotations

import gzip
import re
import time
from dataclasses import replace
from pathlib import Path

from textual.widgets import Input

from localrag.engine.scripted import ScriptedModel
from localrag.kb import KnowledgeBase
from localrag.tui.app import LocalragApp
from localrag.tui.messages import Opened
from localrag.tui.screens.add import AddDialog
from localrag.tui.screens.dialogs import Confirm, Reader
from localrag.tui.widgets.documents import DocumentTable
from localrag.tui.words import Fault
from tests.tui.support import (
    BrokenModel,
    ask,
    library,
    ask_screen,
    many,
    running,
    screen_text,
    sees,
    until,
)


def read_chunks(path: Path) -> int:
    """Chunks that are read in a file."""
    with KnowledgeBase.open(path) as kb:
        return kb.status().chunks.read


def read_so_far(app: LocalragApp) -> int:
    """Chunks that the status line says are read."""
    found = re.search(r"Reading: (\d+) of", screen_text(app))
    return int(found.group(1)) if found else 0


async def test_a_hostile_name_is_shown_as_it_is_and_steers_nothing(tmp_path: Path) -> None:
    texts = {"[red]x[/red]\x1b[31m.txt".replace("/", "\u2215"): "Some text about a lamp."}
    async with running(library(tmp_path, texts), size=(140, 40)) as (app, pilot):
        await sees(pilot, "[red]x[\u2215red]")
        shown = screen_text(app)
        assert "\x1b" not in shown
        ask_screen(app).documents.table.focus()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Reader))
        await sees(pilot, "Some text about a lamp.")


async def test_an_index_run_fills_the_table_and_can_be_asked_meanwhile(tmp_path: Path) -> None:
    path = library(tmp_path, many(12))
    async with running(path, ScriptedModel(delay=0.1), size=(140, 40)) as (app, pilot):
        await sees(pilot, "letter00.md")
        await sees(pilot, "waiting")
        await pilot.press("f5")
        await sees(pilot, "Reading: ")
        assert "Stop indexing" in screen_text(app)
        turn = await ask(pilot, app, "Which ship left port 3?")
        await until(pilot, lambda: turn.ended)
        assert ask_screen(app).session.index_run.active
        await until(pilot, lambda: not ask_screen(app).session.index_run.active)
        await sees(pilot, "12 chunks read.")
        await until(pilot, lambda: "waiting" not in screen_text(app))
        assert "100 % read" in screen_text(app)
        assert "Engine idle" in screen_text(app)
    assert read_chunks(path) == 12


async def test_stopping_keeps_what_was_read(tmp_path: Path) -> None:
    path = library(tmp_path, many(20))
    async with running(path, ScriptedModel(delay=0.2)) as (app, pilot):
        await pilot.press("f5")
        await until(pilot, lambda: read_so_far(app) >= 2)
        await pilot.press("f5")
        await until(pilot, lambda: not ask_screen(app).session.index_run.active, seconds=2)
        await sees(pilot, "Indexing was stopped")
    assert 2 <= read_chunks(path) < 20


async def test_an_index_run_without_engine_is_a_message(tmp_path: Path) -> None:
    async with running(library(tmp_path), BrokenModel()) as (app, pilot):
        await pilot.press("f5")
        await sees(pilot, "The engine stopped")
        await until(pilot, lambda: not ask_screen(app).session.index_run.active)
        await sees(pilot, "f5 Index")
        assert app.is_running


async def test_a_wrong_path_is_told_in_the_dialog_and_a_right_one_added(tmp_path: Path) -> None:
    path = library(tmp_path, {})
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "ship.md").write_text("The ship Aurora left with salt.")
    async with running(path, folder=tmp_path) as (app, pilot):
        await sees(pilot, "This knowledge base is empty")
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, AddDialog))
        await pilot.press(*"nowhere", "enter")
        await sees(pilot, "There is no file or folder")
        assert isinstance(app.screen, AddDialog)
        app.screen.query_one(Input).value = "more"
        await pilot.press("enter")
        await sees(pilot, "ship.md")
        await until(pilot, lambda: not ask_screen(app).session.index_run.active)
        await sees(pilot, "1/1")
    assert read_chunks(path) == 1


async def test_what_is_added_while_an_index_run_goes_on_is_read_after_it(tmp_path: Path) -> None:
    path = library(tmp_path, many(6))
    (tmp_path / "late.md").write_text("The ship Aurora came back with tea.")
    async with running(path, ScriptedModel(delay=0.2), folder=tmp_path) as (app, pilot):
        await pilot.press("f5")
        await sees(pilot, " of 6 chunks")
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, AddDialog))
        app.screen.query_one(Input).value = "late.md"
        await pilot.press("enter")
        await sees(pilot, "Documents (7)")
        assert ask_screen(app).session.index_run.active
        await sees(pilot, "100 % read")
    assert read_chunks(path) == 7


async def test_adding_tells_of_copies(tmp_path: Path) -> None:
    path = library(tmp_path, {})
    (tmp_path / "more").mkdir()
    for name in ("ship.md", "copy.md"):
        (tmp_path / "more" / name).write_text("The ship Aurora left with salt.")
    async with running(path, folder=tmp_path, size=(140, 40)) as (app, pilot):
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, AddDialog))
        app.screen.query_one(Input).value = "more"
        await pilot.press("enter")
        await sees(pilot, "1 document added, 1 with the content of others")
    with KnowledgeBase.open(path) as kb:
        assert len(kb.status().documents) == 1


async def test_a_read_only_file_can_be_asked_and_says_so(tmp_path: Path) -> None:
    path = library(tmp_path, indexed=True)
    with KnowledgeBase.open(path) as kb:
        status = kb.status()
    async with running(path, size=(140, 40)) as (app, pilot):
        await sees(pilot, "harbour.md")
        ask_screen(app).post_message(Opened(replace(status, read_only=True), Fault("No model.", "Pull one.")))
        await sees(pilot, "small.localrag (read only)")
        await sees(pilot, "Pull one.")


async def test_leaving_the_dialog_adds_nothing(tmp_path: Path) -> None:
    async with running(library(tmp_path)) as (app, pilot):
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, AddDialog))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is ask_screen(app))
        assert not ask_screen(app).session.additions.active


async def test_quitting_while_indexing_asks_and_stops_cleanly(tmp_path: Path) -> None:
    path = library(tmp_path, many(20))
    async with running(path, ScriptedModel(delay=0.2)) as (app, pilot):
        await pilot.press("f5")
        await sees(pilot, " of 20 chunks")
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("n")
        await until(pilot, lambda: app.screen is ask_screen(app))
        assert ask_screen(app).session.index_run.active
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        started = time.monotonic()
        await pilot.press("y")
        while app.is_running and time.monotonic() - started < 8:
            await pilot.pause(0.02)
        assert not app.is_running
        assert time.monotonic() - started < 4
    assert sorted(file.name for file in tmp_path.iterdir()) == ["small.localrag", "texts"]
    assert 1 <= read_chunks(path) < 20


async def test_the_list_has_the_keys_of_lists(tmp_path: Path) -> None:
    async with running(library(tmp_path, many(5)), size=(60, 20)) as (app, pilot):
        await sees(pilot, "letter00.md")
        table = ask_screen(app).documents.table
        await pilot.press("f2")
        assert not ask_screen(app).documents.display
        await pilot.press("ctrl+b")
        assert isinstance(app.focused, DocumentTable)
        await pilot.press("j", "j", "k")
        assert table.cursor_row == 1
        await pilot.press("G")
        assert table.cursor_row == 4
        await pilot.press("g")
        assert table.cursor_row == 0
        await pilot.press("slash")
        assert ask_screen(app).question.has_focus


async def test_a_file_of_an_older_version_is_brought_up_to_date_and_said_so(tmp_path: Path) -> None:
    stored = Path(__file__).parent.parent / "store" / "files" / "format-1.localrag.gz"
    path = tmp_path / "old.localrag"
    path.write_bytes(gzip.decompress(stored.read_bytes()))
    async with running(path) as (_, pilot):
        await sees(pilot, "format-1")
