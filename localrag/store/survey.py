"""What a file holds as a whole: its communities in outline, and its claims in numbers."""

from __future__ import annotations

from dataclasses import dataclass

from localrag.store.facts import TITLED
from localrag.store.report_rows import ClaimStatus
from localrag.store.session import Session


@dataclass(frozen=True, slots=True)
class CommunityLine:
    """A community as a tree shows it."""

    id: int
    """The community."""

    level: int
    """Its level; 0 is the coarsest."""

    parent_id: int | None
    """The community of the level above that holds it."""

    members: int
    """Number of its entities."""

    title: str
    """Title of the model's report; without one the names that most passages mention."""

    rating: float | None
    """0 to 10: how much the model takes it to matter; None without its report."""

    by_model: bool
    """Whether there is a report of the model."""

    dirty: bool
    """Whether the graph has changed since the report."""


class Survey:
    """Reads the outline."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def communities(self) -> list[CommunityLine]:
        """All communities: the coarse first, then those rated higher, then the larger ones."""
        rows = self._session.rows(
            "SELECT c.id, c.level, c.parent_id, "
            "(SELECT count(*) FROM community_members WHERE community_id = c.id), "
            "coalesce(r.title, ''), r.rating, r.id IS NOT NULL, c.dirty OR coalesce(r.dirty, 0) "
            "FROM communities c LEFT JOIN reports r ON r.community_id = c.id AND r.made_from = 'model'"
        )
        named = self._titles()
        lines = [
            CommunityLine(
                row[0],
                row[1],
                row[2],
                row[3],
                row[4] or named.get(row[0], ""),
                row[5],
                bool(row[6]),
                bool(row[7]),
            )
            for row in rows
        ]
        return sorted(lines, key=lambda line: (line.level, -(line.rating or 0.0), -line.members, line.id))

    def claims(self) -> dict[ClaimStatus, int]:
        """How many claims have each status; a status without claims is left out."""
        return dict(self._session.rows("SELECT status, count(*) FROM claims GROUP BY status"))

    def _titles(self) -> dict[int, str]:
        """Titles of the communities without a report of the model, as a report of facts has them."""
        counts: dict[int, int] = dict(
            self._session.rows(
                "SELECT entity_id, count(DISTINCT chunk_id) FROM mentions WHERE entity_id IS NOT NULL "
                "GROUP BY entity_id"
            )
        )
        members: dict[int, list[tuple[int, str, str]]] = {}
        for community_id, entity_id, name, key in self._session.each(
            "SELECT m.community_id, e.id, e.name, e.key FROM community_members m "
            "JOIN entities e ON e.id = m.entity_id WHERE NOT EXISTS (SELECT 1 FROM reports r "
            "WHERE r.community_id = m.community_id AND r.made_from = 'model')"
        ):
            members.setdefault(community_id, []).append((-counts.get(entity_id, 0), name, key))
        titles = {}
        for community_id, found in members.items():
            first = sorted(found)[:TITLED]
            more = len(found) - len(first)
            titles[community_id] = ", ".join(name for _, name, _ in first) + (f" +{more}" if more > 0 else "")
        return titles
