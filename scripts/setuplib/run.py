"""Runs the programs of the set-up: each in a group of its own, watched, logged, and stopped as a whole."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TextIO

from .errors import CommandFailed, Stopped
from .progress import Progress, Talk

TAIL = 300  # the reason of a failed build stands well above its last words
_PATIENCE = 5.0  # seconds that a stopped program has to clear up before it is killed


def child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for pip and Python: the person's own, less what would send packages elsewhere.

    SOURCE_DATE_EPOCH goes because llama.cpp then builds without the processor's own instructions.
    """
    dropped = {"SOURCE_DATE_EPOCH", "PYTHONHOME", "PYTHONPATH", "PIP_USER", "PIP_TARGET", "PIP_PREFIX"}
    kept = {name: value for name, value in environment.items() if name not in dropped}
    return kept | {"PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONUNBUFFERED": "1"}


def run_logged(
    command: Sequence[str],
    *,
    what: str,
    log: Path,
    progress: Progress,
    talk: Talk,
    environment: Mapping[str, str],
    folder: Path,
) -> None:
    """Run a command to its end, its output in `log`, its progress shown.

    Raises `CommandFailed` with the last lines if it does not end well. However this is left, the command and
    all that it started are gone afterwards.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    tail: deque[str] = deque(maxlen=TAIL)
    with log.open("w", encoding="utf-8", errors="replace") as record:
        process = _start(command, environment, folder, captured=True)
        try:
            lines = _lines_of(process)
            while True:
                try:
                    line = lines.get(timeout=0.25)
                except queue.Empty:
                    line = ""
                if line is None:
                    break
                if line:
                    record.write(line)
                    tail.append(line.rstrip())
                    progress.feed(line)
                talk.tick(progress.text())
            returncode = process.wait()
        finally:
            stop(process)
    if returncode != 0:
        raise CommandFailed(what, returncode, log, [line for line in tail if line])


def run_shown(command: Sequence[str], *, environment: Mapping[str, str], folder: Path) -> int:
    """Run a command that shows its own progress; gives its exit code, negative for a signal."""
    process = _start(command, environment, folder, captured=False)
    try:
        return process.wait()
    finally:
        stop(process, first=signal.SIGINT)


def run_quiet(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: Path,
    timeout: float,
    talk: Talk,
    text: str,
) -> tuple[int | None, str, str]:
    """Run a command and collect its output; the exit code is None after `timeout` seconds without an end."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    deadline = time.monotonic() + timeout
    try:
        while True:
            try:
                out, err = process.communicate(timeout=0.25)
                return process.returncode, out, err
            except subprocess.TimeoutExpired:
                talk.tick(text)
                if time.monotonic() > deadline:
                    stop(process)
                    out, err = process.communicate()
                    return None, out, err
    finally:
        stop(process)


def _start(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, *, captured: bool
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if captured else None,
        stderr=subprocess.STDOUT if captured else None,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,  # ctrl-c reaches the set-up alone, which then stops the group in order
    )


def _lines_of(process: subprocess.Popen[str]) -> queue.Queue[str | None]:
    """A queue that a thread fills with the lines of the process, then None."""
    lines: queue.Queue[str | None] = queue.Queue()

    def pump(stream: TextIO) -> None:
        for line in stream:
            lines.put(line)
        lines.put(None)

    assert process.stdout is not None
    threading.Thread(target=pump, args=(process.stdout,), daemon=True).start()
    return lines


def stop(process: subprocess.Popen[str], first: signal.Signals = signal.SIGTERM) -> None:
    """End a process and its group, gently first; does nothing if it has ended already."""
    if process.poll() is not None:
        return
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/T", "/F", "/PID", str(process.pid)], capture_output=True, check=False)
        process.wait()
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, first)
    try:
        process.wait(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def stop_on_signals() -> None:
    """Turn ctrl-c, a request to end and a closed terminal into `Stopped`, once; later ones are ignored."""

    def handler(number: int, _frame: FrameType | None) -> None:
        for each in watched:
            signal.signal(each, signal.SIG_IGN)
        raise Stopped(number)

    watched = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP"):
        watched.append(signal.SIGHUP)
    for each in watched:
        if signal.getsignal(each) is not signal.SIG_IGN:  # nohup and background shells ignore some
            signal.signal(each, handler)
