"""The place of communities: the tree of themes, a report for each, and what the file holds as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Input

from localrag.plain import TYPEABLE
from localrag.tui.community_words import Paragraph, Target, as_text, overview_page, report_page
from localrag.tui.screens.dialogs import Reader
from localrag.tui.screens.place import STYLES, PlaceScreen
from localrag.tui.widgets.beside import Beside, close_beside, show_passage
from localrag.tui.widgets.communities import OVERVIEW, CommunityTree, Page
from localrag.tui.widgets.lines import LineList
from localrag.tui.words import Fault

if TYPE_CHECKING:
    from localrag.kb import KnowledgeBase
    from localrag.store.survey import CommunityLine
    from localrag.surveying import Spot

_LONG = 400
"""Characters from which a paragraph is opened to be read on its own."""


class CommunitiesScreen(PlaceScreen):
    """The tree, and the page of the community that is chosen."""

    PLACE = "communities"
    CSS_PATH = STYLES / "communities.tcss"
    AUTO_FOCUS = "#community-tree"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "passage", "Passage", id="communities.passage", tooltip="Show the passage that says it"),
        Binding("y", "copy", "Copy", id="communities.copy", tooltip="Copy the page"),
        Binding("o", "overview", "Overview", id="communities.overview", tooltip="Show what the file holds"),
        Binding("slash", "search", "Search", id="communities.search", tooltip="Search titles"),
        Binding("escape", "back", "Back", show=False, id="communities.back", tooltip="Go back to the tree"),
    ]

    _communities = 0
    _shown: int | None = None

    def compose_body(self) -> Iterable[Widget]:
        """The tree, the page beside or below it, and room for a passage."""
        with Horizontal():
            with Container(id="communities"):
                with Vertical(id="community-choice"):
                    yield Input(
                        placeholder="Search titles", id="community-search", restrict=TYPEABLE, compact=True
                    )
                    yield CommunityTree()
                yield Page()
            yield Beside()

    def on_mount(self) -> None:
        """Nothing is known yet."""
        self.query_one("#community-choice").border_title = "Communities"
        self._page.border_title = "Overview"

    @property
    def _tree(self) -> CommunityTree:
        return self.query_one(CommunityTree)

    @property
    def _page(self) -> Page:
        return self.query_one(Page)

    def renew(self) -> None:
        """Read the outline, and the page that is shown."""
        self.session.look(self, lambda kb: kb.survey.communities(), self._fill, key="communities.outline")

    def _fill(self, lines: list[CommunityLine]) -> None:
        self._communities = len(lines)
        title = f"Communities ({len(lines):,})" if lines else "Communities (none yet)"
        self.query_one("#community-choice").border_title = title
        self._tree.fill(lines)
        self._look(keep=True)

    def _look(self, *, keep: bool = False) -> None:
        """Read what is chosen in the tree."""
        number = self._tree.chosen_id
        total = self._communities

        def job(kb: KnowledgeBase) -> list[Paragraph]:
            if number == OVERVIEW:
                return overview_page(kb.survey.overview(), kb.status(), total)
            return report_page(kb.survey.page(number))

        def show(paragraphs: list[Paragraph]) -> None:
            self._page.border_title = "Overview" if number == OVERVIEW else "Report"
            self._page.show(paragraphs, keep=keep and self._shown == number)
            self._shown = number

        def gone(fault: Fault) -> None:
            self.app.show_fault(fault)
            self.renew()

        self.session.look(self, job, show, gone, key="communities.page")

    # What a person does

    @on(LineList.Highlighted, "#community-tree")
    def _highlighted(self) -> None:
        if self.app.doings.status is not None and self._tree.chosen_id != self._shown:
            self._look()

    @on(LineList.Opened, "#community-tree")
    def _opened(self) -> None:
        self._page.focus()

    @on(Input.Changed, "#community-search")
    def _searched(self, event: Input.Changed) -> None:
        self._tree.narrow(event.value.lower().split())

    @on(Input.Submitted, "#community-search")
    def _search_ended(self) -> None:
        self._tree.focus()

    @on(Page.Followed)
    def _followed(self, event: Page.Followed) -> None:
        target = event.paragraph.target
        if target is None:
            text = event.paragraph.text.plain
            if len(text) > _LONG:
                self.app.push_screen(Reader("Report", "", text))
        elif target.kind == "document":
            show_passage(self, target.id, 0, 0)
        elif target.entity_id is not None:
            self._go_to_entity(target.entity_id)
        else:
            self._show_passage(target)

    def _go_to_entity(self, entity_id: int) -> None:
        from localrag.tui.screens.graph import GraphScreen

        self.app.action_go("graph")
        for screen in self.app.visited():
            if isinstance(screen, GraphScreen):
                screen.show_entity(entity_id)

    def action_passage(self) -> None:
        """Show the passage that says what the paragraph at the cursor cites."""
        chosen = self._page.chosen
        if chosen is None or chosen.target is None:
            self.notify("Choose a line with ▸ in the report first.", markup=False)
        elif chosen.target.kind == "document":
            show_passage(self, chosen.target.id, 0, 0)
        else:
            self._show_passage(chosen.target)

    def _show_passage(self, target: Target) -> None:
        kind, number = target.kind, target.id
        if kind == "document":
            return

        def show(spot: Spot | None) -> None:
            if spot is None:
                self.notify("The documents do not say this any more.", severity="warning", markup=False)
            else:
                show_passage(self, spot.document_id, spot.start, spot.end, words=spot.words)

        self.session.look(self, lambda kb: kb.survey.spot(kind, number), show, key="communities.spot")

    def action_copy(self) -> None:
        """Copy the whole page."""
        self.app.copy_to_clipboard(as_text(self._page.paragraphs))
        self.notify("The page was copied.", markup=False)

    def action_overview(self) -> None:
        """Go to the overview."""
        self._tree.move_to(0)
        self._tree.focus()

    def action_search(self) -> None:
        """Go to the search box."""
        self.query_one(Input).focus()

    def action_back(self) -> None:
        """Close the passage, or forget the search, or go to the tree."""
        if close_beside(self):
            return
        box = self.query_one(Input)
        if box.has_focus:
            box.value = ""
        self._tree.focus()
