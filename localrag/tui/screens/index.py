"""The place of reading: what waits, how a run goes, what comes out of it, and what it can be told."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import events, on
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.widget import Widget

from localrag.tui import messages
from localrag.tui.index_words import adding_line, fault_text, progress_text, ready_text, report_text
from localrag.tui.run_state import Failed, Found, RunState
from localrag.tui.screens.place import STYLES, PlaceScreen
from localrag.tui.screens.reaching import open_document, open_name
from localrag.tui.widgets.found import RunLists
from localrag.tui.widgets.progress import RunPanel

if TYPE_CHECKING:
    from localrag.indexing import Ahead
    from localrag.kb import KnowledgeBase, Status
    from localrag.tui.index_run import IndexRun

_TICK = 0.5
_LOOK_AGAIN = 5.0
"""Seconds between two looks at what waits while a run goes on."""

_LOW = 30
"""Rows of a terminal below which only one passage in hand is shown."""


_SHORT = 22
"""Rows below which the stages that are still to come are not shown."""

_STALE = "Its new text could not be read; the earlier one stays."


class IndexScreen(PlaceScreen):
    """Reading: before, while and after it."""

    PLACE = "index"
    CSS_PATH = STYLES / "index.tcss"
    HELP = RunPanel.HELP
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("b", "begin", "Begin", id="index.begin", tooltip="Let the model read what waits"),
        Binding(
            "space,p",
            "pause",
            "Pause or go on",
            id="index.pause",
            tooltip="Stand still, or go on",
        ),
        Binding("s", "stop", "Stop", id="index.stop", tooltip="End the run; what was read is kept"),
        Binding(
            "u", "first", "Read next", id="index.first", tooltip="Let the document at the cursor be read next"
        ),
        Binding(
            "d",
            "in_turn",
            "In turn",
            show=False,
            id="index.turn",
            tooltip="Let the document at the cursor wait for its turn again",
        ),
        Binding("r", "retry", "Retry", id="index.retry", tooltip="Try all that failed once more, and begin"),
        Binding("e", "settings", "Settings", show=False, id="index.settings", tooltip="Change how it reads"),
        Binding("f", "show('found')", "Found", show=False, id="index.found", tooltip="What came out"),
        Binding("w", "show('waiting')", "Waiting", show=False, id="index.waiting", tooltip="What waits"),
        Binding("x", "show('failed')", "Failed", show=False, id="index.failed", tooltip="What failed"),
        Binding("n", "show('notes')", "Notes", show=False, id="index.notes", tooltip="What there is to know"),
    ]

    def compose_body(self) -> Iterable[Widget]:
        """The state above, the lists below or beside it."""
        with Container(id="index-body"):
            yield RunPanel(id="run-panel")
            yield RunLists()

    def on_mount(self) -> None:
        """Show what is known, and look every now and then while a run goes on."""
        self._ahead: Ahead | None = None
        self._kept: tuple[Failed, ...] = ()
        self._adding: tuple[str, int, int] | None = None
        self._looked = 0.0
        self._greeted = False
        self._can: tuple[bool | None, ...] = ()
        self.panel.border_title = Content("Reading")
        self.panel.offer(())
        self.set_interval(_TICK, self._tick)
        self._show_state()
        self.lists.shown.focus()

    @property
    def run(self) -> IndexRun:
        """The runs of this knowledge base."""
        return self.session.index_run

    @property
    def panel(self) -> RunPanel:
        """The state in words."""
        return self.query_one(RunPanel)

    @property
    def lists(self) -> RunLists:
        """What came out, what waits, what failed."""
        return self.query_one(RunLists)

    # What is shown

    def renew(self) -> None:
        """Look up what waits, what a run would take, and what has failed."""
        self._looked = time.monotonic()
        prefer = self.run.preference

        def look(kb: KnowledgeBase) -> tuple[Ahead, tuple[Failed, ...]]:
            return kb.ahead(prefer()), failures(kb)

        self.session.look(self, look, self._looked_up, key="index.ahead")

    def _looked_up(self, found: tuple[Ahead, tuple[Failed, ...]]) -> None:
        self._ahead, self._kept = found
        self._show_waiting(self._ahead, self.app.doings.status)
        self._show_state()
        if not (self._greeted or self.run.active or self.lists.shown.count) and self._begins():
            # Enter begins, as long as there is nothing else to look at.
            self._greeted = True
            self.query_one("#begin").focus()

    def show_status(self, status: Status) -> None:
        """What can be done depends on it; what was read meanwhile waits no more."""
        if self._ahead is not None:
            self._show_waiting(self._ahead, status)
        self._show_state()

    def _show_waiting(self, ahead: Ahead, status: Status | None) -> None:
        left = {row.id: row.chunks - row.read for row in status.documents} if status is not None else {}
        rows = [
            replace(item, chunks=min(item.chunks, left[item.document_id]))
            for item in ahead.documents
            if left.get(item.document_id)
        ]
        self.lists.show_waiting(rows, ordered=ahead.ordered)

    def _tick(self) -> None:
        if not (self.is_current and self.run.active):
            return
        self._show_state()
        if self.lists.active == "waiting" and time.monotonic() - self._looked > _LOOK_AGAIN:
            self.renew()

    def _show_state(self) -> None:
        """Show the run that goes on, or what came of the last one and what lies ahead."""
        if not self.is_current:
            return
        state = self.run.state
        if self.run.active and state is not None:
            self._show_run(state)
        else:
            self._show_rest(state)
        if state is not None:
            self.lists.show_found(state.found, sum(state.counts.values()))
            self.lists.show_notes(state.notes)
        can = tuple(self.check_action(action, ()) for action in ("begin", "pause", "stop", "first", "retry"))
        if can != self._can:
            self._can = can
            self.refresh_bindings()

    def _show_run(self, state: RunState) -> None:
        paused, stopping = self.run.paused, self.run.stopping
        hands = 1 if self.app.size.height < _LOW else 8
        short = self.app.size.height < _SHORT
        adding = self._adding

        def make(width: int) -> Text:
            return progress_text(
                state,
                width,
                time.monotonic(),
                paused=paused,
                stopping=stopping,
                hands=hands,
                adding=adding,
                short=short,
            )

        self.panel.board.show(make)
        title = "Stopping" if stopping else "Paused" if paused else "At work"
        self.panel.border_title = Content(title)
        self.panel.offer(() if stopping else ("resume" if paused else "pause", "stop"))
        self.lists.show_failed(state.failed, state.failures)

    def _show_rest(self, state: RunState | None) -> None:
        parts, can = self._rest_words(state)
        text = Text("\n\n" if self.app.size.height >= _LOW else "\n").join(parts)
        adding = self._adding

        def make(width: int) -> Text:
            return Text("\n").join([adding_line(adding, width), text]) if adding is not None else text

        self.panel.board.show(make)
        fault = self.run.fault is not None
        self.panel.border_title = Content("Ended early" if fault else "Ready" if can else "Reading")
        self.panel.offer(("begin", "settings") if can else (), "Try again" if fault else "Begin")
        self.lists.show_failed(self._kept, len(self._kept))

    def _rest_words(self, state: RunState | None) -> tuple[list[Text], bool]:
        """What is said while no run goes on, and whether one can begin."""
        parts = []
        if self.run.fault is not None:
            parts.append(fault_text(self.run.fault, state))
        elif self.run.report is not None:
            parts.append(report_text(self.run.report, state))
        status, ahead = self.app.doings.status, self._ahead
        if status is None or ahead is None:
            return [*parts, Text("Looking at what is there.")], False
        if not status.documents:
            words = "There is nothing to read yet. Press f3 to go to the library and add a file or a folder."
            return [*parts, Text(words)], False
        if status.read_only:
            words = "This file can only be asked: it is read-only, so nothing can be read into it."
            return [*parts, Text(words)], False
        missing = self.app.doings.missing
        if missing is not None and ahead.estimate.chunks:
            parts.append(Text(missing.text))
        explain = self.app.size.height >= _LOW and self.run.report is None
        return [*parts, ready_text(ahead, self.session.settings, explain=explain)], self._begins()

    def _begins(self) -> bool:
        """Whether a run would do anything."""
        ahead = self._ahead
        if ahead is None or self.app.doings.status is None or self.app.doings.status.read_only:
            return False
        work = ahead.estimate.chunks or ahead.estimate.claim_chunks
        return bool(work or (ahead.embedder and ahead.missing.total) or self.run.fault)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that do something now."""
        active = self.session.index_run.active
        if action == "begin":
            return not active
        if action in ("pause", "stop"):
            return active and not self.session.index_run.stopping
        if action in ("first", "in_turn"):
            return self.is_mounted and self.lists.active == "waiting"
        if action == "retry":
            return not active and self.is_mounted and bool(self._kept or self.run.fault)
        return True

    # What a person does

    def action_begin(self) -> None:
        """Begin a run."""
        status = self.app.doings.status
        if status is None:
            return
        if status.read_only or not status.documents or not self._begins():
            self.notify("There is nothing to read.", severity="warning", markup=False)
            return
        self.run.begin()
        self.lists.shown.focus()
        self._show_state()

    def action_pause(self) -> None:
        """Let the run stand still, or go on."""
        if self.run.paused:
            self.run.resume()
        else:
            self.run.pause()
        self._show_state()

    def action_stop(self) -> None:
        """Let the run end."""
        self.run.stop()
        self._show_state()

    def action_first(self) -> None:
        """Let the document at the cursor be read before all others."""
        item = self.lists.document_at_cursor()
        if item is not None:
            self.run.prefer([item.document_id])
            self.renew()

    def action_in_turn(self) -> None:
        """Let the document at the cursor wait for its turn."""
        item = self.lists.document_at_cursor()
        if item is not None:
            self.run.prefer_no_more([item.document_id])
            self.renew()

    def action_retry(self) -> None:
        """Let all that failed be read once more, and begin."""
        if not self._kept:
            self.action_begin()
            return
        self.notify("What failed is tried once more.", markup=False)
        self.session.change(self, lambda kb: kb.retry(everything=True), lambda report: self.run.begin())

    def action_settings(self) -> None:
        """Go where the way of reading is set."""
        self.app.action_go("settings")

    def action_show(self, name: str) -> None:
        """Show one of the lists."""
        self.lists.choose(name)

    @on(RunPanel.Pressed)
    async def _pressed(self, event: RunPanel.Pressed) -> None:
        await self.run_action(event.action)

    @on(RunLists.Chosen)
    def _list_chosen(self) -> None:
        self._show_state()

    @on(RunLists.Opened)
    def _opened(self, event: RunLists.Opened) -> None:
        item = event.item
        if isinstance(item, Found) and item.kind != "claim":
            open_name(self, item.name)
        elif isinstance(item, str):
            self.notify(item, markup=False)
        elif item.document_id:
            open_document(self, item.document_id, item.chunk_id if isinstance(item, Failed) else 0)

    # What the threads tell

    @on(messages.IndexProgress)
    @on(messages.IndexPaused)
    @on(messages.IndexStopping)
    def _run_told(self) -> None:
        self._show_state()

    @on(messages.IndexEnded)
    def _run_ended(self) -> None:
        # What lay ahead is done now; it is looked up anew.
        self._ahead = None
        self._show_state()

    @on(messages.AddProgress)
    def _adds(self, message: messages.AddProgress) -> None:
        self._adding = (message.name, message.done, message.total)
        self._show_state()

    @on(messages.AddEnded)
    def _added(self) -> None:
        self._adding = None

    @on(events.ScreenResume)
    def _shown_again(self) -> None:
        self._show_state()


def failures(kb: KnowledgeBase) -> tuple[Failed, ...]:
    """What has failed in a file, passages and files."""
    files, passages = kb.failures()
    return (
        *(
            Failed(file.path, file.document_id, file.reason or "Its new text could not be read.")
            for file in files
        ),
        *(
            Failed(
                passage.path,
                passage.document_id,
                passage.reason,
                passage.ordinal,
                passage.chunk_id,
                left_out=not passage.waits,
            )
            for passage in passages
        ),
    )
