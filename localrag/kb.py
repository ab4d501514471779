"""The knowledge base: the one façade that the command line, the screen and programs call.

A `KnowledgeBase` belongs to the thread that opened it. Several may be open on one file, one a thread, and
share one `Engines`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

from localrag import filing
from localrag.adding import AddEvent, AddReport, add
from localrag.claiming import ClaimEvent, Wanted, extract_claims
from localrag.deleting import Deleted, delete
from localrag.engine.tuned import in_words
from localrag.finding import SUFFIX, document_named, find_knowledge_base
from localrag.indexing import Ahead, Budget, Estimate, IndexEvent, Preference, expected, index, look_ahead
from localrag.opened import Opened
from localrag.overview import Status, VectorStatus, overview
from localrag.reembedding import ReembedEvent, cancel_reembedding, reembed
from localrag.retrying import RetryReport, retry
from localrag.runlock import ensure_free
from localrag.store.failure_rows import FailedFile, FailedPassage
from localrag.store.file_rows import FileFacts, MergeReport
from localrag.store.followed_rows import RootRow
from localrag.store.space_rows import SpaceProgress
from localrag.store.sqlite import read_only_error
from localrag.summarising import SummariseEvent, summarise
from localrag.syncing import Options as SyncOptions
from localrag.syncing import PatternChange, SyncEvent, SyncReport, sync, unfollow
from localrag.watching import Targets, Watch, targets

__all__ = [
    "SUFFIX",
    "AddEvent",
    "AddReport",
    "Deleted",
    "KnowledgeBase",
    "PatternChange",
    "Status",
    "SyncEvent",
    "SyncOptions",
    "SyncReport",
    "VectorStatus",
    "find_knowledge_base",
]


class KnowledgeBase(Opened):
    """A knowledge base in one file.

    with KnowledgeBase.create(Path("notes.localrag")) as kb:
        kb.add([Path("notes")])
        for event in kb.index():
            print(event)
        print(kb.ask("Who repaired the bridge?").to_markdown())
    """

    def extract_claims(
        self, wanted: Wanted | None = None, cancel: threading.Event | None = None
    ) -> Generator[ClaimEvent, None, None]:
        """Read claims in what was indexed: about whom, which and where as `wanted` says, else the settings.

        Stopped in any way it goes on at the next call. The last event is `ClaimsFinished`. Raises as
        `claiming.extract_claims` says.
        """
        return extract_claims(self._store, self._engines, self._settings, wanted, cancel)

    def add(
        self,
        paths: Sequence[Path],
        on_event: Callable[[AddEvent], None] | None = None,
        cancel: threading.Event | None = None,
        patterns: PatternChange | None = None,
    ) -> AddReport:
        """Bring in files and folders, each file in one transaction; no model is needed.

        Folders are followed from then on: `sync` finds what changes in them. `patterns` are kept with them. A
        bad file is stored with its reason and never stops the others; `on_event` hears of each file. When
        `cancel` is set, the report says so and holds what was done.

        Raises `KnowledgeBaseReadOnly`; `DocumentError` for a path that does not exist; `UsageError` if
        nothing among the paths can be read; `DiskFull` and `KnowledgeBaseBusy`, with the files before kept.
        """
        return add(self._store, paths, self._settings.chunking, on_event, cancel, patterns)

    def sync(
        self,
        paths: Sequence[Path] = (),
        *,
        patterns: PatternChange | None = None,
        options: SyncOptions | None = None,
        on_event: Callable[[SyncEvent], None] | None = None,
        cancel: threading.Event | None = None,
    ) -> SyncReport:
        """Find what is new, changed, moved and gone in the followed folders and files; no model is needed.

        See `syncing.sync`. Raises `NothingIndexed` if nothing is followed, `UsageError` for a path that is
        not followed, `KnowledgeBaseReadOnly`, `DiskFull` and `KnowledgeBaseBusy`.
        """
        chunking = self._settings.chunking
        return sync(
            self._store,
            chunking,
            paths,
            patterns=patterns,
            options=options,
            on_event=on_event,
            cancel=cancel,
        )

    def watch(self, *, poll: bool = False) -> Watch:
        """A watch over all that is followed, as a context manager; `sync` then finds out what changed.

        `poll` is for places where the system does not tell of changes, such as network drives.
        """
        return Watch(self.watched(), poll=poll)

    def watched(self) -> Targets:
        """What a watch is to be aimed at now; another program may follow further folders meanwhile."""
        return targets(self._store)

    def followed(self) -> list[RootRow]:
        """The folders that are followed, with their patterns."""
        return self._store.roots.list()

    def unfollow(self, *folders: Path) -> None:
        """Follow folders no more; their documents stay. Raises `UsageError` if one is not followed."""
        unfollow(self._store, *folders)

    def index(
        self,
        cancel: threading.Event | None = None,
        budget: Budget | None = None,
        prefer: Preference | None = None,
    ) -> Generator[IndexEvent, None, None]:
        """Make vectors and read what is new, what connects most first; each event comes when what it tells of
        is stored.

        With a `budget` it ends when that is used up; documents in `prefer`, which may change meanwhile, are
        read before others. Stopped by `cancel`, by closing the iterator or by a
        crash, it goes on at the next call. Raises
        `KnowledgeBaseReadOnly` at once; while it is iterated `KnowledgeBaseBusy` if another program indexes
        the file, `EmbeddingSpaceMismatch`, `ModelNotFound`, `EngineError`.
        """
        return index(self._store, self._engines, self._settings, cancel, budget, prefer)

    def estimate(self) -> Estimate:
        """What `index` would take now: calls, tokens and time; nothing is done, and no model is started."""
        return expected(self._store, self._engines, self._settings)

    def ahead(self, prefer: Preference | None = None) -> Ahead:
        """`estimate`, with the documents that wait, in the order of reading, and the missing vectors."""
        return look_ahead(self._store, self._engines, self.estimate(), prefer)

    def retry(
        self,
        documents: Sequence[str | int] = (),
        *,
        everything: bool = False,
        on_event: Callable[[AddEvent], None] | None = None,
        cancel: threading.Event | None = None,
    ) -> RetryReport:
        """Let failed passages be read again by the next index run, and read failed files again now.

        Of these documents, by path or id, or of all; passages over which the engine died only if their
        document is named, or with `everything`. Raises `UsageError` for a document that is not there,
        `KnowledgeBaseReadOnly`.
        """
        ids = {item if isinstance(item, int) else document_named(self._store, item).id for item in documents}
        chunking = self._settings.chunking
        return retry(
            self._store,
            chunking,
            ids if documents else None,
            everything=everything,
            on_event=on_event,
            cancel=cancel,
        )

    def failures(self) -> tuple[list[FailedFile], list[FailedPassage]]:
        """The files that could not be read, and the passages that the model could not read."""
        return self._store.failures.files(), self._store.failures.passages()

    def ensure_not_indexing(self) -> None:
        """Raise `KnowledgeBaseBusy` if another program indexes this file, as `index` would, but at once."""
        ensure_free(self.path)

    def measure_machine(
        self, on_step: Callable[[str], None] = lambda text: None, cancel: threading.Event | None = None
    ) -> str:
        """Measure the language model on this machine, unless that was done or the settings forbid it.

        Programs with a person before them call it before the first `index` or `stream`; without it usual
        values are taken. `on_step` first hears `engines.MEASURING`, then of every step. Returns the result in
        a sentence, empty if nothing had to be measured. Raises `Cancelled`, and as `stream` does if the model
        cannot be loaded.
        """
        measured = self._engines.measure_first(on_step, cancel)
        if measured is None:
            return ""
        return f"{in_words(measured.tuning)} {measured.note}".strip()

    def engine_notes(self) -> tuple[str, ...]:
        """What a person should know of how the language model runs: settings that were adjusted, a borrowed
        template. Empty until it has started."""
        return self._engines.notes()

    def pause_indexing(self) -> None:
        """Let indexing stand still where it is, while questions are answered; nothing read so far is lost.

        Holds for every knowledge base that shares these engines. Does not wait, and unlike the rest of this
        class may be called from any thread.
        """
        self._engines.pause_background()

    def resume_indexing(self) -> None:
        """Let indexing go on. May be called from any thread."""
        self._engines.resume_background()

    def reembed(
        self, model: str = "", cancel: threading.Event | None = None
    ) -> Generator[ReembedEvent, None, None]:
        """Make vectors of another embedding model, and search in them once all are there.

        `model` is a name or path; empty goes on with a change that was begun, or takes the settings' model.
        Can be stopped, killed and called again; questions are answered meanwhile. The last event is
        `Reembedded`. Raises as `reembedding.reembed` says.
        """
        return reembed(self._store, self._engines, model, cancel)

    def summarize(
        self,
        *,
        limit: int | None = None,
        minutes: float | None = None,
        cancel: threading.Event | None = None,
    ) -> Generator[SummariseEvent, None, None]:
        """Sum up what many passages say of an entity or a relation, most connected first, where it changed.

        At most `limit` of them and for about `minutes`. The last event is `Summarised`; stopped in any way,
        it goes on at the next call. Raises as `summarising.summarise` says.
        """
        return summarise(self._store, self._engines, self._settings, cancel, limit=limit, minutes=minutes)

    def cancel_reembedding(self) -> SpaceProgress | None:
        """Drop new vectors that are half made; returns how far they were, None if there are none.

        Raises `KnowledgeBaseReadOnly`, and `KnowledgeBaseBusy` while another program makes them.
        """
        return cancel_reembedding(self._store)

    def status(self) -> Status:
        """The state of the knowledge base."""
        return overview(self._store)

    def info(self) -> FileFacts:
        """Identity, format, embedding spaces, and what takes the file's room; reads every table once."""
        return self._store.describe()

    def export(self, target: Path, *, overwrite: bool = False, cancel: threading.Event | None = None) -> int:
        """Write a copy of the knowledge base to a file; returns its bytes. See `filing.export`."""
        return filing.export(self.path, target, overwrite=overwrite, cancel=cancel)

    def merge(
        self,
        sources: Sequence[Path],
        *,
        dry: bool = False,
        cancel: threading.Event | None = None,
        on_report: Callable[[MergeReport], None] = lambda report: None,
    ) -> list[MergeReport]:
        """Join other knowledge bases into this one, each in one transaction. See `filing.merge`."""
        return filing.merge(self._store, sources, dry=dry, cancel=cancel, on_report=on_report)

    def document_text(self, document: int) -> str:
        """The text of a document, by id. Raises `UsageError` if there is none."""
        return self._store.documents.text(document)

    def delete(self, document: str | int) -> None:
        """Remove a document, by path or id, and exactly what it said.

        Raises `UsageError` if there is none or if several have the path, `KnowledgeBaseReadOnly`.
        """
        if self._store.read_only:
            raise read_only_error(self.path)
        self._store.documents.delete(
            document if isinstance(document, int) else document_named(self._store, document).id
        )

    def delete_documents(self, documents: Sequence[str | int], *, dry_run: bool = False) -> Deleted:
        """Remove documents, by path, id, folder or pattern, in one transaction, and say what went with them.

        With `dry_run` nothing changes, and the numbers are exact all the same. Raises as `deleting.delete`.
        """
        return delete(self._store, documents, dry_run=dry_run)
