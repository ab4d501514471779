"""The place for settings: looked up, changed in the file, used at once; colours and keys."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from textual.widgets import Input

from localrag.settings import load_settings
from localrag.tui.preferences import change_setting
from localrag.tui.screens.colours import ColoursDialog
from localrag.tui.screens.keys import KeyDialog, KeyList, KeysScreen
from localrag.tui.screens.setting import SettingDialog
from localrag.tui.screens.settings import SettingsScreen
from localrag.tui.widgets.lines import LineList
from localrag.tui.widgets.settings import SettingList
from tests.tui.support import SlowModel, ask, go, library, running, screen_text, sees, session_of, told, until


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config" / "settings.toml"
    path.parent.mkdir()
    path.write_text("# mine\n[answering]\nmax_tokens = 300  # short\n")
    monkeypatch.setenv("LOCALRAG_CONFIG", str(path))
    for name in [name for name in os.environ if name.startswith("LOCALRAG_") and "__" in name]:
        monkeypatch.delenv(name)
    return path


def chosen(screen: SettingsScreen) -> str:
    setting = screen.query_one(SettingList).chosen_setting
    return setting.name if setting else ""


async def test_a_setting_is_found_changed_refused_and_put_back(file: Path, tmp_path: Path) -> None:
    async with running(library(tmp_path)) as (app, pilot):
        screen = await go(pilot, app, "settings", SettingsScreen)
        await sees(pilot, "Which models are used.")
        await pilot.press("r", "slash", *"max_citations")
        await until(pilot, lambda: chosen(screen) == "answering.max_citations")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.focused, SettingList))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, SettingDialog) and app.screen.is_mounted)
        box = app.screen.query_one(Input)
        box.value = "21"
        await sees(pilot, "“21” does not do. It takes a whole number from 1 to 20.")
        await pilot.press("enter")
        assert isinstance(app.screen, SettingDialog)
        box.value = "7"
        await pilot.press("enter")
        await until(pilot, lambda: app.settings.answering.max_citations == 7)
        await sees(pilot, "from your file")
        assert session_of(app).settings.answering.max_citations == 7
        assert load_settings(file, {}).answering.max_citations == 7
        assert "max_tokens = 300  # short\n" in file.read_text()
        await pilot.press("d")
        await until(pilot, lambda: app.settings.answering.max_citations == 5)
        assert "max_citations" not in file.read_text()
        await sees(pilot, "which is the default")


@pytest.mark.slow
async def test_words_are_chosen_and_a_variable_goes_first(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALRAG_ANSWERING__STYLE", "flexible")
    async with running(library(tmp_path)) as (app, pilot):
        screen = await go(pilot, app, "settings", SettingsScreen)
        await pilot.press("r", "slash", *"answering.style", "enter")
        await until(pilot, lambda: chosen(screen) == "answering.style")
        await until(pilot, lambda: isinstance(app.focused, SettingList))
        await sees(pilot, "variable LOCALRAG_ANSWERING__STYLE")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, SettingDialog) and app.screen.is_mounted)
        await sees(pilot, "strict  (default)")
        await pilot.press("g", "enter")
        await until(pilot, lambda: 'style = "strict"' in file.read_text())
        await until(pilot, lambda: told(app, "The variable goes before it"))
        assert app.settings.answering.style == "flexible"
        file.write_text("[answering]\nmax_tokens = 0\nhistory_share = 30\n")
        await pilot.press("r")
        await until(pilot, lambda: app.settings.answering.history_share == 30)
        await sees(pilot, "Cannot be used: answering.max_tokens")


async def test_a_changed_setting_reaches_the_next_question_and_waits_for_work(
    file: Path, tmp_path: Path
) -> None:
    async with running(library(tmp_path), SlowModel(0.05)) as (app, pilot):
        await until(pilot, lambda: app.doings.status is not None)
        said: list[bool] = []
        change_setting(app, app, "retrieval.passages", 1, said.append)
        await until(pilot, lambda: said == [True])
        turn = await ask(pilot, app, "Who repaired the harbour bridge?")
        await until(pilot, lambda: session_of(app).questions.active)
        change_setting(app, app, "engine.threads", 1, said.append)
        await until(pilot, lambda: said == [True, False])
        session_of(app).questions.stop()
        await until(pilot, lambda: turn.ended)
        passages: list[int] = []
        session_of(app).look(
            app, lambda kb: len(kb.search("harbour mill lamp").passages), lambda found: passages.append(found)
        )
        await until(pilot, lambda: passages == [1])


@pytest.mark.slow
async def test_colours_are_shown_while_one_moves_and_kept(file: Path, tmp_path: Path) -> None:
    async with running(library(tmp_path)) as (app, pilot):
        before = app.theme
        app.action_change_theme()
        await until(pilot, lambda: isinstance(app.screen, ColoursDialog) and app.screen.is_mounted)
        await sees(pilot, "High contrast, dark")
        await pilot.press("down", "down")
        await until(pilot, lambda: app.theme == "high-contrast-dark")
        await pilot.press("escape")
        await until(pilot, lambda: app.theme == before)
        app.action_change_theme()
        await until(pilot, lambda: isinstance(app.screen, ColoursDialog) and app.screen.is_mounted)
        for name in sorted(app.available_themes):
            app.theme = name
            await pilot.pause()
        app.screen.query_one(LineList).move_to(1)
        await until(pilot, lambda: app.theme == "textual-light")
        await pilot.press("enter")
        await until(pilot, lambda: app.settings.tui.theme == "textual-light")
        assert load_settings(file, {}).tui.theme == "textual-light"
        change_setting(app, app, "tui.reduced_motion", True, lambda _: None)
        await until(pilot, lambda: app.animation_level == "none")
        change_setting(app, app, "tui.theme", None, lambda _: None)
        await until(pilot, lambda: app.theme == before)


async def test_a_key_is_pressed_told_to_clash_kept_and_put_back(file: Path, tmp_path: Path) -> None:
    async with running(library(tmp_path)) as (app, pilot):
        await go(pilot, app, "settings", SettingsScreen)
        await pilot.press("m")
        await until(pilot, lambda: isinstance(app.screen, KeysScreen) and app.screen.is_mounted)
        await sees(pilot, "Explain the screen and its keys")
        await pilot.press("slash", *"go.doctor", "enter")
        await sees(pilot, "Go to Doctor")
        await until(pilot, lambda: isinstance(app.focused, KeyList))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, KeyDialog) and app.screen.is_mounted)
        await pilot.press("f3")
        await sees(pilot, "This key already does: “Go to Library”")
        await pilot.press("K")
        await sees(pilot, "In lists this key moves the cursor")
        await pilot.press("ctrl+k")
        await sees(pilot, "Pressed: ctrl+k")
        await until(pilot, lambda: "In lists this key" not in screen_text(app))
        await pilot.press("space")
        await until(pilot, lambda: app.settings.tui.keys == {"go.doctor": "f12,alt+9,ctrl+k"})
        await sees(pilot, "(yours)")
        assert load_settings(file, {}).tui.keys == {"go.doctor": "f12,alt+9,ctrl+k"}
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, SettingsScreen) and app.screen.is_mounted)
        await pilot.press("ctrl+k")
        await until(pilot, lambda: app.current_mode == "doctor")
        await go(pilot, app, "settings", SettingsScreen)
        await pilot.press("m")
        await until(pilot, lambda: isinstance(app.screen, KeysScreen) and app.screen.is_mounted)
        await sees(pilot, "Explain the screen")
        await pilot.press("D")
        await sees(pilot, "Give all actions their usual keys?")
        await pilot.press("y")
        await until(pilot, lambda: app.settings.tui.keys == {})
        assert "tui" not in file.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("size", [(140, 40), (60, 20)])
async def test_the_place_fits_other_sizes(file: Path, tmp_path: Path, size: tuple[int, int]) -> None:
    async with running(library(tmp_path), size=size) as (app, pilot):
        await go(pilot, app, "settings", SettingsScreen)
        for words in ("Which models are used.", "What it means", "default", "Search settings"):
            await sees(pilot, words)
        assert all(len(line) <= size[0] for line in screen_text(app).splitlines())
        await pilot.press("m")
        await sees(pilot, "Explain the scr")
