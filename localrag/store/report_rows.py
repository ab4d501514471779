"""Claims, summaries, communities and their reports, as plain frozen data."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Literal

ClaimStatus = Literal["TRUE", "FALSE", "SUSPECTED"]
SummaryKind = Literal["entity", "relation"]
SourceKind = Literal["entity", "relation", "claim"]
MadeFrom = Literal["model", "facts"]

Span = tuple[int, int]


@dataclass(frozen=True)
class ClaimName:
    """A name of an entity that was read in a chunk."""

    key: str
    """As it was read, folded."""

    name: str
    """As the chunk writes it."""

    type: str
    """Type of its entity."""

    entity_key: str
    """Key of the entity that it belongs to now."""


@dataclass(frozen=True)
class NewClaim:
    """A claim as one chunk makes it."""

    subject_key: str
    """Key of an entity of the same chunk."""

    type: str
    """For example `FRAUD`."""

    status: ClaimStatus
    """Whether the chunk says that it is so, that it is not, or that it is suspected."""

    description: str
    """What is claimed."""

    quotes: tuple[Span, ...]
    """Where the CHUNK's text says so: first character and one past the last, at least one span."""

    object_key: str = ""
    """Key of another entity of the same chunk; empty if the claim is about no one else."""

    start_date: str = ""
    """ISO 8601, empty where none is known."""

    end_date: str = ""
    """ISO 8601, empty where none is known."""


@dataclass(frozen=True)
class ClaimRow:
    """A stored claim."""

    id: int
    """Never used again after the claim was deleted."""

    chunk_id: int
    """The chunk that makes it."""

    subject_id: int | None
    """Entity that it is about; None if a person deleted that."""

    subject: str
    """Name of the subject, or its key where there is no entity."""

    object_id: int | None
    """Another entity that it concerns, if there is one."""

    object: str
    """Name of the object, or its key where there is no entity; empty without an object."""

    type: str
    """For example `FRAUD`."""

    status: ClaimStatus
    """As the chunk has it."""

    start_date: str
    """ISO 8601, or empty."""

    end_date: str
    """ISO 8601, or empty."""

    description: str
    """What is claimed."""

    quotes: tuple[str, ...]
    """The chunk's words, verbatim, in their order."""


@dataclass(frozen=True)
class NewCommunity:
    """Entities that belong together, at one level of a hierarchy."""

    level: int
    """0 is the coarsest."""

    members: tuple[int, ...]
    """Ids of entities; those that are gone are left out."""

    parent: int | None = None
    """Place, in the list that is stored with it, of the community of the level above that holds it."""


@dataclass(frozen=True)
class CommunityRow:
    """A stored community."""

    id: int
    """Never used again after the community was deleted."""

    level: int
    """0 is the coarsest."""

    parent_id: int | None
    """The community of the level above that holds it."""

    members: tuple[int, ...]
    """Ids of its entities, ascending."""

    input_hash: str
    """Hash of what its report was made from, as the caller gave it; empty without a report."""

    dirty: bool
    """Whether members or relations changed since its report was made."""


@dataclass(frozen=True)
class Finding:
    """One finding of a report."""

    summary: str
    """In a sentence."""

    explanation: str
    """In a paragraph."""

    sources: tuple[tuple[SourceKind, int], ...] = ()
    """The rows that it rests on, in ascending order."""


@dataclass(frozen=True)
class NewReport:
    """A report as the model wrote it."""

    title: str
    """Names the community."""

    summary: str
    """What it is about."""

    findings: tuple[Finding, ...] = ()
    """In the order in which they were written."""

    rating: float | None = None
    """0 to 10: how much it matters."""

    rating_reason: str = ""
    """Why, in a sentence."""

    sources: tuple[tuple[SourceKind, int], ...] = ()
    """The rows that the report as a whole rests on."""

    cut: bool = False
    """Whether the budget ended it before the model did."""

    language: str = ""
    """Language that it is written in, `en` or `zh`."""


@dataclass(frozen=True)
class ReportRow:
    """What is known of a community: the model's report, or without one the facts."""

    community_id: int
    """The community."""

    level: int
    """Its level."""

    made_from: MadeFrom
    """`facts` where no model's report is there, or one rested on what was deleted."""

    dirty: bool
    """Whether it is to be written anew."""

    title: str
    """Names the community."""

    summary: str
    """What it is about."""

    findings: tuple[Finding, ...]
    """What was found."""

    rating: float | None = None
    """0 to 10: how much it matters; None for facts."""

    rating_reason: str = ""
    """Why, in a sentence."""

    sources: tuple[tuple[SourceKind, int], ...] = ()
    """The rows that the report as a whole rests on, in ascending order."""

    made_at: str = ""
    """When the model wrote it, UTC, ISO 8601; empty for facts."""

    cut: bool = False
    """Whether the budget ended it before the model did."""

    language: str = ""
    """Language that the model wrote it in; empty for facts."""


@dataclass(frozen=True)
class Footprint:
    """What documents amount to; see `Origins.footprint`."""

    passages: int = 0
    """Chunks."""

    entities: int = 0
    """Entities."""

    relations: int = 0
    """Relations."""

    mentions: int = 0
    """Mentions of entities and relations."""

    claims: int = 0
    """Claims."""

    summaries: int = 0
    """Summaries of entities and relations that are up to date."""

    reports: int = 0
    """Reports of the model that are up to date."""

    answers: int = 0
    """Kept answers."""

    citations: int = 0
    """Citations in conversations that still have their source."""

    documents: int = 0
    """Documents."""

    def without(self, other: Footprint) -> Footprint:
        """What this has more than `other`."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Footprint(*(mine - theirs for mine, theirs in pairs))
