"""What the engine finds out about the computer: cores, memory and build, with a container's limits."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from pathlib import Path

import psutil
import pytest

from localrag.engine import machine


@pytest.fixture(autouse=True)
def no_limits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No container around the tests."""
    monkeypatch.setattr(machine, "_QUOTA", tmp_path / "cpu.max")
    monkeypatch.setattr(machine, "_MEMORY", ((tmp_path / "memory.max", tmp_path / "memory.current"),))


def test_this_computer_has_a_name_and_cores() -> None:
    assert machine.processor().strip()
    assert 1 <= machine.physical_cores() <= machine.logical_cores() <= (os.cpu_count() or 1)
    assert machine.free_memory() > 0


def test_the_processor_is_named_by_the_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text("processor\t: 0\nmodel name\t: Some  Processor 9\nmodel name\t: Other\n")
    monkeypatch.setattr(machine, "_CPUINFO", file)
    assert machine.processor() == "Some Processor 9"
    file.write_text("")
    monkeypatch.setattr(sys, "platform", "linux")
    assert machine.processor()


@pytest.mark.parametrize(
    ("quota", "cores"), [("150000 100000", 2), ("max 100000", 8), ("50000 100000", 1), ("odd", 8)]
)
def test_a_containers_share_of_the_cores_is_the_limit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, quota: str, cores: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    monkeypatch.setattr(psutil, "cpu_count", lambda logical=True: 16)
    (tmp_path / "cpu.max").write_text(quota)
    assert machine.logical_cores() == cores
    assert machine.physical_cores() == cores


def test_a_containers_memory_is_the_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: type("Memory", (), {"available": 10_000})())
    assert machine.free_memory() == 10_000
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("500\n")
    assert machine.free_memory() == 10_000
    (tmp_path / "memory.max").write_text("700\n")
    assert machine.free_memory() == 200
    (tmp_path / "memory.max").write_text("400\n")
    assert machine.free_memory() == 0


def test_the_build_is_known_without_loading_it() -> None:
    build = machine.native_build()
    assert build == machine.native_build()
    package, _, libraries = build.partition("+")
    assert package
    assert len(libraries) == 12


def test_another_build_has_another_identity(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libllama.so").write_bytes(b"12")
    spec = type("Spec", (), {"submodule_search_locations": [str(tmp_path)]})()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    one = machine.native_build()
    (tmp_path / "lib" / "libllama.so").write_bytes(b"123")
    assert machine.native_build() != one


def test_other_programs_are_told_from_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    class Times(tuple[float, ...]):
        idle = 0.0

    now = {"wall": 0.0, "all": 0.0, "own": 0.0}

    def every() -> Times:
        return Times((now["all"],))

    own = type("Own", (), {"cpu_times": lambda self: type("T", (), {"user": now["own"], "system": 0.0})()})
    monkeypatch.setattr(psutil, "cpu_times", every)
    monkeypatch.setattr(psutil, "Process", lambda: own())
    monkeypatch.setattr(time, "monotonic", lambda: now["wall"])
    monkeypatch.setattr(machine, "logical_cores", lambda: 2)
    others = machine.OtherPrograms()
    now.update(wall=10.0, all=15.0, own=10.0)
    assert others.share() == pytest.approx(0.25)
    now.update(all=5.0)
    assert others.share() == 0.0
