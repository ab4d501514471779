"""The store stands on errors and settings alone."""

from __future__ import annotations

import subprocess
import sys


def test_nothing_else_of_localrag_is_loaded() -> None:
    script = (
        "import sys, localrag.store\n"
        "print(*sorted(name for name in sys.modules if name.split('.')[0] in "
        "('localrag', 'llama_cpp', 'textual', 'rich')))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert all(name.startswith("localrag") for name in loaded)
    packages = {name.split(".")[1] for name in loaded if "." in name}
    assert packages <= {"store", "graph", "errors", "settings", "sections"}
