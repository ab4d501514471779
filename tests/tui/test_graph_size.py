"""A hundred thousand entities: searched while one types, listed, drawn."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from localrag.looking import GraphDesk
from localrag.store import Store
from localrag.tui.screens.graph import GraphScreen
from tests.store.test_merges_size import fill, names
from tests.tui.support import go, running, until

ENTITIES = 100_000

_MOST = 0.15
"""Seconds that a search may take on an idle machine."""

_SLOW = 4.0
"""How many times as long it may take where others work at the same time."""


@pytest.mark.slow
async def test_a_hundred_thousand_entities_are_searched_at_each_key(tmp_path: Path) -> None:
    path = tmp_path / "big.localrag"
    with Store.create(path) as store:
        fill(store, names(ENTITIES, random.Random(7)))
        desk = GraphDesk(store)
        first = desk.find()
        assert len(first.entries) == ENTITIES
        took = []
        for text in ("b", "ba", "ban", "banil", "person", first.entries[777].name):
            begun = time.process_time()
            found = desk.find(text)
            took.append(time.process_time() - begun)
        # The last text is a name: who is called so comes first.
        assert found.entries[0] == first.entries[777]
        assert max(took) < _MOST * _SLOW, took
    async with running(path) as (app, pilot):
        screen = await go(pilot, app, "graph", GraphScreen)
        await until(pilot, lambda: screen.is_mounted and screen.finder.total == ENTITIES, 60)
        await pilot.press("end")
        await until(pilot, lambda: screen.finder.lines.cursor == ENTITIES - 1)
        begun = time.process_time()
        for _ in range(20):
            await pilot.press("up")
        assert (time.process_time() - begun) / 20 < 0.2
        await pilot.press("enter")
        await until(pilot, lambda: not screen.finding)
        assert screen.page.facts is not None
