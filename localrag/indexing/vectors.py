"""Makes the vectors that are missing, batch by batch, each batch one transaction."""

from __future__ import annotations

import textwrap
import threading
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from localrag.engine.types import Embedder
from localrag.errors import Cancelled, EmbeddingSpaceMismatch, EngineError
from localrag.indexing.events import Embedded, Note
from localrag.pausing import Pause
from localrag.stopping import wait_for
from localrag.store.database import Store
from localrag.store.rows import VectorKind

TOGETHER = 32
"""Texts in one batch, and so the most that a stop can waste."""

_MOST_FAILURES = 3
_SHOWN = 60
_PLURAL: dict[VectorKind, str] = {"chunk": "chunks", "entity": "entities", "relation": "relations"}


class VectorStage:
    """Vectors of one run, all of one space."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        cancel: threading.Event | None,
        pause: Pause | None = None,
    ) -> None:
        """Start the embedding model.

        Raises `EmbeddingSpaceMismatch` if the file's vectors are of another space, `EngineError` and
        `ModelError` if the model cannot be loaded, `Cancelled`.
        """
        self._store = store
        self._embedder = embedder
        self._cancel = cancel
        self._pause = pause or Pause()
        self._failed: dict[VectorKind, set[int]] = {"chunk": set(), "entity": set(), "relation": set()}
        space = wait_for(lambda: embedder.space, cancel)
        active = store.vectors.active_space()
        if active is not None and active.fingerprint != space.fingerprint:
            raise EmbeddingSpaceMismatch(
                f"The vectors of this knowledge base were made by {active.model}, and the embedding model in "
                f"use, {space.model}, makes others; the two cannot be compared.",
                f"Set models.embed to {active.model}, or make a new knowledge base with {space.model}.",
            )
        self._space_id = active.id if active is not None else store.vectors.ensure_space(space)

    def missing(self, kind: VectorKind) -> int:
        """How many rows have no vector, or one of an older text."""
        return len(self._store.vectors.missing(self._space_id, kind))

    def run(self, kind: VectorKind) -> Iterator[Embedded | Note]:
        """Make the missing vectors of a kind. Raises `Cancelled`.

        A text that the model refuses is noted and left out; after a few of them the kind is given up for
        this run, since then the model is at fault.
        """
        failed = self._failed[kind]
        total = self.missing(kind)
        done = 0
        while batch := self._next(kind):
            self._pause.wait(self._cancel)
            try:
                self._put(kind, batch)
                done += len(batch)
            except Cancelled:
                raise
            except EngineError:
                # One text may be at fault for all of its batch.
                for row, text in batch:
                    reason = self._alone(kind, row, text)
                    if reason:
                        yield Note(f"{self._named(kind, row, text)} got no vector: {reason}")
                    else:
                        done += 1
                    if len(failed) >= _MOST_FAILURES:
                        yield Note(f"The other {_PLURAL[kind]} are left for the next run.")
                        return
            yield Embedded(done, max(total, done), _PLURAL[kind])

    def _next(self, kind: VectorKind) -> list[tuple[int, str]]:
        """The next rows with their texts; without those that failed and those deleted meanwhile."""
        failed = self._failed[kind]
        ids = self._store.vectors.missing(self._space_id, kind, TOGETHER + len(failed))
        wanted = [row for row in ids if row not in failed][:TOGETHER]
        texts = self._store.vectors.texts(kind, wanted)
        return [(row, text) for row, text in zip(wanted, texts, strict=True) if text.strip()]

    def _alone(self, kind: VectorKind, row: int, text: str) -> str:
        """Make one vector; returns why it could not be made."""
        try:
            self._put(kind, [(row, text)])
        except Cancelled:
            raise
        except EngineError as error:
            self._failed[kind].add(row)
            return error.message
        return ""

    def _named(self, kind: VectorKind, row: int, text: str) -> str:
        """Which row it is, for people."""
        for chunk in self._store.chunks.many([row]) if kind == "chunk" else []:
            return f"{self._store.documents.get(chunk.document_id).path}: chunk {chunk.ordinal + 1}"
        return f"One of the {_PLURAL[kind]} ({textwrap.shorten(text, _SHOWN, placeholder='…')})"

    def _put(self, kind: VectorKind, batch: Sequence[tuple[int, str]]) -> None:
        ids, texts = [row for row, _ in batch], [text for _, text in batch]

        def embed() -> NDArray[np.float32]:
            return self._embedder.embed(texts, "passage")

        vectors = wait_for(embed, self._cancel)
        self._store.vectors.put(self._space_id, kind, ids, vectors, texts=texts)
