"""Automatic merges as the rest of the program uses them: brought up to date, taken back, listed."""

from __future__ import annotations

import numpy as np

from localrag.graph.resolution import VERSION
from localrag.store import merges, merges_upkeep
from localrag.store.decision_log import resolution
from localrag.store.merges import LinkRow, MergedRow
from localrag.store.merges_upkeep import Resolved
from localrag.store.session import Session
from localrag.store.sqlite import clean


class Merges:
    """Which names mean the same by what the documents say."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def due(self) -> bool:
        """Whether something was read since they were brought up to date, or they never were."""
        if self._session.value("SELECT merges_version FROM meta") != VERSION:
            return True
        return bool(self._session.value("SELECT EXISTS (SELECT 1 FROM unresolved)"))

    @property
    def on(self) -> bool:
        """Whether they are kept up in this file."""
        return merges.is_on(self._session)

    def bring_up(self) -> Resolved:
        """Derive what is due, and keep it up from then on: deletions take back what rested on them.

        Costs no model. Raises `KnowledgeBaseReadOnly`, `KnowledgeBaseBusy`, `DiskFull`.
        """
        return merges_upkeep.bring_up(self._session)

    def take_down(self) -> int:
        """Take all back and keep none up any more; returns the mentions that moved. Raises as `bring_up`."""
        return merges_upkeep.take_down(self._session).mentions

    def likely(self, limit: int) -> list[LinkRow]:
        """Pairs that a person may decide about, the likeliest first."""
        return merges.likely(self._session, resolution(self._session), limit)

    def into(self, entity_id: int) -> list[MergedRow]:
        """The names that were merged into an entity."""
        return merges.merged_into(self._session, entity_id)

    def meant(self, key: str) -> list[int]:
        """The entities that mentions with this folded name belong to, that of most passages first."""
        return [entity_id for _, entity_id in merges.meant_by(self._session, [clean(key)])]

    def similarity(self, one: int, other: int) -> float | None:
        """How alike the vectors of two entities are, from -1 to 1; None unless both have a current one."""
        rows = self._session.column(
            "SELECT v.vec FROM entity_vectors v JOIN embedding_spaces s ON s.id = v.space_id "
            "JOIN entities e ON e.id = v.entity_id WHERE s.active = 1 AND v.text_hash = e.text_hash "
            "AND e.id IN (?, ?)",
            [one, other],
        )
        if len(rows) != 2 or len(rows[0]) != len(rows[1]):
            return None
        first, second = (np.frombuffer(row, dtype="<f4").astype(np.float64) for row in rows)
        return float(first @ second)

    def is_name(self, key: str) -> bool:
        """Whether a passage mentions something by this folded name."""
        return bool(self._session.value("SELECT EXISTS (SELECT 1 FROM mentions WHERE key = ?)", [clean(key)]))

    def written(self, key: str) -> str:
        """How a folded name is most often written; empty if no passage has it."""
        return str(
            self._session.value(
                "SELECT name FROM mentions WHERE key = ? GROUP BY name ORDER BY count(*) DESC, name LIMIT 1",
                [clean(key)],
            )
            or ""
        )
