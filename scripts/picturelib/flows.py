"""What is done before each picture: a list of scenes, each a few keys in an application that runs."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from textual.pilot import Pilot

from localrag.tui.app import LocalragApp
from localrag.tui.places import PLACES
from localrag.tui.screens.place import PlaceScreen

SECONDS = 60.0

Action = Callable[[Pilot[None], LocalragApp], Awaitable[None]]


@dataclass(frozen=True)
class Scene:
    """A picture."""

    name: str
    """The name of its file."""

    act: Action
    """What is done, from the place of asking or the opening screen on."""

    library: str = "read"
    """Which file is open: one that was `read`, one that is `new` and read slowly, or none (an empty text)."""


def text_of(app: LocalragApp) -> str:
    """What stands on the screen."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


async def until(pilot: Pilot[None], condition: Callable[[], object]) -> None:
    """Wait for something."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"It does not come. On the screen:\n{text_of(pilot.app)}")
        await pilot.pause(0.02)


async def settle(pilot: Pilot[None], seconds: float = 0.6) -> None:
    """Wait until the screen stays as it is for a while."""
    seen, since = "", time.monotonic()
    deadline = since + SECONDS
    while time.monotonic() - since < seconds and time.monotonic() < deadline:
        await pilot.pause(0.03)
        now = text_of(pilot.app)
        if now != seen:
            seen, since = now, time.monotonic()


async def back(pilot: Pilot[None], app: LocalragApp) -> None:
    """Close what lies above the place, and put nothing in the way of the next scene."""
    while len(app.screen_stack) > 1:
        app.screen.dismiss()
        await pilot.pause(0.05)
    app.clear_notifications()
    await settle(pilot, 0.2)


async def go(pilot: Pilot[None], app: LocalragApp, name: str) -> None:
    """Go to a place and wait for what it shows."""
    app.action_go(name)
    await until(pilot, lambda: isinstance(app.screen, PlaceScreen) and name == app.screen.PLACE)
    await settle(pilot)


def visit(name: str, *keys: str) -> Action:
    """Go to a place and press some keys, each after the last has had its effect."""

    async def act(pilot: Pilot[None], app: LocalragApp) -> None:
        await go(pilot, app, name)
        for key in keys:
            await pilot.press(key)
            await settle(pilot, 0.3)

    return act


def ask(question: str, *keys: str) -> Action:
    """Ask, wait for the answer, and press some keys."""

    async def act(pilot: Pilot[None], app: LocalragApp) -> None:
        await go(pilot, app, "ask")
        await pilot.press(*("space" if letter == " " else letter for letter in question))
        await pilot.press("enter")
        await until(pilot, lambda: app.session is not None and not app.session.questions.active)
        await settle(pilot)
        for key in keys:
            await pilot.press(key)
            await settle(pilot, 0.3)

    return act


async def opening(pilot: Pilot[None], app: LocalragApp) -> None:
    """Wait for the opening screen."""
    await settle(pilot)


async def guided_start(pilot: Pilot[None], app: LocalragApp) -> None:
    """Open the guided start and wait for what the machine is told to be."""
    await settle(pilot)
    app.action_guided_start()
    await until(pilot, lambda: "checks passed" in text_of(app) or "warning" in text_of(app))
    await settle(pilot)


async def reading(pilot: Pilot[None], app: LocalragApp) -> None:
    """An index run under way."""
    await go(pilot, app, "index")
    assert app.session is not None
    if app.session.index_run.active:
        return
    app.session.index_run.begin()
    await until(pilot, lambda: app.doings.index is not None and app.doings.index.read >= 5)
    await pilot.pause(0.2)


async def quitting(pilot: Pilot[None], app: LocalragApp) -> None:
    """The question before an index run is broken off."""
    await reading(pilot, app)
    await pilot.press("ctrl+q")
    await pilot.pause(0.3)


def ask_and(question: str, *keys: str) -> Action:
    """As `ask`, from an empty conversation."""

    async def act(pilot: Pilot[None], app: LocalragApp) -> None:
        await app.action_new_conversation()
        await ask(question, *keys)(pilot, app)

    return act


STORM = "How did Edda Thorne turn the lens by hand in the storm of November 1974?"

SCENES = (
    Scene("opening", opening, library=""),
    Scene("guided-start", guided_start, library=""),
    Scene("ask-empty", visit("ask")),
    Scene("ask", ask_and(STORM)),
    Scene("source", ask_and(STORM, "shift+tab", "enter")),
    Scene("explain", visit("ask", "ctrl+up", "i")),
    Scene("conversations", visit("ask", "ctrl+b")),
    *(Scene(item.name, visit(item.name)) for item in PLACES if item.name not in {"ask", "index"}),
    Scene("document", visit("library", "enter")),
    Scene("entity", visit("graph", "enter")),
    Scene("graph-drawn", visit("graph", "d")),
    Scene("index", reading, library="new"),
    Scene("index-idle", visit("index")),
    Scene("quit-while-indexing", quitting, library="new"),
    Scene("help", visit("ask", "f1")),
    Scene("palette", visit("ask", "f9")),
    Scene("places", visit("ask", "ctrl+g")),
)
"""All pictures."""
