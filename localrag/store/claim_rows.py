"""What is told of claims beyond a single row, as plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from localrag.store.report_rows import ClaimRow, Span

Difference = Literal["status", "dates"]


@dataclass(frozen=True)
class ClaimTest:
    """Which claims are meant. All that is given must hold; of a list, one is enough; nothing given: all."""

    types: tuple[str, ...] = ()
    """Types, in any case."""

    statuses: tuple[str, ...] = ()
    """`TRUE`, `FALSE`, `SUSPECTED`, in any case."""


@dataclass(frozen=True)
class ClaimQuery:
    """Which claims a list shows. All that is given must hold."""

    test: ClaimTest = ClaimTest()
    """Their types and statuses."""

    entity_id: int | None = None
    """Entity that they are about or concern."""

    documents: tuple[int, ...] = ()
    """Documents that make them; empty: any."""

    since: str = ""
    """First day of a time in which they were, ISO 8601; claims without a date are left out then."""

    until: str = ""
    """Last day of it."""


@dataclass(frozen=True)
class PlacedClaim:
    """A claim with the place that makes it."""

    claim: ClaimRow
    """The claim."""

    document_id: int
    """The document."""

    document: str
    """Its path as it is stored."""

    ordinal: int
    """The passage's place in the document, from 0."""

    page: int | None
    """Page from 1 where the format has pages."""

    spans: tuple[Span, ...]
    """Where the quotes stand in the document's text, in the order of `claim.quotes`."""


@dataclass(frozen=True)
class Contradiction:
    """Two claims of one type about the same pair that do not agree."""

    first: PlacedClaim
    """The earlier row."""

    second: PlacedClaim
    """The later one."""

    differs: tuple[Difference, ...]
    """In what: their status, or days that have none in common."""


@dataclass(frozen=True)
class ClaimCount:
    """How many claims a document makes, or an entity is the subject of."""

    id: int
    """Id of the document or entity."""

    name: str
    """Path or name."""

    claims: int
    """Number of claims."""


@dataclass(frozen=True)
class ClaimSet:
    """The claims that were read with one specification."""

    task: str
    """Name of its calls in the journal."""

    parameters: str
    """What was asked for, JSON, as the last call noted it."""

    passages: int
    """Passages that were read so."""

    claims: int
    """Claims found."""
