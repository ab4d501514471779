"""The application as a whole: its first screen, its sizes, its way out."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.command import CommandPalette

from localrag.engine.scripted import ScriptedModel
from localrag.engine.types import Event, GenerationRequest
from localrag.tui import leaving
from localrag.tui.places import PLACES
from localrag.tui.screens.ask import AskScreen
from localrag.tui.screens.help import HelpScreen, keys_of
from localrag.tui.screens.library import LibraryScreen
from localrag.tui.widgets.conversation import CitationList
from tests.tui.support import ask, ask_screen, go, library, place_screen, running, screen_text, sees, until


@pytest.mark.parametrize("size", [(140, 40), (60, 20)])
async def test_every_size_shows_documents_question_and_status(tmp_path: Path, size: tuple[int, int]) -> None:
    async with running(library(tmp_path, indexed=True), size=(80, 24)) as (app, pilot):
        turn = await ask(pilot, app, "Who repaired the harbour bridge?")
        await until(pilot, lambda: turn.query(CitationList))
        await pilot.resize_terminal(*size)
        await sees(pilot, "Engine idle")
        await sees(pilot, "Ask a question")
        screen = ask_screen(app)
        assert screen.has_class("-narrow") == (size[0] < 76)
        # Where the places do not fit beside each other, the one that is shown is named.
        text = screen_text(app)
        assert "[Ask]" in text
        assert ("Communities" in text) == (size[0] >= 76)
        assert ("ctrl+g goes to another place" in text) == (size[0] < 76)
        assert screen.query_one("#asking").region.height >= 4
        assert screen.question.region.width > 20
        await pilot.press(*"And?")
        await sees(pilot, "And?")


async def test_a_tiny_terminal_leaves_the_room_to_the_question(tmp_path: Path) -> None:
    async with running(library(tmp_path, indexed=True), size=(80, 24)) as (app, pilot):
        turn = await ask(pilot, app, "Who repaired the harbour bridge?")
        await until(pilot, lambda: turn.query(CitationList))
        await pilot.resize_terminal(40, 12)
        await sees(pilot, "Ask a question")
        assert ask_screen(app).question.region.height >= 1
        await pilot.press("f3")
        await sees(pilot, "harbour.md")
        await pilot.resize_terminal(2, 2)
        await pilot.pause(0.1)
        await pilot.resize_terminal(80, 24)
        await sees(pilot, "Engine idle")


async def test_help_explains_what_has_the_focus(tmp_path: Path) -> None:
    async with running(library(tmp_path)) as (app, pilot):
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen) and app.screen.is_mounted)
        await sees(pilot, "Type a question and press enter")
        keys = [does for _, does in keys_of(ask_screen(app))]
        assert (
            keys.index("Ask the question")
            < keys.index("End localrag")
            < keys.index("Let the model read, and watch it")
        )
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, AskScreen) and app.screen.is_mounted)
        await go(pilot, app, "library", LibraryScreen)
        await sees(pilot, "harbour.md")
        await pilot.press("question_mark")
        await sees(pilot, "Every document with its state")
        library_keys = [does for _, does in keys_of(place_screen(app, LibraryScreen))]
        assert library_keys.index("Add files and folders") < library_keys.index("End localrag")


async def test_the_palette_names_every_action(tmp_path: Path) -> None:
    async with running(library(tmp_path)) as (app, pilot):
        titles = [command.title for command in app.get_system_commands(app.screen)]
        assert titles[:3] == ["Help", "Quit", "Theme"]
        places = {f"Go to {place.title}" for place in PLACES}
        assert places | {
            "Open another knowledge base",
            "Guided start",
            "Ask: Sidebar",
            "Ask: Options",
        } <= set(titles)
        for key in ("ctrl+p", "f9"):
            await pilot.press(key)
            await until(pilot, lambda: isinstance(app.screen, CommandPalette) and app.screen.is_mounted)
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, AskScreen) and app.screen.is_mounted)


async def test_it_is_readable_without_colours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with running(library(tmp_path)) as (app, pilot):
        await go(pilot, app, "library", LibraryScreen)
        await sees(pilot, "waiting")
        assert app.no_color


class StuckModel(ScriptedModel):
    """Never comes back, not even when it is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()
        self.release = threading.Event()

    def stream(self, request: GenerationRequest) -> Iterator[Event]:
        """Wait for the end of the test."""
        self.begun.set()
        self.release.wait(20)
        yield from super().stream(request)


async def test_the_way_out_is_open_even_if_a_thread_is_stuck(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaving, "CLOSE_SECONDS", 0.6)
    model = StuckModel()
    try:
        async with running(library(tmp_path), model) as (app, pilot):
            await ask(pilot, app, "Who repaired the harbour bridge?")
            await until(pilot, model.begun.is_set)
            started = time.monotonic()
            await pilot.press("ctrl+q")
            while app.is_running and time.monotonic() - started < 8:
                await asyncio.sleep(0.02)
            assert not app.is_running
            assert time.monotonic() - started < 3
            assert model.closed
    finally:
        model.release.set()


async def test_ctrl_q_ends_at_once_when_nothing_goes_on(tmp_path: Path) -> None:
    async with running(library(tmp_path)) as (app, pilot):
        await sees(pilot, "3 documents")
        await pilot.press("ctrl+q")
        started = time.monotonic()
        while app.is_running and time.monotonic() - started < 8:
            await asyncio.sleep(0.02)
        assert time.monotonic() - started < 2
    assert sorted(file.name for file in tmp_path.iterdir()) == ["small.localrag", "texts"]
