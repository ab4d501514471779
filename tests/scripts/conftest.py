"""What the tests of the set-up share: a made-up machine, and talk that is kept instead of shown."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.setuplib.machine import GIB, Machine
from scripts.setuplib.progress import Talk

if sys.platform == "win32":  # the stand-ins for programs are shell scripts
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
def machine() -> Machine:
    """A Linux laptop with an x86-64 processor."""
    return Machine(
        system="linux",
        processor="x86_64",
        features=frozenset({"sse4_2", "avx", "avx2", "bmi2", "fma", "f16c"}),
        brand="A Processor",
        cores=4,
        memory=16 * GIB,
    )


@pytest.fixture
def said() -> io.StringIO:
    """Where the talk goes."""
    return io.StringIO()


@pytest.fixture
def talk(said: io.StringIO) -> Talk:
    """Talk as in a pipe, without waiting between lines."""
    return Talk(said, moving=False, interval=0.0)


Program = Callable[[Path, str], Path]


@pytest.fixture
def program() -> Program:
    """Makes an executable shell script."""

    def make(path: Path, body: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    return make


@pytest.fixture
def environment() -> dict[str, str]:
    """A plain environment with the system's programs."""
    return {"PATH": os.defpath + ":/usr/local/bin", "HOME": "/nowhere"}
