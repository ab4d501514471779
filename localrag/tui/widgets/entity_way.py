"""The ways between two entities, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from localrag.plain import plain
from localrag.tui.drawing.way import Line, Tone, draw_way

if TYPE_CHECKING:
    from localrag.looking import Route, Step

_TONES: tuple[Tone, ...] = ("box", "name", "label", "faint")


class WayView(ScrollView, can_focus=True):
    """Draws a way: the entities in boxes, between them what leads on and the documents that say so."""

    HELP = """
    How two entities are connected: the shortest way over relations, and of equally short ones the one that
    most passages state. A tip shows the way that a relation goes.

    - **↑ ↓** or **j k** go from box to step to box; **enter** opens the page of an entity, or for a step the
      passage that states it.
    - **n** and **p** show the next and the previous way.
    - **y** copies the way as text; **w** looks for another one.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"way--cursor", *(f"way--{tone}" for tone in _TONES)}
    DEFAULT_CSS = """
    WayView {
        height: 1fr;
        background: transparent;
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
        padding: 0 1;
        & > .way--box { color: $foreground 60%; }
        & > .way--name { text-style: bold; }
        & > .way--label { text-style: bold italic; }
        & > .way--faint { color: $text-muted; }
        & > .way--cursor { color: $text-accent; }
        &:focus > .way--cursor { background: $primary 25%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", show=False, id="way.open", tooltip="Open what is at the cursor"),
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("home,g", "move(-1000)", "First", show=False),
        Binding("end,G", "move(1000)", "Last", show=False),
        Binding("n", "turn(1)", "Next way", show=False, id="way.next", tooltip="Show the next way"),
        Binding(
            "p", "turn(-1)", "Previous way", show=False, id="way.previous", tooltip="Show the one before"
        ),
        Binding("y", "copy", "Copy", show=False, id="way.copy", tooltip="Copy the way as text"),
    ]

    number: reactive[int] = reactive(0)
    """Which of the ways is shown."""

    stop: reactive[int] = reactive(0)
    """Where the cursor is: an even number for an entity, an odd one for the step behind it."""

    class EntityOpened(Message):
        """The page of an entity is to be opened."""

        def __init__(self, entity_id: int) -> None:
            super().__init__()
            self.entity_id = entity_id

    class StepOpened(Message):
        """The passage of a step is to be shown."""

        def __init__(self, step: Step) -> None:
            super().__init__()
            self.step = step

    class Turned(Message):
        """Another way is shown."""

    def __init__(self) -> None:
        super().__init__(id="way")
        self._routes: list[Route] = []
        self._lines: list[Line] = []

    @property
    def routes(self) -> list[Route]:
        """The ways."""
        return self._routes

    def show(self, routes: list[Route]) -> None:
        """Show the first of these ways; there is at least one."""
        self._routes = routes
        self.set_reactive(WayView.number, 0)
        self.set_reactive(WayView.stop, 0)
        self._draw()
        self.scroll_to(y=0, animate=False)

    def title(self) -> str:
        """What is shown, in words."""
        route = self._routes[self.number]
        ends = f"{plain(route.entities[0].name)} to {plain(route.entities[-1].name)}"
        steps = len(route.steps)
        return f"{ends} in {steps} {'step' if steps == 1 else 'steps'}"

    def action_open(self) -> None:
        """Open the entity or the step at the cursor."""
        if not self._routes:
            return
        route = self._routes[self.number]
        if self.stop % 2:
            self.post_message(self.StepOpened(route.steps[self.stop // 2]))
        else:
            self.post_message(self.EntityOpened(route.entities[self.stop // 2].id))

    def action_move(self, stops: int) -> None:
        """Go to another entity or step."""
        if self._routes:
            last = 2 * len(self._routes[self.number].steps)
            self.stop = max(0, min(self.stop + stops, last))

    def action_turn(self, ways: int) -> None:
        """Show another way; behind the last comes the first."""
        if len(self._routes) > 1:
            self.number = (self.number + ways) % len(self._routes)

    def action_copy(self) -> None:
        """Copy the way as text."""
        lines = ("".join(text for text, _ in line.pieces).rstrip() for line in self._lines)
        self.app.copy_to_clipboard("\n".join(lines) + "\n")
        self.notify("The way was copied as text.", markup=False)

    def watch_number(self) -> None:
        """Show the way from its beginning."""
        self.set_reactive(WayView.stop, 0)
        self._draw()
        self.scroll_to(y=0, animate=False)
        self.post_message(self.Turned())

    def watch_stop(self) -> None:
        """Draw the cursor, and scroll to it."""
        self._draw()
        rows = [row for row, line in enumerate(self._lines) if line.stop == self.stop]
        top, height = int(self.scroll_offset.y), self.scrollable_content_region.height
        if rows and (rows[0] < top or rows[-1] >= top + height):
            self.scroll_to(y=rows[0] if rows[0] < top else rows[-1] - height + 1, animate=False)

    def on_click(self, event: events.Click) -> None:
        """Put the cursor there; twice opens."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        event.stop()
        row = offset.y + int(self.scroll_offset.y)
        if row < len(self._lines):
            self.stop = self._lines[row].stop
            if event.chain == 2:
                self.action_open()

    def on_resize(self) -> None:
        """Wrap anew."""
        self._draw()

    def render_line(self, y: int) -> Strip:
        """A line of the way."""
        width = self.content_size.width
        row = y + int(self.scroll_offset.y)
        base = self.rich_style
        if row >= len(self._lines):
            return Strip.blank(width, base)
        line = self._lines[row]
        segments = []
        for text, tone in line.pieces:
            style = base + (self.get_component_rich_style(f"way--{tone}") if tone else base)
            if line.stop == self.stop and tone in ("name", "label", "box"):
                style += self.get_component_rich_style("way--cursor", partial=True)
            segments.append(Segment(text, style))
        return Strip(segments).adjust_cell_length(width, base)

    def _draw(self) -> None:
        # The bar for scrolling comes and goes with the length of the text; it always has its column.
        width = self.content_size.width - 1
        if not self._routes or width < 1:
            return
        self._lines = draw_way(self._routes[self.number], width, chosen=self.stop)
        self.virtual_size = Size(width, len(self._lines))
        self.refresh()
