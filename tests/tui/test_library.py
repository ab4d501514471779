"""The library: the table, finding in it, deleting, tags, comparing with folders, trying again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual.geometry import Offset
from textual.widgets import Checkbox

from localrag.engine.scripted import ScriptedModel
from localrag.kb import KnowledgeBase
from localrag.store.rows import DocumentRow, DocumentStatus
from localrag.store.shelf_rows import ShelfRow
from localrag.tui.messages import Refreshed
from localrag.tui.screens.comparing import SyncDialog
from localrag.tui.screens.deleting import DeleteDialog
from localrag.tui.screens.dialogs import Confirm
from localrag.tui.screens.folders import FoldersDialog
from localrag.tui.screens.library import LibraryScreen
from localrag.tui.screens.tagging import TagsDialog
from localrag.tui.shelf import View, arrange, details, local_date
from localrag.tui.words import Fault
from tests.tui.notices import noted, says
from tests.tui.support import engines, go, library, many, running, screen_text, sees, session_of, until


def row(number: int, status: DocumentStatus = "indexed", **more: object) -> ShelfRow:
    """A document for the functions that need no file."""
    of = DocumentRow(
        number, f"letters/{number}.md", "/r", "", number * 100, 0.0, "text/markdown", f"Letter {number}",
        "en", status, "", 10, 4, 4, 0,
    )  # fmt: skip
    fields = {key: value for key, value in more.items() if key in ("pages", "tags", "left_out", "added_at")}
    others = {key: value for key, value in more.items() if key not in fields}
    start = ShelfRow(replace(of, **others), "2026-11-30T12:00:00+00:00", None, (), 0)  # type: ignore[arg-type]
    return replace(start, **fields)  # type: ignore[arg-type]


def numbers(rows: list[ShelfRow], view: View) -> list[int]:
    """Ids of what a view shows."""
    return [found.document.id for found in arrange(rows, view).rows]


def test_a_view_chooses_and_orders() -> None:
    rows = [
        row(1, tags=("Ships",)),
        row(2, "failed", reason="No text.", chunks=0, read=0),
        row(3, "waiting", read=1),
        row(10, "waiting", read=0, pages=7, language="zh"),
        row(4, tags=("harbour", "Ships"), title="The MILL"),
    ]
    assert arrange(rows, View()).counts == {
        "": 5, "waiting": 1, "reading": 1, "indexed": 2, "failed": 1, "skipped": 0,
    }  # fmt: skip
    assert numbers(rows, View()) == [1, 10, 2, 3, 4]
    assert numbers(rows, View(state="reading")) == [3]
    partly = [*rows, row(5, failed=1, read=3)]
    assert arrange(partly, View()).counts["failed"] == 2
    assert numbers(partly, View(state="failed")) == [2, 5]
    assert numbers(partly, View(state="indexed")) == [1, 4, 5]
    assert numbers(rows, View(text="ships letters")) == [1, 4]
    assert numbers(rows, View(text="the mill")) == [4]
    assert numbers(rows, View(text="nowhere")) == []
    by_size = View().ordered_by("size")
    assert numbers(rows, by_size) == [10, 4, 3, 2, 1]
    assert numbers(rows, by_size.ordered_by("size")) == [1, 2, 3, 4, 10]
    assert numbers(rows, View(order="state"))[:2] == [2, 3]
    assert numbers(rows, View(order="read"))[0] == 2
    assert numbers(rows, View(order="tags"))[:2] == [4, 1]
    assert numbers(rows, View(order="pages", descending=True))[0] == 10
    for column in ("language", "added"):
        assert len(numbers(rows, View().ordered_by(column))) == 5


def test_details_say_why_and_how_much() -> None:
    failed = details(
        row(2, "failed", reason="It is\x1b[31m locked.", failed=2, left_out=1, tags=("a", "b"), pages=3)
    )
    assert failed.split("\n")[0] == "/r/letters/2.md"
    assert "failed: It is locked." in failed
    assert "2 failed" in failed
    assert "1 left out" in failed
    assert "3 pages" in failed
    assert "tags: a, b" in failed
    assert local_date("nonsense") == "nonsense"


async def test_the_table_is_searched_ordered_and_narrowed(tmp_path: Path) -> None:
    path = library(tmp_path, indexed=True)
    (tmp_path / "bad.md").write_bytes(b"\x00\x01\x02\xff" * 50)
    (tmp_path / "late.md").write_text("The ship Aurora came back with tea.")
    with KnowledgeBase.open(path, engines=engines()) as kb:
        kb.add([tmp_path / "late.md", tmp_path / "bad.md"])
        kb.tags.add("Ships", ["late.md"])
    async with running(path) as (app, pilot):
        shown = await go(pilot, app, "library", LibraryScreen)
        await sees(pilot, "[All 5] Waiting 1  Indexed 3  Failed 1")
        lines = screen_text(app).split("\n")
        assert lines[4].split()[:2] == ["›", "[red]x[.txt"]
        assert "1/1" in lines[4]
        assert max(map(len, lines)) <= 80
        await pilot.press("f", "f", "f")
        await sees(pilot, "[Failed 1]")
        await until(pilot, lambda: "late.md" not in screen_text(app))
        await sees(pilot, "failed: It is binary data")
        await pilot.press("escape")
        await sees(pilot, "[All 5]")
        await pilot.press("slash", *"ships")
        await until(pilot, lambda: "harbour.md" not in screen_text(app))
        await sees(pilot, "tags: Ships")
        await pilot.press(*"x")
        await sees(pilot, "No document is like that.")
        await pilot.press("escape")
        await until(pilot, lambda: shown.pane.table.has_focus)
        await sees(pilot, "harbour.md")
        await pilot.press("s")
        await sees(pilot, "State ▲")
        await until(pilot, lambda: shown.pane.shown[0].document.path == "bad.md")
        await pilot.press("v")
        await until(pilot, lambda: shown.pane.shown[-1].document.path == "bad.md")
        await pilot.click(shown.pane.table, Offset(4, 0))
        await sees(pilot, "Document ▲")
        chip = next(chip for chip in shown.pane.query("StateChip") if "Waiting" in str(chip.render()))
        await pilot.click(chip)
        await until(pilot, lambda: [found.document.path for found in shown.pane.shown] == ["late.md"])
        await pilot.press("y")
        assert app.clipboard.endswith("/late.md")


async def test_documents_are_tagged_and_deleted_after_a_look_at_what_goes(tmp_path: Path) -> None:
    path = library(tmp_path, indexed=True)
    async with running(path) as (app, pilot):
        told = noted(app)
        await go(pilot, app, "library", LibraryScreen)
        await sees(pilot, "mill.md")
        await pilot.press("j", "space", "space", "t")
        await until(pilot, lambda: isinstance(app.screen, TagsDialog) and app.screen.is_mounted)
        await sees(pilot, "Tags of 2 documents")
        await sees(pilot, "No tags yet.")
        await pilot.press(*"Old town", "enter")
        await sees(pilot, "[x]   Old town")
        await pilot.press("tab", "enter")
        await sees(pilot, "No tags yet.")
        await pilot.press("shift+tab", *"river", "enter")
        await sees(pilot, "[x]   river")
        await pilot.press("escape")
        await sees(pilot, "tags: river")
        await pilot.press("x")
        await until(pilot, lambda: isinstance(app.screen, DeleteDialog) and app.screen.is_mounted)
        await sees(pilot, "Delete 2 documents")
        await sees(pilot, "2 passages")
        await sees(pilot, "entities that nothing else speaks of")
        assert "harbour.md" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, LibraryScreen) and app.screen.is_mounted)
        await pilot.press("delete")
        await until(pilot, lambda: isinstance(app.screen, DeleteDialog) and app.screen.is_mounted)
        await pilot.press("y")
        await sees(pilot, "[All 1]")
        await until(pilot, lambda: says(told, "2 documents deleted."))
    with KnowledgeBase.open(path) as kb:
        assert [found.document.path for found in kb.library.documents()] == ["[red]x[.txt"]


async def test_folders_are_compared_and_followed_no_more(tmp_path: Path) -> None:
    path = library(tmp_path)
    (tmp_path / "texts" / "mill.md").unlink()
    (tmp_path / "texts" / "new.md").write_text("The ship Aurora left with salt.")
    async with running(path) as (app, pilot):
        await go(pilot, app, "library", LibraryScreen)
        await sees(pilot, "mill.md")
        await pilot.press("S")
        await until(pilot, lambda: isinstance(app.screen, SyncDialog) and app.screen.is_mounted)
        await sees(pilot, "1 new, 1 deleted; 2 files unchanged.")
        await sees(pilot, "its file is gone")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, LibraryScreen) and app.screen.is_mounted)
        assert "mill.md" in screen_text(app)
        await pilot.press("S")
        await sees(pilot, "1 new, 1 deleted")
        app.screen.query_one("#then-index", Checkbox).value = False
        await pilot.press("enter")
        await until(pilot, lambda: "new.md" in screen_text(app) and "mill.md" not in screen_text(app))
        await sees(pilot, "1 new, 1 deleted")
        await pilot.press("F")
        await until(pilot, lambda: isinstance(app.screen, FoldersDialog) and app.screen.is_mounted)
        await sees(pilot, f"{tmp_path.name}/texts")
        await pilot.press("x")
        await until(pilot, lambda: isinstance(app.screen, Confirm) and app.screen.is_mounted)
        await pilot.press("y")
        await sees(pilot, "No folder is followed.")
        await pilot.press("escape")
    with KnowledgeBase.open(path) as kb:
        assert kb.followed() == []
        assert kb.status().chunks.read == 0  # it was not to be indexed
        assert sorted(found.document.path for found in kb.library.documents())[1:] == ["harbour.md", "new.md"]


@pytest.mark.slow
async def test_what_failed_is_tried_again(tmp_path: Path) -> None:
    path = library(tmp_path, indexed=True)
    bad = tmp_path / "bad.md"
    bad.write_bytes(b"\x00\x01\x02\xff" * 50)
    with KnowledgeBase.open(path, engines=engines()) as kb:
        kb.add([bad])
    bad.write_text("Now it is a text about a lamp.")
    async with running(path, folder=tmp_path) as (app, pilot):
        told = noted(app)
        await go(pilot, app, "library", LibraryScreen)
        await sees(pilot, "Failed 1")
        await pilot.press("r")
        await until(pilot, lambda: says(told, "Nothing has failed"))
        await pilot.press("R")
        await until(pilot, lambda: says(told, "1 file could be read now"))
        await sees(pilot, "Waiting 1")
        await pilot.press("p")
        await until(pilot, lambda: says(told, "Nothing waits"))
        await pilot.press("f", "p")
        await until(pilot, lambda: session_of(app).index_run.preferred)
        await pilot.press("i")
        await until(pilot, lambda: session_of(app).index_run.active or "Indexed 4" in screen_text(app))


async def test_a_file_that_is_read_only_says_so_and_changes_nothing(tmp_path: Path) -> None:
    path = library(tmp_path, indexed=True)
    with KnowledgeBase.open(path) as kb:
        status = kb.status()
    async with running(path) as (app, pilot):
        told = noted(app)
        shown = await go(pilot, app, "library", LibraryScreen)
        await sees(pilot, "mill.md")
        shown.post_message(Refreshed(replace(status, read_only=True)))
        await sees(pilot, "This file can only be read")
        await pilot.press("a", "x", "t", "S", "r", "i")
        assert app.screen is shown
        assert not session_of(app).index_run.active
        await pilot.press("y")
        assert app.clipboard
        shown._failed(Fault("The disk is asleep."))
        assert says(told, "The disk is asleep.")
        shown.renew()
        await until(pilot, lambda: not shown._reading)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(60, 20), (140, 40)])
async def test_it_fits_other_sizes(tmp_path: Path, size: tuple[int, int]) -> None:
    texts = {"港湾橋の修理についての長い報告書と付録と地図と写真と手紙と日記.md": "A bridge.", **many(30)}
    async with running(library(tmp_path, texts), size=size) as (app, pilot):
        await go(pilot, app, "library", LibraryScreen)
        await sees(pilot, "[All 31] Waiting 31")
        await pilot.press("G")
        await sees(pilot, "日記.md")
        wide = size[0] > 100
        assert ("Added" in screen_text(app)) is wide
        assert ("Pages" in screen_text(app)) is wide
        for key in ("a", "escape", "x", "escape", "t", "escape", "F", "escape", "S", "escape"):
            await pilot.press(key)
            await pilot.pause(0.2)
        await until(pilot, lambda: isinstance(app.screen, LibraryScreen) and app.screen.is_mounted)


@pytest.mark.slow
async def test_adding_many_files_can_be_stopped(tmp_path: Path) -> None:
    path = library(tmp_path, {})
    (tmp_path / "more").mkdir()
    for name, text in many(99).items():
        for copy in range(12):
            (tmp_path / "more" / f"{copy}-{name}").write_text(f"{text} {copy}")
    async with running(path, folder=tmp_path) as (app, pilot):
        told = noted(app)
        await go(pilot, app, "library", LibraryScreen)
        await sees(pilot, "No documents yet.")
        session_of(app).additions.add(tmp_path / "more", then_index=True)
        await sees(pilot, "Adding (")
        await pilot.press("c")
        await until(pilot, lambda: says(told, "Stopping after the file in hand"))
        await until(pilot, lambda: not session_of(app).additions.active)
        assert not session_of(app).index_run.active
        await until(pilot, lambda: "Adding (" not in screen_text(app))
    with KnowledgeBase.open(path) as kb:
        assert 0 < len(kb.library.documents()) < 99 * 12


@pytest.mark.slow
async def test_the_table_follows_an_index_run(tmp_path: Path) -> None:
    path = library(tmp_path, many(12))
    async with running(path, ScriptedModel(delay=0.2)) as (app, pilot):
        await go(pilot, app, "library", LibraryScreen)
        await sees(pilot, "[All 12] Waiting 12")
        await pilot.press("i")
        await until(pilot, lambda: "Waiting" in screen_text(app) and "Indexed" in screen_text(app), 30)
        await sees(pilot, "[All 12] Indexed 12", 60)
