"""The drawing of neighbours as text: what stands where, what leads where, and how one moves in it."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from localrag.looking.types import Neighbourhood, Place, Route, Step, ToldRelation
from localrag.store.entity_list import EntityEntry
from localrag.store.graph_rows import RelationRow
from localrag.tui.drawing.canvas import Canvas
from localrag.tui.drawing.layout import Layout, lay_out, step
from localrag.tui.drawing.paint import paint
from localrag.tui.drawing.picture import Picture
from localrag.tui.drawing.way import draw_way

NAMES = ("Marta Lind", "Halden Bridge", "Kvern Works", "Ida Lind", "陈玉兰", "City Council", "Oslo")
TIES = (
    (0, 1, "designed", 5),
    (0, 2, "worked for", 1),
    (3, 0, "sister of", 1),
    (4, 0, "translated", 1),
    (5, 1, "paid for", 2),
    (3, 4, "", 1),
    (1, 6, "stands in", 1),
)


def entry(number: int, name: str = "", relations: int = 3) -> EntityEntry:
    name = name or NAMES[number]
    return EntityEntry(number, name, name.lower(), "person", 4, relations)


def row(number: int, source: int, target: int, keywords: str, weight: int) -> RelationRow:
    said = f"{NAMES[source % 7]} {keywords} {NAMES[target % 7]}."
    return RelationRow(number, source, target, NAMES[source % 7], NAMES[target % 7], keywords, said, weight)


def neighbourhood(centre: int, others: list[int], among: tuple[int, ...] = ()) -> Neighbourhood:
    there = {centre, *others, *among}
    rows = tuple(row(n, *tie) for n, tie in enumerate(TIES) if {tie[0], tie[1]} <= there)
    return Neighbourhood(entry(centre), tuple(map(entry, others)), rows, len(others) + 1)


def picture() -> Picture:
    return Picture.around(neighbourhood(0, [1, 2, 3, 4]))


def drawn(shown: Picture, width: int, height: int, chosen: int = 0) -> tuple[Layout, list[str]]:
    layout = lay_out(shown, width, height)
    return layout, paint(shown, layout, chosen).lines()


def test_what_is_done_stands_right_what_is_done_to_it_left_and_tips_show_the_way() -> None:
    layout, lines = drawn(picture(), 78, 18)
    assert [layout.boxes[n].side for n in (0, 1, 2, 3, 4)] == [0, 1, 1, -1, -1]
    text = "\n".join(lines)
    for name in NAMES[:5]:
        assert name in text
    bridge = next(line for line in lines if "Halden Bridge" in line)
    # Five passages make the line heavy; the tip is at the bridge, of which something is told.
    assert "━━▶│•Halden Bridge" in bridge
    ida = next(line for line in lines if "Ida Lind" in line)
    assert "Ida Lind" in ida.split("───▶")[0]
    assert "─ designed ×5 ─" in text
    assert "─ sister of ─" in text
    assert all(cell_len(line) <= 78 for line in lines)


def test_the_middle_and_the_chosen_one_are_told_without_colour() -> None:
    _, lines = drawn(picture(), 78, 18, chosen=1)
    text = "\n".join(lines)
    assert text.count("╔") == 1
    assert text.count("┏") == 1
    assert "┃ Halden Bridge" in text
    # Marta is tied to the chosen bridge, Kvern is not.
    assert "•Marta Lind" in text
    assert "•Kvern" not in text


def test_neighbours_of_one_column_that_are_tied_have_a_dotted_line() -> None:
    layout, lines = drawn(picture(), 78, 18)
    assert [(lane.one, lane.other) for lane in layout.lanes] == [(3, 4)]
    column = [line.ljust(78)[layout.lanes[0].x] for line in lines]
    assert column.count("╎") == abs(layout.boxes[3].middle - layout.boxes[4].middle) - 1


def test_wide_drawings_write_on_the_lines() -> None:
    layout, lines = drawn(picture(), 138, 34)
    assert layout.labels
    text = "\n".join(lines)
    assert "━ designed ×5 ━▶" in text
    assert "── sister of " in text
    assert all(cell_len(line) <= 138 for line in lines)


@pytest.mark.parametrize(("width", "height"), [(78, 18), (138, 34), (58, 16), (78, 8), (40, 6), (20, 4)])
def test_no_two_boxes_share_a_cell_and_none_is_outside(width: int, height: int) -> None:
    shown = Picture.around(neighbourhood(0, [1, 2, 3, 4]))
    shown = shown.grown(neighbourhood(1, [5, 6], tuple(shown.nodes)))
    layout = lay_out(shown, width, height)
    cells: set[tuple[int, int]] = set()
    for box in layout.boxes.values():
        own = {(x, y) for x in range(box.x, box.x + box.width) for y in range(box.y, box.y + box.height)}
        assert not cells & own
        cells |= own
        assert cell_len(box.name) <= box.width
    assert min(x for x, _ in cells) >= 0
    assert min(y for _, y in cells) >= 0
    assert max(x for x, _ in cells) < layout.width
    assert max(y for _, y in cells) < layout.height
    for number, line in enumerate(paint(shown, layout, 0).lines()):
        assert cell_len(line) <= layout.width, number


def test_forty_neighbours_in_few_rows_become_lines_that_can_be_scrolled_to() -> None:
    others = tuple(EntityEntry(n, f"Person {n}", f"person {n}", "person", 1, 1) for n in range(10, 50))
    rows = tuple(row(n, 0, n, "knows", 1) for n in range(10, 50))
    shown = Picture.around(Neighbourhood(entry(0, relations=40), others, rows, 40))
    layout, lines = drawn(shown, 78, 12, chosen=10)
    assert not layout.manner.boxed
    assert layout.height >= 20
    text = "\n".join(lines)
    assert "[Person 10]" in text
    assert "Person 49" in text
    assert "─ knows ─" in text


def test_an_entity_is_expanded_in_place_and_folded_again() -> None:
    before = picture()
    after = before.grown(neighbourhood(1, [5, 6], tuple(before.nodes)))
    layout, lines = drawn(after, 138, 34, chosen=1)
    assert [layout.boxes[n].depth for n in (5, 6)] == [2, 2]
    text = "\n".join(lines)
    # The council pays for the bridge: its tip is at the bridge's end of the line.
    assert "◀ paid for ×2 ─" in text
    assert after.hidden(1) == 0
    assert before.hidden(1) == 2
    assert set(after.folded(1).nodes) == set(before.nodes)
    assert after.folded(1).ties == before.ties


def test_arrows_go_along_the_lines_and_within_a_column() -> None:
    shown = picture().grown(neighbourhood(1, [5, 6], (0, 1, 2, 3, 4)))
    layout = lay_out(shown, 138, 34)
    assert step(layout, 0, "right") in (1, 2)
    assert step(layout, 0, "left") in (3, 4)
    assert step(layout, 3, "right") == 0
    assert step(layout, 1, "left") == 0
    assert step(layout, 1, "right") in (5, 6)
    assert step(layout, 5, "down") == 6
    assert step(layout, 6, "up") == 5
    assert step(layout, 6, "down") == 6
    assert step(layout, 1, "down") == 2
    reached, border = {0}, [0]
    while border:
        found = {step(layout, here, way) for here in border for way in ("left", "right", "up", "down")}
        border = sorted(found - reached)
        reached |= found
    assert reached == set(shown.nodes)


def test_a_box_is_found_by_its_cells() -> None:
    layout = lay_out(picture(), 78, 18)
    box = layout.boxes[4]
    assert layout.at(box.x, box.y) == 4
    assert layout.at(box.x + box.width - 1, box.y + 2) == 4
    assert layout.at(box.x, box.y - 1) is None


def test_lines_join_where_they_meet_and_wide_characters_keep_their_room() -> None:
    canvas = Canvas(12, 3)
    canvas.across(0, 4, 1)
    canvas.down(2, 0, 2)
    canvas.text(6, 1, "陈e\u0301x")
    assert canvas.lines() == ["  │", "──┼── 陈e\u0301x", "  │"]
    assert cell_len("".join(text for text, _ in canvas.row(1))) == 12


def test_hostile_names_cannot_reach_the_terminal() -> None:
    bad = EntityEntry(1, "\x1b[31mred\x07\nline", "x", "per\x1b]0;x\x07son", 1, 1)
    rows = (RelationRow(1, 0, 1, "a", "b", "\x1b[2Jknows", "", 1),)
    shown = Picture.around(Neighbourhood(entry(0), (bad,), rows, 1))
    for size in ((78, 18), (138, 34), (78, 3)):
        text = "\n".join(drawn(shown, *size)[1])
        assert "\x1b" not in text
        assert "\x07" not in text
        assert "red line" in text


def test_a_way_is_drawn_with_what_each_step_says_and_where() -> None:
    place = Place(1, "bridge.md", 3, 0, 10)
    steps = (
        Step(ToldRelation(row(1, 0, 1, "designed", 5), (place,)), True),
        Step(ToldRelation(row(2, 5, 1, "paid for", 1), ()), False),
    )
    route = Route((entry(0), entry(1), entry(5)), steps)
    lines = ["".join(text for text, _ in line.pieces) for line in draw_way(route, 60, chosen=1)]
    text = "\n".join(lines)
    assert "│ ›designed  5 passages" in text
    assert "bridge.md, page 3 and 4 more" in text
    assert text.index("Marta Lind") < text.index("▼") < text.index("│ Halden Bridge")
    assert text.index("│ Halden Bridge") < text.index("▲") < text.index("│ City Council")
    assert all(cell_len(line) <= 60 for line in lines)
