"""The status line: what the engine does, in words, and how much of the knowledge base is there."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static


class StatusLine(Horizontal):
    """One line: the engine at the left, the knowledge base at the right."""

    def compose(self) -> ComposeResult:
        """Two texts side by side."""
        yield Static("Opening", id="engine-words", markup=False)
        yield Static("", id="file-words", markup=False)

    def show_engine(self, words: str, *, busy: bool) -> None:
        """Say what the engine does; while it is busy that has the room."""
        self.set_class(busy, "-busy")
        self._say("#engine-words", words, layout=False)

    def show_file(self, words: str) -> None:
        """Say what is in the knowledge base."""
        self._say("#file-words", words, layout=True)

    def _say(self, name: str, words: str, *, layout: bool) -> None:
        """Show words unless they are shown; while something goes on, that is asked many times a second."""
        found = self.query_one(name, Static)
        if found.content != words:
            found.update(words, layout=layout)
