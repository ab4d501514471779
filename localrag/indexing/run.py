"""One index run from beginning to end: vectors of the chunks, their reading, vectors of what was found.

Every batch of vectors and every chunk read is one transaction, so whatever ends the run, the next one
starts behind the last of them.
"""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Generator, Iterator

from localrag.engines import Engines
from localrag.errors import Cancelled, EngineError, ModelError
from localrag.extraction.claims import ClaimReader
from localrag.extraction.extractor import Extractor
from localrag.indexing.budget import Budget, Meter
from localrag.indexing.claim_events import ClaimsFailed, ClaimsRead, ClaimsStarted
from localrag.indexing.claims import ClaimStage
from localrag.indexing.estimate import Estimate, Estimator
from localrag.indexing.events import (
    ChunkFailed,
    ChunkRead,
    Embedded,
    Finished,
    IndexEvent,
    IndexReport,
    Note,
    Started,
)
from localrag.indexing.preference import Preference
from localrag.indexing.reading import ReadingStage
from localrag.indexing.summaries import SummaryStage, stage_of
from localrag.indexing.summary_events import SummaryWritten
from localrag.indexing.vectors import REEMBED, VectorStage
from localrag.naming import name_due
from localrag.prompts.personal import own_prompts
from localrag.resolving import resolve
from localrag.runlock import noticed_run
from localrag.settings import Settings
from localrag.stopping import wait_for
from localrag.store.database import Store
from localrag.store.rows import VectorKind
from localrag.store.sqlite import read_only_error


def index(
    store: Store,
    engines: Engines,
    settings: Settings,
    cancel: threading.Event | None = None,
    budget: Budget | None = None,
    prefer: Preference | None = None,
) -> Generator[IndexEvent, None, None]:
    """Embed and read what is new, then embed the entities and relations found; events come as it happens.

    With a `budget` it ends when that is used up, and the report says so. Chunks of the documents in `prefer`
    are read before others; it may change while the run goes on. When `cancel` is set it stops within
    half a second and ends with `Finished` as always.
    Raises `KnowledgeBaseReadOnly`, `SettingsError` and `PromptError` at once; while it is iterated, before
    anything is done, `KnowledgeBaseBusy` if another program indexes the file, `EmbeddingSpaceMismatch` if the
    embedding model is another than the file's, and `ModelNotFound` or `ModelInvalid` if the settings name one
    that cannot be had; `ModelNotFound` if there is something to read and no model, after the vectors;
    `EngineError` if the engine as a whole fails. What was stored is kept.
    """
    if store.read_only:
        raise read_only_error(store.path)
    return _Run(store, engines, settings, cancel, budget or Budget(), prefer or Preference()).events()


def expected(store: Store, engines: Engines, settings: Settings) -> Estimate:
    """What `index` would take now; nothing is done, and no model is started.

    Raises `SettingsError` and `PromptError`.
    """
    extractor = Extractor(settings.extraction, own_prompts(settings))
    return Estimator(store, extractor, _claim_reader(settings), *engines.measured()).estimate()


def _claim_reader(settings: Settings) -> ClaimReader | None:
    """What reads claims, if the settings want that with every run."""
    if not settings.claims.at_index:
        return None
    return ClaimReader(settings.claims, settings.extraction, own_prompts(settings))


def reembed_command(settings: Settings) -> str:
    """The command that makes vectors of the model in these settings, as a shell takes it."""
    named = settings.models.embed.strip()
    if not named or settings.remote.embed_url:
        return REEMBED
    return f"{REEMBED} --embed-model {shlex.quote(named)}"


