"""The plugin that turns skips into failures, tried on a small suite in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

SUITE = """
import pytest

def test_fine():
    pass

def test_skips_inside():
    pytest.skip("tmux is not installed")

@pytest.mark.skip(reason="a program is missing")
def test_skipped_by_mark():
    pass

@pytest.mark.skipif(True, reason="not here: another system")
def test_of_another_system():
    pass

@pytest.mark.xfail(reason="known")
def test_known_to_fail():
    assert False
"""
MODULE = "import pytest\npytest.importorskip('no_such_module_anywhere')\n"


def _run(folder: Path, setting: str) -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (folder / "test_suite.py").write_text(SUITE, encoding="utf-8")
    (folder / "test_module.py").write_text(MODULE, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "LOCALRAG_NO_SKIP": setting, "COLUMNS": "200"}
    command = [sys.executable, "-m", "pytest", "-p", "tests.plugins.no_skip", "-p", "no:cacheprovider", "-rA"]
    return subprocess.run(
        [*command, "--continue-on-collection-errors", "."],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_skips_fail_with_their_reasons_when_forbidden(tmp_path: Path) -> None:
    done = _run(tmp_path, "1")
    assert done.returncode == 1
    assert "tmux is not installed" in done.stdout
    assert "a program is missing" in done.stdout
    assert "no_such_module_anywhere" in done.stdout
    assert "1 failed, 1 passed, 1 skipped, 1 xfailed, 2 errors" in done.stdout.splitlines()[-1]


def test_skips_are_skips_otherwise(tmp_path: Path) -> None:
    done = _run(tmp_path, "")
    assert done.returncode == 0
    assert "1 passed, 4 skipped, 1 xfailed" in done.stdout.splitlines()[-1]
