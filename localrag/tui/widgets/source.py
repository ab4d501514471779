"""The source panel: a cited passage within its document, with what the answer shares with it marked."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from localrag.plain import plain, plain_lines
from localrag.tui import editors
from localrag.tui.messages import call
from localrag.tui.widgets.beside import Panel
from localrag.tui.widgets.text_lines import CITED, TextLines
from localrag.tui.words import Fault
from localrag.tui.wrapping import as_shown

if TYPE_CHECKING:
    from pathlib import Path

    from localrag.answering.sources import Held, Part, SourceView
    from localrag.answering.types import Answer, Citation
    from localrag.kb import KnowledgeBase
    from localrag.tui.session import Session

Span = tuple[int, int]

_LONGEST_SENTENCE = 400
_LARGEST = 16 * 2**20
"""Bytes of a file up to which it is read to find the line."""

_STATES = {
    "same": "The file is as it was when it was read.",
    "changed": "! The file has changed since it was read.",
    "gone": "! The file is not there any more; this is what was read of it.",
    "unknown": "Whether the file has changed cannot be told: its folder is not here, or is closed.",
}
_VERDICTS = {
    "supported": "checked: the source says so",
    "partly": "checked: the source says a part of it",
    "not": "checked: not found in the source",
    "unchecked": "could not be checked",
}


@dataclass(frozen=True)
class Loaded:
    """A source as the panel shows it: nothing in it that a terminal would obey."""

    view: SourceView
    """The source, as the knowledge base gives it."""

    text: str
    """Its text as it is shown."""

    cited: Span
    """The cited stretch in that text."""

    marks: tuple[Span, ...]
    """What is marked."""

    parts: tuple[Span, ...]
    """The document's passages in order."""

    here: int
    """Which of them holds the cited stretch; -1 without any."""


def loaded(view: SourceView) -> Loaded:
    """Make a source ready to be shown; done in a thread."""
    places = [*view.span, *(place for mark in view.marks for place in mark)]
    places += [place for part in view.parts for place in (part.start, part.end)]
    text, moved = as_shown(view.text, places)
    here = [number for number, part in enumerate(view.parts) if part.start <= view.span[0]]
    return Loaded(
        view,
        text,
        (moved[view.span[0]], moved[view.span[1]]),
        tuple((moved[start], moved[end]) for start, end in view.marks),
        tuple((moved[part.start], moved[part.end]) for part in view.parts),
        here[-1] if here else -1,
    )


