"""The keys of the application: every action that has a name, and what a person's own keys do to it.

The names and usual keys are read from the classes that define them, so that none can be forgotten. That
imports every place, so it is done in a thread and only when it is needed.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import _character_to_key, format_key

from localrag.tui.places import PLACES

EVERYWHERE = "Everywhere"
"""The group of keys that work in every place."""

_APP_GROUPS = {"app": EVERYWHERE, "go": EVERYWHERE}
_PACKAGES = ("localrag.tui.screens", "localrag.tui.widgets")


@dataclass(frozen=True)
class Action:
    """Something that keys do."""

    id: str
    """Its name in the settings, such as `library.delete`."""

    keys: tuple[str, ...]
    """Its usual keys, as Textual calls them."""

    does: str
    """What it does, in a few words."""

    group: str
    """Where it works: the title of a place, or of another part."""

    priority: bool = False
    """Whether its keys go before those of everything else, text boxes too."""


@dataclass(frozen=True)
class Clash:
    """One key for two things that can be wanted at the same time."""

    key: str
    """The key."""

    first: Action
    """The action that a person gave the key."""

    second: Action
    """The other one."""

    @property
    def words(self) -> str:
        """In a sentence."""
        return f"{shown(self.key)} is {self.first.id} and {self.second.id}"


def catalogue() -> tuple[Action, ...]:
    """Every named action, in the order of the places. Imports all places: not for the screen's thread."""
    for package in _PACKAGES:
        home = importlib.import_module(package)
        for module in pkgutil.iter_modules(home.__path__, f"{package}."):
            importlib.import_module(module.name)
    importlib.import_module("localrag.tui.app")
    found: dict[str, list[Binding]] = {}
    homes: dict[str, type[DOMNode]] = {}
    for kind in _classes(DOMNode):
        if kind.__module__.startswith("localrag.tui"):
            for binding in _bindings(kind):
                found.setdefault(binding.id or "", []).append(binding)
                homes.setdefault(binding.id or "", kind)
    actions = [_action(name, bindings, homes[name]) for name, bindings in found.items()]
    order = [EVERYWHERE, *(item.title for item in PLACES)]
    return tuple(sorted(actions, key=lambda action: (_rank(action.group, order), action.group, action.id)))


def keys_now(action: Action, own: Mapping[str, str]) -> tuple[str, ...]:
    """The keys that an action has with a person's own keys."""
    return normal(own[action.id]) if own.get(action.id) else action.keys


def normal(keys: str) -> tuple[str, ...]:
    """Keys parted by commas, each as Textual calls it: `?` is `question_mark`."""
    parts = (part.strip() for part in keys.split(","))
    return tuple(_character_to_key(part) if len(part) == 1 else part for part in parts if part)


def shown(key: str) -> str:
    """A key as a person reads it."""
    return format_key(key)


def clashes(actions: Iterable[Action], own: Mapping[str, str]) -> list[Clash]:
    """Keys of a person's own that something else has in the same place or everywhere."""
    by_key: dict[str, list[Action]] = {}
    for action in actions:
        for key in keys_now(action, own):
            by_key.setdefault(key, []).append(action)
    return [
        Clash(key, first, second)
        for key, sharing in sorted(by_key.items())
        for first in sharing
        if own.get(first.id) and key not in first.keys
        for second in sharing
        if second is not first and _meet(first, second) and (first.id < second.id or not own.get(second.id))
    ]


def unknown(actions: Iterable[Action], own: Mapping[str, str]) -> dict[str, str]:
    """Names that no action has, each with the nearest name there is, or nothing."""
    known = [action.id for action in actions]
    found = {}
    for name in own:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
            found[name] = near[0] if near else ""
    return found


def troubles(actions: Iterable[Action], own: Mapping[str, str]) -> list[str]:
    """What is wrong with a person's own keys, in sentences."""
    actions = list(actions)
    said = []
    for name, near in unknown(actions, own).items():
        meant = f" Is {near} meant?" if near else ""
        said.append(f"There is no action {name}.{meant}")
    said += [f"{clash.words}: only one of them can have it." for clash in clashes(actions, own)]
    return said


def applied(own: Mapping[str, str]) -> dict[str, str]:
    """A person's own keys as Textual takes them; an action without any key keeps its usual ones."""
    return {name: ",".join(normal(keys)) for name, keys in own.items() if normal(keys)}


def _meet(first: Action, second: Action) -> bool:
    groups = {first.group, second.group}
    return len(groups) == 1 or EVERYWHERE in groups


def _classes(kind: type[DOMNode]) -> Iterator[type[DOMNode]]:
    seen: set[type[DOMNode]] = set()
    waiting = [kind]
    while waiting:
        for below in waiting.pop().__subclasses__():
            if below not in seen:
                seen.add(below)
                waiting.append(below)
                yield below


def _bindings(kind: type[DOMNode]) -> Iterator[Binding]:
    """The named bindings that a class itself defines, those of several keys as they were written."""
    for binding in kind.__dict__.get("BINDINGS", ()):
        if isinstance(binding, Binding) and binding.id:
            yield binding


def _action(name: str, bindings: list[Binding], home: type[DOMNode]) -> Action:
    keys = dict.fromkeys(key for binding in bindings for key in normal(binding.key))
    first = bindings[0]
    does = first.tooltip or first.description or name
    if name in {f"go.{item.name}" for item in PLACES}:
        does = f"Go to {first.description}"
    return Action(name, tuple(keys), does, _group(name, home), any(item.priority for item in bindings))


def _group(name: str, home: type[DOMNode]) -> str:
    prefix = name.partition(".")[0]
    if prefix in _APP_GROUPS:
        return _APP_GROUPS[prefix]
    titles = {item.name: item.title for item in PLACES}
    own = str(getattr(home, "PLACE", "")) or prefix
    return titles.get(own) or titles.get(prefix) or prefix.replace("_", " ").capitalize()


def _rank(group: str, order: list[str]) -> int:
    return order.index(group) if group in order else len(order)
