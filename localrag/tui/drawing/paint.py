"""Puts a picture on a canvas: boxes, the lines between them with their tips, and what is written on them.

Everything is told by characters: the middle has a double edge, the chosen entity a heavy one, a tie that
many passages state a heavy line, and a tip shows the way that a relation goes. Colours only help.
"""

from __future__ import annotations

from rich.cells import cell_len

from localrag.plain import plain
from localrag.tui.drawing.canvas import Canvas, Kind
from localrag.tui.drawing.layout import Box, Layout, label_of
from localrag.tui.drawing.picture import Picture, Tie
from localrag.tui.widgets.cells import fitted

_HEAVY_FROM = 3
"""Passages from which on a tie is drawn with a heavy line."""

_LIGHT = "╭─╮│╰╯├┤"
_DOUBLE = "╔═╗║╚╝╟╢"
_BOLD = "┏━┓┃┗┛┠┨"
_TIPS = {1: "▶", -1: "◀"}


def paint(picture: Picture, layout: Layout, chosen: int) -> Canvas:
    """The picture with `chosen` marked, and what is tied to it."""
    canvas = Canvas(layout.width, layout.height)
    near = set(picture.tied(chosen))
    for box in layout.boxes.values():
        _fan(canvas, picture, layout, box)
    for lane in layout.lanes:
        _lane(canvas, layout, layout.boxes[lane.one], layout.boxes[lane.other], lane.x)
    for box in layout.boxes.values():
        _entity(canvas, picture, layout, box, chosen=chosen, near=box.id in near)
    for box in layout.boxes.values():
        if box.side:
            _tips(canvas, picture, layout, box)
    return canvas


def _fan(canvas: Canvas, picture: Picture, layout: Layout, box: Box) -> None:
    """The lines from an entity to what was reached from it, on each of its sides."""
    for side in (1, -1):
        children = [
            layout.boxes[child] for child in picture.children(box.id) if layout.boxes[child].side == side
        ]
        if not children:
            continue
        start = box.x + box.width if side > 0 else box.x - 1
        bend = _bend(layout, box, children[0])
        canvas.across(start, bend, box.middle)
        rows = [box.middle, *(child.middle for child in children)]
        if min(rows) < max(rows):
            canvas.down(bend, min(rows), max(rows))
        for child in children:
            tie = picture.tie(box.id, child.id)
            canvas.across(bend, child.inner, child.middle, heavy=_is_heavy(tie))


def _bend(layout: Layout, parent: Box, child: Box) -> int:
    """The column in which the lines from an entity part; lanes beside the entity stay free."""
    lanes = [
        abs(lane.x - parent.outer)
        for lane in layout.lanes
        if layout.boxes[lane.one].side == parent.side and layout.boxes[lane.one].depth == parent.depth
    ]
    away = 1 + (max(lanes) + 1 if lanes and parent.side else 0)
    if child.side > 0:
        return parent.x + parent.width + away
    return parent.x - 1 - away


def _is_heavy(tie: Tie | None) -> bool:
    return tie is not None and tie.weight >= _HEAVY_FROM


def _tips(canvas: Canvas, picture: Picture, layout: Layout, box: Box) -> None:
    """The tips of the line that leads to an entity, and its label where lines have them."""
    parent = layout.boxes[picture.parents[box.id]]
    tie = picture.tie(parent.id, box.id)
    if tie is None:
        return
    bend = _bend(layout, parent, box)
    if tie.goes(parent.id):
        canvas.text(box.inner, box.middle, _TIPS[box.side], "edge")
    if tie.goes(box.id):
        # A line that does not part has its tip where it ends.
        siblings = [child for child in picture.children(parent.id) if layout.boxes[child].side == box.side]
        straight = len(siblings) == 1 and box.middle == parent.middle
        edge = parent.x + parent.width if box.side > 0 else parent.x - 1
        canvas.text(edge if straight else bend + box.side, box.middle, _TIPS[-box.side], "edge")
    if layout.labels or not layout.manner.boxed:
        first, last = sorted((bend + 2 * box.side, box.inner - 2 * box.side))
        _label(canvas, label_of(picture, box.id), first, last, box)


