"""What the tests of the application share: a small library, scripted engines, and ways to look and wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from textual.pilot import Pilot

from localrag.engine.scripted import ScriptedEmbedder, ScriptedModel
from localrag.engine.types import Event, GenerationRequest
from localrag.engines import Engines
from localrag.errors import EngineCrashed
from localrag.kb import KnowledgeBase
from localrag.settings import Settings
from localrag.tui.app import LocalragApp
from localrag.tui.screens.ask import AskScreen
from localrag.tui.screens.opening import OpeningScreen
from localrag.tui.screens.place import PlaceScreen
from localrag.tui.session import Session
from localrag.tui.widgets.conversation import Turn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

P = TypeVar("P", bound=PlaceScreen)

TEXTS = {
    "harbour.md": "# The harbour\n\nAda Lund repaired the harbour bridge in 1911. Eleven men helped.\n",
    "mill.md": "# The mill\n\nThe old mill by the river was sold to Piet Koster in 1923.\n",
    "[red]x[.txt": "The lamp of the lighthouse burns oil.\n",
}


class SlowModel(ScriptedModel):
    """Writes a long answer, one word in a while."""

    def __init__(self, seconds: float = 0.02) -> None:
        super().__init__(lambda request: "slow " * 300)
        self._seconds = seconds

    def stream(self, request: GenerationRequest) -> Iterator[Event]:
        """The same events, with time between them."""
        for event in super().stream(request):
            time.sleep(self._seconds)
            yield event


class BrokenModel(ScriptedModel):
    """Fails at the first call."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self._error = error or EngineCrashed("The engine stopped [b]while\x1b[31m it read[/b].", "Ask again.")

    def stream(self, request: GenerationRequest) -> Iterator[Event]:
        """No event at all."""
        raise self._error

    def run(self, requests: object) -> Iterator[tuple[int, Event]]:
        """No event at all."""
        raise self._error


def engines(model: ScriptedModel | None = None) -> Engines:
    """Engines that need no weights."""
    return Engines(Settings(), model=model or ScriptedModel(), embedder=ScriptedEmbedder())


def library(folder: Path, texts: dict[str, str] | None = None, *, indexed: bool = False) -> Path:
    """A knowledge base with small texts in it, indexed or not."""
    source = folder / "texts"
    source.mkdir(exist_ok=True)
    for name, text in (TEXTS if texts is None else texts).items():
        (source / name).write_text(text, encoding="utf-8")
    path = folder / "small.localrag"
    with KnowledgeBase.create(path, engines=engines()) as kb:
        if texts is None or texts:
            kb.add([source])
        if indexed:
            for _ in kb.index():
                pass
    return path


def many(number: int) -> dict[str, str]:
    """Many short texts."""
    return {
        f"letter{n:02}.md": f"Letter {n}: the ship Aurora left port {n} with salt." for n in range(number)
    }


@asynccontextmanager
async def running(
    kb: Path | None,
    model: ScriptedModel | None = None,
    *,
    size: tuple[int, int] = (80, 24),
    folder: Path | None = None,
) -> AsyncIterator[tuple[LocalragApp, Pilot[None]]]:
    """The application without a terminal; everything is stopped at the end."""
    app = LocalragApp(kb, Settings(), engines(model), folder=folder)
    try:
        async with app.run_test(size=size, notifications=True) as pilot:
            if kb is not None:
                await until(pilot, lambda: isinstance(app.screen, (PlaceScreen, OpeningScreen)))
            yield app, pilot
    finally:
        app.shut_down()


async def until(pilot: Pilot[None], condition: Callable[[], Any], seconds: float = 30.0) -> None:
    """Wait for something; fails with the screen's text if it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"It did not happen. On the screen:\n{screen_text(pilot.app)}")
        await pilot.pause(0.02)


async def sees(pilot: Pilot[None], words: str, seconds: float = 30.0) -> None:
    """Wait until some words stand on the screen."""
    await until(pilot, lambda: words in screen_text(pilot.app), seconds)


def told(app: LocalragApp, words: str) -> bool:
    """Whether a notification with these words is shown; on the screen its lines may be broken anywhere."""
    return any(words in notification.message for notification in app._notifications)


def screen_text(app: Any) -> str:
    """What stands on the screen, as lines."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


def place_screen(app: LocalragApp, kind: type[P]) -> P:
    """The screen of a place that has been visited, whatever stands above it."""
    return next(screen for screen in app.visited() if isinstance(screen, kind))


def ask_screen(app: LocalragApp) -> AskScreen:
    """The screen where questions are asked."""
    return place_screen(app, AskScreen)


async def go(pilot: Pilot[None], app: LocalragApp, name: str, kind: type[P]) -> P:
    """Go to a place and wait until it is shown."""
    app.action_go(name)
    await until(pilot, lambda: isinstance(app.screen, kind) and app.screen.is_mounted)
    return place_screen(app, kind)


def session_of(app: LocalragApp) -> Session:
    """The open knowledge base."""
    assert app.session is not None
    return app.session


def last_turn(app: LocalragApp) -> Turn:
    """The newest turn."""
    return ask_screen(app).query(Turn).last()


async def ask(pilot: Pilot[None], app: LocalragApp, question: str) -> Turn:
    """Put a question into the box, press enter, and wait for its turn."""
    before = len(ask_screen(app).query(Turn))
    ask_screen(app).question.focus()
    ask_screen(app).question.insert(question)
    await pilot.press("enter")
    await until(pilot, lambda: len(ask_screen(app).query(Turn)) > before)
    return last_turn(app)
