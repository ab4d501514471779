"""Tests of `localrag.cli.stopping`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from localrag.cli.stopping import stoppable

TWICE = """
import os, signal, time
from localrag.cli.stopping import stoppable
with stoppable("asked"):
    os.kill(os.getpid(), signal.SIGINT)
    print("after the first", flush=True)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(30)
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_asks(number: signal.Signals, code: int, capfd: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(number)
    with stoppable("Stopping.") as stop:
        assert not stop.asked
        os.kill(os.getpid(), number)
        assert stop.event.wait(5)
        assert stop.exit_code == code
    assert signal.getsignal(number) == before
    assert "Stopping." in capfd.readouterr().err


def test_the_second_signal_ends_the_process() -> None:
    child = subprocess.run(
        [sys.executable, "-c", TWICE], capture_output=True, text=True, timeout=20, check=False
    )
    assert child.returncode == 130
    assert child.stdout == "after the first\n"
    assert child.stderr == "\nasked\n"


def test_other_threads_get_an_event_and_no_handler() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def run() -> None:
        with stoppable() as stop:
            seen.append((stop.asked, signal.getsignal(signal.SIGINT) == before))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [(False, True)]
