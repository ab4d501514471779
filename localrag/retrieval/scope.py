"""What a search may find: the rows that pass a question's filter, decided before anything is ranked."""

from __future__ import annotations

from functools import cached_property

from localrag.store.database import Store
from localrag.store.filters import Filter, Ids
from localrag.store.rows import VectorKind


class Scope:
    """The rows that may be found; None leaves out nothing of a kind. Looked up when they are first needed."""

    def __init__(self, store: Store | None = None, wanted: Filter | None = None) -> None:
        """Without a filter everything may be found."""
        self._store = store
        self._wanted = wanted or Filter()

    @cached_property
    def chunks(self) -> Ids | None:
        """Chunks."""
        return self._ids("chunk")

    @cached_property
    def entities(self) -> Ids | None:
        """Entities that an allowed chunk mentions. With `chunks`, only what these say is told of them."""
        return self._mentioned("entity")

    @cached_property
    def relations(self) -> Ids | None:
        """Relations; as with entities."""
        return self._mentioned("relation")

    @property
    def empty(self) -> bool:
        """Whether no passage may be found at all."""
        return self.chunks is not None and not self.chunks

    def of(self, kind: VectorKind) -> Ids | None:
        """The ids of a kind, for the `ids` of a search."""
        if kind == "chunk":
            return self.chunks
        return self.entities if kind == "entity" else self.relations

    def allows(self, kind: VectorKind, row_id: int) -> bool:
        """Whether a row may be found."""
        ids = self.of(kind)
        return ids is None or row_id in ids

    def _ids(self, kind: VectorKind) -> Ids | None:
        if self._store is None or self._wanted == Filter():
            return None
        return self._store.filters.ids(self._wanted, kind)

    def _mentioned(self, kind: VectorKind) -> Ids | None:
        found = self._ids(kind)
        if self._store is None or self.chunks is None or not self._wanted.about_claims:
            return found
        # The filter by claims lets an entity pass that a claim is about, wherever it is mentioned.
        return self._store.narrowed.within(kind, found, self.chunks)


EVERYTHING = Scope()
"""No filter."""


def scope_of(store: Store, wanted: Filter) -> Scope:
    """What passes a filter. Entities and relations pass if a chunk that passes mentions them."""
    return Scope(store, wanted)
