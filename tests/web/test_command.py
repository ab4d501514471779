"""`localrag web`: what it refuses before it serves anything, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from localrag.cli.main import cli


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.7.7", "::", "example.org"])
def test_an_address_that_others_reach_is_refused(host: str) -> None:
    done = CliRunner().invoke(cli, ["web", "--host", host])
    assert done.exit_code == 2
    assert "not an address of this machine alone" in done.stderr
    assert "127.0.0.1" in done.stderr


def test_a_file_that_is_not_there_is_told_before_a_page_is(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["web", "--kb", str(tmp_path / "gone.localrag")])
    assert done.exit_code == 3
    assert "gone.localrag" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="not here: signals")
def test_ctrl_c_ends_it_cleanly(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "localrag", "web", "--json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "LOCALRAG_CONFIG": os.devnull},
    )
    assert process.stdout is not None
    first = process.stdout.readline()
    while "}" not in first:
        first += process.stdout.readline()
    assert "http://127.0.0.1:" in first
    assert "?token=" in first
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in said
