"""The place of communities: a tree, reports whose citations open, an overview, words where there are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from localrag.store.database import Store
from localrag.store.report_rows import Finding, NewClaim, NewCommunity, NewReport
from localrag.tui.screens.communities import CommunitiesScreen
from localrag.tui.widgets.beside import BesideScreen
from localrag.tui.widgets.communities import CommunityTree, Page
from tests.store.helpers import entity, generation, reading, relation
from tests.tui.support import go, library, running, screen_text, sees, until


def divided(folder: Path) -> Path:
    """A library with a graph, a claim, three communities and one report."""
    kb = library(folder)
    with Store.open(kb) as store:
        chunks = [
            row.id for document in store.documents.list() for row in store.chunks.of_document(document.id)
        ]
        for chunk in chunks[:2]:
            said = [entity("Ada Lund", "Repairs bridges."), entity("Piet Koster", "Buys mills.")]
            links = [relation("Ada Lund", "Piet Koster", "They are friends.", "friendship")]
            store.graph.record(chunk, reading(said, links), generation())
        store.graph.record(chunks[2], reading([entity("[red]Lamp", "Burns oil.")]), generation())
        claim = NewClaim("ada lund", "DEED", "SUSPECTED", "She repaired it alone.", ((0, 5),))
        store.claims.record(chunks[1], [claim], generation())
        whole = NewCommunity(0, (1, 2, 3))
        _, pair, _ = store.reports.put_communities(
            [whole, NewCommunity(1, (1, 2), 0), NewCommunity(1, (3,), 0)]
        )
        assert pair is not None
        findings = (Finding("They are friends", "For years.", (("relation", 1), ("claim", 1))),)
        report = NewReport("Friends [b]of bridges", "Two friends.", findings, 7.5, "Much.", (("entity", 1),))
        assert store.reports.put(pair, report, generation(), store.reports.chunks_of(pair))
    return kb


def texts(screen: CommunitiesScreen) -> list[str]:
    return [paragraph.text.plain for paragraph in screen.query_one(Page).paragraphs]


async def test_a_file_without_communities_says_what_they_are(tmp_path: Path) -> None:
    async with running(library(tmp_path)) as (app, pilot):
        screen = await go(pilot, app, "communities", CommunitiesScreen)
        await sees(pilot, "This file has no communities yet.")
        await sees(pilot, "Communities (none yet)")
        said = "\n".join(texts(screen))
        assert "A community is a group of entities" in said
        assert "f4 goes to the place" in said
        assert "Not read (3 documents)" in said
        assert "harbour.md  1 of 1 passage not read" in said


async def test_the_tree_opens_and_a_report_leads_on(tmp_path: Path) -> None:
    async with running(divided(tmp_path)) as (app, pilot):
        screen = await go(pilot, app, "communities", CommunitiesScreen)
        await sees(pilot, "Communities (3)")
        await until(pilot, lambda: any("Most connected" in text for text in texts(screen)))
        said = "\n".join(texts(screen))
        assert "1 suspected" in said
        assert "Ada Lund" in said
        assert "Friends" not in screen_text(app)
        await pilot.press("down", "right", "right")
        await until(pilot, lambda: "Friends [b]of bridges" in texts(screen))
        for words in ("7.5", "written", "Level 2, 2 members. Rating 7.5 of 10: Much."):
            await sees(pilot, words)
        said = "\n".join(texts(screen))
        for words in (
            "▸ Relation: Ada Lund → Piet Koster",
            "▸ Claim: Ada Lund: DEED, SUSPECTED",
            "Members (2)",
        ):
            assert words in said
        await pilot.press("enter")
        page = screen.query_one(Page)
        await until(pilot, lambda: page.has_focus)
        claim = next(place for place, text in enumerate(texts(screen)) if "Claim:" in text)
        page.highlighted = claim
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, BesideScreen) and app.screen.is_mounted)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        await pilot.press("enter")
        await until(pilot, lambda: app.current_mode == "graph")
        await sees(pilot, "Ada Lund")
        await go(pilot, app, "communities", CommunitiesScreen)
        await pilot.press("escape", "left", "left")
        tree = screen.query_one(CommunityTree)
        await until(pilot, lambda: tree.count == 2)
        await pilot.press("slash", *"friends", "enter")
        await until(pilot, lambda: tree.count == 2)
        await pilot.press("down")
        await until(pilot, lambda: "Friends [b]of bridges" in texts(screen))
        await pilot.press("o")
        await until(pilot, lambda: "What this file holds" in texts(screen))


async def test_the_mark_before_a_title_opens_with_the_mouse(tmp_path: Path) -> None:
    async with running(divided(tmp_path)) as (app, pilot):
        screen = await go(pilot, app, "communities", CommunitiesScreen)
        await sees(pilot, "Communities (3)")
        tree = screen.query_one(CommunityTree)
        await until(pilot, lambda: tree.count == 2)
        await pilot.click(CommunityTree, offset=(2, 2))
        await until(pilot, lambda: tree.count == 4)
        await pilot.click(CommunityTree, offset=(2, 2))
        await until(pilot, lambda: tree.count == 2)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(140, 40), (60, 20)])
async def test_the_place_fits_other_sizes(tmp_path: Path, size: tuple[int, int]) -> None:
    async with running(divided(tmp_path), size=size) as (app, pilot):
        screen = await go(pilot, app, "communities", CommunitiesScreen)
        await sees(pilot, "Communities (3)")
        await until(pilot, lambda: any("Most connected" in text for text in texts(screen)))
        assert all(len(line) <= size[0] for line in screen_text(app).splitlines())
        await pilot.press("down", "right", "right", "enter")
        await sees(pilot, "Friends [b]of bridges")
        screen.query_one(Page).highlighted = 3
        await pilot.press("p")
        await sees(pilot, "The file is as it was when it was read.")
