"""The first screen: what is listed, what can be typed, and files that cannot be opened."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest
from textual.widgets import Button, Input

from localrag.kb import KnowledgeBase
from localrag.tui import recent
from localrag.tui.completing import complete
from localrag.tui.screens.ask import AskScreen
from localrag.tui.screens.dialogs import Confirm
from localrag.tui.screens.opening import OpeningScreen
from localrag.tui.widgets.lines import LineList
from tests.tui.support import ask_screen, library, running, screen_text, sees, until


def names() -> list[str]:
    """What is remembered, in order."""
    return [item.path.name for item in recent.recent()]


def test_the_list_is_bounded_and_the_last_one_comes_first(tmp_path: Path) -> None:
    for number in range(recent.MOST + 5):
        recent.note(tmp_path / f"{number}.localrag", number, now=float(number))
    recent.note(tmp_path / "10.localrag", 77)
    found = recent.recent()
    assert len(found) == recent.MOST
    assert (found[0].path.name, found[0].documents) == ("10.localrag", 77)
    assert names().count("10.localrag") == 1
    recent.forget(tmp_path / "10.localrag")
    assert "10.localrag" not in names()
    assert [path.name for path in recent.recent_file().parent.iterdir()] == ["recent.json"]


def test_a_damaged_or_foreign_list_is_empty_and_written_anew(tmp_path: Path) -> None:
    good = {"path": "/a.localrag", "opened": 1, "documents": 2}
    bad = [{"path": "relative", "opened": 1, "documents": 2}, {"path": 3}, "x", {**good, "documents": "many"}]
    recent.recent_file().parent.mkdir(parents=True, exist_ok=True)
    for text in ("{", "[]", '{"form": 9, "files": []}'):
        recent.recent_file().write_text(text)
        assert recent.recent() == []
    recent.recent_file().write_text(json.dumps({"form": 1, "files": [*bad, good]}))
    assert [str(item.path) for item in recent.recent()] == ["/a.localrag"]
    recent.note(tmp_path / "b.localrag", 1)
    assert names() == ["b.localrag", "a.localrag"]


def test_a_write_that_fails_leaves_the_list_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recent.note(tmp_path / "a.localrag", 1)

    def refuse(*arguments: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr("localrag.tui.recent.os.replace", refuse)
    with pytest.raises(OSError, match="the disk is gone"):
        recent.note(tmp_path / "b.localrag", 1)
    assert names() == ["a.localrag"]
    assert [path.name for path in recent.recent_file().parent.iterdir()] == ["recent.json"]


def test_names_are_completed(tmp_path: Path) -> None:
    (tmp_path / "Notes").mkdir()
    for name in ("north.md", "nora.txt", ".hidden"):
        (tmp_path / name).touch()
    found = complete("no", tmp_path)
    assert (found.text, found.names) == ("nor", ("nora.txt", "north.md"))
    assert complete("nort", tmp_path).text == "north.md"
    assert complete("Not", tmp_path).text == "Notes/"
    assert complete("not", tmp_path).names == ("Notes/",)
    assert complete(f"{tmp_path}/nora", tmp_path / "Notes").text == f"{tmp_path}/nora.txt"
    assert complete("nora", tmp_path, lambda path: path.suffix == ".md").names == ()
    assert complete("no/such/na", tmp_path).text == "no/such/na"
    assert complete(".h", tmp_path).text == ".hidden"


async def test_what_was_opened_lately_is_listed_and_opens(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    here = tmp_path / "here"
    elsewhere.mkdir()
    here.mkdir()
    path = library(elsewhere)
    shutil.copy(path, here / "copy.localrag")
    recent.note(here / "lost.localrag", 12, now=time.time() - 7200)
    async with running(path, folder=here) as (app, pilot):
        await until(pilot, lambda: app.doings.status is not None)
        await until(pilot, lambda: names()[0] == "small.localrag")
        assert recent.recent()[0].documents == 3
        app.action_leave_file()
        await sees(pilot, "copy.localrag")
        text = screen_text(app)
        assert "just now" in text
        assert "gone" in text
        assert "2 h ago" in text
        assert "not yet" in text
        lines = app.screen.query_one(LineList)
        await until(pilot, lambda: lines.has_focus)
        await pilot.press("j", "x")
        await until(pilot, lambda: "lost.localrag" not in screen_text(app))
        await pilot.press("G", "x")
        await sees(pilot, "It is listed because")
        await pilot.press("g", "enter")
        await until(pilot, lambda: isinstance(app.screen, AskScreen) and app.screen.is_mounted)
        assert ask_screen(app).session.path == path
        assert ask_screen(app).question.has_focus
    assert (here / "copy.localrag").is_file()


async def test_a_path_is_completed_and_a_name_creates(tmp_path: Path) -> None:
    (tmp_path / "deep folder").mkdir()
    async with running(None, folder=tmp_path) as (app, pilot):
        await sees(pilot, "There is no knowledge base in")
        line = app.screen.query_one(Input)
        assert line.has_focus
        await pilot.press("enter")
        await sees(pilot, "Type a name.")
        line.value = "no/such/notes"
        await pilot.press("enter")
        await sees(pilot, "There is no folder")
        line.value = "deep"
        line.cursor_position = 4
        await pilot.press("tab")
        await until(pilot, lambda: line.value == "deep folder/")
        await pilot.press(*"notes", "enter")
        await sees(pilot, "This knowledge base is empty")
        made = tmp_path / "deep folder" / "notes.localrag"
        assert ask_screen(app).session.path == made
    with KnowledgeBase.open(made) as kb:
        assert kb.status().documents == ()


async def test_a_foreign_or_missing_file_leads_back_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("This is no knowledge base at all. " * 100)
    recent.note(tmp_path / "lost.localrag", 1)
    async with running(tmp_path / "texts.txt", folder=tmp_path) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, OpeningScreen) and app.screen.is_mounted)
        await sees(pilot, "texts.txt")
        await sees(pilot, "lost.localrag")
        assert app.session is None
        assert names() == ["lost.localrag"]
        assert not app.screen.query_one("#mend").display
        app.screen.query_one(LineList).focus()
        await pilot.press("enter")
        await sees(pilot, "is not there any more")
        assert not (tmp_path / "lost.localrag").exists()


async def test_mending_a_damaged_file_is_offered_and_told(tmp_path: Path) -> None:
    path = library(tmp_path, indexed=True)
    data = bytearray(path.read_bytes())
    data[100:4096] = bytes(3996)
    path.write_bytes(data)
    async with running(path, folder=tmp_path) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, OpeningScreen) and app.screen.is_mounted)
        mend = app.screen.query_one("#mend", Button)
        await until(pilot, lambda: mend.display)
        mend.focus()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Confirm) and app.screen.is_mounted)
        await pilot.press("y")
        await sees(pilot, "so nothing can be saved")
        assert not mend.display
    assert path.read_bytes() == data, "the damaged file itself is not touched"


@pytest.mark.slow
async def test_a_file_that_is_named_but_not_there_is_told(tmp_path: Path) -> None:
    async with running(tmp_path / "gone.localrag", folder=tmp_path, size=(140, 40)) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, OpeningScreen) and app.screen.is_mounted)
        await sees(pilot, "gone.localrag")
        assert not app.screen.query_one("#mend").display
        await pilot.press(*"fresh", "enter")
        await sees(pilot, "This knowledge base is empty")


@pytest.mark.slow
@pytest.mark.parametrize("size", [(140, 40), (60, 20)])
async def test_every_size_shows_list_and_line(tmp_path: Path, size: tuple[int, int]) -> None:
    library(tmp_path)
    async with running(None, folder=tmp_path, size=size) as (app, pilot):
        await sees(pilot, "small.localrag")
        await sees(pilot, "Open or create")
        assert app.screen.query_one(Input).region.width > 30
        assert ("this folder" in screen_text(app)) == (size[0] > 70)
