"""The facts about the machine: cache folder, processor, memory, sizes in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import platformdirs
import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix

from scripts.setuplib.machine import (
    GIB,
    Machine,
    cache_dir,
    duration_text,
    existing_parent,
    parse_cpuinfo,
    size_text,
    this_machine,
)

CPUINFO = """\
processor\t: 0
model name\t: Example 9000
flags\t\t: fpu sse4_2 avx2 amx_tile amx_int8 retbleed_made_up

processor\t: 1
model name\t: Example 9000
flags\t\t: fpu
"""


def test_cache_dir_is_the_one_that_localrag_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    from localrag import settings

    monkeypatch.delenv("LOCALRAG_CACHE", raising=False)
    for name, value in (("HOME", "/home/someone"), ("XDG_CACHE_HOME", "/elsewhere/cache")):
        monkeypatch.setenv(name, value)
        import os

        assert cache_dir(os.environ) == settings.cache_dir() == platformdirs.user_cache_path("localrag")
    monkeypatch.setenv("LOCALRAG_CACHE", "/named")
    assert cache_dir({"LOCALRAG_CACHE": "/named"}) == settings.cache_dir() == Path("/named")


@pytest.mark.parametrize("xdg", ["", "relative/cache", "/absolute/cache"])
@pytest.mark.parametrize(("system", "folders"), [("linux", Unix), ("darwin", MacOS)])
def test_cache_dir_follows_platformdirs(
    monkeypatch: pytest.MonkeyPatch, system: str, folders: type[Unix] | type[MacOS], xdg: str
) -> None:
    environment = {"HOME": "/home/someone", "XDG_CACHE_HOME": xdg}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert cache_dir(environment, system) == folders("localrag").user_cache_path


def test_cache_dir_on_windows_has_the_parts_of_platformdirs() -> None:
    path = cache_dir({"LOCALAPPDATA": "C:/Users/someone/AppData/Local"}, "win32")
    assert path.as_posix() == "C:/Users/someone/AppData/Local/localrag/localrag/Cache"


def test_a_relative_cache_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert cache_dir({"LOCALRAG_CACHE": "here"}) == tmp_path / "here"


def test_cpuinfo_keeps_instruction_sets_and_drops_what_kernels_add() -> None:
    features, brand = parse_cpuinfo(CPUINFO)
    assert features == {"sse4_2", "avx2", "amx_tile", "amx_int8"}
    assert brand == "Example 9000"


def test_cpuinfo_of_arm_and_of_nothing() -> None:
    features, _ = parse_cpuinfo("Features\t: fp asimd i8mm sve evtstrm\n")
    assert features == {"fp", "asimd", "i8mm", "sve"}
    assert parse_cpuinfo("")[0] == frozenset()


def test_the_feature_hash_tells_processors_apart(machine: Machine) -> None:
    other = replace(machine, features=machine.features | {"avx512f"})
    assert machine.feature_hash != other.feature_hash
    reordered = replace(machine, features=frozenset(sorted(machine.features, reverse=True)), cores=2)
    assert machine.feature_hash == reordered.feature_hash
    unknown = replace(machine, features=frozenset())
    assert unknown.feature_hash != replace(unknown, brand="Another").feature_hash


@pytest.mark.parametrize(("cores", "memory", "jobs"), [(4, 16, 4), (8, 3, 3), (4, 0, 4), (2, 1, 1)])
def test_one_compiler_a_core_and_a_gibibyte_each(
    machine: Machine, cores: int, memory: int, jobs: int
) -> None:
    assert replace(machine, cores=cores, memory=memory * GIB).jobs == jobs


def test_too_little_memory_still_leaves_one_compiler(machine: Machine) -> None:
    assert replace(machine, memory=GIB // 2).jobs == 1


def test_this_machine_knows_itself() -> None:
    here = this_machine()
    assert here.cores >= 1
    assert here.jobs >= 1
    assert here.processor == here.processor.lower()


def test_existing_parent_climbs_to_a_folder(tmp_path: Path) -> None:
    assert existing_parent(tmp_path / "a" / "b") == tmp_path


@pytest.mark.parametrize(
    ("size", "text"), [(0, "1 MB"), (24_442_598, "24 MB"), (999_400_000, "999 MB"), (1_117_320_768, "1.1 GB")]
)
def test_sizes_in_words(size: int, text: str) -> None:
    assert size_text(size) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0:00"), (7, "0:07"), (750, "12:30"), (3723, "1:02:03")])
def test_durations_in_words(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text
