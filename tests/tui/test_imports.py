"""The first paint waits for nothing heavy."""

from __future__ import annotations

import subprocess
import sys

HEAVY = (
    "numpy",
    "llama_cpp",
    "llguidance",
    "networkx",
    "sqlite3",
    "pysqlite3",
    "sqlite_utils",
    "localrag.kb",
)


def test_the_application_is_imported_without_the_engine_and_the_store() -> None:
    code = f"import sys, localrag.tui.app; print([name for name in {HEAVY!r} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
