"""Opens files in the person's editor, at a line, or with the program that the system has for them.

A command is a list of arguments and never goes through a shell, so a file's name cannot become a command.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from localrag.plain import plain
from localrag.tui.words import Fault
from localrag.tui.work import in_background

if TYPE_CHECKING:
    from localrag.tui.app import LocalragApp

VARIABLES = ("VISUAL", "EDITOR")
"""Variables that name the editor, the first that is set counts."""

_PLUS = frozenset(
    ("vi", "vim", "nvim", "gvim", "nano", "pico", "emacs", "emacsclient", "mg", "joe", "jed", "ne", "kak")
)
"""Take `+LINE` before the file."""

_COLON = frozenset(("hx", "helix", "micro", "subl", "zed", "zeditor"))
"""Take `FILE:LINE`."""

_GOTO = frozenset(("code", "code-insiders", "codium", "vscodium", "cursor", "windsurf"))
"""Take `-g FILE:LINE`."""

_WINDOWED = _GOTO | {"gvim", "subl", "zed", "zeditor", "gedit", "kate", "notepad", "notepad++", "mousepad"}
"""Open a window of their own, so the terminal need not be given to them."""

_WAIT = {
    **dict.fromkeys(_GOTO, "--wait"),
    "subl": "--wait",
    "zed": "--wait",
    "zeditor": "--wait",
    "gvim": "-f",
}
"""What makes a windowed editor wait until the file is closed."""

_VIEWERS = {"darwin": "open", "win32": "explorer"}


@dataclass(frozen=True)
class Editor:
    """The editor that a person has chosen."""

    command: tuple[str, ...]
    """Program and arguments, without a file."""

    @property
    def name(self) -> str:
        """The program's bare name, such as `vim`."""
        name = Path(self.command[0].replace("\\", "/")).name.lower()
        return name.removesuffix(".exe").removesuffix(".cmd")

    @property
    def windowed(self) -> bool:
        """Whether it has a window of its own."""
        return self.name in _WINDOWED

    def at(self, path: Path, line: int | None = None, *, wait: bool = False) -> list[str]:
        """The command that opens a file, at a line where it is known how to say that.

        With `wait`, an editor with a window is told to return when the file is closed.
        """
        file = os.path.abspath(path)  # never begins with a dash, so it is never taken for an option
        command = [*self.command]
        more = _WAIT.get(self.name) if wait else None
        if more and more not in command:
            command.append(more)
        if line is None or line < 1:
            return [*command, file]
        if self.name in _PLUS:
            return [*command, f"+{line}", file]
        if self.name in _GOTO:
            goto = [] if "-g" in command or "--goto" in command else ["-g"]
            return [*command, *goto, f"{file}:{line}"]
        if self.name in _COLON:
            return [*command, f"{file}:{line}"]
        return [*command, file]


def chosen_editor(environ: Mapping[str, str] = os.environ) -> Editor | None:
    """The editor that `VISUAL` or `EDITOR` names, which may have arguments; None if neither does."""
    for variable in VARIABLES:
        text = environ.get(variable, "").strip()
        if text:
            try:
                parts = shlex.split(text, posix=sys.platform != "win32")
            except ValueError:  # a quote that does not end
                parts = [text]
            parts = [part.strip('"') if sys.platform == "win32" else part for part in parts]
            if parts and parts[0]:
                return Editor(tuple(parts))
    return None


def viewer(platform: str = sys.platform) -> str | None:
    """The full path of the program that opens files of any kind on this system; None if there is none."""
    return shutil.which(_VIEWERS.get(platform, "xdg-open"))


def edit(app: LocalragApp, path: Path, line: int | None = None, *, wait: bool = False) -> Fault | None:
    """Open a file in the person's editor; returns what stands in the way.

    An editor of the terminal gets the terminal until it ends. One with a window gets it beside the
    application; only with `wait` is it waited for. Call it in the application's thread. Whether the file is
    there is for the caller to find out, in a thread.
    """
    editor = chosen_editor()
    if editor is None:
        return Fault(
            "No editor is chosen.",
            "Set VISUAL or EDITOR, for instance EDITOR=nano, and start localrag again.",
        )
    if shutil.which(editor.command[0]) is None:
        return Fault(
            f"The editor {plain(editor.command[0])} was not found.",
            "It comes from VISUAL or EDITOR; set it to the name of a program that is installed.",
        )
    if app.is_web:
        return Fault("A browser cannot show an editor.", "Run localrag in a terminal for that.")
    command = editor.at(path, line, wait=wait)
    if editor.windowed and not wait:
        return _start(command, app)
    return _in_terminal(app, command)


def view(app: LocalragApp, path: Path) -> Fault | None:
    """Open a file with the program that the system has for it; returns what stands in the way."""
    if app.is_web:
        return Fault("A browser cannot open a file of the machine.", "Run localrag in a terminal for that.")
    program = viewer()
    if program is None:
        return Fault(
            "This system has no program that opens files of any kind.",
            "On Linux, xdg-open does; it comes with the package xdg-utils.",
        )
    return _start([program, os.path.abspath(path)], app)


def _in_terminal(app: LocalragApp, command: Sequence[str]) -> Fault | None:
    """Give the terminal to a program until it ends."""
    try:
        with app.suspend(), _deaf_to_ctrl_c():
            ended = subprocess.run(command, check=False)
    except SuspendNotSupported:
        return Fault(
            "The terminal cannot be given to an editor here.",
            "An editor with a window, such as EDITOR='code', works.",
        )
    except OSError as error:
        return _not_started(command, error)
    app.refresh(layout=True)
    if ended.returncode > 0:
        return Fault(f"{plain(Path(command[0]).name)} ended with the code {ended.returncode}.")
    return None


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """While another program has the terminal, ctrl+c is for that program: it must not end the application.

    A handler that does nothing, rather than ignoring the signal, since a child inherits what is ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _start(command: Sequence[str], app: LocalragApp) -> Fault | None:
    """Start a program beside the application, without its words on the screen."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        return _not_started(command, error)
    in_background(_waiting(process))
    return None


def _waiting(process: subprocess.Popen[bytes]) -> Callable[[], object]:
    """Wait for its end, so that the system does not keep it."""
    return process.wait


def _not_started(command: Sequence[str], error: OSError) -> Fault:
    return Fault(f"{plain(command[0])} could not be started: {plain(error.strerror or str(error))}.")
