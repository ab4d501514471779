"""What every place has in common: the bar of places, the status line, the footer, and when it reads anew."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget

from localrag.tui import messages
from localrag.tui.places import PLACES, place
from localrag.tui.widgets.keys import KeyLine
from localrag.tui.widgets.places import PlaceBar
from localrag.tui.widgets.status import StatusLine

if TYPE_CHECKING:
    from localrag.kb import Status
    from localrag.tui.app import LocalragApp
    from localrag.tui.session import Session

STYLES = Path(__file__).parent.parent / "styles"
"""Where each place's style sheet lies."""


class PlaceScreen(Screen[None]):
    """A place. Subclasses say what stands in its body, and read what they show in `renew`.

    Every message of the session reaches every place that has been visited, whether it is shown or not;
    handlers are written with `@on`. Textual calls `on_mount` of a subclass and the one here, each by itself.
    """

    PLACE: ClassVar[str]
    """Its name in `places.PLACES`."""

    app: LocalragApp
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(
                item.keys,
                f"app.go('{item.name}')",
                item.title,
                show=False,
                priority=True,  # a box to type in has uses of its own for f6 and f7
                id=f"go.{item.name}",
                tooltip=item.about,
            )
            for item in PLACES
        ),
        Binding(
            "ctrl+g", "app.places", "Go to", show=False, id="go.menu", tooltip="Choose a place by its letter"
        ),
        Binding(
            "ctrl+n,alt+n",
            "app.new_conversation",
            "New",
            show=False,
            id="go.new",
            tooltip="Begin a new conversation",
        ),
    ]

    def __init__(self, session: Session) -> None:
        """`session` is open or about to be."""
        super().__init__()
        self.session = session
        self.BINDING_GROUP_TITLE = place(self.PLACE).title
        self._stale = True

    def compose(self) -> ComposeResult:
        """The bar, the body, the status line and the footer."""
        yield PlaceBar(self.PLACE)
        with Container(id="body"):
            yield from self.compose_body()
        yield StatusLine()
        yield KeyLine()

    def compose_body(self) -> Iterable[Widget]:
        """The widgets between the bar and the status line."""
        raise NotImplementedError

    def renew(self) -> None:
        """Read anew what is shown; called when the place is shown and something has changed meanwhile.

        The file is open by then. Reading goes through `session.look`.
        """

    def show_status(self, status: Status) -> None:
        """Take the state of the file, which has been read anew."""

    def on_mount(self) -> None:
        """Say what goes on."""
        self._show_doings()
        if self.app.doings.status is not None:
            self.show_status(self.app.doings.status)

    @on(events.ScreenResume)
    def _resumed(self) -> None:
        self._show_doings()
        self._renew_if_stale()

    @on(messages.FromSession)
    def _told(self, message: Message) -> None:
        if self in self.app.screen_stack:  # whoever is not seen catches up when he is shown
            self._show_doings()
        # The footer is made anew each time, which would keep it from being seen at all.
        if not isinstance(message, messages.Often):
            self.refresh_bindings()
        if isinstance(message, (messages.Opened, messages.Refreshed)):
            self.show_status(message.status)
        if isinstance(message, (messages.Opened, messages.Changed, messages.AddEnded, messages.IndexEnded)):
            self._stale = True
            self._renew_if_stale()

    def _renew_if_stale(self) -> None:
        if self._stale and self.is_current and self.app.doings.status is not None:
            self._stale = False
            self.renew()

    def _show_doings(self) -> None:
        doings = self.app.doings
        for line in self.query(StatusLine):
            line.show_engine(doings.engine_words, busy=doings.busy)
            line.show_file(doings.file_words)