class SourcePanel(Panel):
    """A passage within its document."""

    HELP = f"""
    A passage within its document. The rows that are cited have the sign **{CITED}** before them, and the
    words in them that the answer shares with the source are underlined: names, numbers and dates as well as
    words, by which every sentence of an answer is checked.

    Scroll through the whole document with the arrows; **n** and **p** go to the next and the previous
    passage, **c** back to the cited one. **o** opens the file in your editor (`VISUAL` or `EDITOR`) at this
    line, **O** with the program that the system has for it. **y** copies the passage and where it is from.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "step(1)", "Next", id="source.next", tooltip="Go to the next passage of the document"),
        Binding("p", "step(-1)", "Previous", id="source.previous", tooltip="Go to the passage before"),
        Binding("o", "edit", "Editor", id="source.edit", tooltip="Open the file in your editor at this line"),
        Binding(
            "O", "view", "Open", show=False, id="source.view", tooltip="Open the file as the system does it"
        ),
        Binding("y", "copy", "Copy", id="source.copy", tooltip="Copy the passage and where it is from"),
        Binding("d", "document", "Document", id="source.document", tooltip="Show all about the document"),
        Binding("c", "cited", "Cited", show=False, id="source.cited", tooltip="Back to the cited passage"),
    ]

    def __init__(self, session: Session, title: str, job: Callable[[KnowledgeBase], SourceView]) -> None:
        """`job` finds the source; `title` is shown until then and above it."""
        super().__init__(session, classes="source")
        self._title = plain(title)
        self._job = job
        self._loaded: Loaded | None = None
        self._near: int | None = None

    @classmethod
    def of_citation(
        cls, session: Session, citation: Citation, question: str, answer: Answer | str | None
    ) -> SourcePanel:
        """For a citation of an answer."""
        title = f"{citation.number}  {citation.label}"
        return cls(session, title, lambda kb: kb.sources.cited(citation, question, answer))

    @classmethod
    def of_span(
        cls, session: Session, document_id: int, span: Span, words: Sequence[str], title: str
    ) -> SourcePanel:
        """For a stretch of a document."""
        return cls(session, title, lambda kb: kb.sources.span(document_id, *span, words))

    @classmethod
    def of_chunk(
        cls, session: Session, chunk_id: int, span: Span | None, statements: Sequence[str], title: str
    ) -> SourcePanel:
        """For a chunk, or the stretch of its document that was read."""
        return cls(session, title, lambda kb: kb.sources.part(chunk_id, span, statements))

    def again(self) -> SourcePanel:
        """The same passage."""
        return SourcePanel(self.session, self._title, self._job)

    def compose(self) -> ComposeResult:
        """Facts above, the document's text below."""
        with VerticalScroll(classes="facts", can_focus=False):
            yield Static("Looking the passage up …", markup=False)
        yield TextLines()

    def on_mount(self) -> None:
        """Read it, in a thread."""
        self.border_title = Content(self._title or "Source")
        self.session.look(self, lambda kb: loaded(self._job(kb)), self._show, self._fail)

    def take_focus(self) -> None:
        """The text scrolls."""
        self.query_one(TextLines).focus()

    def _fail(self, fault: Fault) -> None:
        self._facts.update(fault.text)

    def _show(self, found: Loaded) -> None:
        self._loaded = found
        self.border_title = Content(self._title or plain(found.view.document))
        self._tell()
        self.query_one(TextLines).show(found.text, found.cited, found.marks)

    @property
    def _facts(self) -> Static:
        return self.query_one(".facts Static", Static)

    def _tell(self) -> None:
        """Say what is shown and what there is to know about it."""
        if self._loaded is not None:
            self._facts.update(Content("\n").join(facts(self._loaded, self._near)))

    # What a person does

    def action_step(self, by: int) -> None:
        """Go to a neighbour of the passage that is looked at."""
        found = self._loaded
        if found is None:
            return
        now = found.here if self._near is None else self._near
        if not 0 <= now + by < len(found.parts):
            at_end = "the last" if by > 0 else "the first"
            self.notify(f"This is {at_end} passage of the document.", markup=False)
            return
        if now + by == found.here:
            self.action_cited()
            return
        self._near = now + by
        self.query_one(TextLines).mark_near(found.parts[self._near])
        self._tell()

    def action_cited(self) -> None:
        """Go back to the cited passage."""
        if self._loaded is not None:
            self._near = None
            lines = self.query_one(TextLines)
            lines.mark_near((0, 0))
            lines.go_to(self._loaded.cited[0])
            self._tell()

    def action_copy(self) -> None:
        """Copy the passage that is looked at, with a line that says where it is from."""
        found = self._loaded
        if found is None:
            return
        view, part = found.view, _part(found, self._near)
        start, end = (part.start, part.end) if part is not None and self._near is not None else view.span
        where = _where(view, part if self._near is not None else None)
        self.app.copy_to_clipboard(f"{plain_lines(view.text[start:end]).strip()}\n\n({where})\n")
        self.notify("The passage was copied, with where it is from.", markup=False)

    def action_document(self) -> None:
        """Show the document with all that was found in it."""
        found = self._loaded
        if found is None or found.view.document_id is None:
            self.notify("The document is not in this knowledge base.", severity="warning", markup=False)
            return
        from localrag.tui.screens.document import DocumentScreen

        part = _part(found, self._near)
        chunk_id = part.id if part is not None else None
        self.app.push_screen(DocumentScreen(self.session, found.view.document_id, chunk_id=chunk_id))

    def action_edit(self) -> None:
        """Open the file in the person's editor."""
        view = self._view_with_file()
        if view is None:
            return
        if view.line is None:
            words = "An editor shows text. Press O (a capital o) to open this with the system's program."
            self.notify(words, severity="warning", markup=False)
            return
        passage = view.text[slice(*view.span)]
        self._with_file(view, passage, lambda path, line: editors.edit(self.app, path, line))

    def action_view(self) -> None:
        """Open the file with the program that the system has for it."""
        view = self._view_with_file()
        if view is not None:
            self._with_file(replace(view, line=None), "", lambda path, line: editors.view(self.app, path))

    def _view_with_file(self) -> SourceView | None:
        view = self._loaded.view if self._loaded is not None else None
        if view is not None and not view.file:
            self.notify("Where the file lies is not known here.", severity="warning", markup=False)
            return None
        return view

    def _with_file(
        self, view: SourceView, passage: str, action: Callable[[Path, int | None], Fault | None]
    ) -> None:
        """Look in a thread whether the file is there and where the passage is in it, then do something."""

        def job(_: None) -> None:
            path, line, fault = found_on_disk(view, passage)
            call(self, lambda: self._act(fault or action(path, line)))

        self.app.files.submit(job, lambda fault: call(self, lambda: self._act(fault)))

    def _act(self, fault: Fault | None) -> None:
        if fault is not None:
            self.app.show_fault(fault)


