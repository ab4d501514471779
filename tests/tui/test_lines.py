"""The virtual list: length, keys, mouse, marks, headings, wide characters."""

from __future__ import annotations

import time
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.geometry import Offset
from textual.message import Message

from localrag.tui.widgets.lines import Column, LineList, Toned, fitted
from tests.tui.support import screen_text, until

COLUMNS = [
    Column("name", "Name", cut="start"),
    Column("state", "State", 8, sorts=False),
    Column("size", "Size", 6, right=True, room=40),
]


class Shown(App[None]):
    """A list alone on the screen, and what it told."""

    def __init__(self, *, multiple: bool = True, empty: str = "") -> None:
        super().__init__()
        self.lines = LineList(COLUMNS, multiple=multiple, empty=empty, id="lines")
        self.told: list[Message] = []
        self.left = 0

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "leave", "Leave")]

    def compose(self) -> ComposeResult:
        """The list."""
        yield self.lines

    def on_mount(self) -> None:
        """The keys are the list's."""
        self.lines.focus()

    def action_leave(self) -> None:
        """Count."""
        self.left += 1

    @on(LineList.Opened, "#lines")
    @on(LineList.SortAsked, "#lines")
    @on(LineList.Wanted, "#lines")
    def _told(self, message: Message) -> None:
        self.told.append(message)


def rows(number: int) -> list[list[str]]:
    """Plain rows."""
    return [[f"row {n}", "waiting", str(n)] for n in range(number)]


async def test_a_hundred_thousand_rows_cost_nothing() -> None:
    app = Shown()
    asked: list[int] = []

    def row(index: int) -> list[str]:
        asked.append(index)
        return [f"row {index}", "waiting", f"{index:,}"]

    async with app.run_test(size=(80, 24)) as pilot:
        started = time.perf_counter()
        app.lines.show(100_000, row)
        await until(pilot, lambda: "row 0 " in screen_text(app))
        await pilot.press("end")
        await until(pilot, lambda: "row 99999" in screen_text(app))
        took = time.perf_counter() - started
        assert "99,999" in screen_text(app)
        assert len(asked) < 1000
        await pilot.press("pageup", "k", "up")
        assert app.lines.cursor == 99_999 - 22 - 2
        await pilot.press("g")
        await until(pilot, lambda: "row 0 " in screen_text(app))
        await pilot.press("j", "down", "pagedown")
        assert app.lines.cursor == 24
        assert 24 in app.lines.in_sight
        await pilot.press("G")
        assert app.lines.cursor == 99_999
        app.lines.scroll_to(y=50_000, animate=False)
        await until(pilot, lambda: "row 50000" in screen_text(app))
    assert took < 3.0


async def test_columns_fit_the_width_and_wide_characters_their_cells() -> None:
    app = Shown()
    async with app.run_test(size=(60, 12)) as pilot:
        app.lines.show_rows(
            [
                ["港湾橋の修理についての長い長い報告書と付録と地図と写真と手紙.md", "failed", "12"],
                ["a\x1b[31mb\nc", Toned("indexed", "good"), "7"],
                [Text("[b]bold[/b] and far too long for the room that there is, so it is cut"), "x", "1"],
            ]
        )
        await until(pilot, lambda: "failed" in screen_text(app))
        lines = screen_text(app).split("\n")
        assert lines[0].split() == ["Name", "State", "Size"]
        assert lines[1].startswith("› …")
        assert ".md failed" in lines[1]
        assert lines[2].startswith("  ab c ")
        assert "[b]bold[/b]" in lines[3]
        assert "…" in lines[3]
        failed, indexed = lines[1].split("failed")[0], lines[2].split("indexed")[0]
        assert cell_len(failed) == cell_len(indexed)
        assert lines[1].endswith("12")
        assert lines[2].endswith(" 7")
        assert cell_len(lines[1]) == cell_len(lines[2]) == 60
        await pilot.resize_terminal(38, 12)
        await until(pilot, lambda: "Size" not in screen_text(app))
        assert "State" in screen_text(app)


def test_fitted_text_has_exactly_its_cells() -> None:
    for text in (
        "",
        "a",
        "abcdef",
        "日本語日本語",
        "👩‍👩‍👧 family",
        "e\u0301e\u0301e\u0301e\u0301",
        "ab日本語",
    ):
        for width in range(9):
            for cut in ("end", "start"):
                assert cell_len(fitted(text, width, cut=cut)) == width
    assert fitted("/far/away/name.md", 9, cut="start") == "…/name.md"
    assert fitted("7", 3, right=True) == "  7"


