"""A way from one entity to another as lines of text: boxes under each other, and what leads from each on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len

from localrag.plain import plain
from localrag.tui.widgets.cells import fitted
from localrag.tui.widgets.entity_text import wrapped

if TYPE_CHECKING:
    from localrag.looking import Route, Step

Tone = Literal["", "box", "name", "label", "faint"]

Pieces = tuple[tuple[str, Tone], ...]

_LINE = 2
"""The column of the line that leads on."""

_INDENT = 4
_TOLD = 2
"""Lines of what a step says."""


@dataclass(frozen=True)
class Line:
    """A line of the drawing."""

    pieces: Pieces
    """Its text, piece by piece."""

    stop: int
    """The entity or step that it belongs to: even numbers are entities, odd ones the steps between them."""


def draw_way(route: Route, width: int, *, chosen: int) -> list[Line]:
    """The way in `width` columns; `chosen` is the entity or step at the cursor."""
    lines: list[Line] = []
    for number, entry in enumerate(route.entities):
        leads_on = number < len(route.steps) and route.steps[number].forward
        led_to = number > 0 and not route.steps[number - 1].forward
        box = _entity(plain(entry.name), plain(entry.type), width, chosen=chosen == number * 2)
        if led_to:
            box[0] = _joined(box[0], "┷" if chosen == number * 2 else "┴")
        if leads_on:
            box[2] = _joined(box[2], "┯" if chosen == number * 2 else "┬")
        lines += [Line(pieces, number * 2) for pieces in box]
        if number < len(route.steps):
            lines += _step(route.steps[number], width, number * 2 + 1, chosen=chosen == number * 2 + 1)
    return lines


def _entity(name: str, kind: str, width: int, *, chosen: bool) -> list[Pieces]:
    inside = max(8, min(cell_len(name) + 2, width - 4 - min(cell_len(kind) + 1, 16)))
    name = name if cell_len(name) <= inside - 2 else fitted(name, inside - 2).rstrip()
    edges = "┏━┓┃┗┛" if chosen else "╭─╮│╰╯"
    flat = edges[1] * inside
    return [
        ((f"{edges[0]}{flat}{edges[2]}", "box"),),
        ((edges[3], "box"), (fitted(f" {name}", inside), "name"), (edges[3], "box"), (f" {kind}", "faint")),
        ((f"{edges[4]}{flat}{edges[5]}", "box"),),
    ]


def _joined(pieces: Pieces, joint: str) -> Pieces:
    """An edge of a box from which a line goes on."""
    text, tone = pieces[0]
    return ((text[:_LINE] + joint + text[_LINE + 1 :], tone),)


def _step(step: Step, width: int, stop: int, *, chosen: bool) -> list[Line]:
    row = step.relation.relation
    label = plain(row.keywords) or "connected"
    times = f"  {row.weight:,} passages" if row.weight > 1 else "  1 passage"
    mark = "›" if chosen else " "
    lines = [Line((("  │ ", "box"), (f"{mark}{label}", "label"), (times, "faint")), stop)]
    told = wrapped(plain(row.description), max(8, width - _INDENT - 2)) if row.description else []
    for number, words in enumerate(told[:_TOLD]):
        cut = number == _TOLD - 1 and len(told) > _TOLD
        said = fitted(f"{words}…", max(8, width - _INDENT - 1)).rstrip() if cut else words
        lines.append(Line((("  │ ", "box"), (f" {said}", "")), stop))
    lines.append(Line((("  │ ", "box"), (f" {_sources(step)}", "faint")), stop))
    if step.forward:
        lines.append(Line((("  ▼", "box"),), stop))
    else:
        lines.insert(0, Line((("  ▲", "box"),), stop))
    return lines


def _sources(step: Step) -> str:
    said: Sequence[str] = list(
        dict.fromkeys(
            f"{plain(place.document)}, page {place.page}" if place.page is not None else plain(place.document)
            for place in step.relation.places
        )
    )
    more = step.relation.relation.weight - len(step.relation.places)
    return " · ".join(said) + (f" and {more:,} more" if more > 0 else "")
