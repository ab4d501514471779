"""The knowledge base: the one façade that the command line, the screen and programs call.

A `KnowledgeBase` belongs to the thread that opened it. Several may be open on one file, one a thread, and
share one `Engines`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from localrag.adding import AddEvent, AddReport, add
from localrag.answering.answerer import Answerer
from localrag.answering.types import Answer, AskEvent
from localrag.documents.discovery import display_name
from localrag.engine.tuned import in_words
from localrag.engines import Engines
from localrag.errors import (
    Cancelled,
    KnowledgeBaseAmbiguous,
    KnowledgeBaseNotFound,
    KnowledgeBaseReadOnly,
    UsageError,
)
from localrag.indexing import IndexEvent, index
from localrag.retrieval.types import Coverage, Retrieved
from localrag.settings import Settings
from localrag.store.database import Store
from localrag.store.rows import ChunkCounts, DocumentRow, GraphCounts, JournalTotals

__all__ = [
    "SUFFIX",
    "AddEvent",
    "AddReport",
    "KnowledgeBase",
    "Status",
    "VectorStatus",
    "find_knowledge_base",
]

SUFFIX = ".localrag"
"""Ending of a knowledge base's file name."""


@dataclass(frozen=True)
class VectorStatus:
    """The vectors of a file."""

    model: str
    """Name of the embedding model that made them; empty without any."""

    dimension: int
    """Length of a vector; 0 without any."""

    chunks: int
    """Chunks that have one."""

    entities: int
    """Entities that have one."""

    relations: int
    """Relations that have one."""


@dataclass(frozen=True)
class Status:
    """The state of a knowledge base."""

    path: Path
    """Its file."""

    documents: tuple[DocumentRow, ...]
    """All documents, by path."""

    chunks: ChunkCounts
    """Chunks by state."""

    graph: GraphCounts
    """Entities and relations."""

    vectors: VectorStatus
    """Vectors."""

    coverage: Coverage
    """How much of the text the model has read."""

    revision: int
    """Grows with every change of the content."""

    size: int
    """Bytes of the file."""

    read_only: bool
    """Whether it can only be asked."""

    journal: JournalTotals
    """What the model wrote, in sums."""


