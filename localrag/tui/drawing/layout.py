"""Where everything of a picture stands: a tree that grows to the right and to the left of its middle.

What starts from the entity in the middle stands at the right, what leads to it at the left, as far as both
sides stay of about the same height. Each entity has a box, or where rows are few a single line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from localrag.plain import plain
from localrag.tui.drawing.picture import Picture
from localrag.tui.widgets.cells import fitted

WIDE = 100
"""Columns from which what ties two entities is written on the line between them."""

_NARROW_GAP = 6
_LEAST_GAP = 10
_MOST_GAP = 28
_LEAST_BOX = 8
_MOST_BOX = 34
_MOST_LANES = 3
_BESIDE_LABEL = 7
"""Cells of a line beside its label: the bend, the tips and what is between."""


@dataclass(frozen=True)
class Manner:
    """How entities are drawn."""

    boxed: bool
    """In boxes of three rows, or in a row each."""

    spacing: int
    """Empty rows between them."""

    @property
    def height(self) -> int:
        """Rows of an entity."""
        return 3 if self.boxed else 1


_MANNERS = (Manner(True, 1), Manner(True, 0), Manner(False, 1), Manner(False, 0))
"""From the roomiest to the tightest."""


@dataclass(frozen=True)
class Box:
    """The place of an entity."""

    id: int
    """The entity."""

    x: int
    """Its left edge."""

    y: int
    """Its first row."""

    width: int
    """Columns."""

    height: int
    """Rows."""

    side: int
    """1 at the right of the middle, -1 at the left, 0 for the middle itself."""

    depth: int
    """Steps from the middle."""

    name: str
    """What is written in it, cut to its width."""

    @property
    def middle(self) -> int:
        """The row in which lines reach it."""
        return self.y + self.height // 2

    @property
    def outer(self) -> int:
        """The column beside it that lines leave from, away from the middle of the picture."""
        return self.x + self.width if self.side >= 0 else self.x - 1

    @property
    def inner(self) -> int:
        """The column beside it where the line from the middle of the picture arrives."""
        return self.x - 1 if self.side > 0 else self.x + self.width


@dataclass(frozen=True)
class Lane:
    """Where the line between two entities of one column runs, beside it."""

    one: int
    """An entity."""

    other: int
    """The other."""

    x: int
    """The column of the line."""


@dataclass(frozen=True)
class Layout:
    """A picture with all places."""

    boxes: dict[int, Box]
    """The entities by id, those that are nearer to the middle first."""

    lanes: tuple[Lane, ...]
    """Lines beside columns; other crossing ties are not drawn."""

    width: int
    """Columns of the whole."""

    height: int
    """Rows of the whole."""

    manner: Manner
    """How entities are drawn."""

    labels: bool
    """Whether labels stand on lines; else in the lower edge of boxes."""

    def at(self, x: int, y: int) -> int | None:
        """The entity whose box holds a cell."""
        for box in self.boxes.values():
            if box.x <= x < box.x + box.width and box.y <= y < box.y + box.height:
                return box.id
        return None


@dataclass(frozen=True)
class _Column:
    """The entities of one side at one depth."""

    side: int
    depth: int
    ids: tuple[int, ...]
    width: int
    gap: int
    lanes: tuple[tuple[int, int, int], ...]
    """Pairs with the number of their lane."""

    @property
    def margin(self) -> int:
        """Columns that the lanes take at its outer side."""
        return 1 + max(lane for _, _, lane in self.lanes) + 1 if self.lanes else 0


def lay_out(picture: Picture, width: int, height: int) -> Layout:
    """Give everything its place in about `width` columns and `height` rows; the whole may be larger."""
    sides = _sides(picture)
    manner = _manner(picture, sides, height)
    labels = width >= WIDE
    rows = _rows(picture, sides, manner)
    middle_width = _middle_width(picture, width)
    columns = _columns(picture, sides, rows, manner, width, middle_width)
    boxes = {picture.centre: _middle(picture, rows, middle_width)}
    lanes: list[Lane] = []
    for column in columns:
        inner = boxes[picture.centre] if column.depth == 1 else None
        edge = _edge(column, columns, inner, middle_width)
        x = edge if column.side > 0 else edge - column.width
        for entity_id in column.ids:
            name = _name(picture, entity_id, column.width - (4 if manner.boxed else 2))
            boxes[entity_id] = Box(
                entity_id,
                x,
                rows[entity_id] - manner.height // 2,
                column.width,
                manner.height,
                column.side,
                column.depth,
                name,
            )
        outer = x + column.width if column.side > 0 else x - 1
        lanes += [Lane(one, other, outer + column.side * (1 + lane)) for one, other, lane in column.lanes]
    return _moved(boxes, lanes, width, height, manner, labels)


def _edge(column: _Column, columns: Sequence[_Column], middle: Box | None, middle_width: int) -> int:
    """Where a column begins, seen from the middle, whose left edge is 0."""
    nearer = [other for other in columns if other.side == column.side and other.depth < column.depth]
    away = sum(other.gap + other.width + other.margin for other in nearer) + column.gap
    return middle_width + away if column.side > 0 else -away


def _moved(
    boxes: dict[int, Box], lanes: Iterable[Lane], width: int, height: int, manner: Manner, labels: bool
) -> Layout:
    """Move everything into view: nothing left of 0 or above 0, in the middle where there is room."""
    lanes = tuple(lanes)
    left = min([box.x for box in boxes.values()] + [lane.x for lane in lanes])
    right = max([box.x + box.width for box in boxes.values()] + [lane.x + 1 for lane in lanes])
    top = min(box.y for box in boxes.values())
    bottom = max(box.y + box.height for box in boxes.values())
    across = max(0, (width - (right - left)) // 2) - left
    down = max(0, (height - (bottom - top)) // 2) - top
    moved = {
        key: Box(
            box.id,
            box.x + across,
            box.y + down,
            box.width,
            box.height,
            box.side,
            box.depth,
            box.name,
        )
        for key, box in sorted(boxes.items(), key=lambda item: item[1].depth)
    }
    return Layout(
        moved,
        tuple(Lane(lane.one, lane.other, lane.x + across) for lane in lanes),
        max(width, right - left),
        max(height, bottom - top),
        manner,
        labels,
    )


def _sides(picture: Picture) -> tuple[list[int], list[int]]:
    """What stands right and left of the middle."""
    right: list[int] = []
    left: list[int] = []
    for child in picture.children(picture.centre):
        tie = picture.tie(picture.centre, child)
        (right if tie is None or tie.relations[0].source_id == picture.centre else left).append(child)
    # The weakest of the fuller side go over.
    while abs(len(right) - len(left)) > 1:
        fuller, other = (right, left) if len(right) > len(left) else (left, right)
        other.append(fuller.pop())
    return right, left


def _manner(picture: Picture, sides: tuple[list[int], list[int]], height: int) -> Manner:
    for manner in _MANNERS:
        if max(_side_height(picture, side, manner) for side in sides) <= height:
            return manner
    return _MANNERS[-1]


def _side_height(picture: Picture, ids: Sequence[int], manner: Manner) -> int:
    heights = [_tree_height(picture, entity_id, manner) for entity_id in ids]
    return sum(heights) + manner.spacing * max(0, len(heights) - 1)


def _tree_height(picture: Picture, entity_id: int, manner: Manner) -> int:
    return max(manner.height, _side_height(picture, picture.children(entity_id), manner))


def _rows(picture: Picture, sides: tuple[list[int], list[int]], manner: Manner) -> dict[int, int]:
    """The row in which each entity has its middle; that of the middle of the picture is 0."""
    rows = {picture.centre: 0}

    def place(ids: Sequence[int], top: int) -> None:
        for entity_id in ids:
            height = _tree_height(picture, entity_id, manner)
            children = picture.children(entity_id)
            place(children, top + (height - _side_height(picture, children, manner)) // 2)
            rows[entity_id] = (rows[children[0]] + rows[children[-1]]) // 2 if children else top + height // 2
            top += height + manner.spacing

    for side in sides:
        place(side, -(_side_height(picture, side, manner) // 2))
    return rows


def _columns(
    picture: Picture,
    sides: tuple[list[int], list[int]],
    rows: dict[int, int],
    manner: Manner,
    width: int,
    middle_width: int,
) -> list[_Column]:
    found: list[_Column] = []
    for side, first in zip((1, -1), sides, strict=True):
        ids, depth = list(first), 1
        while ids:
            found.append(_column(picture, side, depth, ids, rows, manner, width, middle_width))
            ids = [child for entity_id in ids for child in picture.children(entity_id)]
            depth += 1
    return found


def _column(
    picture: Picture,
    side: int,
    depth: int,
    ids: Sequence[int],
    rows: dict[int, int],
    manner: Manner,
    width: int,
    middle_width: int,
) -> _Column:
    labelled = width >= WIDE
    said = [label_of(picture, entity_id) for entity_id in ids]
    longest = max(map(cell_len, said))
    room = (width - middle_width) // 2
    lanes = _lanes(picture, ids, rows) if depth == 1 or labelled else ()
    margin = 1 + max(lane for _, _, lane in lanes) + 1 if lanes else 0
    least = min(_LEAST_GAP + 6, room // 2) if labelled else _NARROW_GAP
    edges = 4 if manner.boxed else 2
    wanted = max(_box_width(picture, entity_id, manner, labelled) for entity_id in ids)
    box = max(_LEAST_BOX + edges, min(wanted, _MOST_BOX, room - least - margin))
    if manner.boxed and not labelled:
        box = max(box, min(longest + 5, _MOST_BOX, room - least - margin))
    gap = least
    if labelled:
        gap = max(_LEAST_GAP, min(longest + _BESIDE_LABEL, _MOST_GAP, room - box - margin))
    elif not manner.boxed:
        gap = max(_NARROW_GAP, min(longest + _BESIDE_LABEL, room - box - margin))
    return _Column(side, depth, tuple(ids), box, gap, lanes)


def _lanes(picture: Picture, ids: Sequence[int], rows: dict[int, int]) -> tuple[tuple[int, int, int], ...]:
    """The crossing ties within a column, strongest first, each with a lane that is free between its rows."""
    inside = set(ids)
    taken: list[list[tuple[int, int]]] = []
    found: list[tuple[int, int, int]] = []
    for one, other in picture.crossing():
        if not {one, other} <= inside:
            continue
        low, high = sorted((rows[one], rows[other]))
        for number in range(_MOST_LANES):
            if number == len(taken):
                taken.append([])
            if all(high < start or end < low for start, end in taken[number]):
                taken[number].append((low, high))
                found.append((one, other, number))
                break
    return tuple(found)


def label_of(picture: Picture, entity_id: int) -> str:
    """What ties an entity to where it was reached from, with how many passages say so."""
    tie = picture.tie(entity_id, picture.parents.get(entity_id, entity_id))
    if tie is None:
        return ""
    times = f"×{tie.weight}" if tie.weight > 1 else ""
    return " ".join(part for part in (tie.label, times) if part)


def _box_width(picture: Picture, entity_id: int, manner: Manner, labelled: bool) -> int:
    edges = 4 if manner.boxed else 2
    entry = picture.nodes[entity_id]
    name = cell_len(plain(entry.name))
    hidden = picture.hidden(entity_id)
    more = len(f"+{hidden}") if hidden else 0
    if manner.boxed:
        above = cell_len(plain(entry.type)) + 6 + (more + 3 if more else 0)
        return max(name + edges, above, _LEAST_BOX)
    return name + edges + more


def _middle_width(picture: Picture, width: int) -> int:
    most = min(_MOST_BOX, max(_LEAST_BOX + 4, width // 3))
    return max(_LEAST_BOX + 4, min(cell_len(plain(picture.nodes[picture.centre].name)) + 4, most))


def _middle(picture: Picture, rows: dict[int, int], width: int) -> Box:
    name = _name(picture, picture.centre, width - 4)
    return Box(picture.centre, 0, rows[picture.centre] - 1, width, 3, 0, 0, name)


def _name(picture: Picture, entity_id: int, room: int) -> str:
    name = plain(picture.nodes[entity_id].name)
    return name if cell_len(name) <= room else fitted(name, max(1, room)).rstrip()


def step(layout: Layout, here: int, way: str) -> int:
    """The entity that an arrow leads to from another; the same where it leads nowhere.

    `way` is `left`, `right`, `up` or `down`. Across one goes along the lines, up and down within a column.
    """
    box = layout.boxes[here]
    others = [other for other in layout.boxes.values() if other.id != here]
    if way in ("left", "right"):
        direction = 1 if way == "right" else -1
        ahead = [other for other in others if (other.side * other.depth - box.side * box.depth) == direction]
        return min(ahead, key=lambda other: (abs(other.middle - box.middle), other.y), default=box).id
    direction = 1 if way == "down" else -1
    column = [
        other
        for other in others
        if (other.middle - box.middle) * direction > 0
        and (other.side * other.depth == box.side * box.depth or box.side == 0)
    ]
    return min(column, key=lambda other: (abs(other.middle - box.middle), -other.side), default=box).id
