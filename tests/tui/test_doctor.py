"""The place of checks: each appears as it ends, the report names nobody, and what helps is at hand."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.widgets import Button

from localrag.checkup import CheckResult, run
from localrag.checkup.run import report
from localrag.kb import KnowledgeBase
from localrag.settings import Settings
from localrag.store.sqlite import sqlite3
from localrag.tui.app import LocalragApp
from localrag.tui.screens.dialogs import Confirm, Reader
from localrag.tui.screens.doctor import DoctorScreen
from localrag.tui.screens.models import ModelsScreen
from localrag.tui.widgets.checks import summary
from tests.store.test_checks import break_it
from tests.tui.support import go, library, running, screen_text, sees, until

OK = CheckResult("Memory", "ok", "8,000 of 16,000 MB are free")
WARNING = CheckResult("Measurement", "warn", "never made", "Measure it again", "measure")
FAILURE = CheckResult("Model that reads", "fail", "No model is installed.", "Fetch one", "models")


def test_a_report_names_no_file_and_no_address(tmp_path: Path) -> None:
    kb = tmp_path / "my secret plan.localrag"
    results = [
        CheckResult("Knowledge base", "ok", f"{kb} is whole"),
        CheckResult("Disk", "ok", f"1 GB are free for {Path.home()}/x/models"),
        CheckResult("Remote engine", "fail", "https://me:pw@intern.example:8080/v1 does not answer", "Look"),
        CheckResult("File", "warn", "my secret plan.localrag and /var/lib/things/letters.gguf are odd"),
        CheckResult("Settings", "ok", "engine.threads by variable LOCALRAG_ENGINE__THREADS; 10/12 cores"),
    ]
    text = report("1.2", results, [kb])
    assert text.startswith("localrag 1.2\n")
    for private in ("secret", "intern", "pw@", "letters", str(Path.home()), str(tmp_path)):
        assert private not in text
    for useful in ("FAILED   Remote engine: (address)", "-> Look", "LOCALRAG_ENGINE__THREADS", "10/12 cores"):
        assert useful in text


def test_results_are_summed_up() -> None:
    assert summary([OK]) == "All is well: 1 check passed."
    assert summary([OK, FAILURE, WARNING, WARNING]).startswith("1 failure and 2 warnings in 4 checks.")


async def test_checks_appear_one_by_one_and_can_be_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    runs = 0

    def checks(load: object, folder: Path, tell: object) -> Iterator[CheckResult]:
        nonlocal runs
        runs += 1
        yield OK
        yield FAILURE
        gate.wait(20)
        yield WARNING

    monkeypatch.setattr(run, "run_checks", checks)
    monkeypatch.setattr("localrag.catalogue.installed.find_model", lambda name, role: Path("small.gguf"))
    measured: list[str] = []
    monkeypatch.setattr(LocalragApp, "measure_model", lambda self, name: measured.append(name))
    async with running(library(tmp_path), folder=tmp_path) as (app, pilot):
        screen = await go(pilot, app, "doctor", DoctorScreen)
        await sees(pilot, "No model is installed")
        assert "never made" not in screen_text(app)
        await pilot.press("r")
        gate.set()
        await sees(pilot, "1 failure and 1 warning in 4 checks")
        assert runs == 1, "checks that go on are not begun again"
        await sees(pilot, "What to do: Fetch one")
        assert screen.checks.results[-1].detail.endswith("small.localrag is whole")
        assert screen.query_one("#models").display
        assert not screen.query_one("#mend").display
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Reader) and app.screen.is_mounted)
        await pilot.press("escape")
        await pilot.press("y")
        assert "FAILED   Model that reads" in app.clipboard
        assert str(tmp_path) not in app.clipboard
        await pilot.press("r")
        await until(pilot, lambda: runs == 2)
        await until(pilot, lambda: not screen.checks.running)
        await pilot.press("m")
        await until(pilot, lambda: measured == ["small.gguf"])
        screen.query_one("#models", Button).press()
        await until(pilot, lambda: isinstance(app.screen, ModelsScreen) and app.screen.is_mounted)


async def test_a_file_that_needs_it_is_mended_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "run_checks", lambda *rest: iter([OK]))
    path = library(tmp_path, indexed=True)
    harm(path)
    async with running(path, folder=tmp_path) as (app, pilot):
        screen = await go(pilot, app, "doctor", DoctorScreen)
        await until(pilot, lambda: screen.query("#mend") and screen.query_one("#mend").display)
        await pilot.press("f")
        await until(pilot, lambda: isinstance(app.screen, Confirm) and app.screen.is_mounted)
        await pilot.press("y")
        await until(pilot, lambda: isinstance(app.screen, Reader), 20)
        await sees(pilot, "Done")
        await pilot.press("escape")
        await until(pilot, lambda: not screen.query_one("#mend").display and not screen.checks.running)
        await sees(pilot, "All is well")
    with KnowledgeBase.open(path, settings=Settings()) as kb:
        assert len(kb.status().documents) == 3


def harm(path: Path) -> None:
    """Break something that can be put right in place."""
    raw = sqlite3.connect(path, isolation_level=None)
    break_it(raw, "UPDATE entities SET name = 'Nobody', text_hash = ''")
    raw.close()
