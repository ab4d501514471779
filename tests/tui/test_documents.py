"""Adding documents: the dialog, several at once, copies, adding while an index run goes on, leaving."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from textual.widgets import Checkbox, Input

from localrag.engine.scripted import ScriptedModel
from localrag.engine.types import Event, GenerationRequest
from localrag.kb import KnowledgeBase
from localrag.tui.screens.add import AddDialog
from localrag.tui.screens.dialogs import Confirm
from localrag.tui.screens.document import DocumentScreen
from localrag.tui.screens.library import LibraryScreen
from tests.tui.notices import noted, says
from tests.tui.support import go, library, many, running, screen_text, sees, session_of, until


class HeldModel(ScriptedModel):
    """Reads nothing until it may."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def run(self, requests: Iterable[GenerationRequest]) -> Iterator[tuple[int, Event]]:
        """The same events, later."""
        for found in super().run(requests):
            self.go.wait(30)
            yield found


def read_chunks(path: Path) -> int:
    """Chunks that are read in a file."""
    with KnowledgeBase.open(path) as kb:
        return kb.status().chunks.read


@pytest.mark.slow
async def test_a_hostile_name_is_shown_as_it_is_and_steers_nothing(tmp_path: Path) -> None:
    texts = {"[red]x[/red]\x1b[31m.txt".replace("/", "\u2215"): "Some text about a [b]lamp[/b]."}
    async with running(library(tmp_path, texts)) as (app, pilot):
        await go(pilot, app, "library", LibraryScreen)
        await sees(pilot, "[red]x[\u2215red]")
        assert "\x1b" not in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, DocumentScreen) and app.screen.is_mounted)
        await sees(pilot, "Some text about a [b]lamp[/b].")
        assert "\x1b" not in screen_text(app)


async def test_the_dialog_takes_paths_one_by_one_and_many_at_once(tmp_path: Path) -> None:
    path = library(tmp_path, {})
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "ship.md").write_text("The ship Aurora left with salt.")
    (tmp_path / "more" / "copy.md").write_text("The ship Aurora left with salt.")
    (tmp_path / "my tea.md").write_text("Tea came by ship.")
    (tmp_path / "mill.md").write_text("The mill was sold.")
    async with running(path, folder=tmp_path) as (app, pilot):
        await go(pilot, app, "library", LibraryScreen)
        told = noted(app)
        await sees(pilot, "No documents yet.")
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, AddDialog) and app.screen.is_mounted)
        box = app.screen.query_one(Input)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, LibraryScreen) and app.screen.is_mounted)
        await pilot.press("a", *"nowhere", "enter")
        await sees(pilot, "There is no file or folder")
        box = app.screen.query_one(Input)
        box.value = ""
        await pilot.press("m", "tab")
        await sees(pilot, "more/")
        box.value, box.cursor_position = "mor", 3
        await pilot.press("tab")
        await until(pilot, lambda: box.value == "more/")
        assert await pilot.click("#another")
        await sees(pilot, "1 path:")
        app.screen.query_one("#then-index", Checkbox).value = False
        box.value = f"'{tmp_path}/my tea.md' mill.md"
        box.focus()
        await pilot.press("enter")
        await until(pilot, lambda: says(told, "3 documents added, 1 with the content of others"))
        await sees(pilot, "[All 3] Waiting 3")
        assert not session_of(app).index_run.active
    with KnowledgeBase.open(path) as kb:
        assert [root.path for root in kb.followed()] == [str(tmp_path / "more")]


async def test_what_is_added_while_an_index_run_goes_on_is_read_after_it(tmp_path: Path) -> None:
    path, model = library(tmp_path, many(5)), HeldModel()
    (tmp_path / "late.md").write_text("The ship Aurora came back with tea.")
    async with running(path, model, folder=tmp_path) as (app, pilot):
        await go(pilot, app, "library", LibraryScreen)
        await sees(pilot, "[All 5]")
        await pilot.press("i")
        await until(pilot, lambda: session_of(app).index_run.active)
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, AddDialog) and app.screen.is_mounted)
        app.screen.query_one(Input).value = "late.md"
        await pilot.press("enter")
        await sees(pilot, "All 6")
        assert session_of(app).index_run.active
        model.go.set()
        await sees(pilot, "[All 6] Indexed 6")
        await until(pilot, lambda: not session_of(app).index_run.active)
    assert read_chunks(path) == 6


@pytest.mark.slow
async def test_quitting_while_indexing_asks_and_stops_cleanly(tmp_path: Path) -> None:
    path = library(tmp_path, many(20))
    async with running(path, ScriptedModel(delay=0.2)) as (app, pilot):
        shown = await go(pilot, app, "library", LibraryScreen)
        await sees(pilot, "[All 20]")
        await pilot.press("i")
        await sees(pilot, " of 20 chunks")
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(app.screen, Confirm) and app.screen.is_mounted)
        await pilot.press("n")
        await until(pilot, lambda: app.screen is shown)
        assert session_of(app).index_run.active
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(app.screen, Confirm) and app.screen.is_mounted)
        started = time.monotonic()
        await pilot.press("y")
        while app.is_running and time.monotonic() - started < 20:
            await pilot.pause(0.02)
        assert not app.is_running
        assert time.monotonic() - started < 8
    assert sorted(file.name for file in tmp_path.iterdir()) == ["small.localrag", "texts"]
    assert read_chunks(path) < 20


@pytest.mark.slow
async def test_a_file_of_an_older_version_is_brought_up_to_date_and_said_so(tmp_path: Path) -> None:
    stored = Path(__file__).parent.parent / "store" / "files" / "format-1.localrag.gz"
    path = tmp_path / "old.localrag"
    path.write_bytes(gzip.decompress(stored.read_bytes()))
    async with running(path) as (_, pilot):
        await sees(pilot, "format-1")
