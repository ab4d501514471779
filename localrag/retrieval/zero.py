"""How much of the knowledge base the model has not read, where names by form stand in for the read graph."""

from __future__ import annotations

from localrag.store.database import Store


def unread_share(store: Store) -> float:
    """The part of the chunks that the model has not read, from 0 to 1."""
    counts = store.chunks.count()
    return 1 - counts.read / counts.total if counts.total else 0.0
