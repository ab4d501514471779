"""Where the graph place leads to: the ways from one entity to another, and the communities."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.content import Content

from localrag.plain import plain
from localrag.tui.screens.entity_choice import EntityPicker
from localrag.tui.widgets.beside import show_passage
from localrag.tui.widgets.entity_visits import Visit
from localrag.tui.widgets.entity_way import WayView

if TYPE_CHECKING:
    from localrag.kb import KnowledgeBase
    from localrag.looking import Route, Step
    from localrag.tui.app import LocalragApp
    from localrag.tui.screens.graph import GraphScreen
    from localrag.tui.words import Fault


class Ways:
    """Ways for the graph place."""

    def __init__(self, screen: GraphScreen) -> None:
        self._screen = screen

    def ask(self, start: int) -> None:
        """Ask where a way from an entity is to lead, and go there; nothing without an entity."""
        if not start:
            return
        screen = self._screen

        def chosen(other: int | None) -> None:
            if other is not None:
                screen.visit(Visit("way", start, other))

        def show(name: str) -> None:
            screen.app.push_screen(EntityPicker(screen.session, f"A way from {name} to …"), chosen)

        def name_of(kb: KnowledgeBase) -> str:
            return plain(kb.entities.show(f"#{start}").entity.name)

        screen.session.look(screen, name_of, show, screen.app.show_fault, key="graph.named")

    def look(
        self,
        visit: Visit,
        done: Callable[[], object],
        failed: Callable[[Fault], object],
        forget: Callable[[], object],
    ) -> None:
        """Show the ways that a visit names; where there is none, say so and `forget` the visit."""
        screen = self._screen

        def found(routes: list[Route]) -> None:
            if routes:
                screen.way.show(routes)
                name_way(screen.way)
                done()
                return
            words = "No chain of at most six relations leads from one to the other, as far as was read."
            if visit.entity_id == visit.other:
                words = "This is the same entity."
            screen.notify(words, markup=False)
            forget()

        screen.session.look(
            screen,
            lambda kb: kb.graph.routes(visit.entity_id, visit.other),
            found,
            failed,
            key="graph.shown",
        )

    def show_step(self, step: Step) -> None:
        """Show the first passage that states a step."""
        row, places = step.relation.relation, step.relation.places
        for place in places[:1]:
            words = (row.source, row.target)
            show_passage(self._screen, place.document_id, place.start, place.end, words=words)


def name_way(view: WayView) -> None:
    """Say in the border which way is shown."""
    if view.routes:
        number, count = view.number + 1, len(view.routes)
        view.border_title = Content(view.title())
        view.border_subtitle = Content(f"way {number} of {count}, n next" if count > 1 else "the only way")


def show_community(app: LocalragApp, community_id: int) -> None:
    """Go to the place of communities, and there to this one where the place can do that."""
    app.action_go("communities")
    for screen in app.visited():
        show = getattr(screen, "show_community", None)
        if screen.PLACE == "communities" and show is not None:
            show(community_id)