def _label(canvas: Canvas, words: str, first: int, last: int, box: Box) -> None:
    """A label within a line, at its end beside the entity, with a blank at each side."""
    room = last - first + 1 - 2
    if room < 3 or not words:
        return
    words = words if cell_len(words) <= room else fitted(words, room).rstrip()
    words = f" {words} "
    x = last - cell_len(words) + 1 if box.side > 0 else first
    canvas.text(x, box.middle, words, "label")


def _lane(canvas: Canvas, layout: Layout, one: Box, other: Box, x: int) -> None:
    for box in (one, other):
        canvas.across(box.outer, x, box.middle, "cross")
    canvas.down(x, one.middle, other.middle, "cross")


def _entity(canvas: Canvas, picture: Picture, layout: Layout, box: Box, *, chosen: int, near: bool) -> None:
    is_chosen = box.id == chosen
    kind: Kind = "selected" if is_chosen else "near" if near else "centre" if not box.side else "name"
    if box.height == 1:
        _in_a_row(canvas, picture, box, kind)
        return
    signs = _BOLD if is_chosen else _LIGHT if box.side else _DOUBLE
    corner, flat, corner2, wall, corner3, corner4, port_right, port_left = list(signs)
    inside = box.width - 2
    edge: Kind = "selected" if is_chosen else "centre" if not box.side else "edge"
    hidden = picture.hidden(box.id)
    above = _edge_words(plain(picture.nodes[box.id].type), f"+{hidden}" if hidden else "", inside, flat)
    below = _below(picture, layout, box, inside, flat)
    canvas.text(box.x, box.y, f"{corner}{above}{corner2}", edge)
    canvas.text(box.x, box.y + 1, f"{wall}{' ' * inside}{wall}", edge)
    canvas.text(box.x, box.y + 2, f"{corner3}{below}{corner4}", edge)
    mark = "•" if near else " "
    canvas.text(box.x + 1, box.middle, fitted(f"{mark}{box.name}", inside), kind)
    _ports(canvas, picture, layout, box, (port_left, port_right), edge)


def _below(picture: Picture, layout: Layout, box: Box, inside: int, flat: str) -> str:
    """The lower edge; where lines are short it says what ties the entity to where it was reached from."""
    words = "" if layout.labels or not box.side else label_of(picture, box.id)
    return _edge_words(words, "", inside, flat)


def _ports(
    canvas: Canvas, picture: Picture, layout: Layout, box: Box, ports: tuple[str, str], kind: Kind
) -> None:
    """Where lines leave a box its edge shows it."""
    sides = {layout.boxes[child].side for child in picture.children(box.id)}
    if 1 in sides:
        canvas.text(box.x + box.width - 1, box.middle, ports[1], kind)
    if -1 in sides:
        canvas.text(box.x, box.middle, ports[0], kind)


def _edge_words(left: str, right: str, inside: int, flat: str) -> str:
    """Words within an edge: one at its begin and one at its end, as far as there is room."""
    room = inside - 2
    if right and cell_len(right) + 2 <= room:
        room -= cell_len(right) + 2
        tail = f" {right} {flat}"
    else:
        tail = ""
    head = ""
    if left and room >= 5:
        words = left if cell_len(left) <= room - 2 else fitted(left, room - 2).rstrip()
        head = f"{flat} {words} "
    return f"{head}{flat * (inside - cell_len(head) - cell_len(tail))}{tail}"


def _in_a_row(canvas: Canvas, picture: Picture, box: Box, kind: Kind) -> None:
    """An entity in a single row: brackets around the chosen one, a dot before what is tied to it."""
    hidden = picture.hidden(box.id)
    open_, close = ("[", "]") if kind == "selected" else ("•" if kind == "near" else " ", " ")
    name = f"{open_}{box.name}{close}"
    more = f"+{hidden}" if hidden else ""
    if cell_len(name) + cell_len(more) > box.width:
        more = ""
    # What is at the left ends where its line begins.
    if box.side < 0:
        words = f"{more}{name}"
        canvas.text(box.x, box.y, " " * (box.width - cell_len(words)), kind if kind == "selected" else "")
        x = box.x + box.width - cell_len(words)
        canvas.text(x, box.y, more, "faint")
        canvas.text(x + cell_len(more), box.y, name, kind)
    else:
        canvas.text(box.x, box.y, name, kind)
        canvas.text(box.x + cell_len(name), box.y, more, "faint")
