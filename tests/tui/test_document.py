"""A document that is read: its passages, what was found in them, searching, trying again."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.widgets import Input

from localrag.kb import KnowledgeBase
from localrag.tui.app import LocalragApp
from localrag.tui.reading import find, prepare
from localrag.tui.screens import document
from localrag.tui.screens.document import DocumentScreen
from localrag.tui.screens.library import LibraryScreen
from localrag.tui.widgets.passage_text import FAILED, PassageText, passage_at
from tests.tui.notices import noted, says
from tests.tui.support import engines, go, library, running, screen_text, sees, session_of, until

PART = (
    "\x1b[31m# Part {n}\n\nAda Lund\tmet Piet Koster in port {n}. "
    + "Salt and tea came by ship. " * 150
    + "\n\n"
)
TEXT = "".join(PART.replace("{n}", str(number)) for number in range(1, 5))


async def opened(
    pilot: Pilot[None], app: LocalragApp, document_id: int = 1, chunk_id: int | None = None
) -> DocumentScreen:
    """The document, open over the library."""
    await go(pilot, app, "library", LibraryScreen)
    screen = DocumentScreen(session_of(app), document_id, chunk_id=chunk_id)
    app.push_screen(screen)
    await sees(pilot, "Passage ")
    return screen


async def search(pilot: Pilot[None], screen: DocumentScreen, words: str) -> None:
    """Search in the text."""
    await pilot.press("slash")
    screen.query_one(Input).value = words
    await pilot.press("enter")


def test_places_follow_the_text_as_it_is_shown(tmp_path: Path) -> None:
    path = library(tmp_path, {"parts.md": TEXT}, indexed=True)
    with KnowledgeBase.open(path) as kb:
        reading = prepare(kb.library.open(1))
        found = kb.library.findings(reading.opening.passages[0].id)
    assert "\x1b" not in reading.text
    assert "\t" not in reading.text
    assert len(reading.spans) == len(reading.opening.passages) > 2
    for (start, end), stored in zip(reading.spans, reading.opening.passages, strict=True):
        original = (
            reading.opening.text[stored.start : stored.end].replace("\x1b[31m", "").replace("\t", "    ")
        )
        assert reading.text[start:end] == original
    named = {item.name: item for item in found if item.kind == "entity"}
    assert "Ada Lund" in named
    for name, item in named.items():
        for left, right in reading.shown(0, item.spans):
            assert reading.text[left:right] == name
    assert reading.line_of(0) == 1
    assert reading.line_of(len(reading.spans) - 1) > 1
    assert passage_at(reading.starts, reading.spans[2][0] + 1) == 2


def test_searching_takes_any_case_and_any_white_space() -> None:
    assert find("The old\n  MILL, the old mill", "old mill") == [(4, 14), (20, 28)]
    assert find("a.b", ".") == [(1, 2)]
    assert find("abc", "  ") == []
    assert len(find("a" * 50, "a", most=7)) == 7


async def test_passages_findings_and_searching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = library(tmp_path, {"parts.md": TEXT}, indexed=True)
    asked: list[int] = []
    monkeypatch.setattr(document, "go_to_entity", lambda app, entity_id: asked.append(entity_id))
    async with running(path) as (app, pilot):
        await go(pilot, app, "library", LibraryScreen)
        told = noted(app)
        await sees(pilot, "parts.md")
        await pilot.press("enter")
        await sees(pilot, "Passage 1 of ")
        screen = app.screen
        assert isinstance(screen, DocumentScreen)
        await sees(pilot, "▌ # Part 1")
        await sees(pilot, "Ada Lund")
        await until(pilot, lambda: screen.pane.findings)
        assert max(map(len, screen_text(app).split("\n"))) <= 80
        await pilot.press("n")
        await sees(pilot, "Passage 2 of ")
        await pilot.press("p", "p")
        await until(pilot, lambda: says(told, "That is the first passage."))
        screen.query_one(PassageText).scroll_end(animate=False)
        await until(pilot, lambda: "Passage 1 of" not in screen_text(app))
        screen.query_one(PassageText).scroll_home(animate=False)
        await sees(pilot, "Passage 1 of")
        await pilot.press("tab")
        await until(pilot, lambda: screen.pane.lines.has_focus and screen.pane.findings)
        await pilot.press("G", "g")
        await sees(pilot, "▌┊")
        await pilot.press("enter")
        await until(pilot, lambda: asked)
        found = screen.pane.current
        assert found is not None
        assert asked == [found.entity_id]
        await search(pilot, screen, "koster in PORT 3")
        await sees(pilot, "match 1 of 1")
        await sees(pilot, "port 3")
        screen._show_findings(screen._findings)  # what was found comes after the match was marked
        assert screen.text._near == screen._matches[0]
        assert screen._matches[0] in screen.text._marks
        await pilot.press("escape")
        await sees(pilot, "characters")
        await search(pilot, screen, "salt and")
        await sees(pilot, "match ")
        first = screen._match
        await pilot.press("n")
        await until(pilot, lambda: screen._match == first + 1)
        await pilot.press("N")
        await until(pilot, lambda: screen._match == first)
        await search(pilot, screen, "nowhere")
        await until(pilot, lambda: says(told, "“nowhere” is not in the text."))
        await pilot.press("escape")
        assert isinstance(app.screen, DocumentScreen)
        await pilot.press("y")
        assert app.clipboard.startswith("#") or "Salt and tea" in app.clipboard
        await pilot.click(screen.text, Offset(5, 0))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, LibraryScreen) and app.screen.is_mounted)


async def test_what_failed_says_why_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = library(tmp_path, {"parts.md": TEXT})
    with KnowledgeBase.open(path, engines=engines()) as kb:
        passages = kb.library.passages(1)
        kb._store.chunks.mark_failed(passages[1].id, "It never\x1b[31m ended.", attempts=2)
    monkeypatch.setenv("EDITOR", "")
    monkeypatch.setenv("VISUAL", "")
    async with running(path) as (app, pilot):
        told = noted(app)
        screen = await opened(pilot, app, chunk_id=passages[0].id)
        await sees(pilot, "This passage waits to be read.")
        assert "r Retry" not in screen_text(app)
        await pilot.press("f")
        await sees(pilot, "Passage 2 of ")
        await sees(pilot, "It never ended.")
        await sees(pilot, "r Retry")
        await pilot.press("p")
        await sees(pilot, "Passage 1 of ")
        screen.text.go_to(screen._reading.starts[1])  # type: ignore[union-attr]
        await sees(pilot, FAILED)
        await pilot.press("f", "r")
        await until(pilot, lambda: says(told, "waits to be read again"))
        await sees(pilot, "waits to be read")
        await pilot.press("o")
        await until(pilot, lambda: says(told, "No editor is chosen."))
        (tmp_path / "texts" / "parts.md").unlink()
        await pilot.press("o")
        await until(pilot, lambda: says(told, "The file is not on this machine"))
        await pilot.press("i")
        await until(pilot, lambda: session_of(app).index_run.preferred == (1,))
        await until(pilot, lambda: not session_of(app).index_run.active, 30)
    with KnowledgeBase.open(path) as kb:
        assert {passage.state for passage in kb.library.passages(1)} == {"read"}


@pytest.mark.slow
@pytest.mark.parametrize("size", [(60, 20), (140, 40)])
async def test_it_fits_other_sizes_and_a_file_without_text_says_why(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    path = library(tmp_path, {"parts.md": TEXT}, indexed=True)
    (tmp_path / "bad.md").write_bytes(b"\x00\x01\x02\xff" * 50)
    with KnowledgeBase.open(path, engines=engines()) as kb:
        kb.add([tmp_path / "bad.md"])
    async with running(path, size=size) as (app, pilot):
        await opened(pilot, app)
        await sees(pilot, "Ada Lund")
        await pilot.press("escape")
        app.push_screen(DocumentScreen(session_of(app), 2))
        await sees(pilot, "failed: It is binary data")
        await pilot.press("n", "f", "y", "slash", "escape", "escape")
        await until(pilot, lambda: isinstance(app.screen, LibraryScreen) and app.screen.is_mounted)


@pytest.mark.slow
async def test_a_large_document_opens_at_once(tmp_path: Path) -> None:
    path = library(tmp_path, {})
    big = "".join(
        f"Line {number}: the ship Aurora left with salt and came with tea.\n" for number in range(40_000)
    )
    with KnowledgeBase.open(path, engines=engines()) as kb:
        from tests.store.helpers import add

        add(kb._store, "big.txt", big)
    async with running(path) as (app, pilot):
        screen = await opened(pilot, app)
        await sees(pilot, "Line 0:")
        await pilot.press("slash", *"line 39999:", "enter")
        await sees(pilot, "match 1 of 1")
        await sees(pilot, "Line 39999:")
        assert screen.text.rows.row_at(len(big)) >= 40_000
