"""A real llama-server for the long tests, built from the source that llama-cpp-python's own archive holds.

    .venv/bin/python -m tests.engine.llama_server

fetches the archive of the pinned version, checks its hash, builds the server and keeps it in the cache,
beside the program's own hash; about five minutes on two cores. LOCALRAG_LLAMA_SOURCE may name an unpacked
archive instead. A test uses what lies in the cache and never builds: it has no network and no such time.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from localrag.settings import cache_dir

VERSION = "0.3.36"
ARCHIVE_SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
COMMAND = ".venv/bin/python -m tests.engine.llama_server"

_FLAGS = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DBUILD_SHARED_LIBS=OFF",
    "-DGGML_NATIVE=ON",
    "-DLLAMA_OPENSSL=OFF",
    "-DLLAMA_BUILD_APP=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_UI=OFF",
    "-DLLAMA_USE_PREBUILT_UI=OFF",
    "-DLLAMA_TOOLS_INSTALL=OFF",
)
_NO_AMX = "-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"


def folder() -> Path:
    """Where the server lies or will lie; its name holds all that makes a build fit."""
    facts = [VERSION, ARCHIVE_SHA256, *_FLAGS, _NO_AMX, sys.platform, platform.machine(), _processor()]
    key = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:12]
    return cache_dir() / "builds" / f"llama-server-{VERSION}-{key}"


def find() -> Path | None:
    """The server, if it was built and is still what was built."""
    program = folder() / "llama-server"
    try:
        made = json.loads((folder() / "server.json").read_text(encoding="utf-8"))
        return program if made["sha256"] == _sha256(program) else None
    except (OSError, ValueError, KeyError):
        return None


def build() -> Path:
    """Build it, unless it is there. Needs CMake and a C++ compiler, and the package index for the source."""
    there = find()
    if there is not None:
        return there
    target = folder()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".llama-server-", dir=target.parent) as name:
        work = Path(name)
        source = _source(work)
        made = work / "made"
        flags = f"{os.environ.get('CXXFLAGS', '')} {_NO_AMX}".strip() if _is_x86() else ""
        environment = os.environ | ({"CFLAGS": flags, "CXXFLAGS": flags} if flags else {})
        cmake = shutil.which("cmake")
        if cmake is None:
            raise SystemExit("Building llama-server needs CMake.")
        subprocess.run(
            [cmake, "-S", str(source), "-B", str(work / "build"), *_FLAGS], check=True, env=environment
        )
        jobs = str(os.cpu_count() or 1)
        subprocess.run(
            [cmake, "--build", str(work / "build"), "--target", "llama-server", "-j", jobs],
            check=True,
            env=environment,
        )
        made.mkdir()
        program = Path(shutil.copy2(work / "build" / "bin" / "llama-server", made))
        (made / "server.json").write_text(json.dumps({"sha256": _sha256(program)}), encoding="utf-8")
        shutil.rmtree(target, ignore_errors=True)
        os.replace(made, target)
    return target / "llama-server"


def _source(work: Path) -> Path:
    named = os.environ.get("LOCALRAG_LLAMA_SOURCE")
    if named:
        return Path(named) / "vendor" / "llama.cpp"
    package = f"llama-cpp-python=={VERSION}"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", "llama-cpp-python"]
    subprocess.run([*command, "--dest", str(work), package], check=True)
    archive = next(work.glob("llama_cpp_python-*.tar.gz"))
    if _sha256(archive) != ARCHIVE_SHA256:
        raise SystemExit(f"{archive.name} is not the archive that this file names.")
    with tarfile.open(archive) as members:
        members.extractall(work / "source", filter="data")
    return next((work / "source").iterdir()) / "vendor" / "llama.cpp"


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _is_x86() -> bool:
    return platform.machine().lower() in ("x86_64", "amd64")


def _processor() -> str:
    """What instructions the processor has, where the system says so."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")


if __name__ == "__main__":
    print(build())
