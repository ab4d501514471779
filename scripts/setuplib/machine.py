"""What this machine is: its folders, processor, memory and free disk."""

from __future__ import annotations

import hashlib
import os
import platform
import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

GIB = 1024**3
MB = 1_000_000

# Instruction sets that a compiler may use when it builds for the processor it runs on. The other words of
# /proc/cpuinfo come and go with the kernel and must not make a build look foreign.
_INSTRUCTION_SETS = re.compile(
    r"^(mmx|sse\d?\w*|ssse3|avx\w*|amx\w*|fma|f16c|bmi\d|abm|lzcnt|popcnt|movbe|adx|aes|vaes|gfni|sha\w*|"
    r"pclmulqdq|vpclmulqdq|xop|fma4|fp|fphp|asimd\w*|neon\w*|vfpv\d\w*|half|sve\w*|sme\w*|i8mm|bf16|ebf16|atomics|crc32)$"
)


@dataclass(frozen=True)
class Machine:
    """The facts about a machine that a build depends on."""

    system: str
    """`sys.platform`: linux, darwin, win32."""

    processor: str
    """Machine type as the system names it, lower case: x86_64, arm64, amd64."""

    features: frozenset[str]
    """Instruction sets of the processor; empty where the system does not tell."""

    brand: str
    """Name of the processor, or empty."""

    cores: int
    """Processor cores that this process may use."""

    memory: int
    """Bytes of memory that are free for use, or 0 when unknown."""

    @property
    def x86_64(self) -> bool:
        """Whether this is a 64-bit Intel or AMD processor."""
        return self.processor in {"x86_64", "amd64"}

    @property
    def feature_hash(self) -> str:
        """Eight hex digits that differ between processors with different instructions."""
        text = " ".join(sorted(self.features)) or self.brand
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    @property
    def jobs(self) -> int:
        """How many compilers may run at once: one a core, each with a gibibyte of memory."""
        fits = self.memory // GIB if self.memory else self.cores
        return max(1, min(self.cores, fits))


def this_machine() -> Machine:
    """Look at the machine that this process runs on."""
    features, brand = _processor()
    return Machine(
        system=sys.platform,
        processor=platform.machine().lower() or "unknown",
        features=features,
        brand=brand,
        cores=_cores(),
        memory=_memory(),
    )


def parse_cpuinfo(text: str) -> tuple[frozenset[str], str]:
    """The instruction sets and the name of the first processor in the text of /proc/cpuinfo."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, separator, value = line.partition(":")
        if separator:
            fields.setdefault(key.strip().lower(), value.strip())
    words = (fields.get("flags") or fields.get("features") or "").split()
    known = frozenset(word for word in words if _INSTRUCTION_SETS.match(word))
    return known or frozenset(words), fields.get("model name", "")


def _processor() -> tuple[frozenset[str], str]:
    try:
        return parse_cpuinfo(Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        pass
    brand = platform.processor()
    if sys.platform == "darwin":
        brand = _output(["sysctl", "-n", "machdep.cpu.brand_string"]) or brand
    return frozenset(), brand


def _output(command: list[str]) -> str:
    """What a small system command prints, or nothing if it is not there or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory() -> int:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    if sys.platform == "darwin":
        total = _output(["sysctl", "-n", "hw.memsize"])
        return int(total) // 2 if total.isdigit() else 0
    return 0


def cache_dir(environment: Mapping[str, str], system: str = sys.platform) -> Path:
    """The cache folder, the same one that `localrag.settings.cache_dir` finds through platformdirs."""
    if named := environment.get("LOCALRAG_CACHE"):
        return Path(os.path.abspath(named))
    if system == "win32":
        local = environment.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
        return Path(local) / "localrag" / "localrag" / "Cache"
    xdg = environment.get("XDG_CACHE_HOME", "")
    if posixpath.isabs(xdg):
        return Path(xdg) / "localrag"
    home = Path(environment.get("HOME") or Path.home())
    return home / ("Library/Caches" if system == "darwin" else ".cache") / "localrag"


def existing_parent(path: Path) -> Path:
    """The nearest folder at or above `path` that is there."""
    for candidate in (path, *path.parents):
        if candidate.is_dir():
            return candidate
    return Path(path.anchor or ".")


def free_disk(path: Path) -> int:
    """Bytes free for this user where `path` lies or will lie."""
    return shutil.disk_usage(existing_parent(path)).free


def device(path: Path) -> int:
    """A number that two paths share when they lie on the same disk."""
    return existing_parent(path).stat().st_dev


def size_text(size: float) -> str:
    """A size for a person, in decimal units: `24 MB`, `1.2 GB`."""
    if size >= 1000 * MB:
        return f"{size / (1000 * MB):.1f} GB"
    return f"{max(1, round(size / MB))} MB"


def duration_text(seconds: float) -> str:
    """A duration for a person: `0:07`, `12:30`, `1:02:03`."""
    whole = int(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"
