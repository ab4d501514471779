"""One document to be read: its text with the passages marked, and what was found in each of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, Static

from localrag.plain import TYPEABLE, plain, quoted
from localrag.tui.reading import Reading, Span, all_spans, find, prepare
from localrag.tui.screens.place import STYLES, PlaceScreen
from localrag.tui.widgets.findings import FAILED, NOTHING, WAITING, FindingsPane
from localrag.tui.widgets.keys import KeyLine
from localrag.tui.widgets.lines import LineList
from localrag.tui.widgets.passage_text import PassageText, passage_at
from localrag.tui.widgets.places import PlaceBar
from localrag.tui.words import Fault, count

if TYPE_CHECKING:
    from localrag.kb import KnowledgeBase
    from localrag.library import Finding, PassagePlace
    from localrag.tui.app import LocalragApp
    from localrag.tui.screens.graph import GraphScreen
    from localrag.tui.session import Session

_SECONDS = 2.0
"""How often it is looked, during an index run, whether passages were read meanwhile."""


class DocumentScreen(Screen[None]):
    """The document over the place from which it was opened; escape leads back there."""

    app: LocalragApp
    CSS_PATH = STYLES / "document.tcss"
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        *PlaceScreen.BINDINGS,
        Binding("escape,q", "back", "Back", key_display="esc", id="document.back", tooltip="Go back"),
        Binding("n", "passage(1)", "Next", id="document.next", tooltip="Go to the next passage"),
        Binding("p", "passage(-1)", "Previous", id="document.previous", tooltip="Go to the one before"),
        Binding("slash", "search", "Search", id="document.search", tooltip="Search in the text"),
        Binding("N", "match(-1)", "Match before", show=False, id="document.match", tooltip="Match before"),
        Binding("r", "retry", "Retry", id="document.retry", tooltip="Read this passage again: it failed"),
        Binding("f", "failed", "Failed", show=False, id="document.failed", tooltip="Go to what failed"),
        Binding("i", "index", "Index", show=False, id="document.index", tooltip="Let the model read it now"),
        Binding("o", "edit", "Open file", id="document.edit", tooltip="Open the file in your editor"),
        Binding("y", "copy", "Copy", show=False, id="document.copy", tooltip="Copy the text of the passage"),
    ]

    def __init__(self, session: Session, document_id: int, *, chunk_id: int | None = None) -> None:
        """`chunk_id` is the passage that is looked at first."""
        super().__init__()
        self.session = session
        self.BINDING_GROUP_TITLE = "Document"
        self._document_id = document_id
        self._first = chunk_id
        self._reading: Reading | None = None
        self._passage = 0
        self._findings: Sequence[Finding] = ()
        self._matches: list[Span] = []
        self._match = -1

    def compose(self) -> ComposeResult:
        """The places above, text and findings side by side or one over the other, the keys below."""
        yield PlaceBar(self.app.current_mode)
        yield Static("Opening the document", id="document-title", markup=False)
        with Container(id="document-body"):
            yield PassageText(id="document-text")
            yield FindingsPane()
        yield Input(placeholder="Search in the text", id="document-search", restrict=TYPEABLE, compact=True)
        yield KeyLine()

    def on_mount(self) -> None:
        """Read the document."""
        self.query_one("#document-search").display = False
        self.text.focus()
        document_id = self._document_id
        self.session.look(self, lambda kb: prepare(kb.library.open(document_id)), self._open, self._failed)
        self.set_interval(_SECONDS, self._look_again)

    @property
    def text(self) -> PassageText:
        """The text."""
        return self.query_one(PassageText)

    @property
    def pane(self) -> FindingsPane:
        """What was found in the passage."""
        return self.query_one(FindingsPane)

    # Opening

    def _open(self, reading: Reading) -> None:
        self._reading = reading
        of = reading.opening.document
        self._show_title()
        ids = [passage.id for passage in reading.opening.passages]
        self._passage = ids.index(self._first) if self._first in ids else 0
        span = reading.spans[self._passage] if reading.spans else (0, 0)
        self.text.show(reading.text or "(no text)", span)
        self.text.divide(reading.starts, reading.failed)
        if reading.spans:
            self._look_at(self._passage, go=False)
        else:
            reason = plain(of.reason)
            self.pane.show((), f"{of.status}: {reason}" if reason else "It has no text to be read.")

    def _show_title(self, searching: str = "") -> None:
        """Its path, and what is known of it, or how far a search is."""
        if self._reading is None:
            return
        opening = self._reading.opening
        facts = [count(opening.document.chunks, "passage"), f"{opening.document.characters:,} characters"]
        facts += [f"tags: {', '.join(opening.tags)}"] if opening.tags else []
        words = searching or plain(", ".join(facts))
        self.query_one("#document-title", Static).update(Content(f"{plain(opening.places[0].full)}\n{words}"))

    def _failed(self, fault: Fault) -> None:
        self.app.show_fault(fault)
        self.action_back()

    def _look_at(self, passage: int, *, go: bool = True) -> None:
        """Mark a passage, and look what was found in it."""
        reading = self._reading
        if reading is None:
            return
        self._passage = passage
        stored = reading.opening.passages[passage]
        self.text.look_at(reading.spans[passage], self._here(), near=self._near, go=go)
        self.pane.head(self._passage_words(stored, passage, len(reading.spans)))

        def job(kb: KnowledgeBase) -> list[Finding]:
            return kb.library.findings(stored.id)

        self.session.look(self, job, self._show_findings, key="document.findings")

    @property
    def _near(self) -> Span:
        """The match that is looked at."""
        return self._matches[self._match] if self._matches else (0, 0)

    def _here(self) -> list[Span]:
        """The matches of a search in the passage."""
        if self._reading is None or not self._matches:
            return []
        start, end = self._reading.spans[self._passage]
        first = bisect_left(self._matches, (start,))
        return list(takewhile(lambda span: span[0] < end, self._matches[first:]))

    def _passage_words(self, passage: PassagePlace, at: int, total: int) -> str:
        words = [f"Passage {at + 1:,} of {total:,}"]
        if passage.page is not None:
            words.append(f"page {passage.page:,}")
        words.append({"read": "read", "failed": "failed", "pending": "waits to be read"}[passage.state])
        heading = plain(passage.heading)
        return ", ".join(words) + (f" · {heading}" if heading else "")

    def _show_findings(self, findings: Sequence[Finding]) -> None:
        reading = self._reading
        if reading is None:
            return
        self._findings = findings
        passage = reading.opening.passages[self._passage]
        instead = {"read": NOTHING, "pending": WAITING}.get(passage.state, "")
        if passage.state == "failed":
            instead = f"{plain(passage.error)}\n{FAILED}"
        self.pane.show(findings, instead)
        marks = reading.shown(self._passage, all_spans(findings))
        self.text.look_at(reading.spans[self._passage], [*marks, *self._here()], near=self._near, go=False)
        self.refresh_bindings()

    def _look_again(self) -> None:
        """Passages may have been read meanwhile."""
        document_id = self._document_id
        if self._reading is not None and self.is_current and self.session.index_run.active:
            self.session.look(
                self,
                lambda kb: kb.library.passages(document_id),
                self._renew,
                self._failed,
                key="document.states",
            )

    def _renew(self, passages: Sequence[PassagePlace]) -> None:
        before = self._reading
        if before is None or list(before.opening.passages) == list(passages):
            return
        now = before.with_passages(passages)
        if now is None:  # the document was replaced
            self._first = before.opening.passages[self._passage].id
            document_id = self._document_id
            self.session.look(
                self, lambda kb: prepare(kb.library.open(document_id)), self._open, self._failed
            )
            return
        self._reading = now
        self.text.divide(now.starts, now.failed)
        if before.opening.passages[self._passage] != now.opening.passages[self._passage]:
            self._look_at(self._passage, go=False)

    # Moving

    def action_passage(self, by: int) -> None:
        """Go to the next or a previous passage; while a search is open, to the next match."""
        if self._matches:
            self.action_match(by)
            return
        total = len(self._reading.spans) if self._reading is not None else 0
        wanted = self._passage + by
        if 0 <= wanted < total:
            self._look_at(wanted)
        elif total:
            self.notify("That is the first passage." if by < 0 else "That is the last passage.", markup=False)

    def action_failed(self) -> None:
        """Go to the next passage that could not be read, round and round."""
        passages = self._reading.opening.passages if self._reading is not None else ()
        failed = [at for at, passage in enumerate(passages) if passage.state == "failed"]
        if failed:
            self._look_at(next((at for at in failed if at > self._passage), failed[0]))
        else:
            self.notify("No passage of this document has failed.", markup=False)

    @on(PassageText.Clicked)
    def _clicked(self, event: PassageText.Clicked) -> None:
        if self._reading is not None and self._reading.spans:
            self._look_at(passage_at(self._reading.starts, event.place), go=False)

    @on(LineList.Highlighted, "#finding-list")
    def _highlighted(self) -> None:
        """Bring the place of a finding into view, once a person moves in the list."""
        found, reading = self.pane.current, self._reading
        if found is None or reading is None or not self.pane.lines.has_focus or not found.spans:
            return
        self.text.mark_near(reading.shown(self._passage, found.spans[:1])[0])

    @on(LineList.Opened, "#finding-list")
    def _show_entity(self) -> None:
        """Go to the entity in the graph."""
        found = self.pane.current
        if found is None or found.entity_id is None:
            self.notify("It is not in the graph any more.", markup=False)
            return
        go_to_entity(self.app, found.entity_id)

    # Searching

    def action_search(self) -> None:
        """Type what is searched for."""
        box = self.query_one("#document-search", Input)
        box.display = True
        box.focus()

    @on(Input.Submitted, "#document-search")
    def _search(self, event: Input.Submitted) -> None:
        event.stop()
        reading, words = self._reading, event.value
        if reading is None or not words.strip():
            self._end_search()
            return
        text = reading.text
        self.session.look(
            self, lambda kb: find(text, words), lambda found: self._found(words, found), key="document.search"
        )

    def _found(self, words: str, matches: list[Span]) -> None:
        self._matches, self._match = matches, -1
        self.text.focus()
        if not matches:
            self.notify(f"{quoted(words)} is not in the text.", markup=False)
            return
        start = self._reading.spans[self._passage][0] if self._reading and self._reading.spans else 0
        self._match = next((at for at, span in enumerate(matches) if span[0] >= start), 0) - 1
        self.action_match(1)

    def action_match(self, by: int) -> None:
        """Go to the next or a previous match, round and round."""
        if not self._matches or self._reading is None:
            return
        self._match = (self._match + by) % len(self._matches)
        span = self._matches[self._match]
        if self._reading.spans:
            self._look_at(passage_at(self._reading.starts, span[0]), go=False)
        self.text.mark_near(span)
        self._show_title(f"match {self._match + 1:,} of {len(self._matches):,}, escape ends the search")

    def _end_search(self) -> None:
        self._matches, self._match = [], -1
        self.query_one("#document-search", Input).display = False
        self._show_title()
        self.text.focus()
        if self._reading is not None and self._reading.spans:
            self._look_at(self._passage, go=False)

    # What can be done

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what failed can be tried again."""
        reading = self._reading
        if action == "retry":
            return bool(
                reading
                and reading.opening.passages
                and reading.opening.passages[self._passage].state == "failed"
            )
        return True

    def action_retry(self) -> None:
        """Let the passage be read again by the next index run."""
        if self._reading is None:
            return
        chunk_id = self._reading.opening.passages[self._passage].id
        document_id = self._document_id

        def job(kb: KnowledgeBase) -> list[PassagePlace]:
            kb.library.read_again([chunk_id])
            return kb.library.passages(document_id)

        def done(passages: list[PassagePlace]) -> None:
            self._renew(passages)
            self.notify("The passage waits to be read again. Press i to begin.", markup=False)

        self.session.change(self, job, done)

    def action_index(self) -> None:
        """Let the model read, this document first."""
        self.session.index_run.prefer([self._document_id])
        if not self.session.index_run.active:
            self.session.index_run.begin()
        self.notify("This document is read first. Index (f4) shows how far it is.", markup=False)

    def action_edit(self) -> None:
        """Open the file in the editor, at the passage."""
        reading = self._reading
        if reading is None:
            return
        document_id, line = self._document_id, None
        if reading.spans and reading.opening.document.media_type.startswith("text/"):
            line = reading.line_of(self._passage)

        def show(path: Path | None) -> None:
            from localrag.tui.editors import edit

            fault = (
                Fault("The file is not on this machine, or not where it was when it was added.")
                if path is None
                else edit(self.app, path, line)
            )
            if fault is not None:
                self.app.show_fault(fault)

        self.session.look(self, lambda kb: kb.library.file(document_id), show)

    def action_copy(self) -> None:
        """Copy the text of the passage."""
        if self._reading is not None and self._reading.spans:
            start, end = self._reading.spans[self._passage]
            self.app.copy_to_clipboard(self._reading.text[start:end])
            self.notify("The passage was copied.", markup=False)

    def action_back(self) -> None:
        """End a search, else go back."""
        if self._matches or self.query_one("#document-search").display:
            self._end_search()
        elif self.is_current:
            self.dismiss()


def go_to_entity(app: LocalragApp, entity_id: int) -> None:
    """Show an entity in the graph."""
    app.action_go("graph")

    def show() -> None:
        for place in app.visited():
            if place.PLACE == "graph":
                cast("GraphScreen", place).show_entity(entity_id)

    # A place that is visited for the first time is mounted first.
    app.call_later(show)
