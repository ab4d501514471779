"""A line in which a path is typed, pasted or dragged; tab completes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input

from localrag.plain import TYPEABLE, plain
from localrag.tui.completing import Completion, complete
from localrag.tui.messages import call
from localrag.tui.words import Fault
from localrag.tui.work import Lane


class PathInput(Input):
    """Takes a path. Tab completes it, and goes on to the next part of the screen once nothing is left to."""

    HELP = """
    Type a path, or drag a file from a file manager into the terminal. **tab** completes a name; if several
    fit they are named below. `~` stands for your home folder.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "complete", "Complete", show=False, id="path.complete", tooltip="Complete the path"),
    ]

    @dataclass
    class Offered(Message):
        """What the text could go on with; empty if nothing fits, or nothing is to be told any more."""

        names: tuple[str, ...]
        """Names, harmless to show."""

    def __init__(
        self,
        files: Lane[None],
        folder: Path,
        *,
        fits: Callable[[Path], bool] = lambda path: True,
        placeholder: str = "",
        id: str | None = None,  # noqa: A002 (as Textual calls it)
    ) -> None:
        """Relative paths start at `folder`; `fits` says which files are offered."""
        super().__init__(placeholder=placeholder, id=id, restrict=TYPEABLE, compact=True)
        self._files = files
        self._folder = folder
        self._fits = fits
        self._completed = ""

    def action_complete(self) -> None:
        """Complete the path in a thread, or go on if that would bring nothing new."""
        text = self.value
        if not text or text == self._completed or self.cursor_position < len(text):
            self.screen.focus_next()
            return

        def job(_: None) -> None:
            found = complete(text, self._folder, self._fits)
            call(self, lambda: self._take(text, found))

        self._files.submit(job, _nothing)

    def _take(self, text: str, found: Completion) -> None:
        if self.value != text:
            return
        if found.text != text:
            self.value = found.text
            self.cursor_position = len(found.text)
        # The same key again leaves: nobody is trapped.
        self._completed = self.value
        names = tuple(plain(name) for name in found.names)
        self.post_message(self.Offered(names if len(names) > 1 else ()))


def _nothing(fault: Fault) -> None:
    """A completion that fails is none."""
