"""Goes from one place to what another one shows: an entity by its name, a document at a passage."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from localrag.tui.screens.graph import GraphScreen
    from localrag.tui.screens.place import PlaceScreen


def open_name(screen: PlaceScreen, name: str) -> None:
    """Show an entity in the graph, by its name."""
    app = screen.app
    app.action_go("graph")

    def show() -> None:
        found = next((place for place in app.visited() if place.PLACE == "graph"), None)
        if found is not None:
            cast("GraphScreen", found).show_name(name)

    # A place that is visited for the first time is mounted first.
    app.call_later(show)


def open_document(screen: PlaceScreen, document_id: int, chunk_id: int = 0) -> None:
    """Show a document, at a passage if one is given."""
    from localrag.tui.screens.document import DocumentScreen

    screen.app.push_screen(DocumentScreen(screen.session, document_id, chunk_id=chunk_id or None))