class _Run:
    """One run of `index`."""

    def __init__(
        self,
        store: Store,
        engines: Engines,
        settings: Settings,
        cancel: threading.Event | None,
        budget: Budget,
        prefer: Preference,
    ) -> None:
        self._store = store
        self._engines = engines
        self._settings = settings
        self._embedder_named = bool(settings.models.embed)
        self._active = store.vectors.active_space()
        # Before anything is done, so that a setting without meaning is told at once.
        self._extractor = Extractor(settings.extraction, own_prompts(settings))
        self._claims_reader = _claim_reader(settings)
        self._summaries = stage_of(store, engines, settings, cancel) if settings.summaries.at_index else None
        self._cancel = cancel
        self._budget = budget
        self._meter = Meter(budget)
        self._prefer = prefer
        self._read = 0
        self._failed = 0
        self._left_out = 0
        self._rejects = 0
        self._claims = self._claims_failed = self._summed = 0

    def events(self) -> Generator[IndexEvent, None, None]:
        """The whole run."""
        with noticed_run(self._store.path) as unnoticed:
            if unnoticed:
                yield Note(unnoticed)
            yield from self._whole()

    def _whole(self) -> Iterator[IndexEvent]:
        cancelled = False
        try:
            yield from self._work()
        except Cancelled:
            cancelled = True
        graph = self._store.graph.counts()
        yield Finished(
            IndexReport(
                read=self._read,
                failed=self._failed,
                entities=graph.entities,
                relations=graph.relations,
                rejects=self._rejects,
                seconds=self._meter.elapsed,
                cancelled=cancelled,
                left_out=self._left_out,
                reason="" if cancelled else self._meter.reason,
                left=sum(len(rows) for rows in self._store.chunks.waiting()),
                tokens=self._meter.spent,
                claims=self._claims,
                claims_failed=self._claims_failed,
                summaries=self._summed,
            )
        )

    def _work(self) -> Iterator[IndexEvent]:
        vectors, note = self._vectors()
        # Of files of an older format, and of what was mended: the order of reading needs it.
        name_due(self._store, self._cancel)
        pending = [row for rows in self._store.chunks.waiting() for row in rows]
        to_embed = vectors.missing("chunk") if vectors is not None else 0
        ahead = self._ahead(bool(pending))
        yield Started(len(pending), to_embed, len({row.document_id for row in pending}), ahead)
        if note is not None:
            yield note
        if vectors is not None:
            yield from self._embedding(vectors, "chunk")
        if pending and ahead is not None and not self._meter.over():
            yield from self._reading(ahead)
        # Before what is made of entities: summaries and vectors of one that is merged would be lost.
        resolve(self._store, self._settings.resolution)
        if self._summaries is not None and not (self._meter.over() or self._meter.reason):
            yield from self._summing_up(self._summaries)
        if vectors is not None:
            if pending and not vectors.given_up:
                # Also those of what another program, or a watch, put in meanwhile.
                yield from self._embedding(vectors, "chunk")
            yield from self._embedding(vectors, "entity")
            yield from self._embedding(vectors, "relation")
            if problem := self._store.vectors.prepare():
                yield Note(f"Searching will be slower than it could be. {problem}")
        if self._claims_reader is not None and not (self._meter.over() or self._meter.reason):
            yield from self._claiming(self._claims_reader)

    def _ahead(self, pending: bool) -> Estimate | None:
        """What reading and claims will take; None if there is nothing to read."""
        if not pending and self._claims_reader is None:
            return None
        measured = self._engines.measured()
        found = Estimator(self._store, self._extractor, self._claims_reader, *measured).estimate()
        return found if found.chunks or found.claim_chunks else None

    def _embedding(self, vectors: VectorStage, kind: VectorKind) -> Iterator[IndexEvent]:
        """Make vectors until all are there or the time is up."""
        if self._meter.over():
            return
        began, done = time.monotonic(), 0
        for event in vectors.run(kind):
            if isinstance(event, Embedded):
                self._meter.vectors(event.done - done, time.monotonic() - began)
                began, done = time.monotonic(), event.done
            yield event
            if self._meter.over():
                return

    def _summing_up(self, stage: SummaryStage) -> Iterator[IndexEvent]:
        """Write summaries while there is time. Tokens are for reading: a run that counts them writes none."""
        if self._budget.tokens is not None:
            return
        try:
            for event in stage.run(self._meter.seconds_left if self._budget.limited else None):
                self._summed += isinstance(event, SummaryWritten)
                yield event
        except ModelError as error:
            yield Note(f"Summaries wait for a model that reads. {error}")

    def _claiming(self, reader: ClaimReader) -> Iterator[IndexEvent]:
        """Read the claims of what is read, of earlier runs too."""
        chunks = self._store.claim_search.unread(reader.task)
        if not chunks:
            return
        yield ClaimsStarted(len(chunks))
        stage = ClaimStage(
            self._store, reader, self._engines.model, self._cancel, self._engines.background, self._meter
        )
        for event in stage.run(chunks):
            if isinstance(event, ClaimsRead):
                self._claims += event.claims
                self._rejects += event.rejects
            self._claims_failed += isinstance(event, ClaimsFailed)
            yield event

    def _vectors(self) -> tuple[VectorStage | None, Note | None]:
        """The vectors' stage, or why there is none: reading is worth it without vectors too.

        A model that a person named is another matter: a name that fits none is told at once.
        """
        try:
            embedder = wait_for(lambda: self._engines.embedder_for(self._active), self._cancel)
            fix = reembed_command(self._settings)
            pause = self._engines.background
            return VectorStage(self._store, embedder, self._cancel, pause, fix=fix), None
        except Cancelled:
            raise
        except (EngineError, ModelError) as error:
            if self._embedder_named and isinstance(error, ModelError):
                raise
            text = f"No vectors are made, so questions will search words and names only. {error}"
            return None, Note(text)

    def _reading(self, ahead: Estimate) -> Iterator[IndexEvent]:
        self._meter.expect(ahead.seconds_a_token, ahead.cost_of_a_token)
        stage = ReadingStage(
            self._store,
            self._extractor,
            self._engines.model,
            self._cancel,
            self._engines.background,
            self._meter,
            self._prefer,
        )
        for event in stage.run(ahead.chunks, ahead.chunk_tokens):
            if isinstance(event, ChunkRead):
                self._read += 1
                self._rejects += event.rejects
            elif isinstance(event, ChunkFailed):
                self._failed += 1
                self._left_out += event.left_out
            yield event
