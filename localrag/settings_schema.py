"""The settings as data: each with its section, type, bounds and help, read from the classes that define them.

The help is the text that stands under each setting in `sections.py`, so that it cannot differ from it.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from functools import cache
from typing import Any, Literal

from localrag import sections
from localrag.settings import Settings

Kind = Literal["yes or no", "number", "word", "text", "list", "table"]
When = Literal["now", "next use", "when idle"]

_STARTED_WITH = ("models", "engine", "remote")
"""Sections that a model is started with."""


@dataclass(frozen=True)
class Setting:
    """One setting."""

    name: str
    """`section.name`."""

    kind: Kind
    """What its value is."""

    help: str
    """What it means, in a sentence or two."""

    default: Any
    """Its value if nobody says otherwise."""

    allowed: tuple[str, ...] = ()
    """The only words that it may be, for a `word`."""

    bounds: str = ""
    """What a number may be, in words; empty if nothing is said about it."""

    when: When = "next use"
    """When a changed value counts: `now`, at the `next use`, or at the next use after models were stopped."""

    @property
    def section(self) -> str:
        """The section's name."""
        return self.name.partition(".")[0]


@dataclass(frozen=True)
class SettingSection:
    """A section with what it is about."""

    name: str
    """Its name in the file."""

    help: str
    """What it is about."""

    settings: tuple[Setting, ...]
    """Its settings in the order of their definition."""


@cache
def schema() -> tuple[SettingSection, ...]:
    """All sections. Reads the source of the classes, so the first call takes some milliseconds."""
    told = _told(ast.parse(inspect.getsource(sections)))
    about = _told(ast.parse(inspect.getsource(inspect.getmodule(Settings) or sections)))["Settings"]
    plain = Settings()
    found = []
    for section in fields(Settings):
        if section.name == "origins":
            continue
        group = getattr(plain, section.name)
        texts = told[type(group).__name__]
        settings = tuple(_setting(section.name, item, texts) for item in fields(group))
        found.append(SettingSection(section.name, about.get(section.name, ""), settings))
    return tuple(found)


def value_of(settings: Settings, name: str) -> Any:
    """The value of `section.name`."""
    section, _, key = name.partition(".")
    return getattr(getattr(settings, section), key)


def in_words(value: object) -> str:
    """A value on one line, as a person types it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (tuple, list)):
        return ", ".join(map(str, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {text}" for key, text in value.items())
    return str(value)


def _setting(section: str, item: Field[Any], texts: Mapping[str, str]) -> Setting:
    default = item.default_factory() if item.default_factory is not MISSING else item.default
    allowed = tuple(item.metadata.get("allowed", ()))
    return Setting(
        name=f"{section}.{item.name}",
        kind=_kind(default, allowed),
        help=texts.get(item.name, ""),
        default=default,
        allowed=allowed,
        bounds=_bounds(item),
        when="now" if section == "tui" else "when idle" if section in _STARTED_WITH else "next use",
    )


def _kind(default: object, allowed: tuple[str, ...]) -> Kind:
    if isinstance(default, bool):
        return "yes or no"
    if isinstance(default, int):
        return "number"
    if isinstance(default, tuple):
        return "list"
    if isinstance(default, Mapping):
        return "table"
    return "word" if allowed else "text"


def _bounds(item: Field[Any]) -> str:
    if "least" not in item.metadata:
        return ""
    zero = "0, or " if item.metadata["or_zero"] else ""
    return f"{zero}{item.metadata['least']:,} to {item.metadata['most']:,}"


def _told(module: ast.Module) -> dict[str, dict[str, str]]:
    """The text under each attribute of each class."""
    found: dict[str, dict[str, str]] = {}
    for node in module.body:
        if not isinstance(node, ast.ClassDef):
            continue
        texts = found.setdefault(node.name, {})
        for item, below in zip(node.body, node.body[1:], strict=False):
            if (
                isinstance(item, ast.AnnAssign)
                and isinstance(item.target, ast.Name)
                and isinstance(below, ast.Expr)
                and isinstance(below.value, ast.Constant)
            ):
                texts[item.target.id] = " ".join(str(below.value.value).split())
    return found
