"""Chooses the embedding model for questions to a file: the one that made its vectors, if it is here."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from localrag.engine.types import Embedder, EmbeddingSpace, TextKind
from localrag.engines import Engines
from localrag.stopping import wait_for
from localrag.store.space_rows import SpaceRow


class FittingEmbedder:
    """The embedding model that made a file's vectors, if it is here, else that of the settings.

    It is looked for at its first use, and not waited for once it is told to stop.
    """

    def __init__(self, engines: Engines, space: SpaceRow | None, cancel: threading.Event | None) -> None:
        self._engines = engines
        self._space = space
        self._cancel = cancel
        self._used: Embedder | None = None

    @property
    def space(self) -> EmbeddingSpace:
        """Identity of the vectors. Raises as `Engines.embedder_of` does, and `Cancelled`."""
        return wait_for(lambda: self._embedder().space, self._cancel)

    def embed(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
        """Unit vectors. Raises as `space` does."""
        return wait_for(lambda: self._embedder().embed(texts, kind), self._cancel)

    def close(self) -> None:
        """The engines close it."""

    def notes(self) -> tuple[str, ...]:
        """What to tell if another model than the one in the settings was used."""
        named = self._engines.named_embedder
        if not named or self._space is None or self._used is None or self._engines.is_configured(self._used):
            return ()
        return (
            f"The settings name the embedding model {named}; this knowledge base has the vectors of "
            f"{self._space.model}, so that one was used. localrag reembed makes new vectors.",
        )

    def _embedder(self) -> Embedder:
        if self._used is None:
            engines = self._engines
            self._used = engines.embedder if self._space is None else engines.embedder_of(self._space)
        return self._used
