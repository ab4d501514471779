"""What opens beside a place: the source panel, the explain panel, or a page over it in their stead.

A place that wants a panel at its side yields `Beside()` in a horizontal container. Without one, or where the
screen is narrower than `WIDE`, the panel fills the screen and goes away with escape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.screen import Screen
from textual.widget import Widget

from localrag.tui.places import PLACES
from localrag.tui.widgets.keys import KeyLine
from localrag.tui.widgets.places import PlaceBar

if TYPE_CHECKING:
    from localrag.answering.types import Answer, Citation
    from localrag.tui.app import LocalragApp
    from localrag.tui.screens.place import PlaceScreen
    from localrag.tui.session import Session

WIDE = 110
"""Columns from which a panel stands beside a place."""

_ID = "beside"


def show_source(
    screen: PlaceScreen, citation: Citation, question: str = "", *, answer: Answer | str | None = None
) -> None:
    """Show a cited passage within its document.

    With `answer`, an answer or the Markdown of one, the words are marked that its sentences share with the
    passage; without it those of the `question`.
    """
    from localrag.tui.widgets.source import SourcePanel

    show_panel(screen, SourcePanel.of_citation(screen.session, citation, question, answer))


def show_passage(
    screen: PlaceScreen,
    document_id: int,
    start: int,
    end: int,
    *,
    words: Sequence[str] = (),
    title: str = "",
) -> None:
    """Show a stretch of a document within it, with `words` marked in it, such as the name of an entity."""
    from localrag.tui.widgets.source import SourcePanel

    show_panel(screen, SourcePanel.of_span(screen.session, document_id, (start, end), words, title))


def show_explain(
    screen: PlaceScreen,
    answer: Answer | None,
    question: str,
    *,
    session: int | None = None,
    number: int | None = None,
) -> None:
    """Show what an answer rests on.

    For an answer of a conversation that is read again, give the conversation's id as `session` and the
    answer's `number` in it, counted from 1; `answer` may be None then.
    """
    from localrag.tui.widgets.explain import ExplainPanel

    show_panel(screen, ExplainPanel(screen.session, answer, question, session_id=session, number=number))


def close_beside(screen: PlaceScreen) -> bool:
    """Close the panel that stands beside a place; whether there was one."""
    box = _box(screen)
    panels = list(box.query(Panel)) if box is not None else []
    if not panels:
        return False
    panels[-1].close()
    return True


def show_panel(screen: PlaceScreen, panel: Panel) -> None:
    """Show a panel in place of those that are beside the place, or as a page over it."""
    box = _box(screen)
    if box is not None and screen.size.width >= WIDE:
        before = list(box.query(Panel))
        inside = any(old.has_focus_within for old in before)
        panel.came_from = before[0].came_from if inside else screen.focused
        box.remove_children(before)
        box.display = True
        box.mount(panel)
        panel.call_after_refresh(panel.take_focus)
    else:
        _push(screen.app, panel)


class Panel(Vertical):
    """What is shown beside a place, or on a page of its own. Subclasses say what has the focus first."""

    app: LocalragApp
    DEFAULT_CSS = """
    Panel {
        height: 1fr;
        border: round $foreground 35%;
        border-title-color: $foreground;
        &:focus-within {
            border: round $primary;
            border-title-style: bold;
        }
        & .facts {
            height: auto;
            max-height: 40%;
            padding: 0 1;
            scrollbar-size-vertical: 1;
            border-bottom: solid $foreground 20%;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Close", id="beside.close", tooltip="Close the panel"),
    ]

    def __init__(self, session: Session, *, classes: str = "") -> None:
        super().__init__(classes=f"panel {classes}")
        self.session = session
        self.came_from: Widget | None = None
        """What had the focus before."""

    def again(self) -> Panel:
        """A new panel that shows the same, for another container."""
        raise NotImplementedError

    def take_focus(self) -> None:
        """Put the focus where the keys of the panel work."""
        raise NotImplementedError

    def show_over(self, panel: Panel) -> None:
        """Show another panel; when that is closed, this one is seen again."""
        box = self.parent
        if isinstance(self.screen, BesideScreen) or not isinstance(box, Widget):
            _push(self.app, panel)
            return
        panel.came_from = self.screen.focused
        self.display = False
        box.mount(panel)
        panel.call_after_refresh(panel.take_focus)

    def action_close(self) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """Go away, and show what was there before."""
        if isinstance(self.screen, BesideScreen):
            self.screen.close()
            return
        box, came_from = self.parent, self.came_from
        below = [panel for panel in box.query(Panel) if panel is not self] if isinstance(box, Widget) else []
        had_focus = self.has_focus_within
        if below:
            below[-1].display = True
        elif isinstance(box, Widget):
            box.display = False
        if had_focus and came_from is not None and came_from.is_attached:
            came_from.focus()
        self.remove()


class Beside(Container):
    """Holds the panel at the side of a place; without one it takes no room."""

    DEFAULT_CSS = """
    Beside {
        display: none;
        width: 46%;
        min-width: 48;
        max-width: 100;
        height: 1fr;
    }
    """

    def __init__(self) -> None:
        super().__init__(id=_ID)

    def on_resize(self) -> None:
        """Where there is no room any more, the panel becomes a page."""
        panels = list(self.query(Panel))
        if panels and self.screen.size.width < WIDE and self.screen.is_current:
            page = panels[-1].again()
            focus = panels[0].came_from
            self.display = False
            self.remove_children()
            if focus is not None and focus.is_attached:
                focus.focus()
            _push(panels[-1].app, page)


class BesideScreen(Screen[None]):
    """A panel on a page of its own, over a place; closing it leads back there."""

    app: LocalragApp
    AUTO_FOCUS = "Panel *"
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(item.keys, f"app.go('{item.name}')", item.title, show=False, id=f"go.{item.name}")
            for item in PLACES
        ),
        Binding("ctrl+g", "app.places", "Go to", show=False, id="go.menu", tooltip="Choose a place"),
    ]
    DEFAULT_CSS = """
    BesideScreen > Panel {
        height: 1fr;
    }
    """

    def __init__(self, panel: Panel, place: str) -> None:
        """`place` is the name of the place that it lies over."""
        super().__init__()
        self._panel = panel
        self._place = place
        self.BINDING_GROUP_TITLE = "Panel"

    def compose(self) -> ComposeResult:
        """The bar of places above, the keys below."""
        yield PlaceBar(self._place)
        yield self._panel
        yield KeyLine()

    def close(self) -> None:
        """Go back, once."""
        if self.is_current:
            self.dismiss()


def _push(app: LocalragApp, panel: Panel) -> None:
    app.push_screen(BesideScreen(panel, app.current_mode))


def _box(screen: PlaceScreen) -> Widget | None:
    found = screen.query(f"#{_ID}")
    return found.first() if found else None
