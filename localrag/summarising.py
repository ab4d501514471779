"""Writes the summaries that wait, and the vectors of what they changed; can be stopped and goes on later.

`index` writes them too if the settings say so; here a person asks for them, or for a few of them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass

from localrag.engines import Engines
from localrag.errors import Cancelled, EmbeddingSpaceMismatch, EngineError, ModelError, UsageError
from localrag.indexing.events import Embedded, Note
from localrag.indexing.summaries import SummaryStage, stage_of
from localrag.indexing.summary_events import SummariesPlanned, SummaryEvent, SummaryFailed, SummaryWritten
from localrag.indexing.vectors import VectorStage
from localrag.runlock import noticed_run
from localrag.settings import Settings
from localrag.stopping import wait_for
from localrag.store.database import Store
from localrag.store.sqlite import read_only_error


@dataclass(frozen=True)
class SummaryReport:
    """What a run did."""

    written: int
    """Summaries written."""

    failed: int
    """Summaries that could not be written; their descriptions stay as they are."""

    joined: int
    """Entities and relations that were looked at and are read joined, without a model."""

    left: int
    """Summaries that wait still."""

    calls: int
    """Calls of the model behind the summaries that were written."""

    seconds: float
    """Wall time."""

    cancelled: bool
    """Whether it was stopped; the next run goes on."""


@dataclass(frozen=True)
class Summarised:
    """The last event."""

    report: SummaryReport
    """What was done."""


SummariseEvent = SummaryEvent | Embedded | Note | Summarised


def summarise(
    store: Store,
    engines: Engines,
    settings: Settings,
    cancel: threading.Event | None = None,
    *,
    limit: int | None = None,
    minutes: float | None = None,
) -> Generator[SummariseEvent, None, None]:
    """Sum up what many passages say of an entity or a relation, most connected first, where it changed.

    At most `limit` of them, and for about `minutes`; the last event is `Summarised`. When `cancel` is set it
    stops within half a second. Raises at once `KnowledgeBaseReadOnly`, `UsageError` for bounds without
    meaning, `SettingsError` and `PromptError`; while it is iterated `KnowledgeBaseBusy` if another program
    indexes the file, `ModelNotFound` if there is something to do and no model, `EngineError`. What was stored
    is kept.
    """
    if store.read_only:
        raise read_only_error(store.path)
    if limit is not None and limit < 0:
        raise UsageError("The number of summaries cannot be negative.")
    if minutes is not None and not 0 < minutes < 1e6:
        raise UsageError("The minutes must be more than 0.")
    stage = stage_of(store, engines, settings, cancel, limit=limit)
    return _Run(store, engines, stage, cancel, None if minutes is None else 60 * minutes).events()


class _Run:
    """One run of `summarise`."""

    def __init__(
        self,
        store: Store,
        engines: Engines,
        stage: SummaryStage,
        cancel: threading.Event | None,
        seconds: float | None,
    ) -> None:
        self._store = store
        self._engines = engines
        self._stage = stage
        self._cancel = cancel
        self._seconds = seconds
        self._began = time.monotonic()
        self._written = self._failed = self._joined = self._calls = self._waiting = 0

    def events(self) -> Generator[SummariseEvent, None, None]:
        """The whole run."""
        with noticed_run(self._store.path) as unnoticed:
            if unnoticed:
                yield Note(unnoticed)
            cancelled = False
            try:
                yield from self._work()
            except Cancelled:
                cancelled = True
            report = SummaryReport(
                written=self._written,
                failed=self._failed,
                joined=self._joined,
                left=max(self._waiting - self._written - self._failed, 0),
                calls=self._calls,
                seconds=time.monotonic() - self._began,
                cancelled=cancelled,
            )
            yield Summarised(report)

    def _work(self) -> Iterator[SummariseEvent]:
        for event in self._stage.run(self._seconds):
            if isinstance(event, SummariesPlanned):
                self._waiting, self._joined = event.waiting, event.joined
            elif isinstance(event, SummaryWritten):
                self._written += 1
                self._calls += event.calls
            elif isinstance(event, SummaryFailed):
                self._failed += 1
            yield event
        if self._written:
            yield from self._vectors()

    def _vectors(self) -> Iterator[Embedded | Note]:
        """Make the vectors anew of what has other words now; without a model for them, a note says so."""
        active = self._store.vectors.active_space()
        if active is None:
            return
        try:
            embedder = wait_for(lambda: self._engines.embedder_for(active), self._cancel)
            vectors = VectorStage(self._store, embedder, self._cancel, self._engines.background)
        except Cancelled:
            raise
        except (EngineError, ModelError, EmbeddingSpaceMismatch) as error:
            yield Note(f"No vectors were made of the summaries; localrag index will make them. {error}")
            return
        yield from vectors.run("entity")
        yield from vectors.run("relation")
