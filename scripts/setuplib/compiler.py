"""Finds the C and C++ compilers and asks what they can do, so that a missing one is told in a sentence."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .errors import SetupError
from .machine import Machine

# gcc 12 drops the stores that prepare the tiles of AMX, and llama.cpp then dies on its first prompt.
NO_AMX = ("-mno-amx-tile", "-mno-amx-int8", "-mno-amx-bf16")

_TRIAL = "#include <vector>\nint main() { std::vector<int> v(1, 0); return v[0]; }\n"


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler that was tried."""

    command: tuple[str, ...]
    """How it is called; empty where CMake has to find it (Visual Studio)."""

    version: str
    """First line that it says about itself."""

    def accepts(self, flags: tuple[str, ...]) -> bool:
        """Whether it takes these flags without an objection."""
        return bool(self.command) and _compiles(self.command, ("-Werror", *flags)) == ""


def find_compiler(environment: Mapping[str, str], machine: Machine) -> Compiler:
    """The C++ compiler that CMake will use; raises `SetupError` if there is none that works."""
    if machine.system == "win32":
        return _find_visual_studio(environment)
    if machine.system == "darwin" and _run(["xcode-select", "-p"]) is None:
        # Without the tools, /usr/bin/cc is a stand-in that opens a dialogue: it must not even be tried.
        raise SetupError(
            "Apple's command line tools, with the compiler that llama.cpp needs, are missing.",
            "Install them with: xcode-select --install",
        )
    _require("CC", "C", ("cc", "gcc", "clang"), environment, machine)
    command = _require("CXX", "C++", ("c++", "g++", "clang++"), environment, machine)
    if problem := _compiles(command, ()):
        raise SetupError(
            f"The C++ compiler ({' '.join(command)}) cannot compile a small program: {problem}", _how(machine)
        )
    said = _run([*command, "--version"]) or ""
    return Compiler(command, said.splitlines()[0] if said else " ".join(command))


def accelerator_environment(
    accelerator: str, environment: Mapping[str, str], machine: Machine
) -> dict[str, str]:
    """What a build for `cpu`, `cuda`, `metal` or `vulkan` needs in its environment.

    Raises `SetupError` if a tool for it is missing.
    """
    path = environment.get("PATH")
    if accelerator == "cuda" and not environment.get("CUDACXX") and not shutil.which("nvcc", path=path):
        usual = Path("/usr/local/cuda/bin/nvcc")
        if not usual.exists():
            raise SetupError(
                "--cuda needs NVIDIA's compiler nvcc, which is not there.",
                "Install the CUDA toolkit, or put its bin folder on the PATH.",
            )
        return {"CUDACXX": str(usual)}
    if accelerator == "vulkan" and not shutil.which("glslc", path=path):
        raise SetupError(
            "--vulkan needs the shader compiler glslc, which is not there.",
            "Install the Vulkan development files (Debian, Ubuntu: apt-get install libvulkan-dev glslc).",
        )
    if accelerator == "metal" and machine.system != "darwin":
        raise SetupError(
            "--metal is for Apple's machines.", "Here --cuda and --vulkan are to be had, or neither."
        )
    return {}


def _how(machine: Machine) -> str:
    if machine.system == "darwin":
        return "Install Apple's tools with: xcode-select --install"
    return (
        "Install gcc and g++ (Debian, Ubuntu: apt-get install build-essential; Fedora: dnf install gcc-c++; "
        "Arch: pacman -S base-devel), then start again."
    )


def _require(
    variable: str, language: str, usual: tuple[str, ...], environment: Mapping[str, str], machine: Machine
) -> tuple[str, ...]:
    """The words of a compiler that the person named in a variable, else the first usual one that is there."""
    named = environment.get(variable)
    for candidate in [named] if named else usual:
        words = shlex.split(candidate)
        if words and (program := shutil.which(words[0], path=environment.get("PATH"))):
            return (program, *words[1:])
    if named:
        raise SetupError(f"{variable} names the compiler {named}, which is not there.", _how(machine))
    raise SetupError(
        f"There is no {language} compiler, and llama.cpp has to be built for this machine.", _how(machine)
    )


def _compiles(command: tuple[str, ...], flags: tuple[str, ...]) -> str:
    """Compile a small program without keeping it; gives the compiler's complaint, or nothing."""
    words = [*command, *flags, "-x", "c++", "-c", "-o", os.devnull, "-"]
    try:
        done = subprocess.run(words, input=_TRIAL, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0]


def _run(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _find_visual_studio(environment: Mapping[str, str]) -> Compiler:
    if shutil.which("cl", path=environment.get("PATH")):
        return Compiler((), "Visual C++")
    programs = environment.get("ProgramFiles(x86)", r"C:\Program Files (x86)")
    finder = Path(programs) / "Microsoft Visual Studio" / "Installer" / "vswhere.exe"
    tools = "Microsoft.VisualStudio.Component.VC.Tools.x86.x64"
    found = _run([str(finder), "-latest", "-products", "*", "-requires", tools, "-property", "displayName"])
    if not found:
        raise SetupError(
            "There is no C++ compiler, and llama.cpp has to be built for this machine.",
            'Install the Visual Studio Build Tools with "Desktop development with C++".',
        )
    return Compiler((), found)
