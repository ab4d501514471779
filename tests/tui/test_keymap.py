"""The key map: each named action is known, a person's own keys are obeyed, what is wrong is told once."""

from __future__ import annotations

from pathlib import Path

import pytest

from localrag.settings import load_usable_settings
from localrag.tui.app import LocalragApp
from localrag.tui.keymap import Action, applied, catalogue, clashes, keys_now, normal, troubles
from localrag.tui.places import PLACES
from localrag.tui.screens.library import LibraryScreen
from localrag.tui.screens.settings import SettingsScreen
from tests.tui.support import engines, library, until

ADD = Action("library.add", ("a",), "Add", "Library")
RETRY = Action("library.retry", ("r",), "Retry", "Library")
HELP = Action("app.help", ("f1", "question_mark"), "Help", "Everywhere")
PULL = Action("models.pull", ("p",), "Pull", "Models")
ALL = (ADD, RETRY, HELP, PULL)


def test_keys_are_read_as_people_write_them() -> None:
    assert normal("?, x ,ctrl+k,") == ("question_mark", "x", "ctrl+k")
    assert keys_now(HELP, {}) == ("f1", "question_mark")
    assert keys_now(HELP, {"app.help": "h"}) == ("h",)
    assert applied({"app.help": "?", "library.add": " , "}) == {"app.help": "question_mark"}


def test_only_keys_that_meet_clash() -> None:
    assert clashes(ALL, {}) == []
    assert clashes(ALL, {"library.add": "p"}) == []
    (clash,) = clashes(ALL, {"library.add": "r"})
    assert (clash.key, clash.first, clash.second) == ("r", ADD, RETRY)
    (clash,) = clashes(ALL, {"models.pull": "?"})
    assert clash.words == "? is models.pull and app.help"
    assert clashes(ALL, {"library.add": "r", "library.retry": "a"}) == []
    assert len(clashes(ALL, {"library.add": "z", "library.retry": "z"})) == 1


def test_what_is_wrong_is_told_in_sentences() -> None:
    said = troubles(ALL, {"libary.add": "x", "zzz": "y", "library.add": "r"})
    assert said == [
        "There is no action libary.add. Is library.add meant?",
        "There is no action zzz.",
        "r is library.add and library.retry: only one of them can have it.",
    ]


def test_every_place_and_the_application_are_in_the_catalogue() -> None:
    actions = {action.id: action for action in catalogue()}
    assert {f"go.{item.name}" for item in PLACES} <= set(actions)
    assert actions["app.quit"].priority
    assert actions["app.help"].keys == ("f1", "question_mark")
    assert actions["settings.keys"].group == "Settings"
    assert not [action.id for action in actions.values() if not action.keys or not action.does]


async def test_own_keys_are_obeyed_and_a_bad_file_keeps_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(
        '[engine]\nthreads = "many"\n[tui]\ntheme = "no-such"\n'
        '[tui.keys]\n"go.settings" = "f3,Z"\n"go.libary" = "x"\n'
    )
    monkeypatch.setenv("LOCALRAG_CONFIG", str(file))
    settings, wrong = load_usable_settings()
    app = LocalragApp(library(tmp_path), settings, engines(), troubles=[str(error) for error in wrong])
    try:
        async with app.run_test(size=(80, 24), notifications=True) as pilot:
            await until(pilot, lambda: app.doings.status is not None)
            await until(pilot, lambda: len(app._notifications) > 0)
            (told,) = app._notifications
            for words in ("engine.threads", "no-such", "go.libary", "f3 is go.settings and go.library"):
                assert words in told.message
            await pilot.press("f11")
            assert not isinstance(app.screen, SettingsScreen)
            app.action_go("library")
            await until(pilot, lambda: isinstance(app.screen, LibraryScreen) and app.screen.is_mounted)
            await pilot.press("Z")
            await until(pilot, lambda: isinstance(app.screen, SettingsScreen) and app.screen.is_mounted)
    finally:
        app.shut_down()
