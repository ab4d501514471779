"""What was read in one passage: entities, relations and claims, and what is said of the one at the cursor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from localrag.plain import plain
from localrag.tui.widgets.lines import Column, LineList, Row, Toned

if TYPE_CHECKING:
    from localrag.library import Finding

_COLUMNS = (
    Column("kind", "What", 8, sorts=False),
    Column("name", "Name", share=3, sorts=False),
    Column("type", "Type", share=2, room=44, sorts=False),
)

WAITING = "This passage waits to be read.\nPress i to let the model read; nothing was found in it yet."
NOTHING = "The model has read this passage and found nothing in it."
FAILED = "This passage could not be read.\nPress r to try it again with the next index run."


class FindingList(LineList):
    """The list itself."""

    HELP = """
    What the model found in the passage that is marked in the text: **entities** are whom or what it speaks
    of, **relations** join two of them, **claims** are what it says was or is. Below stands what the passage
    says of the one at the cursor, and its place in the text is marked.

    **enter** shows the entity in the graph, **n** and **p** go to the next and the previous passage.
    """


class FindingsPane(Vertical):
    """The list, and what is said of the one at the cursor."""

    def __init__(self) -> None:
        super().__init__(id="findings")
        self.findings: Sequence[Finding] = ()

    def compose(self) -> ComposeResult:
        """The list above, the words below."""
        yield Static("", id="passage-words", markup=False)
        yield FindingList(_COLUMNS, id="finding-list")
        with VerticalScroll(id="finding-box"):
            yield Static("", id="finding-words", markup=False)

    @property
    def lines(self) -> FindingList:
        """The list."""
        return self.query_one(FindingList)

    @property
    def current(self) -> Finding | None:
        """What the cursor stands on."""
        at = self.lines.cursor
        return self.findings[at] if at < len(self.findings) else None

    def head(self, words: str) -> None:
        """Say which passage it is."""
        self.query_one("#passage-words", Static).update(words)

    def show(self, findings: Sequence[Finding], instead: str) -> None:
        """Show what was found, or say something instead."""
        self.findings = findings
        self.lines.say_empty(instead)
        self.lines.show(len(findings), lambda at: _row(findings[at]), cursor=0)
        self._show_words()

    @on(LineList.Highlighted)
    def _highlighted(self) -> None:
        self._show_words()

    def _show_words(self) -> None:
        found = self.current
        self.query_one("#finding-box").display = found is not None
        self.query_one("#finding-words", Static).update("" if found is None else _words(found))


def _row(found: Finding) -> Row:
    return (Toned(found.kind, "faint"), found.name, found.type)


def _words(found: Finding) -> str:
    kind = ", ".join(filter(None, (plain(found.type), plain(found.detail))))
    lines = [f"{plain(found.name)}{f' ({kind})' if kind else ''}", plain(found.description)]
    if found.id is None:
        lines.append("A decision of yours took it out of the graph.")
    return "\n".join(filter(None, lines))
