"""An open knowledge base: its file, its settings and engines, and the desks that look things up in it."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from localrag.claiming import ClaimDesk
from localrag.curating import AliasDesk, EntityDesk, RelationDesk, TagDesk
from localrag.engines import Engines
from localrag.library import LibraryDesk
from localrag.looking import GraphDesk
from localrag.questions import Questions
from localrag.settings import Settings
from localrag.store.database import Store
from localrag.surveying import SurveyDesk


class Opened(Questions):
    """What `KnowledgeBase` works on, and the questions to it. It belongs to the thread that opened it."""

    def __init__(self, store: Store, settings: Settings, engines: Engines | None) -> None:
        """For `create` and `open`, which are how a knowledge base is made."""
        self._store = store
        self._settings = settings
        self._own_engines = engines is None
        self._engines = engines or Engines(settings)
        super().__init__(store, self._engines, settings)
        store.vectors.cache.cap = settings.retrieval.vector_cache_mb << 20

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

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of how the file was opened, in sentences; mostly empty."""
        return self._store.notes

    @property
    def entities(self) -> EntityDesk:
        """Looks entities up and decides about them: merge, split, rename, retype, edit, delete, undo."""
        return EntityDesk(self._store)

    @property
    def relations(self) -> RelationDesk:
        """Looks relations up and decides about them: merge, reverse, split, edit, delete, undo."""
        return RelationDesk(self._store)

    @property
    def aliases(self) -> AliasDesk:
        """Other names of entities: list, add, remove, undo."""
        return AliasDesk(self._store)

    @property
    def tags(self) -> TagDesk:
        """Tags of documents: list, add, remove, undo."""
        return TagDesk(self._store)

    @property
    def claims(self) -> ClaimDesk:
        """Looks through claims: lists, timelines, contradictions, what makes them or is their subject."""
        return ClaimDesk(self._store)

    @property
    def library(self) -> LibraryDesk:
        """Looks through the documents: a list of all, one with its passages, what was read in a passage."""
        return LibraryDesk(self._store)

    @property
    def graph(self) -> GraphDesk:
        """Looks through the graph: finds entities, where they stand, what they are connected with."""
        return GraphDesk(self._store)

    @property
    def survey(self) -> SurveyDesk:
        """Looks over the whole file: communities with their reports, and what it holds at a glance."""
        return SurveyDesk(self._store)

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
