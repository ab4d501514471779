"""Finds what may answer a question, by one of the modes."""

from __future__ import annotations

from localrag.engine.types import Embedder
from localrag.errors import UsageError
from localrag.retrieval.mix import mix
from localrag.retrieval.naive import naive
from localrag.retrieval.query import make_query
from localrag.retrieval.types import MODES, Coverage, Retrieved
from localrag.sections import RetrievalSettings
from localrag.store.database import Store

_FINDERS = {"naive": naive, "mix": mix}


def check_mode(mode: str) -> None:
    """Raises `UsageError` for a mode that there is not, naming those that there are."""
    if mode not in _FINDERS:
        raise UsageError(f"There is no mode {mode!r}.", f"Modes: {', '.join(MODES)}.")


class Retriever:
    """Searches one file. Without an embedder it searches words and names only, and says so."""

    def __init__(self, store: Store, embedder: Embedder | None, settings: RetrievalSettings) -> None:
        self._store = store
        self._embedder = embedder
        self._settings = settings

    def retrieve(self, question: str, mode: str = "mix") -> Retrieved:
        """The passages, entities and relations for a question, each best first; nothing if nothing fits.

        Raises `UsageError` for an unknown mode.
        """
        check_mode(mode)
        query = make_query(self._store, self._embedder, question)
        try:
            passages, entities, relations = _FINDERS[mode](self._store, query, self._settings)
        except UsageError:
            if query.vector is None or self._store.vectors.has_space(query.space_id):
                raise
            # Another program has just changed the file to another embedding model.
            query = make_query(self._store, self._embedder, question)
            passages, entities, relations = _FINDERS[mode](self._store, query, self._settings)
        counts = self._store.chunks.count()
        return Retrieved(
            question=question,
            mode=mode,
            passages=passages,
            entities=entities,
            relations=relations,
            coverage=Coverage(counts.read, counts.total),
            notes=query.notes,
        )
