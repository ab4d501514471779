"""The guided start: from nothing to the first answer, step by step, left and taken up again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.widgets import Button, Input

from localrag.checkup import CheckResult, run
from localrag.indexing import Estimate
from localrag.settings import Settings
from localrag.tui.app import LocalragApp
from localrag.tui.guide import STEPS, Standing, count_folder, estimate_words, first_open, state_word
from localrag.tui.screens.ask import AskScreen
from localrag.tui.screens.dialogs import Confirm
from localrag.tui.screens.opening import OpeningScreen
from localrag.tui.screens.welcome import WelcomeScreen
from localrag.tui.widgets.guide_steps import StepBody
from localrag.tui.words import Fault
from tests.catalogue.conftest import cache, pip, set_catalogue  # noqa: F401 (fixtures)
from tests.catalogue.support import FakePip
from tests.tui.support import last_turn, library, running, screen_text, sees, until
from tests.tui.test_models import shop  # noqa: F401 (a fixture)

WELL = [
    CheckResult("Memory", "ok", "plenty"),
    CheckResult("llama.cpp", "warn", "built for tests", "Build it"),
]


@pytest.fixture(autouse=True)
def quick_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks themselves are tested elsewhere and take seconds."""

    def checks(folder: Path, tell: object) -> Iterator[CheckResult]:
        yield from WELL

    monkeypatch.setattr(run, "machine_checks", checks)


def test_steps_follow_from_what_is_there() -> None:
    assert first_open(Standing()) == "machine"
    assert first_open(Standing(checked=True)) == "models"
    assert first_open(Standing(models=True)) == "file"
    assert first_open(Standing(models=True, file=True)) == "documents"
    reading = Standing(models=True, file=True, documents=2, read=1, total=4)
    assert first_open(reading) == "reading"
    assert state_word(reading, "reading") == "in part"
    assert first_open(Standing(models=True, file=True, documents=2, read=4, total=4)) == "question"
    everything = Standing(True, True, True, True, 2, 4, 4, True)
    assert first_open(everything) == "question"
    assert {state_word(everything, step.name) for step in STEPS} == {"done"}


def test_a_folder_is_counted_without_opening_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    (folder / "deep").mkdir(parents=True)
    for name, size in (("a.md", 1000), ("deep/b.txt", 48), ("picture.png", 9), (".hidden.md", 9)):
        (folder / name).write_bytes(b"x" * size)
    found = count_folder(folder)
    assert (found.readable, found.size, found.others, found.skipped) == (2, 1048, 1, 1)
    assert found.words == (
        "2 files of 1.0 KB would be added; 1 file of other formats and 1 hidden or left out would not."
    )
    assert count_folder(folder / "a.md").words == "1 file of 1000 B would be added."
    (folder / "a.md").unlink()
    (folder / "deep" / "b.txt").unlink()
    assert "Nothing in it" in count_folder(folder).words


def test_the_estimate_is_told_in_words() -> None:
    estimate = Estimate(12, 900, 12, 9000, 1200, 250.0, "machine")
    assert estimate_words(estimate) == "12 passages still to read. On this machine that takes about 4 min."
    unknown = Estimate(1, 900, 12, 9000, 1200, None, "machine")
    assert "is measured first" in estimate_words(unknown)


@pytest.mark.slow
async def test_the_whole_way_from_nothing_to_an_answer(tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "harbour.md").write_text("Ada Lund repaired the harbour bridge in 1911.")
    async with running(None, folder=tmp_path) as (app, pilot):
        await sees(pilot, "There is no knowledge base in")
        await pilot.press("f2")
        await sees(pilot, "Step 1 of 6")
        await sees(pilot, "1 warning in 2 checks")
        await sees(pilot, "1 This machine    done")
        await pilot.press("alt+right")
        await sees(pilot, "Step 2 of 6")
        await pilot.press("alt+right")
        await sees(pilot, "Step 3 of 6")
        await until(pilot, lambda: isinstance(app.focused, Input))
        await pilot.press("enter")
        await sees(pilot, "Step 4 of 6")
        assert (tmp_path / "notes.localrag").is_file()
        await until(pilot, lambda: isinstance(app.focused, Input))
        await pilot.press(*"texts")
        await sees(pilot, "1 file of 45 B would be added")
        await pilot.press("enter")
        await sees(pilot, "1 document in the knowledge base")
        await pilot.press("alt+right")
        await sees(pilot, "1 passage still to read")
        # Left in the middle and taken up again, it goes on where things stand.
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, AskScreen) and app.screen.is_mounted)
        titles = [command.title for command in app.get_system_commands(app.screen)]
        assert "Guided start" in titles
        app.guide = Standing(checked=True, models=True)
        app.action_guided_start()
        await sees(pilot, "Step 5 of 6")
        await until(pilot, lambda: isinstance(app.focused, Button))
        await pilot.press("enter")
        await sees(pilot, "5 First reading   done")
        await pilot.press("alt+right")
        await sees(pilot, "Step 6 of 6")
        await until(pilot, lambda: isinstance(app.focused, Input))
        await pilot.press("enter")
        await sees(pilot, "Type a question.")
        await pilot.press(*"Who repaired it?", "enter")
        await until(pilot, lambda: isinstance(app.screen, AskScreen) and len(app.screen.query("Turn")) == 1)
        await until(pilot, lambda: last_turn(app).ended)
        assert app.guide.asked