async def test_marks_stay_with_their_rows() -> None:
    app = Shown()
    names = [f"name {n}" for n in range(50)]

    def show(order: list[str]) -> None:
        app.lines.show(len(order), lambda at: [order[at], "", ""], key=lambda at: order[at])

    async with app.run_test(size=(60, 12)) as pilot:
        show(names)
        await pilot.press("space", "down", "space")
        assert app.lines.marked == [0, 2]
        await pilot.press("shift+down", "shift+down")
        assert app.lines.marked == [0, 2, 3, 4, 5]
        assert app.lines.chosen == app.lines.marked
        await until(pilot, lambda: screen_text(app).count("●") == 5)
        show(names[::-1])
        assert app.lines.marked == [44, 45, 46, 47, 49]
        assert app.lines.cursor == 44
        await until(pilot, lambda: "›●name 5" in screen_text(app))
        show([name for name in names if name != "name 0"])
        assert app.lines.marks == 4
        await pilot.press("escape")
        assert app.lines.marks == 0
        assert app.lines.chosen == [app.lines.cursor]
        assert app.left == 0
        await pilot.press("escape")
        assert app.left == 1
        await pilot.press("asterisk")
        assert app.lines.marks == 49
        await pilot.press("ctrl+a")
        assert app.lines.marks == 0


async def test_the_mouse_does_what_the_keys_do() -> None:
    app = Shown()
    async with app.run_test(size=(60, 12)) as pilot:
        app.lines.show_rows(rows(100))
        await until(pilot, lambda: "row 3" in screen_text(app))
        await pilot.click(app.lines, Offset(10, 4))
        assert app.lines.cursor == 3
        assert not app.told
        await pilot.click(app.lines, Offset(10, 5), times=2)
        await until(pilot, lambda: app.told)
        assert isinstance(app.told[-1], LineList.Opened)
        assert app.told[-1].index == 4
        await pilot.click(app.lines, Offset(1, 2))
        await pilot.click(app.lines, Offset(10, 4), shift=True)
        assert app.lines.marked == [1, 2, 3]
        await pilot.click(app.lines, Offset(10, 3), control=True)
        assert app.lines.marked == [1, 3]
        await pilot.click(app.lines, Offset(10, 0))
        await pilot.click(app.lines, Offset(46, 0))
        await pilot.click(app.lines, Offset(58, 0))
        asked = [message.column for message in app.told if isinstance(message, LineList.SortAsked)]
        assert asked == ["name", "size"]
        app.lines.order("name", descending=True)
        await until(pilot, lambda: "Name ▼" in screen_text(app))
        app.lines.action_first()
        app.lines.post_message(events.MouseScrollDown(app.lines, 9, 5, 0, 1, 0, False, False, False))
        await until(pilot, lambda: app.lines.scroll_offset.y > 0)
        assert app.lines.cursor == 0


async def test_rows_that_are_not_there_yet_are_asked_for() -> None:
    app = Shown()
    there: dict[int, list[str]] = {}
    async with app.run_test(size=(60, 12)) as pilot:
        app.lines.show(1000, there.get)
        await until(pilot, lambda: app.told)
        wanted = app.told[0]
        assert isinstance(wanted, LineList.Wanted)
        assert (wanted.first, wanted.end) == (0, 11)
        app.lines.move_to(500)
        await until(pilot, lambda: len(app.told) > 1)
        wanted = app.told[-1]
        assert isinstance(wanted, LineList.Wanted)
        assert wanted.end == 501
        there.update({index: [f"row {index}", "", ""] for index in range(1000)})
        app.lines.redraw()
        await until(pilot, lambda: "row 500" in screen_text(app))


async def test_an_empty_list_says_what_to_do_and_takes_every_key() -> None:
    app = Shown(
        multiple=False, empty="Nothing here yet.\nPress a to add a file or a folder, and see it come."
    )
    async with app.run_test(size=(40, 12)) as pilot:
        await until(pilot, lambda: "Nothing here yet." in screen_text(app))
        assert " see it come." in screen_text(app).split("\n")
        await pilot.press(
            "j", "k", "g", "G", "pageup", "pagedown", "enter", "space", "shift+down", "asterisk"
        )
        assert app.lines.cursor == 0
        assert not app.told
        assert app.lines.chosen == []
        app.lines.show_rows(rows(3))
        await pilot.press("space", "asterisk")
        assert app.lines.marks == 0
        await pilot.press("j", "enter")
        await until(pilot, lambda: app.told)
