"""Makes the vectors that are missing, batch by batch, each batch one transaction."""

from __future__ import annotations

import textwrap
import threading
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from localrag.engine.types import Embedder, EmbeddingSpace
from localrag.errors import Cancelled, EmbeddingSpaceMismatch, EngineError
from localrag.indexing.events import Embedded, Note
from localrag.indexing.patience import patiently
from localrag.pausing import Pause
from localrag.stopping import wait_for
from localrag.store.database import Store
from localrag.store.rows import VectorKind
from localrag.store.space_rows import VectorCounts

TOGETHER = 32
"""Texts in one batch, and so the most that a stop can waste."""

REEMBED = "localrag reembed"
"""The command that makes new vectors."""

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
        *,
        space_id: int | None = None,
        fix: str = REEMBED,
    ) -> None:
        """Start the embedding model. `space_id` is the space to fill; without it the one that is searched.

        Raises `EmbeddingSpaceMismatch`, naming the command `fix`, if the file's vectors are of another space;
        `EngineError` and `ModelError` if the model cannot be loaded, `Cancelled`.
        """
        self._store = store
        self._embedder = embedder
        self._cancel = cancel
        self._pause = pause or Pause()
        self._failed: dict[VectorKind, set[int]] = {"chunk": set(), "entity": set(), "relation": set()}
        if space_id is None:
            space_id = _searched(store, wait_for(lambda: embedder.space, cancel), fix)
        self._space_id = space_id
        self.given_up = ""
        """Why the model was given up for a kind, as it said itself; empty if it was not."""

    def missing(self, kind: VectorKind) -> int:
        """How many rows have no vector, or one of an older text."""
        return self._store.vectors.count_missing(self._space_id, kind)

    def left_out(self) -> VectorCounts:
        """How many rows the model made no vector of."""
        return VectorCounts(*(len(self._failed[kind]) for kind in ("chunk", "entity", "relation")))

    def run(self, kind: VectorKind) -> Iterator[Embedded | Note]:
        """Make the missing vectors of a kind. Raises `Cancelled`.

        A text that the model refuses is noted and left out; after a few of them in a row the kind is given up
        for this run, since then the model is at fault. If another program has replaced the space meanwhile,
        a note says so.
        """
        total = self.missing(kind)
        done = in_a_row = 0
        try:
            for batch in self._batches(kind):
                self._pause.wait(self._cancel)
                if self._cancel is not None and self._cancel.is_set():
                    raise Cancelled("Stopped.", "What was done before is kept.")
                try:
                    self._put(kind, batch)
                    done, in_a_row = done + len(batch), 0
                except Cancelled:
                    raise
                except EngineError:
                    # One text may be at fault for all of its batch.
                    for row, text in batch:
                        reason = self._alone(kind, row, text)
                        if not reason:
                            done, in_a_row = done + 1, 0
                            continue
                        yield Note(f"{self._named(kind, row, text)} got no vector: {reason}")
                        in_a_row += 1
                        if in_a_row >= _MOST_FAILURES:
                            self.given_up = reason
                            yield Note(f"The other {_PLURAL[kind]} are left for the next run.")
                            return
                yield Embedded(done, max(total, done), _PLURAL[kind])
        except _SpaceGone:
            yield Note(
                "Another program replaced or dropped these vectors meanwhile, so no more of them are made; "
                "localrag status tells what there is."
            )

    def _batches(self, kind: VectorKind) -> Iterator[list[tuple[int, str]]]:
        """The rows to embed with their texts; without those that failed and those deleted meanwhile."""
        failed = self._failed[kind]
        last, found = 0, True
        while True:
            ids = self._store.vectors.missing(self._space_id, kind, TOGETHER, after=last)
            if not ids:
                if not found:
                    return
                # Once more from the start: texts may have changed behind us.
                last, found = 0, False
                continue
            last = ids[-1]
            wanted = [row for row in ids if row not in failed]
            texts = dict(zip(wanted, self._store.vectors.texts(kind, wanted), strict=True))
            failed.update(row for row, text in texts.items() if not text.strip())
            if batch := [(row, text) for row, text in texts.items() if text.strip()]:
                found = True
                yield batch

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

        def put() -> None:
            with self._store.transaction():
                if not self._store.vectors.has_space(self._space_id):
                    raise _SpaceGone
                self._store.vectors.put(self._space_id, kind, ids, vectors, texts=texts)

        patiently(put, self._cancel)


class _SpaceGone(Exception):
    """The space was dropped by another program."""


def _searched(store: Store, space: EmbeddingSpace, fix: str) -> int:
    """Id of the space that is searched: `space`, if the file had none. Raises `EmbeddingSpaceMismatch`."""
    active = store.vectors.active_space()
    if active is None:
        return store.vectors.ensure_space(space)
    if active.fingerprint == space.fingerprint:
        return active.id
    raise EmbeddingSpaceMismatch(
        f"The vectors of this knowledge base were made by {active.model}, and the embedding model in "
        f"use, {space.model}, makes others; the two cannot be compared.",
        f"Make new vectors: {fix}. Or keep the old ones: set models.embed to {active.model}.",
    )