async def test_skipping_traps_nobody(tmp_path: Path) -> None:
    async with running(None, folder=tmp_path) as (app, pilot):
        await sees(pilot, "There is no knowledge base in")
        app.action_guided_start()
        await sees(pilot, "Step 1 of 6")
        app.action_guided_start()
        guide = app.screen
        assert isinstance(guide, WelcomeScreen)
        for number in range(2, len(STEPS) + 1):
            guide.query_one("#next", Button).press()
            await sees(pilot, f"Step {number} of 6")
        assert guide.query_one("#next", Button).disabled
        await until(pilot, lambda: isinstance(app.focused, Input))
        await pilot.press(*"Why?", "enter")
        await sees(pilot, "First make a knowledge base")
        await pilot.press("alt+left")
        await sees(pilot, "Step 5 of 6")
        await sees(pilot, "First make a knowledge base")
        await pilot.click(guide.query("StepLine")[3])
        await sees(pilot, "Step 4 of 6")
        await until(pilot, lambda: isinstance(app.focused, Input))
        await pilot.press(*"nowhere")
        await sees(pilot, "There is no file or folder")
        assert guide.query_one("#add", Button).disabled
        await pilot.press("enter")
        await sees(pilot, "First make a knowledge base")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, OpeningScreen) and app.screen.is_mounted)


async def test_it_is_offered_when_nothing_is_set_up_and_brings_the_models(
    tmp_path: Path,
    shop: FakePip,  # noqa: F811
) -> None:
    app = LocalragApp(None, Settings(), folder=tmp_path)
    try:
        async with app.run_test(size=(80, 24), notifications=True) as pilot:
            await sees(pilot, "Nothing is set up yet")
            await until(pilot, lambda: app.focused is not None and app.focused.id == "guide")
            await pilot.press("enter")
            await sees(pilot, "Step 1 of 6")
            await pilot.press("alt+right")
            await sees(pilot, "Fetch the recommended models")
            await until(pilot, lambda: app.focused is not None and app.focused.id == "fetch-all")
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, Confirm) and app.screen.is_mounted)
            await pilot.press("y")
            await sees(pilot, "2 Models          done")
            await sees(pilot, "A model for every job is here")
            assert "Fetch the recommended" not in screen_text(app)
            assert len(shop.fetched()) == 4
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, OpeningScreen) and app.screen.is_mounted)
            # Taken up again it begins with what is open now.
            app.action_guided_start()
            await sees(pilot, "Step 3 of 6")
    finally:
        app.shut_down()


@pytest.mark.slow
async def test_without_a_model_reading_says_what_is_missing(tmp_path: Path) -> None:
    async with running(library(tmp_path), folder=tmp_path) as (app, pilot):
        await until(pilot, lambda: app.doings.status is not None)
        app.doings.missing = Fault("No model is installed.")
        app.action_guided_start("reading")
        await sees(pilot, "First bring a model that reads")
        assert isinstance(app.screen, WelcomeScreen)
        body = app.screen.body
        assert isinstance(body, StepBody)
        assert not body.query_one("#begin").display


@pytest.mark.slow
@pytest.mark.parametrize("size", [(140, 40), (60, 20)])
async def test_every_size_shows_every_step(tmp_path: Path, size: tuple[int, int]) -> None:
    async with running(library(tmp_path), folder=tmp_path, size=size) as (app, pilot):
        await until(pilot, lambda: app.doings.status is not None)
        for number, step in enumerate(STEPS, 1):
            app.action_guided_start(step.name)
            await sees(pilot, f"Step {number} of 6: {step.title}")
            assert isinstance(app.screen, WelcomeScreen)
            await sees(pilot, "Leave")
            assert app.screen.query_one("#guide-steps").display == (size[0] >= 76)
            assert app.screen.body.region.width > 40
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, AskScreen) and app.screen.is_mounted)
