"""The place of reading: before a run, while it goes on, paused, stopped, failed, and after it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from textual.widgets import Button

from localrag.engine.scripted import ScriptedModel
from localrag.engine.types import Event, GenerationRequest, ProgressEvent
from localrag.kb import KnowledgeBase
from localrag.runlock import only_run
from localrag.tui.screens.dialogs import Confirm
from localrag.tui.screens.document import DocumentScreen
from localrag.tui.screens.graph import GraphScreen
from localrag.tui.screens.index import IndexScreen
from localrag.tui.screens.library import LibraryScreen
from tests.conftest import TEXTS, reader
from tests.tui.support import (
    BrokenModel,
    ask,
    ask_screen,
    go,
    library,
    many,
    running,
    screen_text,
    sees,
    session_of,
    until,
)


class Gated(ScriptedModel):
    """Reads a passage each time the test lets it, and says how it goes meanwhile."""

    def __init__(self) -> None:
        super().__init__(reader()._answers)
        self.gate = threading.Semaphore(0)
        self.begun = 0
        self.urgent = False
        self.ended = False

    def let(self, passages: int) -> None:
        """Let some more passages be read."""
        for _ in range(passages):
            self.gate.release()

    def run(self, requests: Iterable[GenerationRequest]) -> Iterator[tuple[int, Event]]:
        """One after the other, each behind the gate."""
        try:
            for index, request in enumerate(requests):
                self.begun += 1
                while not self.gate.acquire(timeout=0.05):
                    yield -1, ProgressEvent("decode", 1, 0, 212.0, 14.0, urgent=self.urgent)
                yield index, self._generate(request)
        finally:
            self.ended = True


def kept(path: Path) -> int:
    """How many chunks are read in the file."""
    with KnowledgeBase.open(path) as kb:
        return kb.status().chunks.read


async def test_a_run_is_shown_paused_put_in_order_and_told_of(tmp_path: Path) -> None:
    model = Gated()
    path = library(tmp_path, {**TEXTS, **many(6)})
    async with running(path, model) as (app, pilot):
        await until(pilot, lambda: app.doings.status)
        screen = await go(pilot, app, "index", IndexScreen)
        run = screen.run
        await sees(pilot, "10 chunks of 10 documents wait to be read.")
        await sees(pilot, "Waiting 10")
        text = screen_text(app)
        assert "Vectors to make: of 10 chunks, and of what is found." in text
        assert "profile compact, no second look" in text
        # Enter begins, since the button has the focus.
        await until(pilot, lambda: screen.query_one("#begin", Button).has_focus)
        await pilot.press("enter")
        await sees(pilot, "Vectors of text")
        await until(pilot, lambda: model.begun == 1)
        model.let(3)
        await sees(pilot, "3 of 10 chunks")
        await sees(pilot, " → ")
        await sees(pilot, "Now: ")
        text = screen_text(app)
        assert "212 tokens/s read, 14 written" in text
        assert "chunks/min" in text
        assert "entity" in text
        assert "person" in text
        # Pause is told in every place, and the engine is told too.
        await pilot.press("space")
        await sees(pilot, "Index paused")
        await sees(pilot, "Paused: Reading. Space goes on")
        assert run.paused
        await until(pilot, lambda: session_of(app)._engines.get().background.paused)
        begun = model.begun
        model.let(2)
        await go(pilot, app, "library", LibraryScreen)
        await sees(pilot, "Index paused")
        await go(pilot, app, "index", IndexScreen)
        await pilot.press("w", "G")
        await until(pilot, lambda: screen.lists.document_at_cursor())
        last = screen.lists.document_at_cursor()
        assert last is not None
        await pilot.press("u")
        await sees(pilot, "read next")
        assert list(run.preferred) == [last.document_id]
        await until(pilot, lambda: screen.lists.list_of("waiting").cursor == 0)
        await pilot.press("d")
        await until(pilot, lambda: "read next" not in screen_text(app))
        assert not list(run.preferred)
        assert model.begun == begun
        await pilot.press("p")
        await until(pilot, lambda: not run.paused)
        # Questions go first, and that is said while the engine says so.
        model.urgent = True
        await sees(pilot, "Waits while a question is answered")
        await sees(pilot, "Index waits for the answer")
        model.urgent = False
        model.let(20)
        await until(pilot, lambda: not run.active)
        await sees(pilot, "Done.")
        await sees(pilot, "This run: 10 chunks read")
        await sees(pilot, "Everything that was added is read.")
        assert "names and 5 relations found" in screen_text(app)
        # What came out stays, and leads to the graph.
        await pilot.press("f", "g", "enter")
        await until(pilot, lambda: isinstance(app.screen, GraphScreen) and app.screen.is_mounted)
    assert kept(path) == 10


async def test_a_stop_keeps_what_was_read_and_a_second_run_goes_on(tmp_path: Path) -> None:
    model = Gated()
    path = library(tmp_path, many(5))
    async with running(path, model) as (app, pilot):
        await until(pilot, lambda: app.doings.status)
        screen = await go(pilot, app, "index", IndexScreen)
        await sees(pilot, "5 chunks of 5 documents")
        await pilot.press("b")
        await until(pilot, lambda: model.begun == 1)
        model.let(2)
        await sees(pilot, "2 of 5 chunks")
        await pilot.press("space")
        await sees(pilot, "Paused: Reading")
        # A stop is obeyed while it stands still, and the next run does not begin paused.
        await pilot.press("s")
        await until(pilot, lambda: not screen.run.active)
        await sees(pilot, "Stopped. What was read is kept, and the next run goes on from there.")
        await sees(pilot, "3 chunks of 3 documents wait to be read.")
        assert not session_of(app)._engines.get().background.paused
        assert kept(path) == 2
        await pilot.press("b")
        model.let(9)
        await sees(pilot, "Done.")
        assert not screen.run.paused
    assert kept(path) == 5


class Picky(Gated):
    """Cannot read some letters."""

    def __init__(self) -> None:
        super().__init__()
        self.bad = True
        self._fail = lambda request: self.bad and "Letter 3" in str(request.messages)
        self.let(99)


async def test_what_failed_is_listed_opened_and_tried_again_by_one_key(tmp_path: Path) -> None:
    model = Picky()
    path = library(tmp_path, many(5))
    async with running(path, model) as (app, pilot):
        await until(pilot, lambda: app.doings.status)
        screen = await go(pilot, app, "index", IndexScreen)
        await sees(pilot, "5 chunks of 5 documents")
        await pilot.press("b")
        await sees(pilot, "1 failed")
        await sees(pilot, "Failed 1")
        await pilot.press("x")
        await sees(pilot, "letter03.md")
        await until(pilot, lambda: screen.lists.list_of("failed").has_focus)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, DocumentScreen) and app.screen.is_mounted)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        model.bad = False
        await pilot.press("r")
        await sees(pilot, "This run: 1 chunk read")
        await sees(pilot, "Nothing has failed.")
    assert kept(path) == 5


async def test_a_crash_is_told_with_what_is_kept_and_tried_again_by_one_key(tmp_path: Path) -> None:
    class Dying(Gated):
        """Dies over the third passage, once."""

        def run(self, requests: Iterable[GenerationRequest]) -> Iterator[tuple[int, Event]]:
            self.let(2)
            for item in super().run(requests):
                if self.begun == 3:
                    self.let(99)
                    raise BrokenModel()._error
                yield item

    path = library(tmp_path, many(4))
    async with running(path, Dying()) as (app, pilot):
        await until(pilot, lambda: app.doings.status)
        screen = await go(pilot, app, "index", IndexScreen)
        await sees(pilot, "4 chunks of 4 documents")
        await pilot.press("b")
        await sees(pilot, "The index run ended early.")
        await sees(pilot, "Try again (b)")
        text = screen_text(app)
        assert "The engine stopped [b]while it read[/b]." in text
        assert "Kept: 2 chunks read in this run. Press b to try again." in text
        assert kept(path) == 2
        await pilot.click("#begin")
        await sees(pilot, "Done.")
        assert screen.run.fault is None
    assert kept(path) == 4


async def test_another_program_that_indexes_is_named(tmp_path: Path) -> None:
    path = library(tmp_path, many(2))
    async with running(path, Gated()) as (app, pilot):
        await until(pilot, lambda: app.doings.status)
        screen = await go(pilot, app, "index", IndexScreen)
        await sees(pilot, "2 chunks of 2 documents")
        with only_run(path):
            await pilot.press("b")
            await sees(pilot, "is being indexed by another program")
            await sees(pilot, "Wait until it is done, or stop it.")
        assert not screen.run.active


async def test_closing_while_it_indexes_asks_and_keeps_what_was_read(tmp_path: Path) -> None:
    model = Gated()
    path = library(tmp_path, many(5))
    async with running(path, model) as (app, pilot):
        await until(pilot, lambda: app.doings.status)
        await go(pilot, app, "index", IndexScreen)
        await sees(pilot, "5 chunks of 5 documents")
        await pilot.press("b")
        await until(pilot, lambda: model.begun == 1)
        model.let(2)
        await sees(pilot, "2 of 5 chunks")
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(app.screen, Confirm) and app.screen.is_mounted)
        await sees(pilot, "Indexing is still running.")
        await pilot.press("y")
        deadline = time.monotonic() + 8
        while app.is_running and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        assert not app.is_running
    assert model.ended
    assert kept(path) == 2


async def test_an_empty_file_and_one_that_is_read_say_what_to_do(tmp_path: Path) -> None:
    async with running(library(tmp_path, {}), Gated()) as (app, pilot):
        await until(pilot, lambda: app.doings.status)
        screen = await go(pilot, app, "index", IndexScreen)
        await sees(pilot, "There is nothing to read yet. Press f3")
        await pilot.press("b")
        await sees(pilot, "There is nothing to read.")
        assert not screen.run.active


async def test_it_goes_on_while_a_person_asks(tmp_path: Path) -> None:
    model = Gated()
    async with running(library(tmp_path, many(5)), model) as (app, pilot):
        await until(pilot, lambda: app.doings.status)
        session_of(app).index_run.prefer([])
        session_of(app).index_run.begin()
        await until(pilot, lambda: model.begun == 1)
        model.let(1)
        turn = await ask(pilot, app, "Where is the Aurora?")
        await until(pilot, lambda: turn.ended)
        assert ask_screen(app).is_current
        assert session_of(app).index_run.active
        model.let(9)
        await until(pilot, lambda: not session_of(app).index_run.active)
        await sees(pilot, "5 chunks read.")
        # A place that is visited only now shows what happened before.
        await go(pilot, app, "index", IndexScreen)
        await sees(pilot, "This run: 5 chunks read")


@pytest.mark.slow
@pytest.mark.parametrize("size", [(140, 40), (60, 20), (80, 24)])
async def test_every_size_shows_the_state_the_lists_and_the_keys(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    model = Gated()
    async with running(library(tmp_path, {**TEXTS, **many(20)}), model, size=size) as (app, pilot):
        await until(pilot, lambda: app.doings.status)
        screen = await go(pilot, app, "index", IndexScreen)
        await sees(pilot, "24 chunks of 24 documents")
        await sees(pilot, "Begin (b)")
        assert ("What a run does" in screen_text(app)) == (size[1] >= 30)
        await pilot.press("b")
        await until(pilot, lambda: model.begun == 1)
        model.let(5)
        await sees(pilot, "5 of 24 chunks")
        await sees(pilot, "Pause (space)")
        await sees(pilot, "Marta Lind")
        panel, lists = screen.panel.region, screen.lists.region
        assert (panel.right <= lists.x) == (size[0] >= 110)
        assert lists.height >= 6
        assert all(len(line) <= size[0] for line in screen_text(app).split("\n"))
        for column in range(40, size[0], 25):
            await pilot.resize_terminal(column, size[1])
        await pilot.resize_terminal(*size)
        await sees(pilot, "5 of 24 chunks")
        for key in ("w", "x", "n", "f"):
            await pilot.press(key)
            await until(pilot, lambda: screen.lists.shown.has_focus)
        model.let(99)
        await sees(pilot, "Done.")
