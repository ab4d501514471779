"""The explain panel: what an answer rests on, in sections that fold; a passage opens from it."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from localrag.plain import plain, plain_lines
from localrag.tui.basis import Basis, read_basis
from localrag.tui.basis_sections import MOST, Row, Section, sections
from localrag.tui.screens.dialogs import Reader
from localrag.tui.widgets.beside import Panel
from localrag.tui.widgets.source import SourcePanel
from localrag.tui.words import Fault

if TYPE_CHECKING:
    from localrag.answering.types import Answer, Prompted
    from localrag.kb import KnowledgeBase
    from localrag.tui.session import Session


class BasisList(OptionList):
    """The sections, each a heading with its rows below, unless it is folded."""

    HELP = """
    What the answer rests on. **enter** or a click folds and unfolds a section, **left** and **right** too,
    **a** all of them. On a passage **enter** shows it within its document, on an entity in the graph.
    **p** shows the prompt as the model got it, **y** copies all of this.

    A number in brackets, such as **[2]**, is that under which the model read something. Behind it stands
    which search found it, at which place and with which score: *words* (the same words), *meaning* (a
    similar meaning, by vectors), *keywords*, *graph* (what is linked to the entities of the question),
    *walk* and *path* (what is reached from them), *shared names*, and *reranker* (a model that sorts the
    best anew). Scores of one search can be compared with each other only.
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", show=False),
        Binding("k", "cursor_up", "Up", show=False),
        Binding("g", "first", "First", show=False),
        Binding("G", "last", "Last", show=False),
        Binding("space", "select", "Fold", show=False),
        Binding("left,h", "fold(True)", "Fold", show=False, id="explain.fold", tooltip="Fold the section"),
        Binding("right,l", "fold(False)", "Unfold", show=False, id="explain.unfold", tooltip="Unfold it"),
        Binding("a", "fold_all", "All", id="explain.all", tooltip="Unfold all sections, or fold them"),
    ]
    DEFAULT_CSS = """
    BasisList {
        height: 1fr;
        border: none;
        padding: 0;
        background: transparent;
        scrollbar-size-vertical: 1;
        &:focus {
            border: none;
            background-tint: $foreground 0%;
        }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._sections: list[Section] = []
        self._folded: set[int] = set()
        self._whole: set[int] = set()
        self._at: list[tuple[int, int | None]] = []

    def show(self, found: list[Section]) -> None:
        """Show these sections."""
        self._sections = found
        self._folded = {place for place, section in enumerate(found) if section.folded}
        self._whole = set()
        self._draw(0)

    def text(self) -> str:
        """All of it as text, the folded sections too."""
        parts = [
            "\n".join([section.title, *(f"  {row.text}" for row in section.rows)])
            for section in self._sections
        ]
        return "\n\n".join(parts) + "\n"

    def chosen(self, index: int) -> Row | None:
        """The row at a place; None for a heading or what stands for more rows."""
        section, row = self._at[index]
        return None if row is None or row < 0 else self._sections[section].rows[row]

    def toggle(self, index: int) -> None:
        """Fold or unfold the section whose heading is at a place, or show all its rows."""
        section, row = self._at[index]
        if row is not None and row < 0:
            self._whole.add(section)
        else:
            self._folded ^= {section}
        self._draw(index)

    def action_fold(self, fold: bool) -> None:
        """Fold or unfold the section of the cursor."""
        if self.highlighted is None:
            return
        section, _ = self._at[self.highlighted]
        if fold == (section in self._folded):
            return
        self._folded ^= {section}
        self._draw(self._at.index((section, None)))

    def action_fold_all(self) -> None:
        """Unfold all sections; fold them if none is folded."""
        section = self._at[self.highlighted][0] if self.highlighted is not None else 0
        self._folded = set() if self._folded else set(range(len(self._sections)))
        self._draw(0)
        self.highlighted = self._at.index((section, None))

    def _draw(self, cursor: int) -> None:
        """Make the options anew, with the cursor at a place."""
        self._at = []
        options: list[Option] = []
        for place, section in enumerate(self._sections):
            folded = place in self._folded
            self._at.append((place, None))
            options.append(Option(Content.styled(f"{'▸' if folded else '▾'} {section.title}", "bold")))
            if folded:
                continue
            rows = section.rows if place in self._whole else section.rows[:MOST]
            for number, row in enumerate(rows):
                self._at.append((place, number))
                options.append(Option(_line(row)))
            if len(rows) < len(section.rows):
                self._at.append((place, -1))
                options.append(Option(Content(f"  … and {len(section.rows) - len(rows)} more")))
        self.clear_options()
        self.add_options(options)
        self.highlighted = min(cursor, len(options) - 1) if options else None


def _line(row: Row) -> RenderableType:
    """A row, indented, however it wraps; one that leads somewhere has a sign before it."""
    first, _, rest = row.text.partition("\n")
    sign = "› " if row.chunk is not None or row.entity else "  "
    line = Text(f"{sign}{first}", style="bold" if row.strong else "")
    return Group(_indented(line, 0), _indented(Text(rest.strip()), 4)) if rest else _indented(line, 0)


def _indented(line: Text, by: int) -> RenderableType:
    if not by:
        table = Table.grid(padding=0)
        table.add_row(line[:2], line[2:])
        return table
    return Padding(line, (0, 0, 0, by))


class ExplainPanel(Panel):
    """What an answer rests on."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "prompt", "Prompt", id="explain.prompt", tooltip="Show the whole prompt"),
        Binding("y", "copy", "Copy", id="explain.copy", tooltip="Copy what the answer rests on"),
    ]

    def __init__(
        self,
        session: Session,
        answer: Answer | None,
        question: str,
        *,
        session_id: int | None = None,
        number: int | None = None,
    ) -> None:
        """For an answer, or the one with a number of a conversation."""
        super().__init__(session, classes="explain")
        self._answer = answer
        self._question = question
        self._stored = (session_id, number)
        self._basis: Basis | None = None
        self._cancel = threading.Event()
        self._asked_for_prompt = False

    def again(self) -> ExplainPanel:
        """The same answer."""
        session_id, number = self._stored
        return ExplainPanel(self.session, self._answer, self._question, session_id=session_id, number=number)

    def compose(self) -> ComposeResult:
        """The sections."""
        yield BasisList()

    def on_mount(self) -> None:
        """Read it, in a thread."""
        self.border_title = Content("What the answer rests on")
        self._list.show([Section("Looking it up …", (), folded=False)])
        self.session.look(
            self,
            lambda kb: read_basis(kb, self._answer, self._question, *self._stored),
            self._show,
            self._fail,
        )

    def on_unmount(self) -> None:
        """Nobody waits for the prompt any more."""
        self._cancel.set()

    def take_focus(self) -> None:
        """The sections have the keys."""
        self._list.focus()

    @property
    def _list(self) -> BasisList:
        return self.query_one(BasisList)

    def _show(self, basis: Basis) -> None:
        self._basis = basis
        self._list.show(sections(basis, self.session.settings.answering.refuse_below))

    def _fail(self, fault: Fault) -> None:
        self._list.show([Section("This cannot be shown", (Row(fault.text),), folded=False)])

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        row = self._list.chosen(event.option_index)
        if row is None:
            self._list.toggle(event.option_index)
        elif row.chunk is not None and self._basis is not None:
            title = row.text.partition("\n")[0]
            statements = self._basis.statements or (self._basis.asked,)
            self.show_over(SourcePanel.of_chunk(self.session, row.chunk, row.span, statements, title))
        elif row.entity:
            from localrag.tui.screens.reaching import open_name

            open_name(self.app.visited()[0], row.entity)

    def action_copy(self) -> None:
        """Copy all of it."""
        self.app.copy_to_clipboard(self._list.text())
        self.notify("What the answer rests on was copied.", markup=False)

    def action_prompt(self) -> None:
        """Build the prompt again and show it; the model counts its tokens, which takes a moment."""
        basis = self._basis
        if basis is None or self._asked_for_prompt:
            return
        if not basis.explanation.get("model"):
            self.notify("No model was asked, so there is no prompt.", severity="warning", markup=False)
            return
        self._asked_for_prompt = True
        waits = ", after the question in hand" if self.session.questions.active else ""
        self.border_subtitle = Content(f"Building the prompt again{waits} …")
        self.session.consult(
            self, partial(prompt_of, basis=basis, cancel=self._cancel), self._show_prompt, self._no_prompt
        )

    def _show_prompt(self, found: tuple[str, str]) -> None:
        self._asked_for_prompt = False
        self.border_subtitle = ""
        note, text = found
        self.app.push_screen(Reader("The prompt", note, text))

    def _no_prompt(self, fault: Fault) -> None:
        self._asked_for_prompt = False
        self.border_subtitle = ""
        self.app.show_fault(fault)


def prompt_of(kb: KnowledgeBase, basis: Basis, cancel: threading.Event) -> tuple[str, str]:
    """The prompt of an answer, built again: what to know about it, and its text."""
    from dataclasses import replace

    from localrag.answering.options import from_json

    if basis.session is not None and basis.number is not None:
        prompted, same = kb.prompt_of(basis.session, basis.number, cancel)
        note = (
            "Built again from the texts that were read then."
            if same
            else "Built again. Texts, settings or prompts have changed since: it was not the same then."
        )
    else:
        data = basis.explanation
        options = replace(
            from_json({"filter": data["filter"]}), mode=data["mode"], style=data["style"] or None
        )
        prompted = kb.prompt(data["question"], options=options, cancel=cancel)
        note = "Built again from what is found now."
    return note, _prompt_text(prompted)


def _prompt_text(prompted: Prompted) -> str:
    messages = prompted.prepared.request.messages if prompted.prepared is not None else ()
    names = {"system": "What the model is told", "user": "What it is asked"}
    parts = [
        f"── {plain(names.get(message.role, message.role))} ──\n\n{plain_lines(message.text)}"
        for message in messages
    ]
    return "\n\n".join(parts) or "Nothing is found now, so no model would be asked."
