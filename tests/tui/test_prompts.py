"""The place for prompts: read with what is filled in, edited, checked, compared, and put back."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Static, TextArea

from localrag.tui import editors
from localrag.tui.screens.dialogs import Confirm, Reader
from localrag.tui.screens.prompt_editor import PromptEditor
from localrag.tui.screens.prompts import PromptsScreen
from localrag.tui.widgets.prompt_view import PromptView
from localrag.tui.words import Fault
from tests.tui.support import go, library, running, screen_text, sees, told, until

NAME = "lightrag/en/rag_response"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOCALRAG_CONFIG", str(tmp_path / "config" / "settings.toml"))
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "settings.toml").touch()
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    return tmp_path / "config" / "prompts"


def shown(screen: PromptsScreen) -> str:
    return screen.query_one(PromptView).shown


async def choose(pilot: object, screen: PromptsScreen, name: str = NAME) -> None:
    await until(pilot, lambda: screen._all is not None)  # type: ignore[arg-type]
    screen._fill(name)
    await until(pilot, lambda: shown(screen) == name)  # type: ignore[arg-type]


async def test_prompts_are_read_and_searched(folder: Path, tmp_path: Path) -> None:
    async with running(library(tmp_path)) as (app, pilot):
        screen = await go(pilot, app, "prompts", PromptsScreen)
        await choose(pilot, screen)
        await sees(pilot, "Built in: ")
        await sees(pilot, "Filled in: response_type")
        text = screen.query_one("#prompt-text", Static).visual
        assert "{context_data}" in str(text)
        await pilot.press("slash", *"graphrag zh claim_types", "enter")
        await until(pilot, lambda: shown(screen) == "graphrag/zh/claim_types")
        await pilot.press("slash", *"zzqx")
        await sees(pilot, "No prompt has these words.")
        await pilot.press("escape")
        await sees(pilot, "extraction_continue")
        await pilot.press("d")
        await until(pilot, lambda: told(app, "This is the built-in prompt."))
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, Reader) and app.screen.is_mounted)
        await sees(pilot, "No mistakes in")


@pytest.mark.slow
async def test_an_editor_edits_a_copy_that_is_checked_compared_and_removed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", "nano")
    changes = [lambda text: text, lambda text: text.replace("{context_data}", "{contxt_data}")]
    changes.append(lambda text: text.replace("{contxt_data}", "New words. {context_data}"))
    seen: list[tuple[Path, int | None]] = []

    def edit(app: object, path: Path, line: int | None = None, *, wait: bool = False) -> Fault | None:
        assert wait
        seen.append((path, line))
        path.write_text(changes[len(seen) - 1](path.read_text()))
        return None

    monkeypatch.setattr(editors, "edit", edit)
    own = folder / f"{NAME}.md"
    async with running(library(tmp_path)) as (app, pilot):
        screen = await go(pilot, app, "prompts", PromptsScreen)
        await choose(pilot, screen)
        await pilot.press("e")
        await until(pilot, lambda: told(app, "It is the same as the built-in prompt"))
        assert not own.exists()
        await pilot.press("e")
        await until(pilot, lambda: told(app, "cannot be used like this"))
        await sees(pilot, "Error in line")
        assert own.exists()
        await pilot.press("e")
        await sees(pilot, "Yours: ")
        await until(pilot, lambda: "Error in line" not in screen_text(app))
        assert seen[0] == (own, 5)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, Reader) and app.screen.is_mounted)
        await sees(pilot, "New words.")
        await pilot.press("escape", "r")
        await until(pilot, lambda: isinstance(app.screen, Confirm) and app.screen.is_mounted)
        await pilot.press("n")
        assert own.exists()
        await pilot.press("r")
        await until(pilot, lambda: isinstance(app.screen, Confirm) and app.screen.is_mounted)
        await pilot.press("y")
        await until(pilot, lambda: not own.exists())
        await sees(pilot, "Built in: ")


async def test_without_an_editor_a_box_edits_and_warns_before_it_keeps_mistakes(
    folder: Path, tmp_path: Path
) -> None:
    own = folder / f"{NAME}.md"
    async with running(library(tmp_path)) as (app, pilot):
        screen = await go(pilot, app, "prompts", PromptsScreen)
        await choose(pilot, screen)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, PromptEditor) and app.screen.is_mounted)
        area = app.screen.query_one(TextArea)
        whole = area.text
        area.text = whole.replace("{context_data}", "")
        await pilot.press("ctrl+s")
        await sees(pilot, "Save once more to keep it all the same.")
        assert not own.exists()
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, Confirm) and app.screen.is_mounted)
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, PromptEditor) and app.screen.is_mounted)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: own.exists())
        await sees(pilot, "Error in line")
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, PromptEditor) and app.screen.is_mounted)
        app.screen.query_one(TextArea).text = whole
        await pilot.press("ctrl+s")
        await until(pilot, lambda: not own.exists())
        await sees(pilot, "Built in: ")


@pytest.mark.slow
@pytest.mark.parametrize("size", [(140, 40), (60, 20)])
async def test_the_place_fits_other_sizes(folder: Path, tmp_path: Path, size: tuple[int, int]) -> None:
    async with running(library(tmp_path), size=size) as (app, pilot):
        screen = await go(pilot, app, "prompts", PromptsScreen)
        await choose(pilot, screen)
        await sees(pilot, "Built in: ")
        await sees(pilot, "rag_response")
        assert all(len(line) <= size[0] for line in screen_text(app).splitlines())
        await pilot.press("enter")
        await sees(pilot, "Filled in")
