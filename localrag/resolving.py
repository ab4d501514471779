"""Brings the automatic merges of a knowledge base in step with its settings; no model is needed."""

from __future__ import annotations

from localrag.sections import ResolutionSettings
from localrag.store.database import Store
from localrag.store.merges_upkeep import Resolved


def resolve(store: Store, settings: ResolutionSettings) -> Resolved:
    """Merge names that surely mean the same, as far as something was read since the last time.

    With `automatic` off, all that was merged before is taken back. One transaction. Raises
    `KnowledgeBaseReadOnly`, `KnowledgeBaseBusy`, `DiskFull`.
    """
    if settings.automatic:
        return store.merges.bring_up() if store.merges.due else Resolved()
    return Resolved(mentions=store.merges.take_down()) if store.merges.on else Resolved()
