"""Changes a knowledge base to another embedding model while questions go on being answered.

The new vectors are made in a second space, each batch in one transaction, by the stage that `index` uses: it
stands still when background work does, a stop or a crash loses one batch, and the next call goes on. Until
all are there, the old space is searched; then one transaction switches and drops the old vectors.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass

from localrag.engine.types import Embedder
from localrag.engines import Engines
from localrag.errors import Cancelled, EngineError, ModelNotFound
from localrag.indexing.events import Embedded, Note
from localrag.indexing.vectors import VectorStage
from localrag.runlock import ensure_free, noticed_run
from localrag.stopping import wait_for
from localrag.store.database import Store
from localrag.store.space_rows import SpaceProgress, SpaceRow
from localrag.store.spaces import OWNERS
from localrag.store.sqlite import read_only_error

_DONE = "re-embedded"


@dataclass(frozen=True)
class ReembedStarted:
    """What lies ahead."""

    model: str
    """The model that makes the new vectors."""

    before: str
    """The model whose vectors are searched until then; empty if there are none."""

    done: int
    """New vectors that an earlier run has made."""

    total: int
    """How many there will be."""


@dataclass(frozen=True)
class ReembedReport:
    """What a run did."""

    model: str
    """The model of the new vectors."""

    before: str
    """The model of the old ones; empty if there were none."""

    made: int
    """Vectors made in this run."""

    left_out: int
    """Texts that the model made no vector of."""

    switched: bool
    """Whether the new vectors are searched now and the old ones are gone."""

    already: bool
    """Whether the vectors were of this model before, so that nothing was changed."""

    cancelled: bool
    """Whether it was stopped; the next run goes on."""

    seconds: float
    """Wall time."""


@dataclass(frozen=True)
class Reembedded:
    """The last event."""

    report: ReembedReport
    """What was done."""


ReembedEvent = ReembedStarted | Embedded | Note | Reembedded


def reembed(
    store: Store, engines: Engines, model: str = "", cancel: threading.Event | None = None
) -> Generator[ReembedEvent, None, None]:
    """Make vectors of another embedding model and search in them once all are there.

    `model` is the name or path of one on this machine. Without it a change that was begun goes on, else the
    model of the settings is taken. When `cancel` is set it stops within half a second and ends with
    `Reembedded` as always.

    Raises `KnowledgeBaseReadOnly` at once; while it is iterated `ModelNotFound` and `ModelInvalid`, and
    `EngineError` if the model cannot be loaded or refuses texts in a row, `UsageError` if vectors of another
    model are half made or were dropped meanwhile, `KnowledgeBaseBusy` if another program does the same,
    `DiskFull`. What was stored is kept.
    """
    require_writable(store)
    return _Run(store, engines, model, cancel).events()


def cancel_reembedding(store: Store) -> SpaceProgress | None:
    """Drop new vectors that are half made; returns how far they were, None if there are none.

    Raises `KnowledgeBaseReadOnly`, and `KnowledgeBaseBusy` while another program makes them.
    """
    require_writable(store)
    ensure_free(store.path, _DONE)
    return store.vectors.drop_building()


def require_writable(store: Store) -> None:
    """Raises `KnowledgeBaseReadOnly` if nothing can be stored."""
    if store.read_only:
        raise read_only_error(store.path)


class _Run:
    """One run of `reembed`."""

    def __init__(self, store: Store, engines: Engines, model: str, cancel: threading.Event | None) -> None:
        self._store = store
        self._engines = engines
        self._wanted = model.strip()
        self._cancel = cancel
        self._began = time.monotonic()
        self._model = self._wanted
        self._before = ""
        self._made = 0
        self._left_out = 0
        self._switched = self._already = False

    def events(self) -> Generator[ReembedEvent, None, None]:
        """The whole run."""
        with noticed_run(self._store.path, _DONE, "does the same") as unnoticed:
            if unnoticed:
                yield Note(unnoticed)
            yield from self._whole()

    def _whole(self) -> Iterator[ReembedEvent]:
        cancelled = False
        try:
            yield from self._work()
        except Cancelled:
            cancelled = True
        seconds = time.monotonic() - self._began
        yield Reembedded(
            ReembedReport(
                self._model,
                self._before,
                self._made,
                self._left_out,
                self._switched,
                self._already,
                cancelled,
                seconds,
            )
        )

    def _work(self) -> Iterator[ReembedEvent]:
        vectors = self._store.vectors
        building = vectors.space_building()
        embedder = wait_for(lambda: self._embedder(building), self._cancel)
        space = wait_for(lambda: embedder.space, self._cancel)
        active = vectors.active_space()
        self._model, self._before = space.model, active.model if active is not None else ""
        if building is not None and not self._wanted and building.fingerprint != space.fingerprint:
            raise ModelNotFound(
                f"Vectors of {building.model} are half made, and that model is not here any more.",
                "Name its file: localrag reembed --embed-model FILE. Or drop them: localrag reembed "
                "--cancel.",
            )
        if active is not None and active.fingerprint == space.fingerprint:
            self._already = True
            if building is not None:
                yield Note(
                    f"Vectors of {building.model} are half made and were left alone: localrag reembed goes "
                    "on with them, localrag reembed --cancel drops them."
                )
            return
        # A file without vectors has nothing to go on with meanwhile: its first space is searched at once.
        space_id = vectors.begin_building(space) if active is not None else vectors.ensure_space(space)
        progress = vectors.building_progress()
        done, total = (progress.done, progress.total) if progress is not None else (0, 0)
        stage = VectorStage(self._store, embedder, self._cancel, self._engines.background, space_id=space_id)
        yield ReembedStarted(
            self._model, self._before, done, total or sum(stage.missing(kind) for kind in OWNERS)
        )
        while True:
            yield from self._fill(stage)
            if active is None or vectors.finish_building(space_id, stage.left_out()):
                break
        self._left_out = stage.left_out().total
        self._switched = True

    def _fill(self, stage: VectorStage) -> Iterator[Embedded | Note]:
        """Make what is missing in the new space. Raises `EngineError` if the model refuses texts in a row."""
        for kind in OWNERS:
            before = self._made
            for event in stage.run(kind):
                if isinstance(event, Embedded):
                    self._made = before + event.done
                yield event
            if stage.given_up:
                raise EngineError(
                    f"{self._model} makes no vectors of several texts in a row: {stage.given_up}",
                    "The old vectors stay in use. Try again: localrag reembed. Or give it up: "
                    "localrag reembed --cancel.",
                )

    def _embedder(self, building: SpaceRow | None) -> Embedder:
        """The model that was asked for, else the one that a change was begun with, else the settings'."""
        if self._wanted:
            return self._engines.embedder_named(self._wanted)
        if building is not None:
            return self._engines.embedder_of(building)
        return self._engines.embedder
