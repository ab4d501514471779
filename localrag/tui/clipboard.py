"""The system's clipboard, by whatever program of the machine sets it.

Terminals are also told by an escape sequence, which works through SSH but not in every terminal; programs
work for the machine that localrag runs on. Both together reach the clipboard almost everywhere.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

SECONDS = 3.0
"""How long a program may take."""


@dataclass(frozen=True)
class Program:
    """A program that takes the text that is copied on its standard input."""

    words: tuple[str, ...]
    """The program and its arguments."""

    needs: str = ""
    """A variable that must be set for it to make sense; empty if none."""

    encoding: str = "utf-8"
    """How it reads the text."""


PROGRAMS = (
    # tmux keeps what applications send to the terminal's clipboard to itself; this it passes on.
    Program(("tmux", "load-buffer", "-w", "-"), needs="TMUX"),
    Program(("wl-copy",), needs="WAYLAND_DISPLAY"),
    Program(("xclip", "-selection", "clipboard", "-in"), needs="DISPLAY"),
    Program(("xsel", "--clipboard", "--input"), needs="DISPLAY"),
    Program(("pbcopy",)),
    # With a mark of the byte order it takes any character; it is also there in Linux under Windows.
    Program(("clip.exe",), encoding="utf-16"),
)
"""In the order in which they are tried, after the one of tmux, which comes on top of another."""


def usable(environment: Mapping[str, str]) -> list[Program]:
    """The programs that are worth a try: that of tmux, and the others until one works."""
    return [
        program
        for program in PROGRAMS
        if (not program.needs or environment.get(program.needs)) and shutil.which(program.words[0])
    ]


def copy(text: str, environment: Mapping[str, str]) -> list[str]:
    """Put a text on the clipboard; the names of the programs that took it. Blocks, for a bounded time."""
    done: list[str] = []
    for program in usable(environment):
        name = program.words[0]
        if name != "tmux" and any(other != "tmux" for other in done):
            break
        if _run(program, text):
            done.append(name)
    return done


def _run(program: Program, text: str) -> bool:
    """Whether the program took the text."""
    found = shutil.which(program.words[0])
    if found is None:
        return False
    try:
        ended = subprocess.run(
            [found, *program.words[1:]],
            input=text.encode(program.encoding, "replace"),
            # Some go on in the background, where they would hold these open.
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
            # What goes on must outlive the application, and no key may end it.
            start_new_session=sys.platform != "win32",
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ended.returncode == 0
