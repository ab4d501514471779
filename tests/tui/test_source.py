"""The source panel: the passage within its document, its neighbours, its file, and where it is shown."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widget import Widget

from localrag.answering.sources import SourceView
from localrag.answering.types import Citation
from localrag.kb import KnowledgeBase
from localrag.tui.app import LocalragApp
from localrag.tui.screens.ask import AskScreen
from localrag.tui.screens.document import DocumentScreen
from localrag.tui.screens.place import PlaceScreen
from localrag.tui.widgets.beside import Beside, BesideScreen, Panel, close_beside, show_passage, show_source
from localrag.tui.widgets.question import Question
from localrag.tui.widgets.source import SourcePanel, found_on_disk, loaded
from localrag.tui.widgets.text_lines import TextLines
from tests.tui.support import ask_screen, library, running, screen_text, sees, until

PARTS = [
    f"## Part {number}\n\nAda Lund repaired the harbour bridge in {1900 + number}. Eleven men helped her, "
    "and the work took the whole of the summer, until the leaves fell and the rain began.\n\n"
    for number in range(30)
]
TEXT = "# The harbour\n\n" + "".join(PARTS)
CITED = "Ada Lund repaired the harbour bridge in 1911."
ANSWER = "The bridge was repaired by Ada Lund in 1911 [1].\n\n### References\n- [1] [DC] harbour.md\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    library(tmp_path, {"harbour.md": TEXT, "mill.md": "The mill stands.\n", "odd.txt": "a\x1b[31mred\tmill"})
    return tmp_path


def citation(document: str = "harbour.md", text: str = CITED) -> Citation:
    start = TEXT.find(text)
    return Citation(1, f"[DC] {document}", "document", document, None, start, start + len(text), text)


def place(app: LocalragApp) -> AskScreen:
    return ask_screen(app)


def lines(app: LocalragApp) -> TextLines:
    return app.screen.query(TextLines).last()


async def beside(app: LocalragApp, pilot: Pilot[None]) -> AskScreen:
    """The place with room at its side for a panel, whether it has that by itself or not."""
    screen = place(app)
    if not screen.query(Beside):
        body = screen.query_one("#body")
        body.styles.layout = "horizontal"
        await body.mount(Beside())
    await pilot.pause()
    return screen


def on_rows(app: LocalragApp, sign: str) -> str:
    """What stands on the rows that have a sign before them, as one line."""
    rows = [
        line.split(sign, 1)[1].strip(" │▁▂▃▄▅▆▇█") for line in screen_text(app).splitlines() if sign in line
    ]
    return " ".join(rows)


async def test_a_citation_opens_in_its_document_and_the_neighbours_are_a_key_away(folder: Path) -> None:
    with KnowledgeBase.open(folder / "small.localrag") as kb:
        kb.tags.add("bridges", ["harbour.md"])
    async with running(folder / "small.localrag") as (app, pilot):
        await until(pilot, lambda: app.doings.status is not None)
        before = app.focused
        show_source(place(app), citation(), "Who?", answer=ANSWER)
        await sees(pilot, "▌")
        assert isinstance(app.screen, BesideScreen)
        text = screen_text(app)
        assert "harbour.md · The harbour › Part 11" in text
        assert "Tags: bridges" in text
        assert "The file is as it was when it was read." in text
        assert "The answer says: The bridge was repaired by Ada Lund in 1911." in text
        assert on_rows(app, "▌").startswith(CITED)
        assert marked(app) == ["Ada", "Lund", "repaired", "bridge", "1911"]
        here = number(app)
        await pilot.press("n")
        await sees(pilot, f"Passage {here + 1} of")
        assert "beside the cited one" in screen_text(app)
        assert "┊" in screen_text(app)
        await pilot.press("p", "p")
        await sees(pilot, f"Passage {here - 1} of")
        await pilot.press("c")
        await sees(pilot, f"Passage {here} of")
        assert on_rows(app, "▌").startswith(CITED)
        await pilot.press("y")
        assert app.clipboard.startswith(f"{CITED}\n\n(harbour.md · ")
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, DocumentScreen) and app.screen.is_mounted)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, BesideScreen) and app.screen.is_mounted)
        await pilot.press("G")
        await sees(pilot, "## Part 29")
        await pilot.press("n", "g")
        await sees(pilot, "# The harbour")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is place(app))
        assert app.focused is before


def marked(app: LocalragApp) -> list[str]:
    """The words that are underlined on the screen."""
    strips = app.screen._compositor.render_strips()
    return [
        segment.text
        for strip in strips
        for segment in strip
        if segment.style is not None and segment.style.underline and segment.style.bold
    ]


def number(app: LocalragApp) -> int:
    """The number of the passage that is looked at."""
    return int(screen_text(app).split("Passage ", 1)[1].split(" ", 1)[0])


async def test_what_became_of_the_file_is_said_and_it_is_opened_by_the_persons_editor(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, seen = folder / "texts" / "harbour.md", folder / "seen"
    editor = folder / "code"
    editor.write_text(
        f"#!{sys.executable}\nimport sys\nopen({str(seen)!r}, 'a').write(sys.argv[-1] + '\\n')\n"
    )
    editor.chmod(0o755)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    async with running(folder / "small.localrag") as (app, pilot):
        await until(pilot, lambda: app.doings.status is not None)
        file.write_text("One more line.\n\n" + TEXT)
        show_source(place(app), citation(), "Who?")
        await sees(pilot, "! The file has changed since it was read.")
        await until(pilot, lambda: isinstance(app.focused, TextLines))
        await pilot.press("o")
        await sees(pilot, "No editor is chosen.")
        monkeypatch.setenv("EDITOR", str(editor))
        await pilot.press("o")
        await until(pilot, seen.exists)
        line = TEXT[: TEXT.index(CITED)].count("\n") + 3
        await until(pilot, lambda: seen.read_text() == f"{file}:{line}\n")
        monkeypatch.setattr("localrag.tui.editors.viewer", lambda: str(editor))
        await pilot.press("O")
        await until(pilot, lambda: seen.read_text() == f"{file}:{line}\n{file}\n")
        file.unlink()
        await pilot.press("o")
        await sees(pilot, "The panel shows what was read")
        await pilot.press("q")
        show_source(place(app), citation())
        await sees(pilot, "! The file is not there any more; this is what was read of it.")
        await pilot.press("escape")
        show_source(place(app), citation(text="This was never there."))
        await sees(pilot, "was deleted or changed since")
        # Notifications have a bar at their left too.
        app.clear_notifications()
        await until(pilot, lambda: on_rows(app, "▌") == "This was never there.")
        await until(pilot, lambda: isinstance(app.focused, TextLines))
        await pilot.press("o")
        await sees(pilot, "Where the file lies")
        await pilot.press("d", "n")
        await sees(pilot, "The document is not in")


async def test_beside_a_wide_place_panels_replace_each_other_and_give_the_focus_back(folder: Path) -> None:
    async with running(folder / "small.localrag", size=(140, 40)) as (app, pilot):
        await until(pilot, lambda: app.doings.status is not None)
        screen = await beside(app, pilot)
        question: Widget = screen.query_one(Question)
        question.focus()
        show_source(screen, citation(), "Who?", answer=ANSWER)
        await sees(pilot, "▌")
        assert app.screen is screen
        await until(pilot, lambda: isinstance(app.focused, TextLines))
        show_passage(screen, document(folder, "mill.md"), 4, 8, words=["MILL"], title="The mill")
        await until(pilot, lambda: "The mill stands." in screen_text(app) and len(screen.query(Panel)) == 1)
        assert marked(app)[-1:] == ["mill"]
        assert "The mill" in screen_text(app)
        await until(pilot, lambda: isinstance(app.focused, TextLines))
        await pilot.press("escape")
        await until(pilot, lambda: app.focused is question)
        assert not screen.query_one(Beside).display
        assert not close_beside(screen)
        show_source(screen, citation())
        await sees(pilot, "▌")
        question.focus()
        assert close_beside(screen)
        await until(pilot, lambda: not screen.query(Panel))
        assert app.focused is question
        show_source(screen, citation())
        await sees(pilot, "▌")
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: isinstance(app.screen, BesideScreen) and app.screen.is_mounted)
        await sees(pilot, "▌")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        assert not screen.query_one(Beside).display


def document(folder: Path, path: str) -> int:
    with KnowledgeBase.open(folder / "small.localrag") as kb:
        return next(row.id for row in kb.status().documents if row.path == path)


async def test_what_a_terminal_would_obey_is_taken_out_and_a_document_that_went_is_said(folder: Path) -> None:
    async with running(folder / "small.localrag") as (app, pilot):
        await until(pilot, lambda: app.doings.status is not None)
        screen: PlaceScreen = place(app)
        show_passage(screen, document(folder, "odd.txt"), 0, 99, words=["mill"], title="odd [b]\x1b[31m")
        await sees(pilot, "ared    mill")
        assert "odd [b]" in screen_text(app)
        assert marked(app) == ["mill"]
        await pilot.press("y")
        assert app.clipboard.startswith("ared    mill\n")
        await pilot.press("escape")
        show_passage(screen, 999, 0, 5)
        await sees(pilot, "There is no document 999")
        await pilot.press("y", "n", "p", "c", "o", "O", "d", "j", "G")
        assert isinstance(app.screen, BesideScreen)


class CountedLines(TextLines):
    """Counts the rows that are drawn."""

    drawn = 0

    def render_line(self, y: int) -> Strip:
        self.drawn += 1
        return super().render_line(y)


class Reading(App[None]):
    """A text alone."""

    def compose(self) -> ComposeResult:
        yield CountedLines()


@pytest.fixture
def long_view() -> SourceView:
    text = "\n".join(f"Line {number} 船 of a long document" for number in range(100_000))
    start = text.index("Line 50000 ")
    return SourceView("long.txt", text, (start, start + 10), marks=((start, start + 4),))


async def test_a_hundred_thousand_lines_scroll_at_once(long_view: SourceView) -> None:
    found = loaded(long_view)
    app = Reading()
    async with app.run_test(size=(80, 24)) as pilot:
        widget = app.query_one(CountedLines)
        widget.focus()
        widget.show(found.text, found.cited, found.marks)
        await until(pilot, lambda: "▌ Line 50000 " in screen_text(app), 30)
        await pilot.press("G")
        await until(pilot, lambda: "Line 99999 " in screen_text(app))
        await pilot.press("g", *("j" for _ in range(20)))
        await until(pilot, lambda: "Line 20 " in screen_text(app).splitlines()[0])
        assert widget.drawn < 10_000  # some screens for each of the 22 keys; there are 100,000 rows
        await pilot.resize_terminal(20, 10)
        await until(pilot, lambda: len(widget.rows) >= 200_000, 30)
        await until(pilot, lambda: "Line 20 " in screen_text(app).splitlines()[0])


def test_a_file_is_read_to_find_the_line_unless_it_cannot_be(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    view = SourceView("a.txt", "x\nTomas\n", (2, 7), file=str(file), line=2)
    assert found_on_disk(view, "Tomas")[2] is not None
    file.write_text("x\ny\nTomas\n")
    assert found_on_disk(view, "Tomas") == (file, 3, None)
    assert found_on_disk(SourceView("a.pdf", "", (0, 0), file=str(file)), "Tomas") == (file, None, None)
    _, _, fault = found_on_disk(SourceView("a", "", (0, 0), file=str(tmp_path), line=4), "Tomas")
    assert fault is not None
    assert "cannot be read" in fault.message


@pytest.mark.slow
@pytest.mark.parametrize("size", [(60, 20), (140, 40), (60, 12)])
async def test_the_panel_fits_every_terminal(folder: Path, size: tuple[int, int]) -> None:
    async with running(folder / "small.localrag", size=size) as (app, pilot):
        await until(pilot, lambda: app.doings.status is not None)
        show_source(place(app), citation(), "Who?", answer=ANSWER)
        await sees(pilot, "▌")
        await sees(pilot, "esc Close")
        text = screen_text(app)
        assert all(len(line) <= size[0] for line in text.splitlines())
        assert on_rows(app, "▌").startswith(CITED[:30])
        assert isinstance(app.screen.query(SourcePanel).last(), SourcePanel)
