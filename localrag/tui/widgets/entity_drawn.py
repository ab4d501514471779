"""The drawing of an entity's neighbours with what is said of the one at the cursor below it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from localrag.plain import plain
from localrag.tui.drawing.picture import Picture
from localrag.tui.widgets.drawing import GraphDrawing

if TYPE_CHECKING:
    from localrag.looking import Neighbourhood
    from localrag.tui.session import Session
    from localrag.tui.words import Fault

_LEAST, _MOST = 2, 40
_USUAL, _USUAL_TALL = 8, 12
_TALL = 34
_EXPANDED = 5
"""Neighbours that come when one is expanded."""

_NAMED = 6


class DrawnView(Vertical):
    """Reads and draws; what is to be opened or put in the middle goes up as messages of the drawing."""

    def __init__(self, session: Session) -> None:
        super().__init__(id="drawn")
        self._session = session
        self._number = 0

    def compose(self) -> ComposeResult:
        """The drawing above the words."""
        yield GraphDrawing()
        yield Static("", id="drawn-words", markup=False)

    @property
    def drawing(self) -> GraphDrawing:
        """The drawing."""
        return self.query_one(GraphDrawing)

    def draw(
        self,
        entity_id: int,
        done: Callable[[], object],
        failed: Callable[[Fault], object],
        *,
        keep: bool = False,
    ) -> None:
        """Draw the neighbours of an entity; `keep` leaves the cursor where it is, and what was expanded."""
        picture = self.drawing.picture
        opened = _opened(picture) if keep and picture is not None and picture.centre == entity_id else ()
        number = self._number or (_USUAL_TALL if self.screen.size.height >= _TALL else _USUAL)

        def drawn(pictures: Picture) -> None:
            self.drawing.show(pictures, None if keep else entity_id)
            self._entitle()
            done()

        self._session.look(
            self,
            lambda kb: _read(kb.graph.neighbours, entity_id, number, opened),
            drawn,
            failed,
            key="graph.shown",
        )

    @on(GraphDrawing.Highlighted)
    def _highlighted(self, event: GraphDrawing.Highlighted) -> None:
        event.stop()
        if self.drawing.picture is not None and event.entity_id in self.drawing.picture.nodes:
            self.query_one("#drawn-words", Static).update(words_of(self.drawing.picture, event.entity_id))

    @on(GraphDrawing.Counted)
    def _counted(self, event: GraphDrawing.Counted) -> None:
        event.stop()
        picture = self.drawing.picture
        if picture is None:
            return
        shown = len(picture.children(picture.centre))
        self._number = max(_LEAST, min(shown + event.by, _MOST))
        self.draw(picture.centre, lambda: None, self._failed, keep=True)

    @on(GraphDrawing.Expanded)
    def _expanded(self, event: GraphDrawing.Expanded) -> None:
        event.stop()
        picture, start = self.drawing.picture, event.entity_id
        if picture is None:
            return
        if start != picture.centre and picture.children(start):
            self.drawing.show(picture.folded(start))
            return
        known = tuple(picture.nodes)

        def grown(found: Neighbourhood) -> None:
            # Another picture may have come meanwhile.
            if self.drawing.picture is not picture:
                return
            if not found.neighbours:
                self.notify("It is connected with nothing that is not drawn already.", markup=False)
            self.drawing.show(picture.grown(found))
            self._entitle()

        self._session.look(
            self,
            lambda kb: kb.graph.neighbours(start, _EXPANDED, known),
            grown,
            self._failed,
            key="graph.grown",
        )

    def on_resize(self, event: events.Resize) -> None:
        """The hint needs room."""
        self._entitle()

    def _entitle(self) -> None:
        picture = self.drawing.picture
        if picture is None:
            return
        shown, total = len(picture.children(picture.centre)), picture.totals.get(picture.centre, 0)
        name = plain(picture.nodes[picture.centre].name)
        neighbours = f"{shown:,} of {total:,} neighbours" if total != 1 else "1 neighbour"
        self.border_title = Content(f"{name}: {neighbours}")
        wide = self.size.width >= 72
        self.border_subtitle = Content(
            "+ - more, fewer · e expands · enter puts in the middle" if wide else "+ - e enter, f1 explains"
        )

    def _failed(self, fault: Fault) -> None:
        self.notify(fault.text, severity="error", markup=False)


def _opened(picture: Picture) -> tuple[int, ...]:
    """The expanded entities, each behind that from which it was reached."""
    found: list[int] = []
    for parent in picture.parents.values():
        if parent != picture.centre and parent not in found:
            found.append(parent)
    return tuple(found)


def _read(
    neighbours: Callable[..., Neighbourhood], entity_id: int, number: int, opened: tuple[int, ...]
) -> Picture:
    """The picture of an entity, in which those are expanded that are still there."""
    picture = Picture.around(neighbours(entity_id, number))
    for start in opened:
        if start in picture.nodes:
            picture = picture.grown(neighbours(start, _EXPANDED, tuple(picture.nodes)))
    return picture


def words_of(picture: Picture, entity_id: int) -> str:
    """What is said below a drawing of the entity at the cursor."""
    entry = picture.nodes[entity_id]
    passages = "1 passage" if entry.mentions == 1 else f"{entry.mentions:,} passages"
    lines = [f"{plain(entry.name)} · {plain(entry.type) or 'no type'} · {passages}"]
    parent = picture.parents.get(entity_id)
    tie = picture.tie(entity_id, parent) if parent is not None else None
    for row in tie.relations if tie is not None else ():
        said = plain(row.description or row.keywords)
        lines.append(f"{plain(row.source)} → {plain(row.target)}: {said}")
    others = [other for other in picture.tied(entity_id) if other != parent]
    named = [
        f"{plain(picture.nodes[other].name)}{_said(picture, entity_id, other)}" for other in others[:_NAMED]
    ]
    if named:
        lines.append(f"{'Also connected' if tie else 'Connected'} with {', '.join(named)}")
    return "\n".join(lines)


def _said(picture: Picture, one: int, other: int) -> str:
    tie = picture.tie(one, other)
    return f" ({tie.label})" if tie is not None and tie.label else ""
