"""The neighbours of an entity as a drawing in which one moves from box to box."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from localrag.tui.drawing.canvas import Canvas, Kind
from localrag.tui.drawing.layout import Layout, lay_out, step
from localrag.tui.drawing.paint import paint
from localrag.tui.drawing.picture import Picture

_STYLED: tuple[Kind, ...] = ("edge", "cross", "label", "name", "faint", "centre", "selected", "near")


class GraphDrawing(ScrollView, can_focus=True):
    """Draws a picture in the room that there is; what does not fit is scrolled to."""

    HELP = """
    The entity in the middle with those that it is connected with most.

    - **Arrows** (or **h j k l**) move along the lines; **enter** puts the entity at the cursor in the middle.
    - **e** or **space** shows what it is connected with in turn, and hides that again.
    - **+** and **-** show more or fewer neighbours; **o** opens the page of the entity.
    - **w** looks for a way from it to another entity; **y** copies the drawing as text.

    What an entity does to others stands at the right, what others do to it at the left; a tip shows the way
    that a relation goes. A heavy line is stated in three passages or more (**×5**: in five). A dotted line
    connects neighbours with each other, a dot **•** marks what is connected with the entity at the cursor,
    and **+3** says that three more relations are not drawn.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"drawing--{kind}" for kind in _STYLED}
    DEFAULT_CSS = """
    GraphDrawing {
        height: 1fr;
        background: transparent;
        scrollbar-size: 1 1;
        & > .drawing--edge { color: $foreground 60%; }
        & > .drawing--cross { color: $foreground 45%; }
        & > .drawing--label { color: $text-muted; text-style: italic; }
        & > .drawing--name { color: $foreground; }
        & > .drawing--faint { color: $text-muted; }
        & > .drawing--centre { color: $text-primary; text-style: bold; }
        & > .drawing--near { color: $foreground; text-style: bold; }
        & > .drawing--selected { color: $text-accent; text-style: bold; }
        &:focus > .drawing--selected {
            background: $block-cursor-background;
            color: $block-cursor-foreground;
            text-style: bold;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "step('left')", "Left", show=False),
        Binding("right,l", "step('right')", "Right", show=False),
        Binding("up,k", "step('up')", "Up", show=False),
        Binding("down,j", "step('down')", "Down", show=False),
        Binding("home,g", "home", "To the middle", show=False),
        Binding(
            "enter",
            "centre",
            "Put in the middle",
            show=False,
            id="drawing.centre",
            tooltip="Draw the neighbours of this one",
        ),
        Binding(
            "e,space",
            "expand",
            "Expand",
            show=False,
            id="drawing.expand",
            tooltip="Show its neighbours too, or hide them",
        ),
        Binding("o", "open", "Page", show=False, id="drawing.open", tooltip="Open the page of this entity"),
        Binding(
            "plus,equals_sign",
            "more(2)",
            "More",
            show=False,
            id="drawing.more",
            tooltip="Show more neighbours",
        ),
        Binding(
            "minus",
            "more(-2)",
            "Fewer",
            show=False,
            id="drawing.fewer",
            tooltip="Show fewer neighbours",
        ),
        Binding("y", "copy", "Copy", show=False, id="drawing.copy", tooltip="Copy the drawing as text"),
    ]

    class _OfEntity(Message):
        def __init__(self, entity_id: int) -> None:
            super().__init__()
            self.entity_id = entity_id

    class Highlighted(_OfEntity):
        """The cursor stands on another entity."""

    class Centred(_OfEntity):
        """An entity is to be put in the middle."""

    class Expanded(_OfEntity):
        """The neighbours of an entity are to be shown or hidden."""

    class Opened(_OfEntity):
        """The page of an entity is to be opened."""

    class Counted(Message):
        """More or fewer neighbours are to be shown."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    def __init__(self) -> None:
        super().__init__(id="drawing")
        self._picture: Picture | None = None
        self._layout: Layout | None = None
        self._canvas: Canvas | None = None
        self._chosen = 0

    @property
    def picture(self) -> Picture | None:
        """What is drawn."""
        return self._picture

    @property
    def chosen(self) -> int:
        """The entity at the cursor."""
        return self._chosen

    def show(self, picture: Picture, chosen: int | None = None) -> None:
        """Draw a picture; the cursor stays where it is unless `chosen` puts it elsewhere."""
        self._picture = picture
        if chosen is not None:
            self._chosen = chosen
        if self._chosen not in picture.nodes:
            self._chosen = picture.centre
        self._lay_out()
        self.post_message(self.Highlighted(self._chosen))

    def choose(self, entity_id: int) -> None:
        """Put the cursor on a drawn entity."""
        if self._picture is None or entity_id not in self._picture.nodes:
            return
        self._chosen = entity_id
        self._paint()
        self._show_chosen()
        self.post_message(self.Highlighted(entity_id))

    # Keys

    def action_step(self, way: str) -> None:
        """Go to the entity in a direction."""
        if self._layout is not None:
            self.choose(step(self._layout, self._chosen, way))

    def action_home(self) -> None:
        """Go to the middle."""
        if self._picture is not None:
            self.choose(self._picture.centre)

    def action_centre(self) -> None:
        """Ask for the entity at the cursor to be in the middle; where it is that, for its page."""
        if self._picture is not None:
            is_centre = self._chosen == self._picture.centre
            self.post_message((self.Opened if is_centre else self.Centred)(self._chosen))

    def action_expand(self) -> None:
        """Ask for the neighbours of the entity at the cursor."""
        if self._picture is not None:
            self.post_message(self.Expanded(self._chosen))

    def action_open(self) -> None:
        """Ask for the page of the entity at the cursor."""
        if self._picture is not None:
            self.post_message(self.Opened(self._chosen))

    def action_more(self, by: int) -> None:
        """Ask for more or fewer neighbours."""
        if self._picture is not None:
            self.post_message(self.Counted(by))

    def action_copy(self) -> None:
        """Copy the drawing as text."""
        if self._canvas is not None:
            lines = self._canvas.lines()
            self.app.copy_to_clipboard("\n".join(lines).strip("\n") + "\n")
            self.notify("The drawing was copied as text.", markup=False)

    def on_click(self, event: events.Click) -> None:
        """Put the cursor there; twice puts the entity in the middle."""
        offset = event.get_content_offset(self)
        if offset is None or self._layout is None:
            return
        event.stop()
        found = self._layout.at(offset.x + int(self.scroll_offset.x), offset.y + int(self.scroll_offset.y))
        if found is None:
            return
        self.choose(found)
        if event.chain == 2:
            self.action_centre()

    # Drawing

    def on_resize(self) -> None:
        """Draw anew in the room that there is now."""
        self._lay_out()

    def _lay_out(self) -> None:
        width, height = self.content_size
        if self._picture is None or width < 2 or height < 2:
            return
        self._layout = lay_out(self._picture, width, height)
        # Where it is too wide or too high the bar for scrolling takes a row or a column.
        if self._layout.width > width:
            height -= 1
            self._layout = lay_out(self._picture, width, height)
        if self._layout.height > height:
            self._layout = lay_out(self._picture, width - 1, height)
        self.virtual_size = Size(self._layout.width, self._layout.height)
        self._paint()
        self.call_after_refresh(self._show_chosen)

    def _paint(self) -> None:
        if self._picture is not None and self._layout is not None:
            self._canvas = paint(self._picture, self._layout, self._chosen)
            self.refresh()

    def _show_chosen(self) -> None:
        if self._layout is None or self._chosen not in self._layout.boxes:
            return
        box = self._layout.boxes[self._chosen]
        region = Region(max(0, box.x - 2), box.y, box.width + 4, box.height)
        around = region
        for child in self._picture.children(self._chosen) if self._picture is not None else ():
            other = self._layout.boxes[child]
            around = around.union(Region(other.x, other.y, other.width, other.height))
        room = self.scrollable_content_region
        # What was reached from it is seen too, where there is room for all.
        if around.width <= room.width and around.height <= room.height:
            region = around
        self.scroll_to_region(region, animate=False, force=True)

    def render_line(self, y: int) -> Strip:
        """A row of the drawing."""
        width = self.size.width
        row = y + int(self.scroll_offset.y)
        if self._canvas is None or row >= self._canvas.height:
            return Strip.blank(width, self.rich_style)
        segments = [Segment(text, self._style(kind)) for text, kind in self._canvas.row(row)]
        left = int(self.scroll_offset.x)
        return Strip(segments).crop_extend(left, left + width, self.rich_style)

    def _style(self, kind: Kind) -> Style:
        if not kind:
            return self.rich_style
        return self.rich_style + self.get_component_rich_style(f"drawing--{kind}")
