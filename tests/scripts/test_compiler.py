"""A compiler that is missing or broken is told in a sentence before the build begins."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from scripts.setuplib.compiler import NO_AMX, Compiler, accelerator_environment, find_compiler
from scripts.setuplib.errors import SetupError
from scripts.setuplib.machine import Machine
from tests.scripts.conftest import Program

# Refuses the flags of AMX, as an old gcc does.
OLD = 'case "$*" in *amx*) echo "unrecognized option" >&2; exit 1;; esac; cat >/dev/null; exit 0'


def test_the_usual_compiler_is_found_and_tried(tmp_path: Path, machine: Machine, program: Program) -> None:
    program(tmp_path / "cc", "exit 0")
    cxx = program(tmp_path / "c++", '[ "$1" = --version ] && echo "obedient 1.0"; exit 0')
    compiler = find_compiler({"PATH": str(tmp_path)}, machine)
    assert compiler == Compiler((str(cxx),), "obedient 1.0")
    assert compiler.accepts(NO_AMX)


def test_a_named_compiler_with_words_goes_first(tmp_path: Path, machine: Machine, program: Program) -> None:
    program(tmp_path / "cc", "exit 0")
    program(tmp_path / "c++", "exit 0")
    mine = program(tmp_path / "mine", OLD)
    compiler = find_compiler({"PATH": str(tmp_path), "CXX": "mine --fast"}, machine)
    assert compiler.command == (str(mine), "--fast")
    assert not compiler.accepts(NO_AMX)
    assert compiler.accepts(("-O2",))


@pytest.mark.parametrize(("there", "lacking"), [((), "no C compiler"), (("gcc",), "no C\\+\\+ compiler")])
def test_a_missing_compiler_is_told_with_what_to_install(
    tmp_path: Path, machine: Machine, program: Program, there: tuple[str, ...], lacking: str
) -> None:
    for name in there:
        program(tmp_path / name, "exit 0")
    with pytest.raises(SetupError, match=lacking) as caught:
        find_compiler({"PATH": str(tmp_path)}, machine)
    assert "build-essential" in caught.value.hint


def test_a_named_compiler_that_is_not_there_is_named(
    tmp_path: Path, machine: Machine, program: Program
) -> None:
    program(tmp_path / "cc", "exit 0")
    with pytest.raises(SetupError, match="CC names the compiler clang-99"):
        find_compiler({"PATH": str(tmp_path), "CC": "clang-99"}, machine)


def test_a_compiler_that_cannot_compile_is_quoted(tmp_path: Path, machine: Machine, program: Program) -> None:
    program(tmp_path / "cc", "exit 0")
    program(tmp_path / "c++", 'echo "fatal error: vector: No such file" >&2; exit 1')
    with pytest.raises(SetupError, match="vector: No such file"):
        find_compiler({"PATH": str(tmp_path)}, machine)


def test_a_mac_without_tools_is_not_made_to_open_a_dialogue(
    tmp_path: Path, machine: Machine, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = tmp_path / "called"
    program(tmp_path / "xcode-select", "exit 2")
    for name in ("cc", "c++"):
        program(tmp_path / name, f"touch {trace}")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError) as caught:
        find_compiler({"PATH": str(tmp_path)}, replace(machine, system="darwin"))
    assert "xcode-select --install" in caught.value.hint
    assert not trace.exists()


def test_windows_without_visual_studio(tmp_path: Path, machine: Machine) -> None:
    with pytest.raises(SetupError) as caught:
        find_compiler(
            {"PATH": str(tmp_path), "ProgramFiles(x86)": str(tmp_path)}, replace(machine, system="win32")
        )
    assert "Build Tools" in caught.value.hint


def test_each_accelerator_asks_for_its_tool(tmp_path: Path, machine: Machine, program: Program) -> None:
    bare = {"PATH": str(tmp_path)}
    assert accelerator_environment("cpu", bare, machine) == {}
    assert accelerator_environment("metal", bare, replace(machine, system="darwin")) == {}
    assert accelerator_environment("cuda", bare | {"CUDACXX": "/opt/nvcc"}, machine) == {}
    for accelerator, tool in (("vulkan", "glslc"), ("metal", "Apple")):
        with pytest.raises(SetupError, match=tool):
            accelerator_environment(accelerator, bare, machine)
    program(tmp_path / "glslc", "exit 0")
    program(tmp_path / "nvcc", "exit 0")
    assert accelerator_environment("vulkan", bare, machine) == {}
    assert accelerator_environment("cuda", bare, machine) == {}
