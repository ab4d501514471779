"""Screens that are the same every time, compared with stored texts at both sizes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from textual.screen import ModalScreen

from localrag.tui.screens.dialogs import Confirm, Reader
from localrag.tui.screens.menu import PlacesMenu
from tests.tui import screens
from tests.tui.screens import compare
from tests.tui.support import library, running, until

SIZES = [(80, 24), (140, 40)]


async def test_stable_screens_are_as_they_were_stored(tmp_path: Path) -> None:
    async with running(library(tmp_path, indexed=True)) as (app, pilot):
        await until(pilot, lambda: app.doings.status is not None)
        dialogs: dict[str, ModalScreen[Any]] = {
            "places": PlacesMenu(),
            "confirm": Confirm("Indexing is still running. Stop it and quit?", "Stop and quit", "Keep going"),
            "reader": Reader("桥 [red]bridge.md", "page 3", "Ada Lund repaired it.\n" * 60),
        }
        for name, dialog in dialogs.items():
            app.push_screen(dialog)
            await until(pilot, lambda dialog=dialog: app.screen is dialog)  # type: ignore[misc]
            for size in SIZES:
                await pilot.resize_terminal(*size)
                await pilot.pause()
                compare(app, name, within=app.screen.query_one(".dialog"))
            dialog.dismiss()
            await pilot.pause()


def test_a_difference_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(screens.UPDATE, raising=False)
    shown = ["One", "Two 12 s"]
    monkeypatch.setattr(screens, "lines_of", lambda app, within: shown)
    app = SimpleNamespace(size=(80, 24))
    with pytest.raises(AssertionError, match="is not stored yet"):
        compare(app, "small", folder=tmp_path)
    monkeypatch.setenv(screens.UPDATE, "1")
    compare(app, "small", {r"\d+ s": "some s"}, folder=tmp_path)
    monkeypatch.delenv(screens.UPDATE)
    assert (tmp_path / "small-80x24.txt").read_text() == "One\nTwo some s\n"
    shown = ["One", "Two 99 s"]
    compare(app, "small", {r"\d+ s": "some s"}, folder=tmp_path)
    with pytest.raises(AssertionError, match=r"-Two some s\n\+Two 99 s"):
        compare(app, "small", folder=tmp_path)
