"""What a set-up has to do, what it will cost in disk and time, and whether there is room for it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .build import ACCELERATORS
from .errors import SetupError
from .machine import MB, Machine, device, free_disk, size_text
from .models import SETS, Model

# Measured on Linux x86-64. The build's room is given back when it ends.
VENV_SIZE = 240 * MB
DEVELOPMENT_SIZE = 140 * MB
BUILD_ROOM = 500 * MB
WHEEL_SIZE = 25 * MB
CORE_MINUTES_OF_BUILD = 10.0
GPU_BUILD_FACTOR = 4.0
INSTALL_MINUTES = 1.0
MARGIN = 200 * MB


def parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line of scripts/setup."""
    parser = argparse.ArgumentParser(
        prog="scripts/setup",
        description="Set localrag up in this folder: the environment .venv, llama.cpp built for this "
        "processor, and models. Asks nothing. Run again, it does only what is missing; stopped, it goes on "
        "from there. A choice of graphics card and --dev are remembered.",
        epilog="Environment: LOCALRAG_CACHE names the folder for builds and models, LOCALRAG_PYTHON the "
        "Python to use; CC, CXX, CMAKE_ARGS and CMAKE_BUILD_PARALLEL_LEVEL reach the build.",
        allow_abbrev=False,
    )
    kinds = parser.add_mutually_exclusive_group()
    for kind, text in (
        ("cuda", "build for NVIDIA graphics cards"),
        ("metal", "build for Apple's graphics"),
        ("vulkan", "build for graphics cards through Vulkan"),
        ("cpu", "build for the processor alone, after one of the above"),
    ):
        kinds.add_argument(f"--{kind}", dest="accelerator", action="store_const", const=kind, help=text)
    assert {"cpu", "cuda", "metal", "vulkan"} == set(ACCELERATORS)
    parser.add_argument(
        "--models",
        choices=sorted(SETS),
        default="starter",
        help="starter (default): the 1.5B chat model and the English and Chinese vectors; "
        "test: the small models of the tests; none",
    )
    parser.add_argument(
        "--dev", action="store_true", help="also install the tools of scripts/check and scripts/test"
    )
    parser.add_argument("--rebuild", action="store_true", help="build llama.cpp anew")
    return parser.parse_args(arguments)


@dataclass(frozen=True)
class Plan:
    """What is missing."""

    environment: bool
    """Whether .venv has to be made."""

    build: bool
    """Whether llama.cpp has to be built."""

    wheel: bool
    """Whether the build has to be installed."""

    project: bool
    """Whether localrag and its packages have to be installed."""

    models: tuple[Model, ...]
    """Models to fetch, or to verify where the file is there."""

    absent: tuple[Model, ...]
    """Those of them whose file is not there."""

    proof: bool
    """Whether the build has to be tried."""

    development: bool = False
    """Whether the developers' tools are among the packages."""

    accelerator: str = "cpu"
    """What the build is for."""

    @property
    def nothing(self) -> bool:
        """Whether all is there."""
        return not (self.environment or self.build or self.wheel or self.project or self.models or self.proof)

    def repository_room(self) -> int:
        """Bytes needed in the repository's folder."""
        if self.environment or self.project:
            return VENV_SIZE + (DEVELOPMENT_SIZE if self.development else 0)
        return 3 * WHEEL_SIZE if self.wheel else 0

    def cache_room(self) -> int:
        """Bytes needed in the cache at its fullest; the build's room is free before the models come."""
        return max(self.kept_in_cache(), BUILD_ROOM if self.build else 0)

    def kept_in_cache(self) -> int:
        """Bytes that stay in the cache, with the parts of the largest model while it is put together."""
        models = sum(model.size for model in self.absent)
        parts = max((model.download for model in self.absent), default=0)
        return models + parts + (WHEEL_SIZE if self.build else 0)

    def minutes(self, machine: Machine) -> float:
        """About how long it takes, without the fetching of models."""
        minutes = INSTALL_MINUTES if self.project or self.environment else 0.2
        return minutes + (build_minutes(machine, self.accelerator) if self.build else 0.0)

    def steps(self, machine: Machine) -> list[str]:
        """One line for each thing to do."""
        lines = []
        if self.environment or self.project:
            tools = " and the developers' tools" if self.development else ""
            lines.append(f"Python packages{tools} in .venv: {size_text(self.repository_room())}")
        if self.build:
            what = "this processor" if self.accelerator == "cpu" else self.accelerator
            cores = "1 core" if machine.jobs == 1 else f"{machine.jobs} cores"
            time = _minutes(build_minutes(machine, self.accelerator))
            lines.append(
                f"llama.cpp, built for {what}: about {time} on {cores}, "
                f"{size_text(BUILD_ROOM)} while it is built"
            )
        elif self.wheel:
            lines.append("llama.cpp: the build from the cache is installed")
        for model in self.models:
            fetched = model in self.absent
            lines.append(f"model {model.name}: {size_text(model.download) if fetched else 'is checked'}")
        if self.proof:
            lines.append("a test that this build of llama.cpp works on this machine")
        return lines

    def fetched(self) -> int:
        """Bytes of models that come over the network."""
        return sum(model.download for model in self.absent)


def build_minutes(machine: Machine, accelerator: str) -> float:
    """About how long a build of llama.cpp takes here."""
    factor = 1.0 if accelerator in {"cpu", "metal"} else GPU_BUILD_FACTOR
    return factor * CORE_MINUTES_OF_BUILD / machine.jobs


def _minutes(value: float) -> str:
    whole = max(1, round(value))
    return "1 minute" if whole == 1 else f"{whole} minutes"


def announce(
    plan: Plan, machine: Machine, root: Path, cache: Path, free: Callable[[Path], int] = free_disk
) -> str:
    """What is said before the work begins."""
    lines = ["Setting up localrag:"]
    lines += [f"  - {step}" for step in plan.steps(machine)]
    repository, kept = plan.repository_room(), plan.cache_room()
    if repository:
        lines.append(f"Disk: about {size_text(repository)} in {root} ({size_text(free(root))} free)")
    if kept:
        lines.append(f"Disk: up to {size_text(kept)} in {cache} ({size_text(free(cache))} free)")
    time = f"Time: about {_minutes(plan.minutes(machine))}"
    if plan.fetched():
        time += f", and what the network takes for {size_text(plan.fetched())} of models"
    lines.append(time + ". Nothing is asked; ctrl-c stops it, and starting it again goes on.")
    return "\n".join(lines)


def check_disk(
    plan: Plan,
    root: Path,
    cache: Path,
    free: Callable[[Path], int] = free_disk,
    disk: Callable[[Path], int] = device,
) -> None:
    """Raise `SetupError` if there is not enough room in the repository or the cache."""
    needs = [(root, plan.repository_room()), (cache, plan.cache_room())]
    if disk(root) == disk(cache):
        needs = [(cache, plan.repository_room() + plan.cache_room())]
    for path, room in needs:
        if room and free(path) < room + MARGIN:
            raise SetupError(
                f"There is not enough room on the disk of {path}: {size_text(room + MARGIN)} are needed, "
                f"{size_text(free(path))} are free.",
                "Free some room, or set LOCALRAG_CACHE to a folder on a larger disk.",
            )
