"""The graph place: finding, reading, drawing, ways between two, and decisions, as a person does it."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from localrag.kb import KnowledgeBase
from localrag.resolving import resolve
from localrag.sections import ResolutionSettings
from localrag.store import Store
from localrag.tui.app import LocalragApp
from localrag.tui.screens.dialogs import Confirm
from localrag.tui.screens.entity_choice import Choice, EntityPicker, LineForm
from localrag.tui.screens.entity_history import HistoryScreen
from localrag.tui.screens.entity_split import SplitDialog
from localrag.tui.screens.entity_suggestions import SuggestionsScreen
from localrag.tui.screens.graph import GraphScreen
from localrag.tui.widgets.beside import Beside
from localrag.tui.widgets.lines import LineList
from tests.store.test_merges import PERSON, read
from tests.tui.graph_library import entity_id, read_library
from tests.tui.support import go, library, running, screen_text, sees, until


async def graph(pilot: Pilot[None], app: LocalragApp, total: int = 12) -> GraphScreen:
    """The graph place with its list."""
    screen = await go(pilot, app, "graph", GraphScreen)
    await until(pilot, lambda: screen.is_mounted and screen.finder.total == total)
    return screen


async def press(pilot: Pilot[None], *keys: str) -> None:
    """Type keys, one after the other."""
    for key in keys:
        await pilot.press("space" if key == " " else key)


async def on_page(pilot: Pilot[None], screen: GraphScreen, name: str) -> None:
    """Wait for the page of an entity."""
    await until(
        pilot,
        lambda: (
            screen.is_mounted
            and screen.view == "page"
            and screen.page.facts is not None
            and screen.page.facts.view.entity.name == name
            and not screen.finding
        ),
    )


def names(screen: GraphScreen) -> list[str]:
    """What the list shows."""
    found = screen.finder._found
    return [entry.name for entry in found.entries] if found is not None else []


def sources(screen: GraphScreen) -> dict[str, str]:
    """Where each relation on the page starts, by its other end."""
    facts = screen.page.facts
    assert facts is not None
    rows = [told.relation for told in facts.relations]
    return {row.target if row.source_id == facts.entry.id else row.source: row.source for row in rows}


def question(app: LocalragApp) -> str:
    """What is asked; a notification may lie over it on the screen."""
    assert isinstance(app.screen, Confirm)
    return app.screen._question


def names_in(path: Path) -> list[str]:
    """The names of the entities in the file."""
    with KnowledgeBase.open(path, read_only=True) as kb:
        return sorted(row.name for row in kb.entities.list())


async def test_an_entity_is_found_read_about_and_left_again(tmp_path: Path) -> None:
    async with running(read_library(tmp_path, communities=True)) as (app, pilot):
        screen = await graph(pilot, app)
        assert names(screen)[0] == "Marta Lind"
        await press(pilot, "s")
        await until(pilot, lambda: "By: most relations" in screen_text(app))
        await pilot.click("#finder-order")
        await until(pilot, lambda: names(screen)[0] == "City Council")
        await press(pilot, "f")
        await until(pilot, lambda: isinstance(app.screen, Choice) and app.screen.is_mounted)
        await press(pilot, "down", "down", "down", "enter")
        await until(pilot, lambda: set(names(screen)) == {"City Council", "Kvern Works"})
        await pilot.click("#finder-type")
        await until(pilot, lambda: isinstance(app.screen, Choice) and app.screen.is_mounted)
        await press(pilot, "enter")
        await until(pilot, lambda: len(names(screen)) == 12)
        screen.finder.lines.focus()
        await press(pilot, "s")
        await until(pilot, lambda: names(screen)[0] == "Marta Lind")
        await press(pilot, "slash", *"lind")
        await until(pilot, lambda: set(names(screen)) == {"Marta Lind", "Ida Lind", "M. Lind"})
        await sees(pilot, "3 of 12")
        await press(pilot, "down", "home", "enter")
        await on_page(pilot, screen, "Marta Lind")
        await sees(pilot, "person · 5 passages, 4 relations")
        assert "→ Halden Bridge  designed" in screen_text(app)
        # Its communities come first, then its relations.
        assert screen.page.item is not None
        assert screen.page.item.kind == "community"
        await press(pilot, "2")
        await sees(pilot, "1931")
        assert "it is so, work: Marta Lind → Halden Bridge" in screen_text(app)
        assert "suspected, fine: Marta Lind" in screen_text(app)
        await press(pilot, "1", "enter")
        await on_page(pilot, screen, "Halden Bridge")
        await press(pilot, "left_square_bracket")
        await on_page(pilot, screen, "Marta Lind")
        await press(pilot, "right_square_bracket")
        await on_page(pilot, screen, "Halden Bridge")
        await press(pilot, "backspace", "backspace")
        await until(pilot, lambda: screen.finding)
        # The other places lead here too.
        screen.show_name("oslo")
        await on_page(pilot, screen, "Oslo")
        await press(pilot, "3", "enter")
        await sees(pilot, "letters.md")
        await until(pilot, lambda: app.screen is not screen)
        await press(pilot, "escape")
        await until(pilot, lambda: app.screen is screen)
        await press(pilot, "escape")
        assert screen.finding


async def test_neighbours_are_drawn_and_a_way_is_found(tmp_path: Path) -> None:
    async with running(read_library(tmp_path)) as (app, pilot):
        screen = await graph(pilot, app)
        await press(pilot, "d")
        await sees(pilot, "Marta Lind: 4 of 4 neighbours")
        marta = screen.drawing.chosen
        await press(pilot, "right")
        await until(pilot, lambda: screen.drawing.chosen != marta)
        await sees(pilot, "┃ Halden Bridge")
        assert "Marta Lind → Halden Bridge: Marta Lind designed the Halden Bridge." in screen_text(app)
        await press(pilot, "e")
        await sees(pilot, "│•City Council")
        assert "│•Kvern Works" in screen_text(app)
        await press(pilot, "space")
        await until(pilot, lambda: "City Council" not in screen_text(app))
        await press(pilot, "minus")
        await sees(pilot, "2 of 4 neighbours")
        await press(pilot, "enter")
        # The number stays as it was chosen.
        await sees(pilot, "Halden Bridge: 2 of 3 neighbours")
        await press(pilot, "plus")
        await sees(pilot, "Halden Bridge: 3 of 3 neighbours")
        await press(pilot, "backspace")
        await sees(pilot, "Marta Lind: 4 of 4 neighbours")
        await press(pilot, "w")
        await until(pilot, lambda: isinstance(app.screen, EntityPicker) and app.screen.is_mounted)
        await press(pilot, *"old mill", "enter")
        await sees(pilot, "Marta Lind to Old Mill in 4 steps")
        assert "All know that she designed it." in screen_text(app)
        assert "bridge.md · second.md" in screen_text(app)
        await press(pilot, "j", "enter")
        await until(pilot, lambda: app.screen is not screen)
        await press(pilot, "escape")
        await until(pilot, lambda: app.screen is screen)
        await press(pilot, "j", "enter")
        await on_page(pilot, screen, "Halden Bridge")
        # From one that nothing leads to no way is found, and one stays where one was.
        screen.show_name("M. Lind")
        await on_page(pilot, screen, "M. Lind")
        await press(pilot, "w")
        await until(pilot, lambda: isinstance(app.screen, EntityPicker) and app.screen.is_mounted)
        await press(pilot, *"oslo", "enter")
        await sees(pilot, "No chain of at most")
        assert screen.view == "page"


async def test_entities_are_renamed_merged_split_and_decisions_taken_back(tmp_path: Path) -> None:
    path = read_library(tmp_path)
    async with running(path) as (app, pilot):
        screen = await graph(pilot, app)
        screen.show_name("M. Lind")
        await on_page(pilot, screen, "M. Lind")
        await press(pilot, "c")
        await until(pilot, lambda: isinstance(app.screen, Choice) and app.screen.is_mounted)
        await press(pilot, "m")
        await until(pilot, lambda: isinstance(app.screen, EntityPicker) and app.screen.is_mounted)
        await press(pilot, *"marta", "enter")
        await until(pilot, lambda: isinstance(app.screen, Confirm) and app.screen.is_mounted)
        assert "M. Lind (person, 1 passage)" in question(app)
        assert "Marta Lind (person, 5 passages)" in question(app)
        await press(pilot, "y")
        await on_page(pilot, screen, "Marta Lind")
        app.clear_notifications()
        await sees(pilot, "Also called: M. Lind")
        assert "M. Lind" not in names_in(path)
        await press(pilot, "c")
        await until(pilot, lambda: isinstance(app.screen, Choice) and app.screen.is_mounted)
        await press(pilot, "r")
        await until(pilot, lambda: isinstance(app.screen, LineForm) and app.screen.is_mounted)
        await press(pilot, *"Ida Lind", "enter")
        # A name that is taken is refused in words that name no command.
        await sees(pilot, "There is an entity")
        assert "localrag entities" not in screen_text(app)
        await press(pilot, "c")
        await until(pilot, lambda: isinstance(app.screen, Choice) and app.screen.is_mounted)
        await press(pilot, "s")
        await until(pilot, lambda: isinstance(app.screen, SplitDialog) and app.screen.is_mounted)
        await press(pilot, "down", "space")
        # What was said before would lie over the dialog for a while.
        app.clear_notifications()
        await sees(pilot, "1 of 6 mentions go, 5 stay.")
        await press(pilot, "tab", *"Mona Lind", "enter")
        await until(pilot, lambda: "Mona Lind" in names(screen))
        await until(pilot, lambda: app.screen is screen)
        await until(pilot, lambda: screen.page.item is not None and screen.page.item.kind == "relation")
        await press(pilot, "c")
        await until(pilot, lambda: isinstance(app.screen, Choice) and app.screen.is_mounted)
        await press(pilot, "v")
        # Read from the page itself: a notification may lie over it.
        await until(pilot, lambda: sources(screen)["Halden Bridge"] == "Halden Bridge")
        await press(pilot, "u")
        await until(pilot, lambda: isinstance(app.screen, Confirm) and app.screen.is_mounted)
        await press(pilot, "y")
        await until(pilot, lambda: sources(screen)["Halden Bridge"] == "Marta Lind")
        await press(pilot, "u")
        await until(pilot, lambda: isinstance(app.screen, Confirm) and app.screen.is_mounted)
        assert "Split “Mona Lind” off “Marta Lind”" in question(app)
        await press(pilot, "y")
        await until(pilot, lambda: "Mona Lind" not in names(screen))
        await until(pilot, lambda: app.screen is screen)
        await press(pilot, "H")
        await until(pilot, lambda: isinstance(app.screen, HistoryScreen) and app.screen.is_mounted)
        app.clear_notifications()
        await sees(pilot, "taken back")
        assert "Merge “M. Lind” into “Marta Lind”." in screen_text(app)
        await press(pilot, "end", "enter")
        await until(pilot, lambda: isinstance(app.screen, Confirm) and app.screen.is_mounted)
        await press(pilot, "y")
        await until(pilot, lambda: "M. Lind" in names(screen))


async def test_pairs_that_may_be_one_are_confirmed_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "holmes.localrag"
    with Store.create(path) as store:
        read(store, "a.txt", "Sherlock Holmes came.", [("Sherlock Holmes", PERSON)])
        read(store, "b.txt", "Mycroft Holmes. Holmes.", [("Mycroft Holmes", PERSON), ("Holmes", PERSON)])
        read(store, "c.txt", "Holmes came.", [("Holmes", PERSON)])
        resolve(store, ResolutionSettings())
    async with running(path) as (app, pilot):
        await graph(pilot, app, 3)
        await press(pilot, "m")
        await until(pilot, lambda: isinstance(app.screen, SuggestionsScreen) and app.screen.is_mounted)
        await sees(pilot, "May be the same (2)")
        await sees(pilot, "Because:")
        await sees(pilot, "Holmes came.")
        screen = app.screen
        lines = screen.query_one(LineList)
        await press(pilot, "n")
        await until(pilot, lambda: lines.count == 1)
        assert "Holmes" in names_in(path)
        await press(pilot, "y")
        await until(pilot, lambda: "Holmes" not in names_in(path))
        await sees(pilot, "Nothing is suggested")
        await press(pilot, "u")
        await until(pilot, lambda: isinstance(app.screen, Confirm) and app.screen.is_mounted)
        await press(pilot, "y")
        await until(pilot, lambda: lines.count == 1)


async def test_without_entities_it_says_what_to_do(tmp_path: Path) -> None:
    async with running(library(tmp_path)) as (app, pilot):
        screen = await graph(pilot, app, 0)
        await sees(pilot, "Press f4 and let it read.")
        # Keys that are about an entity do nothing.
        await press(pilot, "d", "w", "c", "enter")
        await pilot.pause()
        assert app.screen is screen
        await press(pilot, "u")
        await sees(pilot, "Nothing was decided")


@pytest.mark.slow
@pytest.mark.parametrize("size", [(140, 40), (60, 24), (60, 16)])
async def test_every_view_in_every_size(tmp_path: Path, size: tuple[int, int]) -> None:
    path = read_library(tmp_path)
    marta = entity_id(path, "Marta Lind")
    async with running(path, size=size) as (app, pilot):
        app.action_go("graph")
        await until(pilot, lambda: isinstance(app.screen, GraphScreen) and app.screen.is_mounted)
        screen = app.screen
        assert isinstance(screen, GraphScreen)
        # Before the place was ever seen.
        screen.show_entity(marta)
        await on_page(pilot, screen, "Marta Lind")
        if size[0] >= 110:
            # A passage stands beside the page in place of the list.
            await press(pilot, "v")
            await until(pilot, lambda: screen.query_one(Beside).display and not screen.finder.display)
            await press(pilot, "escape")
            await until(pilot, lambda: screen.finder.display)
            assert screen.page.has_focus
        await press(pilot, "d")
        await sees(pilot, "Marta Lind: 4 of 4 neighbours")
        assert screen.drawing.size.height >= 5
        await press(pilot, "right", "o")
        await on_page(pilot, screen, "Halden Bridge")
        await press(pilot, "c")
        await sees(pilot, "Rename")
        await press(pilot, "escape")
        await until(pilot, lambda: app.screen is screen)
        await press(pilot, "m")
        await until(pilot, lambda: isinstance(app.screen, SuggestionsScreen) and app.screen.is_mounted)
        await sees(pilot, "Nothing is suggested")
        await press(pilot, "escape", "escape")
        await until(pilot, lambda: screen.finding)
        await sees(pilot, "Type: all")
        await pilot.resize_terminal(80, 24)
        await sees(pilot, "Passages")