class KnowledgeBase:
    """A knowledge base in one file.

    with KnowledgeBase.create(Path("notes.localrag")) as kb:
        kb.add([Path("notes")])
        for event in kb.index():
            print(event)
        print(kb.ask("Who repaired the bridge?").to_markdown())
    """

    def __init__(self, store: Store, settings: Settings, engines: Engines | None) -> None:
        """For `create` and `open`, which are how a knowledge base is made."""
        self._store = store
        self._settings = settings
        self._own_engines = engines is None
        self._engines = engines or Engines(settings)
        self._answerer = Answerer(store, self._engines, settings)

    @classmethod
    def create(cls, path: Path, *, settings: Settings | None = None, engines: Engines | None = None) -> Self:
        """Make a new knowledge base.

        Raises `KnowledgeBaseExists`, `KnowledgeBaseNotFound` (no such folder), `KnowledgeBaseReadOnly`.
        """
        return cls(Store.create(Path(path)), settings or Settings(), engines)

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        settings: Settings | None = None,
        engines: Engines | None = None,
        read_only: bool = False,
    ) -> Self:
        """Open a knowledge base; one that cannot be written is opened for asking only.

        Raises `KnowledgeBaseNotFound`, `NotAKnowledgeBase`, `NewerFormat`.
        """
        return cls(Store.open(Path(path), read_only=read_only), settings or Settings(), engines)

    @property
    def path(self) -> Path:
        """The file."""
        return self._store.path

    @property
    def read_only(self) -> bool:
        """Whether it can only be asked: opened so, or the file cannot be written."""
        return self._store.read_only

    def close(self) -> None:
        """Close the file, and the engines if they were not given by the caller. May be called twice."""
        self._store.close()
        if self._own_engines:
            self._engines.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def add(
        self,
        paths: Sequence[Path],
        on_event: Callable[[AddEvent], None] | None = None,
        cancel: threading.Event | None = None,
    ) -> AddReport:
        """Bring in files and folders, each file in one transaction; no model is needed.

        A bad file is stored with its reason and never stops the others; `on_event` hears of each file. When
        `cancel` is set, the report says so and holds what was done.

        Raises `KnowledgeBaseReadOnly`; `DocumentError` for a path that does not exist; `UsageError` if
        nothing among the paths can be read; `DiskFull` and `KnowledgeBaseBusy`, with the files before kept.
        """
        return add(self._store, paths, self._settings.chunking, on_event, cancel)

    def index(self, cancel: threading.Event | None = None) -> Generator[IndexEvent, None, None]:
        """Make vectors and read what is new; each event comes when what it tells of is stored.

        Stopped by `cancel`, by closing the iterator or by a crash, it goes on at the next call. Raises
        `KnowledgeBaseReadOnly` at once; while it is iterated `EmbeddingSpaceMismatch`, `ModelNotFound`,
        `EngineError`.
        """
        return index(self._store, self._engines, self._settings, cancel)

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

    def search(self, question: str, *, mode: str = "mix") -> Retrieved:
        """What would be put before the model, without asking it.

        Raises `UsageError` for an empty question or an unknown mode, `NothingIndexed`.
        """
        return self._answerer.retrieve(question, mode)

    def stream(
        self, question: str, *, mode: str = "mix", cancel: threading.Event | None = None
    ) -> Generator[AskEvent, None, None]:
        """Answer a question piece by piece; the last event is the `Answer`.

        While it is iterated it raises `UsageError`, `NothingIndexed`, `ModelNotFound`, `PromptTooLong`,
        `EngineError`, and `Cancelled` within half a second after `cancel` is set.
        """
        return self._answerer.stream(question, mode, cancel)

    def ask(
        self,
        question: str,
        *,
        mode: str = "mix",
        on_event: Callable[[AskEvent], None] | None = None,
        cancel: threading.Event | None = None,
    ) -> Answer:
        """Answer a question; `on_event` hears of everything that `stream` gives. Raises as `stream` does."""
        for event in self.stream(question, mode=mode, cancel=cancel):
            if on_event is not None:
                on_event(event)
            if isinstance(event, Answer):
                return event
        raise Cancelled("The answer was stopped.", "Ask again.")

    def status(self) -> Status:
        """The state of the knowledge base."""
        store = self._store
        chunks = store.chunks.count()
        info = store.info()
        space = store.vectors.active_space()
        return Status(
            path=store.path,
            documents=tuple(store.documents.list()),
            chunks=chunks,
            graph=store.graph.counts(),
            vectors=VectorStatus(
                model=space.model if space is not None else "",
                dimension=space.dimension if space is not None else 0,
                chunks=info.counts.get("chunk_vectors", 0),
                entities=info.counts.get("entity_vectors", 0),
                relations=info.counts.get("relation_vectors", 0),
            ),
            coverage=Coverage(chunks.read, chunks.total),
            revision=info.revision,
            size=info.size,
            read_only=store.read_only,
            journal=store.journal.totals(),
        )

    def document_text(self, document: int) -> str:
        """The text of a document, by id. Raises `UsageError` if there is none."""
        return self._store.documents.text(document)

    def delete(self, document: str | int) -> None:
        """Remove a document, by path or id, and exactly what it said.

        Raises `UsageError` if there is none or if several have the path, `KnowledgeBaseReadOnly`.
        """
        if self._store.read_only:
            raise KnowledgeBaseReadOnly(
                f"{self.path.name} can be asked but not changed.", "Open it where it can be written."
            )
        self._store.documents.delete(document if isinstance(document, int) else self._id_of(document))

    def _id_of(self, path: str) -> int:
        rows = self._store.documents.list()
        found = [row for row in rows if path in (row.path, f"{row.root.rstrip('/')}/{row.path}")]
        if not found:
            raise UsageError(f"There is no document {path!r} in the knowledge base.", "See localrag status.")
        if len(found) > 1:
            places = ", ".join(f"{row.root.rstrip('/')}/{row.path}" for row in found)
            raise UsageError(f"Several documents are named {path!r}.", f"Name one in full: {places}.")
        return found[0].id


def find_knowledge_base(folder: Path, named: Path | None = None) -> Path:
    """The knowledge base to work with: the named one, else the only one in `folder`.

    Raises `KnowledgeBaseNotFound` and `KnowledgeBaseAmbiguous`, both saying what to type.
    """
    if named is not None:
        if not named.exists():
            shown = display_name(str(named))
            raise KnowledgeBaseNotFound(f"There is no file {shown}.", f"Make it: localrag init {shown}")
        return named
    try:
        found = sorted(path for path in folder.iterdir() if path.suffix == SUFFIX and path.is_file())
    except OSError as error:
        raise KnowledgeBaseNotFound(
            f"The folder {display_name(str(folder))} cannot be looked through: {error.strerror}.",
            "Name the knowledge base with --kb FILE.",
        ) from error
    if not found:
        raise KnowledgeBaseNotFound(
            "There is no knowledge base in this folder.",
            f"Make one: localrag init NAME{SUFFIX}. Or name one that is elsewhere with --kb FILE.",
        )
    if len(found) > 1:
        names = ", ".join(display_name(path.name) for path in found)
        raise KnowledgeBaseAmbiguous(
            f"There are several knowledge bases in this folder: {names}.",
            f"Name one: --kb {display_name(found[0].name)}",
        )
    return found[0]
