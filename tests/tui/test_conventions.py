"""What holds for every screen and every key of the application, checked over all classes that there are."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.binding import Binding
from textual.dom import DOMNode
from textual.widget import Widget

import localrag.tui
from localrag.tui.places import PLACES
from tests.tui.support import ask_screen, library, running, screen_text, sees, until

TAKEN = {
    "tmux": {"ctrl+b"},
    "the flow control of terminals": {"ctrl+q", "ctrl+s"},
    "windows of terminals": {"f1", "f10", "f11"},
    "browsers": {"ctrl+n", "ctrl+t", "ctrl+w"},
}
"""Keys that others take for themselves."""

SAME_IN_MANY_TERMINALS = {"ctrl+i", "ctrl+m", "ctrl+h", "ctrl+left_square_bracket"}
"""Keys that a terminal without a newer protocol cannot tell from tab, enter, backspace and escape."""


_CLEAR = (".leave", ".cancel", ".close", ".copy")
"""Endings of the names of keys in dialogs that need no more words than they have."""


def classes() -> list[type[DOMNode]]:
    """Every screen and widget of ours."""
    found: set[type[DOMNode]] = set()
    for module in pkgutil.walk_packages(localrag.tui.__path__, "localrag.tui."):
        for _, member in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if issubclass(member, DOMNode) and member.__module__.startswith("localrag.tui"):
                found.add(member)
    return sorted(found, key=lambda kind: kind.__qualname__)


def bindings() -> Iterator[tuple[str, Binding]]:
    """Every binding that one of our classes has of its own, with the name of the class."""
    for kind in classes():
        for item in kind.__dict__.get("BINDINGS", []):
            yield kind.__qualname__, item if isinstance(item, Binding) else Binding(*item)


def keys_of(binding: Binding) -> set[str]:
    return {key.strip() for key in binding.key.split(",")}


def test_there_is_something_to_check() -> None:
    assert len(classes()) > 25
    assert len(list(bindings())) > 40


@pytest.mark.parametrize("others", TAKEN)
def test_a_key_that_others_take_has_a_second_one(others: str) -> None:
    lonely = [(kind, item.key) for kind, item in bindings() if keys_of(item) <= TAKEN[others]]
    assert lonely == []


def test_no_key_is_one_that_terminals_cannot_tell() -> None:
    assert [(kind, item.key) for kind, item in bindings() if keys_of(item) & SAME_IN_MANY_TERMINALS] == []


def test_what_has_a_name_can_be_found_and_is_explained() -> None:
    """The palette and the help list what has an id; a description alone does not say enough."""
    dumb = [(kind, item.key) for kind, item in bindings() if item.id and not item.description]
    assert dumb == []
    explained = {item.id for _, item in bindings() if item.tooltip}
    silent = [
        (kind, item.key)
        for kind, item in bindings()
        if item.id and item.id not in explained and not item.id.endswith(_CLEAR)
    ]
    assert silent == []


def test_ids_of_keys_name_one_action() -> None:
    """A person's own keys are kept by id."""
    actions: dict[str, set[str]] = {}
    for _, item in bindings():
        if item.id:
            actions.setdefault(item.id, set()).add(item.action)
    assert {name: found for name, found in actions.items() if len(found) > 1} == {}


def test_every_line_to_type_in_takes_no_control_characters() -> None:
    folder = Path(inspect.getfile(localrag.tui)).parent
    unbound = []
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "Input":
                continue
            if "restrict" not in {keyword.arg for keyword in node.keywords}:
                unbound.append(f"{file.name}:{node.lineno}")
    assert unbound == []


@pytest.mark.slow
async def test_every_place_has_help_and_a_footer_that_fits(tmp_path: Path) -> None:
    async with running(library(tmp_path, indexed=True)) as (app, pilot):
        for place in PLACES:
            app.action_go(place.name)
            await until(pilot, lambda name=place.name: getattr(app.screen, "PLACE", "") == name)  # type: ignore[misc]
            await sees(pilot, "Engine idle")
            await until(pilot, lambda: "Help" in screen_text(app).splitlines()[-1])
            helpful = [
                node
                for node in (app.focused or app.screen).ancestors_with_self
                if isinstance(node, Widget) and node.HELP
            ]
            assert helpful or app.focused is None, f"{place.name} has no help for {app.focused}"


@pytest.mark.slow
async def test_every_place_is_one_key_away_from_the_question(tmp_path: Path) -> None:
    async with running(library(tmp_path)) as (app, pilot):
        await until(pilot, lambda: ask_screen(app).question.has_focus)
        for place in PLACES[1:]:
            for key in place.keys.split(","):
                await pilot.press(key)
                await until(pilot, lambda name=place.name: getattr(app.screen, "PLACE", "") == name)  # type: ignore[misc]
                await pilot.press("f2")
                await until(pilot, lambda: getattr(app.screen, "PLACE", "") == "ask")


async def test_state_is_told_without_colours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with running(library(tmp_path)) as (app, pilot):
        assert app.no_color
        await pilot.press("f3")
        await sees(pilot, "[Library]")
        await sees(pilot, "waiting")


@pytest.mark.parametrize("theme", ["textual-light", "ansi-dark", "ansi-light"])
async def test_themes_can_be_chosen_by_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, theme: str
) -> None:
    monkeypatch.setenv("TEXTUAL_THEME", theme)
    code = "from localrag.tui.app import LocalragApp; from localrag.settings import Settings; "
    code += "print(LocalragApp(None, Settings()).theme)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == theme


def test_without_a_terminal_help_is_printed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "localrag"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "LOCALRAG_CONFIG": os.devnull},
        check=True,
    )
    assert "Usage: localrag" in done.stdout
    assert "web" in done.stdout
    assert "\x1b" not in done.stdout
