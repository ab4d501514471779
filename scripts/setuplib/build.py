"""Builds llama-cpp-python as a wheel for this processor and keeps it in the cache.

A wheel lies in `builds/KEY/` beside `build.json`, which says how it was made, and `proof.json`, which says
whether it worked. The key holds all that makes a wheel fit: version, flags, system, processor and its
instruction sets, Python. A wheel of another processor is therefore never used.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .compiler import NO_AMX, Compiler, accelerator_environment, find_compiler
from .errors import CommandFailed, SetupError
from .explain import explain_failure
from .machine import Machine, duration_text, size_text
from .progress import BuildProgress, Talk
from .run import child_environment, run_logged
from .state import Lock, read_json, sha256_of, write_json

PACKAGE = "llama-cpp-python"
ACCELERATORS = ("cpu", "cuda", "metal", "vulkan")

_GPU_FLAGS = {
    "cpu": (),
    "cuda": ("-DGGML_CUDA=on",),
    "metal": ("-DGGML_METAL=on",),
    "vulkan": ("-DGGML_VULKAN=on",),
}
# Only text is read: the library for images is a quarter of the work and is left out.
_COMMON_FLAGS = ("-DLLAVA_BUILD=OFF",)
_X86_SETS = (("AVX", "avx"), ("AVX2", "avx2"), ("BMI2", "bmi2"), ("FMA", "fma"), ("F16C", "f16c"))


@dataclass(frozen=True)
class Recipe:
    """How a wheel is built."""

    version: str
    """Version of llama-cpp-python."""

    accelerator: str
    """One of `ACCELERATORS`."""

    careful: bool
    """False: all that the processor can do. True: only what is known to be harmless, for a second try."""

    cmake_flags: tuple[str, ...]
    """Flags for CMake."""

    key: str
    """Name of the folder in `builds/`."""


def make_recipe(
    version: str, machine: Machine, python_tag: str, accelerator: str = "cpu", *, careful: bool = False
) -> Recipe:
    """The recipe for a machine. `python_tag` names the Python, such as `cpython-311`."""
    flags = (*_COMMON_FLAGS, *_native_flags(machine, careful), *_GPU_FLAGS[accelerator])
    facts = [version, *flags, *_amx_flags(machine), machine.system, machine.processor, python_tag]
    digest = hashlib.sha256("\n".join([*facts, machine.feature_hash]).encode()).hexdigest()[:12]
    kind = accelerator + ("-careful" if careful else "")
    return Recipe(
        version,
        accelerator,
        careful,
        flags,
        f"{version}-{machine.system}-{machine.processor}-{kind}-{digest}",
    )


def _native_flags(machine: Machine, careful: bool) -> tuple[str, ...]:
    if not careful:
        return ("-DGGML_NATIVE=ON",)
    if not machine.x86_64:
        return ("-DGGML_NATIVE=OFF",)
    # Without NATIVE, what is not switched off is on: a processor that lacks one would die on it.
    sets = [
        f"-DGGML_{name}={'ON' if not machine.features or word in machine.features else 'OFF'}"
        for name, word in _X86_SETS
    ]
    return ("-DGGML_NATIVE=OFF", *sets)


def _amx_flags(machine: Machine) -> tuple[str, ...]:
    return NO_AMX if machine.x86_64 and machine.system != "win32" else ()


def build_environment(
    recipe: Recipe, machine: Machine, compiler: Compiler, environment: Mapping[str, str], temporary: Path
) -> dict[str, str]:
    """The environment of the build: the person's own flags first, then those of the recipe."""
    changed = child_environment(environment)
    changed |= accelerator_environment(recipe.accelerator, environment, machine)
    changed["CMAKE_ARGS"] = " ".join([environment.get("CMAKE_ARGS", ""), *recipe.cmake_flags]).strip()
    amx = _amx_flags(machine)
    if amx and compiler.accepts(amx):
        for name in ("CFLAGS", "CXXFLAGS"):
            changed[name] = " ".join([environment.get(name, ""), *amx]).strip()
    changed.setdefault("CMAKE_BUILD_PARALLEL_LEVEL", str(machine.jobs))
    # The system's own folder for temporary files is often small, or in memory.
    changed |= {"TMPDIR": str(temporary), "TEMP": str(temporary), "TMP": str(temporary)}
    return changed


