"""The places of the application: what each is called, how one gets there, and where its screen lives."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from localrag.tui.screens.place import PlaceScreen
    from localrag.tui.session import Session


@dataclass(frozen=True)
class Place:
    """One of the screens between which a person moves while a knowledge base is open."""

    name: str
    """Its identifier, also that of its mode."""

    title: str
    """What the bar at the top calls it."""

    keys: str
    """Keys that lead there, parted by commas."""

    letter: str
    """The letter that chooses it in the menu of places."""

    screen: str
    """The class of its screen; its module is `localrag.tui.screens.<name>`."""

    about: str
    """One line for the palette and the menu."""


PLACES = (
    Place("ask", "Ask", "f2,alt+1", "a", "AskScreen", "Ask questions and read the answers"),
    Place("library", "Library", "f3,alt+2", "l", "LibraryScreen", "Documents: add, look, retry, delete"),
    Place("index", "Index", "f4,alt+3", "i", "IndexScreen", "Let the model read, and watch it"),
    Place("graph", "Graph", "f5,alt+4", "g", "GraphScreen", "Entities, relations and claims"),
    Place("communities", "Communities", "f6,alt+5", "c", "CommunitiesScreen", "Themes and their reports"),
    Place("models", "Models", "f7,alt+6", "m", "ModelsScreen", "Models that are installed or recommended"),
    Place("prompts", "Prompts", "f8,alt+7", "p", "PromptsScreen", "What the model is told"),
    Place("settings", "Settings", "f11,alt+8", "s", "SettingsScreen", "Settings, colours and keys"),
    Place("doctor", "Doctor", "f12,alt+9", "d", "DoctorScreen", "Check the machine and the file"),
)
"""In the order of the bar."""


def place(name: str) -> Place:
    """The place with a name; `KeyError` if there is none."""
    return {place.name: place for place in PLACES}[name]


def make_screen(found: Place, session: Session) -> PlaceScreen:
    """The screen of a place; its module is imported now, so that the first paint waits for one place only."""
    module = importlib.import_module(f"localrag.tui.screens.{found.name}")
    screen: PlaceScreen = getattr(module, found.screen)(session)
    return screen
