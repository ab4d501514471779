"""The place of entities: found, read about, drawn among their neighbours, and put right."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Static

from localrag.tui.screens.entity_changes import Changes
from localrag.tui.screens.entity_ways import Ways, name_way, show_community
from localrag.tui.screens.place import STYLES, PlaceScreen
from localrag.tui.widgets.beside import WIDE, Beside, close_beside, show_passage
from localrag.tui.widgets.drawing import GraphDrawing
from localrag.tui.widgets.entity_drawn import DrawnView
from localrag.tui.widgets.entity_finder import EntityFinder
from localrag.tui.widgets.entity_page import EntityPage
from localrag.tui.widgets.entity_reading import MENTIONS, RELATIONS, read_facts
from localrag.tui.widgets.entity_text import EntityFacts, Item
from localrag.tui.widgets.entity_visits import View, Visit, Visits
from localrag.tui.widgets.entity_way import WayView

if TYPE_CHECKING:
    from localrag.kb import Status
    from localrag.tui.session import Session
    from localrag.tui.words import Fault

_BACK = "left_square_bracket,backspace,alt+left"
_FORWARD = "right_square_bracket,alt+right"

_MORE = 200
"""Relations or mentions that come when more are asked for."""


class GraphScreen(PlaceScreen):
    """A list of entities; beside it, or in its place, the page of one, its neighbours or a way."""

    PLACE = "graph"
    CSS_PATH = STYLES / "graph.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "Search", id="graph.search", tooltip="Go to the search box"),
        Binding("d", "draw", "Draw", id="graph.draw", tooltip="Draw the neighbours of the entity"),
        Binding("w", "way", "Way to", id="graph.way", tooltip="Find how it is connected with another entity"),
        Binding(
            "c", "decide('change')", "Change", id="graph.change", tooltip="Rename, merge, split and more"
        ),
        Binding(
            "m",
            "decide('suggest')",
            "Merges",
            id="graph.suggest",
            tooltip="Which entities may be the same",
        ),
        Binding("u", "decide('undo')", "Undo", id="graph.undo", tooltip="Take the last decision back"),
        Binding(
            "H",
            "decide('history')",
            "Decisions",
            show=False,
            id="graph.history",
            tooltip="All decisions",
        ),
        Binding(
            _BACK, "back", "Back", show=False, id="graph.back", tooltip="Go back to what was shown before"
        ),
        Binding(_FORWARD, "forward", "Forward", show=False, id="graph.forward", tooltip="Go forward again"),
        Binding("escape", "leave", "List", show=False, id="graph.list", tooltip="Go back to the list"),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._changes = Changes(self)
        self._ways = Ways(self)
        self._visits = Visits()
        self._opening = False
        self._wanted: Callable[[], None] | None = None
        self._documents = 0

    def compose_body(self) -> Iterable[Widget]:
        """The list, what is shown of one, and the place of a passage."""
        with Horizontal(id="graph", classes="-finding"):
            yield EntityFinder(self.session)
            with Vertical(id="shown"), ContentSwitcher(initial="none"):
                yield Static("", id="none", markup=False)
                yield EntityPage()
                yield DrawnView(self.session)
                yield WayView()
            yield Beside()

    def on_mount(self) -> None:
        """The list has the keys, and what was asked for before is shown."""
        self.finder.lines.focus()
        if self._wanted is not None:
            wanted, self._wanted = self._wanted, None
            wanted()

    # Parts

    @property
    def finder(self) -> EntityFinder:
        """The list of entities."""
        return self.query_one(EntityFinder)

    @property
    def page(self) -> EntityPage:
        """The page of an entity."""
        return self.query_one(EntityPage)

    @property
    def drawing(self) -> GraphDrawing:
        """The neighbours of an entity."""
        return self.query_one(GraphDrawing)

    @property
    def way(self) -> WayView:
        """A way between two entities."""
        return self.query_one(WayView)

    @property
    def view(self) -> str:
        """What is shown beside the list: `none`, `page`, `drawn` or `way`."""
        return self.query_one(ContentSwitcher).current or "none"

    @property
    def finding(self) -> bool:
        """Whether the list is in front."""
        return self.query_one("#graph").has_class("-finding")

    # For other places

    def show_entity(self, entity_id: int) -> None:
        """Show the page of an entity; may be called before the place was ever shown."""
        self._when_mounted(lambda: self.visit(Visit("page", entity_id)))

    def show_name(self, name: str) -> None:
        """Show the page of the entity with this name, alias or number such as `#12`."""

        def look() -> None:
            self.session.look(
                self,
                lambda kb: kb.entities.show(name).entity.id,
                self.show_entity,
                self.app.show_fault,
                key="graph.name",
            )

        self._when_mounted(look)

    def _when_mounted(self, act: Callable[[], None]) -> None:
        if self.is_mounted:
            act()
        else:
            self._wanted = act

    # What there is

    def show_status(self, status: Status) -> None:
        """Take note of what the file holds."""
        self._documents = len(status.documents)
        self.finder.say_none(self._documents)

    def renew(self) -> None:
        """Search anew, and read anew what is shown."""
        self.finder.renew()
        if self._visits.here is not None:
            self._open(self._visits.here, again=True)

    @on(EntityFinder.Highlighted)
    def _highlighted(self, event: EntityFinder.Highlighted) -> None:
        self.finder.say_none(self._documents)
        self.refresh_bindings()
        none = "Choose an entity in the list to read about it." if event.entity_id else ""
        self.query_one("#none", Static).update(none)
        if self.finding and not self._opening and self.size.width >= WIDE and event.entity_id:
            # Where there is room the page goes along with the cursor.
            self._read(event.entity_id, self._preview)

    @on(EntityFinder.Opened)
    def _opened(self, event: EntityFinder.Opened) -> None:
        self.visit(Visit("page", event.entity_id))

    def _preview(self, facts: EntityFacts) -> None:
        if self.finding:
            self.page.show(facts)
            self._show("page")

    def on_descendant_focus(self) -> None:
        """A passage beside takes the room of the list; once it is closed the list comes back."""
        self.query_one("#graph").set_class(self.query_one(Beside).display, "-beside")

    # Going from one to another

    def visit(self, visit: Visit) -> None:
        """Go somewhere; what lay ahead is forgotten, as in a browser."""
        self._keep_place()
        self._open(self._visits.go(visit), again=False)

    def _keep_place(self) -> None:
        here = self._visits.here
        if here is not None and here.view == "page" and self.view == "page" and not self.finding:
            self._visits.keep(self.page.place)

    def _open(self, visit: Visit, *, again: bool) -> None:
        """Show what a visit says; `again` for what is shown already and may have changed."""
        # What was to be shown for the first time and has not come yet still is.
        again = again and not self._opening
        self._opening = not again
        if visit.view == "page":
            place = None if again else visit.place

            def page(facts: EntityFacts) -> None:
                self.page.show(facts, place)
                self._bring("page", again=again)

            more = again and self.page.facts is not None and self.page.facts.entry.id == visit.entity_id
            shown = self.page.facts if more else None
            self._read(
                visit.entity_id,
                page,
                relations=max(RELATIONS, len(shown.relations)) if shown else RELATIONS,
                mentions=max(MENTIONS, shown.mentioned) if shown else MENTIONS,
            )
        elif visit.view == "drawn":
            self.query_one(DrawnView).draw(
                visit.entity_id, lambda: self._bring("drawn", again=again), self._gone, keep=again
            )
        else:
            self._ways.look(visit, lambda: self._bring("way", again=again), self._gone, self._no_way)

    def _read(
        self,
        entity_id: int,
        done: Callable[[EntityFacts], None],
        relations: int = RELATIONS,
        mentions: int = MENTIONS,
    ) -> None:
        self.session.look(
            self,
            lambda kb: read_facts(kb, entity_id, relations, mentions),
            done,
            self._gone,
            key="graph.shown",
        )

    def _gone(self, fault: Fault) -> None:
        self._opening = False
        self.query_one("#none", Static).update(fault.text)
        self._show("none")
        if not self.finding and self.size.width < WIDE:
            self.app.show_fault(fault)

    def _bring(self, view: View, *, again: bool) -> None:
        """Show a view in front, with the keys, unless it only was read anew."""
        self._opening = False
        self._show(view)
        if again:
            return
        self.query_one("#graph").remove_class("-finding")
        self.query_one("#graph").set_class(view == "drawn", "-drawn")
        focused = {"page": self.page, "drawn": self.drawing, "way": self.way}[view]
        focused.focus()
        self.refresh_bindings()

    def _show(self, view: str) -> None:
        self.query_one(ContentSwitcher).current = view

    def action_back(self) -> None:
        """Go back; from the first page to the list, and from there to what was shown last."""
        self._go(-1)

    def action_forward(self) -> None:
        """Go forward again."""
        self._go(1)

    def _go(self, by: int) -> None:
        self._keep_place()
        visit = self._visits.here if self.finding else self._visits.move(by)
        if visit is not None:
            self._open(visit, again=False)
        elif by < 0:
            self.action_leave()

    def action_leave(self) -> None:
        """Close the passage beside; else go back to the list."""
        if close_beside(self):
            return
        self.query_one("#graph").add_class("-finding")
        self.query_one("#graph").remove_class("-drawn")
        self.finder.lines.focus()
        self.refresh_bindings()

    def action_search(self) -> None:
        """Go to the search box."""
        self.action_leave()
        self.query_one("#graph").add_class("-finding")
        self.finder.box.focus()

    # The page

    @on(EntityPage.Opened)
    def _item_opened(self, event: EntityPage.Opened) -> None:
        item, facts = event.item, self.page.facts
        if item.kind == "relation":
            self.visit(Visit("page", item.other))
        elif item.kind in ("claim", "mention"):
            self._passage(item)
        elif item.kind == "community":
            show_community(self.app, item.other)
        elif facts is not None:
            relations, mentions = len(facts.relations), facts.mentioned
            if item.kind == "more relations":
                relations += _MORE
            else:
                mentions += _MORE
            place = self.page.place
            self._read(
                facts.entry.id,
                lambda found: self.page.show(found, place),
                max(relations, 1),
                max(mentions, 1),
            )

    @on(EntityPage.PassageAsked)
    def _passage_asked(self, event: EntityPage.PassageAsked) -> None:
        self._passage(event.item)

    def _passage(self, item: Item) -> None:
        if item.places:
            spot = item.places[0]
            show_passage(self, spot.document_id, spot.start, spot.end, words=item.words)

    # The drawing

    def action_draw(self) -> None:
        """Draw the neighbours of the entity that is shown or chosen; from a drawing back to the page."""
        entity_id = self.entity
        if entity_id:
            drawn = not self.finding and self.view == "drawn"
            self.visit(Visit("page" if drawn else "drawn", entity_id))

    @on(GraphDrawing.Centred)
    def _centred(self, event: GraphDrawing.Centred) -> None:
        self.visit(Visit("drawn", event.entity_id))

    @on(GraphDrawing.Opened)
    def _drawn_opened(self, event: GraphDrawing.Opened) -> None:
        self.visit(Visit("page", event.entity_id))

    # Ways

    def action_way(self) -> None:
        """Choose another entity, and show how the two are connected."""
        self._ways.ask(self.entity)

    def _no_way(self) -> None:
        self._opening = False
        self._visits.drop()

    @on(WayView.Turned)
    def _turned(self) -> None:
        name_way(self.way)

    @on(WayView.EntityOpened)
    def _way_entity(self, event: WayView.EntityOpened) -> None:
        self.visit(Visit("page", event.entity_id))

    @on(WayView.StepOpened)
    def _way_step(self, event: WayView.StepOpened) -> None:
        self._ways.show_step(event.step)

    # Changing

    @property
    def entity(self) -> int:
        """The entity that keys are about: that of the page, of the drawing, or of the list; 0 for none."""
        if not self.finding:
            if self.view == "drawn":
                return self.drawing.chosen
            if self.view == "page" and self.page.facts is not None:
                return self.page.facts.entry.id
            if self.view == "way" and self.way.routes:
                return self.way.routes[self.way.number].entities[self.way.stop // 2].id
            return 0
        chosen = self.finder.chosen
        return chosen[0].id if chosen else 0

    @property
    def marked(self) -> list[int]:
        """The entities that are marked in the list, where that is in front."""
        return [entry.id for entry in self.finder.marked] if self.finding else []

    def action_decide(self, what: str) -> None:
        """Change an entity, judge suggestions, take a decision back, or list decisions."""
        does = {"change": self._changes.offer, "suggest": self._changes.suggest, "undo": self._changes.undo}
        does.get(what, self._changes.history)()