@dataclass(frozen=True)
class Builds:
    """The folder of wheels in the cache."""

    cache: Path
    """The cache folder."""

    def folder(self, recipe: Recipe) -> Path:
        """Where the wheel of a recipe lies or will lie."""
        return self.cache / "builds" / recipe.key

    def log(self, recipe: Recipe) -> Path:
        """Where the output of the last build of a recipe lies."""
        return self.cache / "logs" / f"build-{recipe.key}.log"

    def record(self, recipe: Recipe) -> dict[str, Any] | None:
        """What `build.json` says, if the wheel is there in the size that it had."""
        made = read_json(self.folder(recipe) / "build.json")
        try:
            wheel = self.folder(recipe) / made["wheel"]
            return made if wheel.stat().st_size == made["size"] else None
        except (KeyError, TypeError, OSError):
            return None

    def wheel(self, recipe: Recipe) -> Path:
        """The wheel, read through and found whole. Raises `SetupError` if it is not."""
        made = self.record(recipe)
        if made is not None:
            wheel = self.folder(recipe) / str(made["wheel"])
            if sha256_of(wheel) == made["sha256"]:
                return wheel
            shutil.rmtree(self.folder(recipe), ignore_errors=True)
        raise SetupError(
            f"The build of llama.cpp in {self.folder(recipe)} is damaged; it was removed.", "Start again."
        )

    def drop(self, recipe: Recipe) -> None:
        """Forget the wheel and its proof."""
        shutil.rmtree(self.folder(recipe), ignore_errors=True)

    def make(
        self, recipe: Recipe, *, python: Path, machine: Machine, environment: Mapping[str, str], talk: Talk
    ) -> None:
        """Build the wheel, unless another set-up has just done so.

        It is built in a folder of its own and moved to its place when it is whole. Raises `SetupError`.
        """
        builds = self.cache / "builds"
        builds.mkdir(parents=True, exist_ok=True)
        with Lock(builds / f"{recipe.key}.lock", "building llama.cpp", talk):
            if self.record(recipe) is not None:
                return
            for left in builds.glob(
                f".{recipe.key}-*"
            ):  # of a build that was killed: no other holds the lock
                shutil.rmtree(left, ignore_errors=True)
            compiler = find_compiler(environment, machine)
            temporary = Path(tempfile.mkdtemp(prefix=f".{recipe.key}-", dir=builds))
            try:
                self._build(recipe, python, machine, compiler, environment, temporary, talk)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)

    def _build(
        self,
        recipe: Recipe,
        python: Path,
        machine: Machine,
        compiler: Compiler,
        environment: Mapping[str, str],
        temporary: Path,
        talk: Talk,
    ) -> None:
        wheels, work = temporary / "wheel", temporary / "work"
        wheels.mkdir()
        work.mkdir()
        settings = build_environment(recipe, machine, compiler, environment, work)
        requirement = f"{PACKAGE}=={recipe.version}"
        command = [str(python), "-m", "pip", "wheel", "-v", "--no-deps", "--no-cache-dir"]
        command += ["--no-binary", PACKAGE, "--progress-bar", "off", "--wheel-dir", str(wheels), requirement]
        talk.say(f"  with {compiler.version}, {machine.jobs} at a time; log: {self.log(recipe)}")
        try:
            run_logged(
                command,
                what="Building llama.cpp",
                log=self.log(recipe),
                progress=BuildProgress(),
                talk=talk,
                environment=settings,
                folder=temporary,
            )
        except CommandFailed as error:
            raise explain_failure(error) from error
        found = list(wheels.glob("*.whl"))
        if len(found) != 1:
            raise SetupError("The build of llama.cpp ended without a wheel.", f"Its log: {self.log(recipe)}")
        size = found[0].stat().st_size
        made = {
            "wheel": found[0].name,
            "size": size,
            "sha256": sha256_of(found[0]),
            "version": recipe.version,
            "cmake_args": settings["CMAKE_ARGS"],
            "cxxflags": settings.get("CXXFLAGS", ""),
            "compiler": compiler.version,
            "processor": machine.brand,
            "seconds": round(talk.elapsed),
        }
        write_json(wheels / "build.json", made)
        self.drop(recipe)
        os.replace(wheels, self.folder(recipe))
        talk.finish(f"built ({size_text(size)} in {duration_text(talk.elapsed)})")
