"""Looks over the whole file: its communities with their reports, and what it holds at a glance.

Nothing here decides anything, and no model is needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from localrag.store.database import Store
from localrag.store.entity_list import EntityEntry
from localrag.store.report_rows import ClaimStatus, ReportRow, SourceKind
from localrag.store.survey import CommunityLine

MOST_MEMBERS = 500
"""Members of a community that are told of."""

_MOST_CONNECTED = 15
_MOST_TYPES = 12


@dataclass(frozen=True)
class Cited:
    """Something that a report cites."""

    kind: SourceKind
    """What it is."""

    id: int
    """Its row."""

    label: str
    """What it is called."""

    detail: str
    """What it says; may be empty."""

    entity_id: int | None
    """The entity whose page has it; None if there is none."""


@dataclass(frozen=True)
class CommunityPage:
    """Everything that is shown of a community."""

    report: ReportRow
    """The model's report, or the facts."""

    members: tuple[EntityEntry, ...]
    """Its entities, those that most passages mention first; not more than `MOST_MEMBERS`."""

    size: int
    """How many members it has."""

    cited: dict[tuple[SourceKind, int], Cited]
    """What the report cites and is still there."""


@dataclass(frozen=True)
class Survey:
    """What the file holds."""

    connected: tuple[EntityEntry, ...]
    """The entities with most relations."""

    entities: int
    """Number of entities."""

    types: tuple[tuple[str, int], ...]
    """The most frequent types with the number of their entities."""

    claims: dict[ClaimStatus, int]
    """Claims by status."""


@dataclass(frozen=True)
class Spot:
    """A stretch of a document that says something cited."""

    document_id: int
    """The document."""

    start: int
    """First character in the document's text."""

    end: int
    """One past the last one."""

    words: tuple[str, ...]
    """Words to look for in it; may be empty."""


class SurveyDesk:
    """Looks over the whole file."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def communities(self) -> list[CommunityLine]:
        """All communities in outline: the coarse first, then those rated higher, then the larger ones."""
        return self._store.survey.communities()

    def overview(self) -> Survey:
        """The most connected entities, their types, and the claims."""
        table = self._store.browse.all.table()
        types = tuple(self._store.aggregates.types().items())
        connected = tuple(entry for entry in table.by_relations[:_MOST_CONNECTED] if entry.relations)
        return Survey(connected, len(table.entries), types[:_MOST_TYPES], self._store.survey.claims())

    def page(self, community_id: int) -> CommunityPage:
        """A community with its report and members. Raises `UsageError` if it is not there."""
        report = self._store.reports.get(community_id)
        ids = self._store.reports.community(community_id).members
        entries = self._store.browse.all.some(ids).values()
        members = sorted(entries, key=lambda entry: (-entry.mentions, entry.name, entry.key))
        sources = {*report.sources, *(source for finding in report.findings for source in finding.sources)}
        return CommunityPage(report, tuple(members[:MOST_MEMBERS]), len(ids), self._cited(sources))

    def spot(self, kind: SourceKind, row_id: int) -> Spot | None:
        """Where the documents first say it; None if it is gone."""
        if kind == "claim":
            for placed in self._store.claim_search.placed([row_id]):
                start, end = placed.spans[0][0], placed.spans[-1][1]
                return Spot(placed.document_id, start, end, placed.claim.quotes)
            return None
        places = self._store.browse.places
        said = places.mentions(row_id, 1) if kind == "entity" else places.relation_mentions(row_id, 1)
        for place in said:
            start, end = (place.start, place.end) if 0 <= place.start < place.end else (0, len(place.text))
            words = (place.name,) if place.name else ()
            return Spot(place.document_id, place.begin + start, place.begin + end, words)
        return None

    def _cited(self, sources: Iterable[tuple[SourceKind, int]]) -> dict[tuple[SourceKind, int], Cited]:
        ids: dict[SourceKind, list[int]] = {"entity": [], "relation": [], "claim": []}
        for kind, row_id in sorted(sources):
            ids[kind].append(row_id)
        found: list[Cited] = []
        for entity in self._store.browse.all.some(ids["entity"]).values():
            found.append(Cited("entity", entity.id, entity.name, entity.type, entity.id))
        for relation in self._store.graph.relations(ids["relation"]):
            label = f"{relation.source} → {relation.target}"
            found.append(
                Cited(
                    "relation",
                    relation.id,
                    label,
                    relation.keywords or relation.description,
                    relation.source_id,
                )
            )
        for placed in self._store.claim_search.placed(ids["claim"]):
            claim = placed.claim
            about = f"{claim.subject} → {claim.object}" if claim.object else claim.subject
            label = f"{about}: {claim.type}, {claim.status}"
            found.append(Cited("claim", claim.id, label, claim.description, claim.subject_id))
        return {(item.kind, item.id): item for item in found}
