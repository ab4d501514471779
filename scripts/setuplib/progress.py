"""What the person sees while a long command runs, read from what that command says."""

from __future__ import annotations

import re
import shutil
import time
from typing import Protocol, TextIO

from .machine import duration_text

_NINJA_STEP = re.compile(r"^\s*\[\s*(\d+)/(\d+)\]\s*(.*)")
_MAKE_STEP = re.compile(r"^\s*\[\s*(\d+)%\]\s*(.*)")
_OBJECT = re.compile(r"Building \w+ object (\S+)")
_SOURCE = re.compile(r"\s-c\s+(?:\"([^\"]+)\"|(\S+))")
_PHASES = (
    ("Collecting ", "fetching the source"),
    ("Installing build dependencies", "fetching the build tools"),
    ("Preparing metadata", "reading the source package"),
    ("*** Configuring CMake", "looking at the compiler"),
    ("*** Building project", "compiling"),
    ("*** Installing project", "putting the wheel together"),
    ("*** Making wheel", "putting the wheel together"),
)


class Progress(Protocol):
    """Reads the output of a command and says in a few words how far it is."""

    def feed(self, line: str) -> None:
        """Take one line of output."""

    def text(self) -> str:
        """How far the command is, without the time."""


class BuildProgress:
    """How far a build is, from the lines of pip, CMake and Ninja or Make."""

    def __init__(self) -> None:
        self.done = 0
        self.total = 0
        self.what = "starting"

    def feed(self, line: str) -> None:
        """Take one line of output; lines that say nothing about progress change nothing."""
        if step := _NINJA_STEP.match(line):
            self.done, self.total, self.what = int(step[1]), int(step[2]), _compiled(step[3])
        elif step := _MAKE_STEP.match(line):
            self.done, self.total, self.what = int(step[1]), 100, _compiled(step[2])
        else:
            stripped = line.strip()
            for prefix, phase in _PHASES:
                if stripped.startswith(prefix):
                    self.what = phase

    def text(self) -> str:
        """`57 of 140: unicode.cpp`, or the phase before and after compiling."""
        if self.total == 0 or self.what.startswith("putting"):
            return self.what
        unit = "%" if self.total == 100 else f" of {self.total}"
        return f"{self.done}{unit}: {self.what}"


def _compiled(command: str) -> str:
    """The file that a build step makes, out of its description or its command line."""
    if found := _OBJECT.search(command):
        return re.sub(r"\.(o|obj)$", "", re.split(r"[/\\]", found[1])[-1])
    if found := _SOURCE.search(command):
        return re.split(r"[/\\]", found[1] or found[2])[-1]
    return "linking"


class InstallProgress:
    """How far `pip install` is, by the package that it speaks of."""

    def __init__(self) -> None:
        self.packages = 0
        self.what = "starting"

    def feed(self, line: str) -> None:
        """Take one line of output."""
        words = line.split()
        if len(words) > 1 and words[0] == "Collecting":
            self.packages += 1
            self.what = f"{self.packages} packages, now {re.split(r'[<>=!~;[ (]', words[1])[0]}"
        elif line.startswith("Installing collected packages"):
            self.what = f"writing {self.packages} packages"

    def text(self) -> str:
        """The count of packages and the one in hand."""
        return self.what


class Talk:
    """Says what happens: one moving line on a terminal, elsewhere a line now and then."""

    def __init__(self, stream: TextIO, *, moving: bool, interval: float = 15.0) -> None:
        self._stream = stream
        self._moving = moving
        self._interval = interval
        self._started = time.monotonic()
        self._last = self._started
        self._drawn = False

    def say(self, text: str = "") -> None:
        """Print a line of its own."""
        self._wipe()
        print(text, file=self._stream, flush=True)

    def begin(self, title: str) -> None:
        """Announce a step and start its clock."""
        self.say(title)
        self._started = self._last = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the step began."""
        return time.monotonic() - self._started

    def tick(self, text: str) -> None:
        """Show how far the step is; called often, prints only when it is time to."""
        now = time.monotonic()
        if self._moving:
            width = shutil.get_terminal_size().columns - 1
            line = f"  {duration_text(now - self._started)}  {text}"[:width]
            self._stream.write(f"\r\033[K{line}")
            self._stream.flush()
            self._drawn = True
        elif now - self._last >= self._interval:
            self._last = now
            print(f"  {duration_text(now - self._started)}  {text}", file=self._stream, flush=True)

    def finish(self, text: str) -> None:
        """Close the step with a line that tells what it took."""
        self.say(f"  {duration_text(self.elapsed)}  {text}")

    def _wipe(self) -> None:
        if self._drawn:
            self._stream.write("\r\033[K")
            self._drawn = False
