"""What the engine has to know of this computer: processor, cores, free memory, the native build."""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import math
import os
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import psutil

_CPUINFO: Final = Path("/proc/cpuinfo")
_QUOTA: Final = Path("/sys/fs/cgroup/cpu.max")
_MEMORY: Final = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)
_LIBRARIES: Final = (".so", ".dylib", ".dll")


def processor() -> str:
    """The processor's name, such as `AMD Ryzen 7 5800U`, or what else the system says of it."""
    for line in _read(_CPUINFO).splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "Model") and value.strip():
            return " ".join(value.split())
    if sys.platform == "darwin":
        found = _sysctl(b"machdep.cpu.brand_string")
        if found:
            return found
    return platform.processor() or platform.machine() or "unknown processor"


def logical_cores() -> int:
    """Cores that this process may use, hyperthreads counted; a container's share is the limit."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, _, period = _read(_QUOTA).strip().partition(" ")
    if quota.isdigit() and period.isdigit() and int(period):
        usable = min(usable, math.ceil(int(quota) / int(period)))
    return max(usable, 1)


def physical_cores() -> int:
    """Cores that this process may use, hyperthreads not counted."""
    return max(1, min(psutil.cpu_count(logical=False) or logical_cores(), logical_cores()))


def free_memory() -> int:
    """Bytes that can still be taken; a container's limit counts."""
    free: int = psutil.virtual_memory().available
    for limit, used in _MEMORY:
        most, taken = _read(limit).strip(), _read(used).strip()
        if most.isdigit() and taken.isdigit():
            free = min(free, int(most) - int(taken))
    return max(free, 0)


class OtherPrograms:
    """How much of the usable cores other programs take, from when it is made."""

    def __init__(self) -> None:
        self._began = self._taken()

    def share(self) -> float:
        """Their share from 0 to 1 since the beginning, this process not counted."""
        seconds, others = (now - before for now, before in zip(self._taken(), self._began, strict=True))
        return min(max(others / max(seconds * logical_cores(), 1e-6), 0.0), 1.0)

    @staticmethod
    def _taken() -> tuple[float, float]:
        """Wall time, and seconds of computing of all other programs."""
        every, own = psutil.cpu_times(), psutil.Process().cpu_times()
        idle = every.idle + getattr(every, "iowait", 0.0)
        # A guest's time is part of `user` already.
        all_busy = sum(every) - idle - getattr(every, "guest", 0.0) - getattr(every, "guest_nice", 0.0)
        return time.monotonic(), all_busy - own.user - own.system


def native_build() -> str:
    """Identity of the llama.cpp that is installed, found without loading it.

    Version of the package, and a hash over name and size of each of its libraries: a build for other
    instructions or with another back end differs in these.
    """
    try:
        package = version("llama-cpp-python")
    except PackageNotFoundError:
        return "none"
    libraries = hashlib.sha256()
    spec = importlib.util.find_spec("llama_cpp")
    for place in (spec.submodule_search_locations if spec is not None else None) or ():
        for file in sorted((Path(place) / "lib").glob("*")):
            if not file.is_symlink() and any(ending in file.name for ending in _LIBRARIES):
                libraries.update(f"{file.name}:{file.stat().st_size}\n".encode())
    return f"{package}+{libraries.hexdigest()[:12]}"


def _read(path: Path) -> str:
    """A small file of the system; empty if there is none, which is how systems without it say so."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _sysctl(name: bytes) -> str:
    """A text that the kernel of macOS knows; empty if it does not."""
    library = ctypes.CDLL(None)
    size = ctypes.c_size_t(0)
    if library.sysctlbyname(name, None, ctypes.byref(size), None, 0) or not size.value:
        return ""
    buffer = ctypes.create_string_buffer(size.value)
    if library.sysctlbyname(name, buffer, ctypes.byref(size), None, 0):
        return ""
    return buffer.value.decode("utf-8", "replace").strip()