def found_on_disk(view: SourceView, passage: str) -> tuple[Path, int | None, Fault | None]:
    """The file of a source, the line at which the passage is in it now, and what is wrong; may block."""
    from pathlib import Path

    from localrag.answering.sources import line_in
    from localrag.documents import decoding

    path = Path(view.file)
    if not os.path.exists(path):
        gone = f"{plain(view.file)} is not there any more."
        return path, None, Fault(gone, "The panel shows what was read of it.")
    if view.line is None or os.path.getsize(path) > _LARGEST:
        return path, view.line, None
    try:
        text = decoding.decode(path.read_bytes()).text
    except OSError as error:
        return path, None, Fault(f"{plain(view.file)} cannot be read: {plain(error.strerror or '')}.")
    return path, line_in(text, passage, view.line), None


# Words


def facts(found: Loaded, near: int | None) -> list[Content]:
    """What there is to know of a source, in lines."""
    view = found.view
    lines = [Content.styled(_where(view, _part(found, near)), "bold")]
    if found.parts:
        number = (found.here if near is None else near) + 1
        place = f"Passage {number} of {len(found.parts):,}"
        lines.append(Content(place if near is None else f"{place}, beside the cited one. c goes back."))
    if view.tags:
        lines.append(Content(f"Tags: {', '.join(map(plain, view.tags))}"))
    if view.note:
        lines.append(Content(f"! {plain(view.note)}"))
    if view.document_id is not None:
        lines.append(Content(_STATES[view.state]))
    lines += [_held_line(item) for item in view.held]
    return lines


def _held_line(item: Held) -> Content:
    """A sentence of the answer, and whether the source says so."""
    text = plain(item.text)
    text = text if len(text) <= _LONGEST_SENTENCE else f"{text[: _LONGEST_SENTENCE - 1]}…"
    line = Content("The answer says: ") + Content.styled(text, "italic")
    if not item.verdict:
        return line
    words = _VERDICTS.get(item.verdict, item.verdict)
    if item.missing:
        words += f"; not there: {', '.join(map(plain, item.missing))}"
    return line + Content(f" ({words})")


def _part(found: Loaded, near: int | None) -> Part | None:
    number = found.here if near is None else near
    return found.view.parts[number] if 0 <= number < len(found.view.parts) else None


def _where(view: SourceView, part: Part | None) -> str:
    """Document, page and heading in one line."""
    page, heading = (view.page, view.heading) if part is None else (part.page, part.heading)
    if part is not None and part.start <= view.span[0] < part.end:
        page, heading = view.page, view.heading
    name = plain(view.document) or "A place that is not known"
    place = [name]
    title = plain(view.title)
    if title and title != name and not plain(heading).startswith(title):
        place.append(title)
    if page is not None:
        place.append(f"page {page}")
    if heading:
        place.append(plain(heading))
    return " · ".join(place)
