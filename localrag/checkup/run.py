"""All checks one after the other, and a report of them for others that names no file of the person's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from localrag import settings as settings_module
from localrag.catalogue.installed import installed
from localrag.checkup import machine
from localrag.checkup.base import CheckResult
from localrag.checkup.engine import check_engine
from localrag.checkup.remote import check_remote
from localrag.errors import LocalragError
from localrag.settings import Settings, models_dir

_MARKS = {"ok": "ok", "warn": "warning", "fail": "FAILED"}
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_PATH = re.compile(r"(?<![\w/.])(?:~|[A-Za-z]:)?[/\\][^\s;,:'\"()]+")

ENGINE = "Trying the build of llama.cpp."
"""Told before the one check that takes seconds."""


def run_checks(
    load: Callable[[], Settings],
    folder: Path,
    tell: Callable[[str], None] = lambda text: None,
) -> Iterator[CheckResult]:
    """Check this machine; each result comes as soon as it is there.

    `load` reads the settings, `folder` is one that must be writable beside that of the models. `tell` hears
    what takes long. Nothing is changed.
    """
    yield machine.check_python()
    yield from machine.check_sqlite()
    yield machine.check_data()
    yield machine.check_settings(load)
    try:
        settings = load()
    except LocalragError:
        settings = Settings()  # what is wrong with them was said above
    yield from machine.check_models(settings)
    yield from check_engine(settings)
    yield from check_remote(settings)
    tried, needed_mb = _engine_needs()
    tell(ENGINE)
    yield machine.check_llama(tried)
    yield machine.check_memory(needed_mb)
    yield from machine.check_disk((models_dir(), folder))


def machine_checks(folder: Path, tell: Callable[[str], None] = lambda text: None) -> Iterator[CheckResult]:
    """Check what is there before anything is set up: without models, settings and a knowledge base."""
    yield machine.check_memory()
    yield from machine.check_disk((models_dir(), folder))
    yield machine.check_python()
    yield from machine.check_sqlite()
    tell(ENGINE)
    yield machine.check_llama()


def _engine_needs() -> tuple[Path | None, int]:
    """The smallest chat model, to try the build with, and the memory that the models in use take."""
    usable = [model for model in installed() if model.verified is not False]
    chat = [model for model in usable if model.role == "chat"]
    small = min(chat, key=lambda model: model.size, default=None)
    # `installed` lists the preferred of a role first.
    first = {model.role: model for model in reversed(usable)}
    needed = sum(model.entry.memory_mb if model.entry else model.size >> 20 for model in first.values())
    return (small.path if small else None), needed


def report(version: str, results: Sequence[CheckResult], private: Sequence[Path] = ()) -> str:
    """The results as text to be sent to others: without paths, addresses and the names of `private` files."""
    lines = [f"localrag {version}"]
    for result in results:
        lines.append(f"{_MARKS[result.state]:<8} {result.name}: {result.detail}")
        if result.remedy:
            lines.append(f"         -> {result.remedy}")
    return "\n".join(_without_names(line, private) for line in lines) + "\n"


def _without_names(text: str, private: Sequence[Path]) -> str:
    """A line without what tells of a person: longest names first, since one path may begin another."""
    known = {str(path) for path in (*private, models_dir(), settings_module.settings_file(), Path.home())}
    for name in sorted(known - {"/", "."}, key=len, reverse=True):
        text = text.replace(name, "(path)")
    for path in private:
        # A short name could be part of any word.
        if len(path.stem) > 2:
            text = re.sub(rf"(?<!\w){re.escape(path.name)}(?!\w)", "(file)", text)
    return _PATH.sub("(path)", _ADDRESS.sub("(address)", text))
