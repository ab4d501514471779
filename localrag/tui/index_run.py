"""Index runs in the open knowledge base, in a thread of its own: begun, paused, stopped, put in order."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from textual.message import Message

from localrag.errors import Cancelled
from localrag.tui.measuring import measure
from localrag.tui.messages import IndexEnded, IndexNote, IndexPaused, IndexProgress, IndexStopping
from localrag.tui.run_state import STAGES, RunState
from localrag.tui.tracking import Tracker
from localrag.tui.words import Fault, IndexState
from localrag.tui.work import Lane, in_background

if TYPE_CHECKING:
    from localrag.indexing import IndexReport, Preference
    from localrag.kb import KnowledgeBase
    from localrag.settings import Settings

SECONDS_BETWEEN = 0.2
"""How often a run tells at most how far it is."""


class IndexRun:
    """Lets the model read, and posts how far it is. All but the run itself belongs to the application."""

    def __init__(
        self,
        lane: Lane[KnowledgeBase],
        post: Callable[[Message], None],
        settings: Callable[[], Settings] | None = None,
    ) -> None:
        """`post` takes the messages, from any thread; `settings` says which stages a run will have."""
        self.lane = lane
        self._post = post
        self._settings = settings
        self._open: threading.Event | None = None
        self._runs: KnowledgeBase | None = None
        self._switch = threading.Lock()
        self._paused = False
        self._wanted: tuple[int, ...] = ()
        self._prefer: Preference | None = None
        self.state: RunState | None = None
        """The run that goes on, or the last one; written by its thread, read by anybody."""
        self.report: IndexReport | None = None
        """What the last run did; None while one goes on, before the first, and if it failed."""
        self.fault: Fault | None = None
        """Why the last run failed."""

    @property
    def active(self) -> bool:
        """Whether an index run goes on."""
        return self._open is not None

    @property
    def paused(self) -> bool:
        """Whether it stands still because a person wants that."""
        return self._paused and self.active

    @property
    def stopping(self) -> bool:
        """Whether it was asked to end."""
        return self._open is not None and self._open.is_set()

    def begin(self) -> None:
        """Begin an index run, unless one goes on; ends with `IndexEnded`."""
        if self._open is not None:
            return
        cancel = self._open = threading.Event()
        self.report = self.fault = None
        self._paused = False
        settings = self._settings() if self._settings is not None else None
        tracker = Tracker(
            claims=settings is not None and settings.claims.at_index,
            summaries=settings is not None and settings.summaries.at_index,
        )
        teller = IndexTeller(self._post, self, tracker)
        teller.doing("Preparing to index")
        self.lane.submit(
            lambda kb: self._work(kb, cancel, teller), lambda fault: self._ended(None, fault, teller)
        )

    def stop(self) -> None:
        """Let the index run end; every chunk that was read is kept."""
        if self._open is not None and not self._open.is_set():
            self._open.set()
            self._post(IndexStopping())

    # Pausing

    def pause(self) -> None:
        """Let the run stand still where it is; questions are answered meanwhile."""
        self._turn(paused=True)

    def resume(self) -> None:
        """Let the run go on."""
        self._turn(paused=False)

    def _turn(self, *, paused: bool) -> None:
        run = self._open
        if run is None or self._paused == paused:
            return
        self._paused = paused
        self._post(IndexPaused(paused))
        # A model that is being started is told once it is there, so this may take a while.
        in_background(lambda: self._tell_engine(run))

    def _tell_engine(self, run: threading.Event) -> None:
        with self._switch:
            if self._open is run and self._runs is not None:
                self._obey(self._runs)

    def _obey(self, kb: KnowledgeBase) -> None:
        if self._paused:
            kb.pause_indexing()
        else:
            kb.resume_indexing()

    # Order

    @property
    def preferred(self) -> tuple[int, ...]:
        """The documents that are read before others, the one wanted most first."""
        return self._wanted

    def prefer(self, document_ids: Sequence[int]) -> None:
        """Let documents be read before all others, from the next passage on, in a running run too."""
        wanted = tuple(dict.fromkeys(document_ids))
        self._set_wanted(wanted + tuple(held for held in self._wanted if held not in wanted))

    def prefer_no_more(self, document_ids: Iterable[int]) -> None:
        """Let documents wait for their turn again."""
        gone = set(document_ids)
        self._set_wanted(tuple(held for held in self._wanted if held not in gone))

    def _set_wanted(self, wanted: tuple[int, ...]) -> None:
        self._wanted = wanted
        if self._prefer is not None:
            self._prefer.put(wanted)

    def preference(self) -> Preference:
        """What the knowledge base takes for it; called in a working thread."""
        from localrag.indexing import Preference

        if self._prefer is None:
            self._prefer = Preference(self._wanted)
            # It may have changed between the two steps.
            self._prefer.put(self._wanted)
        return self._prefer

    # The run, in its thread

    def _work(self, kb: KnowledgeBase, cancel: threading.Event, teller: IndexTeller) -> None:
        report: IndexReport | None = None
        with self._switch:
            self._runs = kb
            self._obey(kb)
        with contextlib.suppress(Cancelled):
            coverage = kb.status().coverage
            if coverage.read < coverage.total:
                measure(kb, teller.pass_on, teller.doing, cancel)
            with contextlib.closing(kb.index(cancel, prefer=self.preference())) as events:
                for event in events:
                    report = teller.tracker.take(event) or report
                    teller.tell()
            for note in kb.engine_notes():
                teller.note(note)
        self._ended(report, None, teller)

    def _ended(self, report: IndexReport | None, fault: Fault | None, teller: IndexTeller) -> None:
        self.state = teller.tracker.state
        self.report, self.fault = report, fault
        with self._switch:
            kb, self._runs = self._runs, None
            self._open = None
            self._paused = False
            if kb is not None:
                # Whatever uses these engines next must not find them standing still.
                kb.resume_indexing()
        self._post(IndexEnded(report, fault))


class IndexTeller:
    """Posts how far a run is, not more often than a screen can show."""

    def __init__(self, post: Callable[[Message], None], run: IndexRun, tracker: Tracker) -> None:
        self._post = post
        self._run = run
        self.tracker = tracker
        self._told = 0.0
        self._notes = 0
        self._failures = 0

    def doing(self, words: str) -> None:
        """Say what is done before the first stage."""
        self.tracker.doing(words)
        self.tell(now=True)

    def note(self, words: str) -> None:
        """Say something that a person should know, and keep it with the run."""
        self.tracker.note(words)
        self.tell(now=True)

    def pass_on(self, message: Message) -> None:
        """Post a message; a note is kept with the run too."""
        if isinstance(message, IndexNote):
            self.note(message.text)
        else:
            self._post(message)

    def tell(self, *, now: bool = False) -> None:
        """Say how far it is, if the last time is long enough ago."""
        state = self._run.state = self.tracker.state
        self._tell_notes(state)
        if now or time.monotonic() - self._told >= SECONDS_BETWEEN:
            self._told = time.monotonic()
            self._post(IndexProgress(index_state(state), state))

    def _tell_notes(self, state: RunState) -> None:
        """A note at once; of passages that could not be read only the first: the place lists them all."""
        for note in state.notes[self._notes :]:
            self._post(IndexNote(note))
        self._notes = len(state.notes)
        if state.failures and not self._failures:
            first = state.failed[-1]
            self._post(IndexNote(f"{first.document}: {first.reason}\nWhat fails is listed in Index (f4)."))
        self._failures = state.failures


def index_state(state: RunState) -> IndexState:
    """A run for the status line; the rate is that of writing, or of reading before any is written."""
    stage = state.stage
    if stage is None:
        return IndexState(doing=state.doing or "Preparing to index")
    rate = state.write_rate or state.read_rate
    words = "" if stage.key == "reading" else stage_words(state)
    return IndexState(stage.done, stage.total, rate, state.seconds_left, words, stands=state.stands)


def stage_words(state: RunState) -> str:
    """The stage that goes on, with its numbers."""
    stage = state.stage
    if stage is None:
        return state.doing
    title, unit = STAGES[stage.key]
    return f"{title}: {stage.done:,} of {stage.total:,} {unit}"
