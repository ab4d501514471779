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
        self.query_one("#engine-words", Static).update(words)

    def show_file(self, words: str) -> None:
        """Say what is in the knowledge base."""
        self.query_one("#file-words", Static).update(words)
