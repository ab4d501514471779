"""Which models suit this machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from localrag import settings
from localrag.catalogue.entries import CatalogueEntry, KnownModel, Role, fold_name
from localrag.catalogue.files import free_bytes, megabytes
from localrag.catalogue.installed import InstalledModel, installed
from localrag.catalogue.listing import catalogue

_CGROUP_LIMITS: Final = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)

_SYSTEM_MB: Final = 1500
"""Memory left to the system and the other programs."""


_SHARES: Final[dict[Role, float]] = {"chat": 2 / 3, "embed": 1 / 3}
"""How the rest is shared: both models are in memory at the same time."""


@dataclass(frozen=True)
class Machine:
    """What this computer has."""

    memory_mb: int
    """Memory in MiB that programs can have in all; a container's limit counts."""

    memory_available_mb: int
    """Memory in MiB that is free now."""

    cores: int
    """Physical cores that this program may use."""

    cores_logical: int
    """Logical cores that this program may use."""

    disk_free_mb: int
    """Free MiB of the disk for models."""


@dataclass(frozen=True)
class Recommendation:
    """A model that suits the machine."""

    role: Role
    """`chat` or `embed`."""

    name: str
    """The name for `models pull`, or the title of a file to bring."""

    why: str
    """One sentence for people."""

    installed: bool
    """Whether it is here."""

    obtainable: bool
    """Whether `models pull` brings it; else it is a file to bring with `models add`."""


def machine() -> Machine:
    """Look at this computer."""
    memory = psutil.virtual_memory()
    total = min([memory.total, *_limits()])
    logical = _usable_cores()
    physical = psutil.cpu_count(logical=False) or logical
    return Machine(
        memory_mb=total >> 20,
        memory_available_mb=min(memory.available, total) >> 20,
        cores=max(1, min(physical, logical)),
        cores_logical=logical,
        disk_free_mb=free_bytes(settings.models_dir()) >> 20,
    )


def recommend(machine: Machine) -> list[Recommendation]:
    """For each role a model to pull, then one to bring if the machine can carry a better one."""
    here = installed()
    found: list[Recommendation] = []
    for role, share in _SHARES.items():
        entry = _to_pull(role, int(max(0, machine.memory_mb - _SYSTEM_MB) * share))
        found.append(_pullable(entry, machine, here))
        better = _to_bring(role, machine.memory_mb)
        if better is not None:
            found.append(_bringable(better, here))
    return found


def _to_pull(role: Role, room_mb: int) -> CatalogueEntry:
    """The preferred model that fits, or the one that needs least if none does."""
    usable = [entry for entry in catalogue().of_role(role) if not entry.tests_only]
    return next(
        (entry for entry in usable if entry.memory_mb <= room_mb),
        min(usable, key=lambda entry: entry.memory_mb),
    )


def _to_bring(role: Role, memory_mb: int) -> KnownModel | None:
    fitting = [m for m in catalogue().known if m.role == role and 0 < m.machine_mb <= memory_mb]
    return max(fitting, key=lambda model: model.machine_mb, default=None)


def _pullable(entry: CatalogueEntry, machine: Machine, here: list[InstalledModel]) -> Recommendation:
    there = any(model.entry == entry and model.verified is not False for model in here)
    languages = "English only" if entry.languages == ("en",) else "English, Chinese and more"
    why = f"Needs about {entry.memory_mb} MB of memory and {megabytes(entry.size)} of disk; {languages}."
    if entry.memory_mb > machine.memory_mb - _SYSTEM_MB:
        why += f" This machine has only {machine.memory_mb} MB: expect it to be slow, or to fail."
    elif not entry.starter:
        why += " Chosen because this machine has little memory; it is the weaker of the two."
    if not there and entry.size >> 20 >= machine.disk_free_mb:
        why += f" There is not enough disk: {machine.disk_free_mb} MB are free."
    return Recommendation(entry.role, entry.name, why, there, obtainable=True)


def _bringable(model: KnownModel, here: list[InstalledModel]) -> Recommendation:
    there = any(model.match in fold_name(found.path.stem) for found in here)
    why = f"If you can bring a file: {model.why} ({model.licence})."
    return Recommendation(model.role, model.title, why, there, obtainable=False)


def _limits() -> list[int]:
    limits = []
    for path in _CGROUP_LIMITS:
        try:
            text = path.read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            continue
        if text.isdigit() and int(text) > 0:
            limits.append(int(text))
    return limits


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
