"""What is found when one looks through the graph, as plain frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from localrag.store.entity_list import EntityEntry
from localrag.store.graph_rows import RelationRow

Order = Literal["mentions", "relations", "name"]
"""By what entities are sorted: passages that mention them, relations they have, their name."""

ORDERS: tuple[Order, ...] = ("mentions", "relations", "name")
"""In the order in which they are offered."""


@dataclass(frozen=True)
class Found:
    """Entities that a search found."""

    entries: tuple[EntityEntry, ...]
    """The best first."""

    called: Mapping[int, str]
    """The other name that fits, for entities whose own name does not."""

    total: int
    """How many entities there are."""


@dataclass(frozen=True)
class Place:
    """A stretch of a document."""

    document_id: int
    """The document."""

    document: str
    """Its path as it is stored."""

    page: int | None
    """Page from 1 where the format has pages."""

    start: int
    """First character in the document's text."""

    end: int
    """One past the last one."""


@dataclass(frozen=True)
class Mention:
    """A sentence that mentions an entity."""

    place: Place
    """Where the name stands."""

    heading: str
    """Headings above it."""

    sentence: str
    """The sentence, in one line."""

    marked: tuple[int, int]
    """Where the name stands in `sentence`; two equal numbers if it is not known."""

    name: str
    """As it is written there."""


@dataclass(frozen=True)
class ToldRelation:
    """A relation with where it comes from."""

    relation: RelationRow
    """The relation."""

    places: tuple[Place, ...]
    """The first passages that state it."""


@dataclass(frozen=True)
class Neighbourhood:
    """An entity among those that it is most strongly connected with."""

    entity: EntityEntry
    """The entity."""

    neighbours: tuple[EntityEntry, ...]
    """Its neighbours, the one that most passages connect with it first."""

    relations: tuple[RelationRow, ...]
    """All relations among these, and with those that were there before."""

    total: int
    """How many neighbours it has in all."""


@dataclass(frozen=True)
class Step:
    """One step of a way."""

    relation: ToldRelation
    """The relation."""

    forward: bool
    """Whether the relation goes the way of the step."""


@dataclass(frozen=True)
class Route:
    """A way from one entity to another."""

    entities: tuple[EntityEntry, ...]
    """The entities in their order, ends included."""

    steps: tuple[Step, ...]
    """What leads from each to the next."""
