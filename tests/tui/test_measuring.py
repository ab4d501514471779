"""The measurement before the engine first starts, in the application: seen, stopped, and made once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from localrag.engine.measuring import Measured
from localrag.engine.scripted import ScriptedEmbedder, ScriptedModel
from localrag.engine.tuned import Tuning
from localrag.engines import Engines
from localrag.errors import Cancelled
from localrag.settings import Settings
from tests.tui import support
from tests.tui.support import ask, library, running, sees, until

FOUND = Measured(Tuning("m", threads=2, sequences=48, width=48, batch=128, kv_type="f16"))


class FirstStart(Engines):
    """Engines that were never measured; the measurement goes on until it is released or stopped."""

    def __init__(self) -> None:
        super().__init__(Settings(), ScriptedModel(), ScriptedEmbedder())
        self.release = threading.Event()
        self.measurings = 0

    def needs_measuring(self) -> bool:
        return not self.measurings

    def measure(
        self, tell: Callable[[str], None] = lambda text: None, cancel: threading.Event | None = None
    ) -> Measured:
        while not self.release.wait(0.02):
            if cancel is not None and cancel.is_set():
                raise Cancelled("Stopped.")
        tell("reading 64 tokens at a time: 130 tokens/s")
        self.measurings += 1
        return FOUND


@pytest.fixture
def first(monkeypatch: pytest.MonkeyPatch) -> FirstStart:
    """What the application gets as engines."""
    engines = FirstStart()
    monkeypatch.setattr(support, "engines", lambda model=None: engines)
    return engines


async def test_a_question_waits_for_it_and_says_so(tmp_path: Path, first: FirstStart) -> None:
    async with running(library(tmp_path)) as (app, pilot):
        turn = await ask(pilot, app, "Who repaired the harbour bridge?")
        await sees(pilot, "Measuring this machine")
        first.release.set()
        await until(pilot, lambda: turn.ended)
        assert turn.text
        again = await ask(pilot, app, "Who sold the mill?")
        await until(pilot, lambda: again.ended)
    assert first.measurings == 1


async def test_escape_stops_it_with_the_question(tmp_path: Path, first: FirstStart) -> None:
    async with running(library(tmp_path)) as (app, pilot):
        turn = await ask(pilot, app, "Who repaired the harbour bridge?")
        await sees(pilot, "Measuring this machine")
        await pilot.press("escape")
        await until(pilot, lambda: turn.ended)
    assert first.measurings == 0


async def test_indexing_and_a_question_measure_once_together(tmp_path: Path, first: FirstStart) -> None:
    async with running(library(tmp_path)) as (app, pilot):
        session = app.session
        assert session is not None
        session.index_run.begin()
        await sees(pilot, "Measuring this machine")
        turn = await ask(pilot, app, "Who repaired the harbour bridge?")
        first.release.set()
        await until(pilot, lambda: turn.ended and not session.index_run.active)
        await sees(pilot, "100 % read")
    assert first.measurings == 1
