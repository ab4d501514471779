"""The build of llama.cpp: its flags and key, its environment, and what is left when it ends well or badly."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest

from scripts.setuplib.build import Builds, Recipe, build_environment, make_recipe
from scripts.setuplib.compiler import Compiler
from scripts.setuplib.errors import CommandFailed, SetupError
from scripts.setuplib.explain import explain_failure
from scripts.setuplib.machine import Machine
from scripts.setuplib.progress import Talk
from tests.scripts.conftest import Program

TAG = "cpython-311"


def test_the_native_recipe(machine: Machine) -> None:
    recipe = make_recipe("0.3.36", machine, TAG)
    assert recipe.cmake_flags == ("-DLLAVA_BUILD=OFF", "-DGGML_NATIVE=ON")
    assert recipe.key.startswith("0.3.36-linux-x86_64-cpu-")


@pytest.mark.parametrize("accelerator", ["cuda", "metal", "vulkan"])
def test_an_accelerator_adds_its_flag(machine: Machine, accelerator: str) -> None:
    recipe = make_recipe("0.3.36", machine, TAG, accelerator)
    assert recipe.cmake_flags[-1] == f"-DGGML_{accelerator.upper()}=on"
    assert accelerator in recipe.key


def test_the_careful_recipe_names_the_common_instructions(machine: Machine) -> None:
    flags = make_recipe("0.3.36", machine, TAG, careful=True).cmake_flags
    assert flags[1:] == (
        "-DGGML_NATIVE=OFF",
        "-DGGML_AVX=ON",
        "-DGGML_AVX2=ON",
        "-DGGML_BMI2=ON",
        "-DGGML_FMA=ON",
        "-DGGML_F16C=ON",
    )


def test_the_careful_recipe_switches_off_what_the_processor_lacks(machine: Machine) -> None:
    old = replace(machine, features=frozenset({"sse4_2", "avx"}))
    flags = make_recipe("0.3.36", old, TAG, careful=True).cmake_flags
    assert {"-DGGML_AVX=ON", "-DGGML_AVX2=OFF", "-DGGML_FMA=OFF"} <= set(flags)
    unknown = replace(machine, features=frozenset())
    assert "-DGGML_AVX2=ON" in make_recipe("0.3.36", unknown, TAG, careful=True).cmake_flags


def test_the_careful_recipe_for_arm(machine: Machine) -> None:
    arm = replace(machine, processor="aarch64", features=frozenset({"asimd"}))
    assert make_recipe("0.3.36", arm, TAG, careful=True).cmake_flags[1:] == ("-DGGML_NATIVE=OFF",)


def test_the_key_changes_with_all_that_a_wheel_depends_on(machine: Machine) -> None:
    keys = {
        make_recipe("0.3.36", machine, TAG).key,
        make_recipe("0.3.37", machine, TAG).key,
        make_recipe("0.3.36", machine, "cpython-312").key,
        make_recipe("0.3.36", machine, TAG, "cuda").key,
        make_recipe("0.3.36", machine, TAG, careful=True).key,
        make_recipe("0.3.36", replace(machine, features=machine.features | {"avx512f"}), TAG).key,
        make_recipe("0.3.36", replace(machine, processor="aarch64"), TAG).key,
        make_recipe("0.3.36", replace(machine, system="darwin"), TAG).key,
    }
    assert len(keys) == 8
    # Memory and cores decide how fast it is built, not what is built.
    assert make_recipe("0.3.36", replace(machine, cores=1, memory=0), TAG).key in keys


class _Accepting(Compiler):
    def accepts(self, flags: tuple[str, ...]) -> bool:
        return True


class _Refusing(Compiler):
    def accepts(self, flags: tuple[str, ...]) -> bool:
        return False


def test_the_environment_of_a_build(machine: Machine, tmp_path: Path) -> None:
    recipe = make_recipe("0.3.36", machine, TAG)
    person = {"SOURCE_DATE_EPOCH": "1", "CMAKE_ARGS": "-DGGML_BLAS=ON", "CFLAGS": "-g", "PIP_USER": "1"}
    settings = build_environment(recipe, machine, _Accepting((), ""), person, tmp_path)
    assert "SOURCE_DATE_EPOCH" not in settings
    assert "PIP_USER" not in settings
    assert settings["CMAKE_ARGS"] == "-DGGML_BLAS=ON -DLLAVA_BUILD=OFF -DGGML_NATIVE=ON"
    assert settings["CFLAGS"] == "-g -mno-amx-tile -mno-amx-int8 -mno-amx-bf16"
    assert settings["CXXFLAGS"] == "-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"
    assert settings["CMAKE_BUILD_PARALLEL_LEVEL"] == "4"
    assert settings["TMPDIR"] == str(tmp_path)
    assert person["SOURCE_DATE_EPOCH"] == "1"


def test_amx_is_only_named_where_it_means_something(machine: Machine, tmp_path: Path) -> None:
    recipe = make_recipe("0.3.36", machine, TAG)
    for where, compiler in (
        (machine, _Refusing((), "")),
        (replace(machine, processor="arm64", system="darwin"), _Accepting((), "")),
        (replace(machine, processor="amd64", system="win32"), _Accepting((), "")),
    ):
        assert "CXXFLAGS" not in build_environment(recipe, where, compiler, {}, tmp_path)


def test_a_parallel_level_of_the_person_stands(machine: Machine, tmp_path: Path) -> None:
    person = {"CMAKE_BUILD_PARALLEL_LEVEL": "1"}
    recipe = make_recipe("0.3.36", machine, TAG)
    settings = build_environment(recipe, machine, _Refusing((), ""), person, tmp_path)
    assert settings["CMAKE_BUILD_PARALLEL_LEVEL"] == "1"


# A pip that prints what a build prints, and puts a wheel where it is told to.
PIP = """
while [ $# -gt 1 ]; do [ "$1" = --wheel-dir ] && folder=$2; shift; done
echo "[1/2] cc -c /b/one.c"
touch "$TMPDIR/rubbish"
echo "wheel for $1" > "$folder/llama_cpp_python-0.3.36-py3-none-any.whl"
"""


@pytest.fixture
def compilers(tmp_path: Path, program: Program) -> dict[str, str]:
    """An environment in which compilers are found."""
    for name in ("cc", "c++"):
        program(tmp_path / "programs" / name, "exit 0")
    return {"PATH": f"{tmp_path / 'programs'}:/usr/bin:/bin"}


def test_a_build_ends_in_its_folder_and_leaves_nothing_else(
    tmp_path: Path,
    machine: Machine,
    program: Program,
    compilers: dict[str, str],
    talk: Talk,
    said: io.StringIO,
) -> None:
    builds, recipe = Builds(tmp_path / "cache"), make_recipe("0.3.36", machine, TAG)
    (tmp_path / "cache" / "builds" / f".{recipe.key}-old").mkdir(parents=True)
    python = program(tmp_path / "python", PIP)
    builds.make(recipe, python=python, machine=machine, environment=compilers, talk=talk)
    assert builds.wheel(recipe).read_text(encoding="utf-8") == "wheel for llama-cpp-python==0.3.36\n"
    names = sorted(path.name for path in (tmp_path / "cache" / "builds").iterdir())
    assert names == [recipe.key, f"{recipe.key}.lock"]
    assert "1 of 2: one.c" in said.getvalue()
    record = builds.record(recipe)
    assert record is not None
    assert record["cmake_args"] == "-DLLAVA_BUILD=OFF -DGGML_NATIVE=ON"

    broken = program(tmp_path / "python", "exit 1")
    builds.make(
        recipe, python=broken, machine=machine, environment=compilers, talk=talk
    )  # there is one already


def test_a_failed_build_leaves_its_log_and_its_reason(
    tmp_path: Path, machine: Machine, program: Program, compilers: dict[str, str], talk: Talk
) -> None:
    builds, recipe = Builds(tmp_path / "cache"), make_recipe("0.3.36", machine, TAG)
    python = program(
        tmp_path / "python", 'echo "/b/one.c: fatal error: No space left on device"; echo gone; exit 3'
    )
    with pytest.raises(CommandFailed, match="The disk became full") as caught:
        builds.make(recipe, python=python, machine=machine, environment=compilers, talk=talk)
    assert caught.value.tail[-1] == "gone"
    assert "No space left" in caught.value.log.read_text(encoding="utf-8")
    assert builds.record(recipe) is None
    names = [path.name for path in (tmp_path / "cache" / "builds").iterdir()]
    assert names == [f"{recipe.key}.lock"]


def test_a_damaged_wheel_is_refused_and_removed(
    tmp_path: Path, machine: Machine, program: Program, compilers: dict[str, str], talk: Talk
) -> None:
    builds, recipe = Builds(tmp_path / "cache"), make_recipe("0.3.36", machine, TAG)
    builds.make(
        recipe, python=program(tmp_path / "python", PIP), machine=machine, environment=compilers, talk=talk
    )
    wheel = builds.wheel(recipe)
    wheel.write_bytes(bytes(wheel.stat().st_size))
    with pytest.raises(SetupError, match="damaged"):
        builds.wheel(recipe)
    assert builds.record(recipe) is None


def test_a_shorter_wheel_is_as_good_as_none(tmp_path: Path, machine: Machine) -> None:
    builds, recipe = Builds(tmp_path), make_recipe("0.3.36", machine, TAG)
    folder = builds.folder(recipe)
    folder.mkdir(parents=True)
    (folder / "build.json").write_text('{"wheel": "a.whl", "size": 10, "sha256": ""}', encoding="utf-8")
    assert builds.record(recipe) is None
    (folder / "a.whl").write_bytes(b"short")
    assert builds.record(recipe) is None
    (folder / "build.json").write_text("{", encoding="utf-8")
    assert builds.record(recipe) is None


@pytest.mark.parametrize(
    ("line", "reason", "hint"),
    [
        ("c++: fatal error: Killed signal terminated program cc1plus", "out of memory", "PARALLEL_LEVEL=1"),
        ("ERROR: No matching distribution found for x", "could not be fetched", "network"),
        ("CMake Error: No CMAKE_CXX_COMPILER could be found.", "no compiler", "gcc"),
        ("Could NOT find Vulkan (missing: Vulkan_LIBRARY)", "Vulkan", "libvulkan-dev"),
        ("CUDA Toolkit not found", "CUDA", "nvcc"),
        ("something nobody has seen", "failed", ""),
    ],
)
def test_the_reason_of_a_failure_is_found(line: str, reason: str, hint: str) -> None:
    error = explain_failure(CommandFailed("Building llama.cpp", 1, Path("log"), ["before", line, "after"]))
    assert reason in error.message
    assert hint in error.hint


def test_a_recipe_is_made_of_plain_words(machine: Machine) -> None:
    recipe = make_recipe("0.3.36", machine, TAG)
    assert isinstance(recipe, Recipe)
    assert "/" not in recipe.key
    assert " " not in recipe.key
