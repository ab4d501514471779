"""What an index run tells while it goes on: plain data, each event when the thing it tells of is stored."""

from __future__ import annotations

from dataclasses import dataclass

from localrag.indexing.claim_events import ClaimsFailed, ClaimsRead, ClaimsStarted
from localrag.indexing.estimate import Estimate
from localrag.indexing.summary_events import SummaryEvent


@dataclass(frozen=True)
class Started:
    """What lies ahead."""

    chunks_to_read: int
    """Chunks that the model will read."""

    chunks_to_embed: int
    """Chunks that have no vector yet; 0 without an embedding model."""

    documents: int
    """Documents that the chunks to read belong to."""

    estimate: Estimate | None = None
    """What their reading will take; None if nothing is to be read."""


@dataclass(frozen=True)
class Embedded:
    """A batch of vectors is stored."""

    done: int
    """Vectors of this kind made in this run."""

    total: int
    """How many this run will make."""

    what: str
    """`chunks`, `entities` or `relations`."""


@dataclass(frozen=True)
class Link:
    """A relation as one chunk speaks of it."""

    source: str
    """Name of one end, as the chunk writes it."""

    target: str
    """Name of the other."""

    words: str
    """What the chunk says of it, or its keywords; may be empty."""


@dataclass(frozen=True)
class ChunkRead:
    """A chunk's entities and relations are stored."""

    chunk_id: int
    """The chunk."""

    document: str
    """Path of its document as it is stored."""

    ordinal: int
    """Its place in the document, from 0."""

    entities: tuple[str, ...]
    """Names found in it, in the order in which they were written."""

    relations: int
    """Relations stored."""

    rejects: int
    """Things written by the model and not stored."""

    seconds: float
    """Wall time of its calls; calls run side by side."""

    types: tuple[str, ...] = ()
    """The type of each of `entities`."""

    links: tuple[Link, ...] = ()
    """The relations stored."""

    document_id: int = 0
    """The document."""


@dataclass(frozen=True)
class ChunkFailed:
    """A chunk could not be read; the run goes on."""

    chunk_id: int
    """The chunk."""

    document: str
    """Path of its document as it is stored."""

    reason: str
    """Why, for people."""

    ordinal: int = 0
    """Its place in the document, from 0."""

    left_out: bool = False
    """Whether no later run tries it again, because it made the engine die."""

    document_id: int = 0
    """The document."""


@dataclass(frozen=True)
class InHand:
    """A chunk that the model reads now, or that waits in the engine to be read next."""

    chunk_id: int
    """The chunk."""

    document: str
    """Path of its document as it is stored."""

    ordinal: int
    """Its place in the document, from 0."""

    heading: str
    """Headings above it; may be empty."""

    page: int | None
    """Page number from 1 where the format has pages."""

    looks: int = 0
    """Calls over it that have ended; from 1 on it is looked through again."""


@dataclass(frozen=True)
class Progress:
    """How reading goes; sent a few times a second."""

    read: int
    """Chunks done in this run, failed ones included."""

    total: int
    """Chunks that this run will read."""

    prefill_rate: float
    """Prompt tokens read per second."""

    decode_rate: float
    """Tokens written per second."""

    chunks_per_minute: float
    """Measured over the last chunks; 0 until the first is done."""

    seconds_left: float | None
    """Estimate from the measured rates; None until the model has begun to write."""

    in_hand: tuple[InHand, ...] = ()
    """What the model has before it, that which it got first at the head."""

    spent: int = 0
    """Tokens that the model read anew and wrote in this run, of calls that have ended."""

    looks: int = 0
    """Calls that looked through a chunk again, in this run."""

    stands: bool = False
    """Whether it stands still while a question is answered."""


@dataclass(frozen=True)
class Note:
    """Something that the person should know; the run goes on."""

    text: str
    """One sentence or two."""


@dataclass(frozen=True)
class IndexReport:
    """What a run did."""

    read: int
    """Chunks read."""

    failed: int
    """Chunks that could not be read."""

    entities: int
    """Entities in the file now."""

    relations: int
    """Relations in the file now."""

    rejects: int
    """Things written by the model in this run and not stored."""

    seconds: float
    """Wall time of the run."""

    cancelled: bool
    """Whether it was stopped; the rest is done by the next run."""

    left_out: int = 0
    """How many of the failed chunks are left out for good, because they made the engine die."""

    reason: str = ""
    """`minutes` or `tokens` if the run's budget ended it; the rest is done by the next run."""

    left: int = 0
    """Chunks that are still to be read."""

    tokens: int = 0
    """Tokens that the model read anew and wrote."""

    claims: int = 0
    """Claims read in this run; none are without the setting claims.at_index."""

    claims_failed: int = 0
    """Chunks whose claims could not be read."""

    summaries: int = 0
    """Summaries written in this run; none are without the setting summaries.at_index."""


@dataclass(frozen=True)
class Finished:
    """The last event."""

    report: IndexReport
    """What was done."""


IndexEvent = (
    Started
    | Embedded
    | ChunkRead
    | ChunkFailed
    | ClaimsStarted
    | ClaimsRead
    | ClaimsFailed
    | SummaryEvent
    | Progress
    | Note
    | Finished
)
