"""The desk at which one looks through the graph."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from localrag.looking import connecting, reading, searching
from localrag.looking.types import Found, Mention, Neighbourhood, Order, Route, ToldRelation
from localrag.store.database import Store
from localrag.store.entity_list import PATIENCE, EntityEntry


@dataclass(frozen=True)
class Membership:
    """A community that an entity belongs to."""

    id: int
    """The community."""

    level: int
    """Its level; 0 is the coarsest."""

    title: str
    """Title of its report."""


class GraphDesk:
    """Looks through the graph; decides nothing, and needs no model."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def find(
        self, text: str = "", kind: str = "", order: Order = "mentions", *, fresh: bool = False
    ) -> Found:
        """Entities by name, other name or type; see `searching.search`.

        While documents are read the list may be a moment behind, unless it is to be `fresh`.
        """
        table = self._store.browse.all.table(patience=0.0 if fresh else PATIENCE)
        return searching.search(table, text, kind, order)

    def types(self) -> list[tuple[str, int]]:
        """The types with the number of their entities, the most frequent first."""
        return searching.types(self._store.browse.all.table(patience=PATIENCE))

    def entry(self, entity_id: int) -> EntityEntry | None:
        """An entity as a list shows it; None if it is gone."""
        return self._store.browse.all.some([entity_id]).get(entity_id)

    def mentions(self, entity_id: int, limit: int = 40, offset: int = 0) -> list[Mention]:
        """The sentences that mention an entity, by document and place."""
        return reading.mentions(self._store, entity_id, limit, offset)

    def count_mentions(self, entity_id: int) -> int:
        """How often an entity is mentioned, a passage with two mentions counted twice."""
        return self._store.browse.places.count_mentions(entity_id)

    def relations(self, entity_id: int, limit: int = 60, places: int = 3) -> list[ToldRelation]:
        """The heaviest relations of an entity with the first passages that state them."""
        rows = self._store.graph.relations_of([entity_id], limit)
        return reading.told(self._store, rows, places)

    def neighbours(self, entity_id: int, limit: int, among: Collection[int] = ()) -> Neighbourhood:
        """An entity with its strongest neighbours; see `connecting.neighbourhood`."""
        return connecting.neighbourhood(self._store, entity_id, limit, among)

    def routes(self, first: int, second: int) -> list[Route]:
        """The ways from one entity to another; see `connecting.routes`."""
        return connecting.routes(self._store, first, second)

    def communities(self, entity_id: int) -> list[Membership]:
        """The communities that an entity belongs to, the finest first."""
        reports = self._store.reports
        ids = self._store.browse.places.communities_of(entity_id)
        return [Membership(row.community_id, row.level, row.title) for row in map(reports.get, ids)]
