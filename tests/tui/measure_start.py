"""Measures how long the application takes to its first paint: `python -m tests.tui.measure_start`."""

from __future__ import annotations

import os
import pty
import select
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

PAINTED = b"sk a question"
"""Without its first letter, which the cursor draws by itself."""


def first_paint(kb: Path) -> tuple[float, float]:
    """Seconds until the question box is drawn in a terminal, and those that a processor worked for it."""
    master, slave = pty.openpty()
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "localrag", "--kb", str(kb)], stdin=slave, stdout=slave, stderr=slave
    )
    seen = b""
    try:
        while PAINTED not in seen:
            if not select.select([master], [], [], 60)[0]:
                raise TimeoutError(seen[-500:])
            seen += os.read(master, 65536)
        used = psutil.Process(process.pid).cpu_times()
        return time.perf_counter() - started, used.user + used.system
    finally:
        process.kill()
        process.wait()
        os.close(master)
        os.close(slave)


def main() -> None:
    """Start it several times and print what that took."""
    with tempfile.TemporaryDirectory() as folder:
        kb = Path(folder) / "notes.localrag"
        subprocess.run([sys.executable, "-m", "localrag", "init", str(kb)], check=True, capture_output=True)
        os.environ |= {"TERM": "xterm-256color", "LOCALRAG_STATE": folder, "LOCALRAG_CONFIG": os.devnull}
        taken = [first_paint(kb) for _ in range(7)]
    for what, seconds in zip(("first paint", "work until then"), zip(*taken, strict=True), strict=True):
        median = statistics.median(seconds)
        print(f"{what}: {min(seconds):.2f} to {max(seconds):.2f} s, median {median:.2f} s")


if __name__ == "__main__":
    main()
