"""What goes into the knowledge base and what comes out of it, as plain frozen data.

Nothing here knows SQL. Texts that come out are well-formed: NUL and lone surrogates were replaced by
U+FFFD, one character for one, when they went in, so character spans stay true.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

DocumentStatus = Literal["waiting", "indexed", "failed", "skipped"]
ChunkState = Literal["pending", "read", "failed"]
VectorKind = Literal["chunk", "entity", "relation"]


@dataclass(frozen=True)
class NewDocument:
    """A document that is to be stored."""

    path: str
    """Path relative to the root, with forward slashes."""

    root: str
    """The folder that the path starts from, as it was given: a name or an absolute folder."""

    sha256: str
    """Hash of the file's bytes, hexadecimal."""

    size: int
    """Bytes of the file."""

    mtime: float
    """Time of the file's last change, seconds since the epoch."""

    media_type: str
    """For example `text/markdown`."""

    title: str
    """A name for people; may be empty."""

    language: str
    """Code of the main language, such as `en` or `zh`."""

    text: str
    """The whole text; chunks are spans of it."""

    status: DocumentStatus = "waiting"
    """`waiting` until its chunks were read; `failed` or `skipped` come with a reason and without chunks."""

    reason: str = ""
    """Why it has this status, for people."""


@dataclass(frozen=True)
class DocumentRow:
    """A stored document without its text."""

    id: int
    """Never used again after the document was deleted."""

    path: str
    """Path relative to the root, with forward slashes."""

    root: str
    """The folder that the path starts from, as it was given."""

    sha256: str
    """Hash of the file's bytes, hexadecimal."""

    size: int
    """Bytes of the file."""

    mtime: float
    """Time of the file's last change, seconds since the epoch."""

    media_type: str
    """For example `text/markdown`."""

    title: str
    """A name for people; may be empty."""

    language: str
    """Code of the main language."""

    status: DocumentStatus
    """`indexed` once no chunk is pending."""

    reason: str
    """Why it has this status, or how many chunks failed; may be empty."""

    characters: int
    """Length of the text in characters."""

    chunks: int
    """Number of chunks."""

    read: int
    """Chunks that the model has read."""

    failed: int
    """Chunks whose reading failed."""


@dataclass(frozen=True)
class NewChunk:
    """A chunk that is to be stored with its document; its place in the list is its ordinal."""

    start: int
    """First character in the document's text."""

    end: int
    """One past the last character; `document.text[start:end] == text`."""

    heading: str
    """Headings above it, such as `Guide › Setup`; may be empty."""

    page: int | None
    """Page number from 1 where the format has pages."""

    tokens: int
    """Estimated tokens."""

    language: str
    """Code of its language."""

    text: str
    """The span's text."""


@dataclass(frozen=True)
class ChunkRow:
    """A stored chunk."""

    id: int
    """Never used again after the chunk was deleted."""

    document_id: int
    """Its document."""

    ordinal: int
    """Place in the document, from 0."""

    start: int
    """First character in the document's text."""

    end: int
    """One past the last character."""

    heading: str
    """Headings above it; may be empty."""

    page: int | None
    """Page number from 1 where the format has pages."""

    tokens: int
    """Estimated tokens."""

    language: str
    """Code of its language."""

    state: ChunkState
    """Whether the model has read it."""

    attempts: int
    """Readings begun that ended, well or not."""

    error: str
    """Why the last attempt failed; empty after a good one."""

    text: str
    """The span's text."""


@dataclass(frozen=True)
class WaitingChunk:
    """A chunk that is to be read, without its text."""

    id: int
    """The chunk."""

    document_id: int
    """Its document."""

    tokens: int
    """Estimated tokens of its text."""


@dataclass(frozen=True)
class ChunkCounts:
    """Chunks by state; total = read + failed + pending."""

    total: int
    """All chunks."""

    read: int
    """Read by the model."""

    failed: int
    """Failed at the last attempt; `Chunks.pending` may offer them again."""

    pending: int
    """Never tried, or to be read again."""


@dataclass(frozen=True)
class EntityMention:
    """One entity as one chunk speaks of it."""

    name: str
    """As written."""

    key: str
    """The folded name; mentions with the same key are the same entity."""

    type: str
    """For example `Person`."""

    description: str
    """What the chunk says of it; may be empty."""

    start: int = -1
    """First character in the CHUNK's text, -1 where the name is not in it verbatim."""

    end: int = -1
    """One past the last character, -1 where the name is not in it verbatim."""


@dataclass(frozen=True)
class RelationMention:
    """One relation as one chunk speaks of it."""

    source_key: str
    """Key of an entity of the same reading."""

    target_key: str
    """Key of another entity of the same reading."""

    keywords: str
    """Keywords parted by commas; may be empty."""

    description: str
    """What the chunk says; may be empty."""

    strength: float | None = None
    """1 to 10 where the profile has it."""

    start: int = -1
    """First character of the evidence in the chunk's text, -1 where unknown."""

    end: int = -1
    """One past the last character of the evidence, -1 where unknown."""


@dataclass(frozen=True)
class Reading:
    """What the model found in one chunk."""

    entities: tuple[EntityMention, ...] = ()
    """In the order in which they were written."""

    relations: tuple[RelationMention, ...] = ()
    """In the order in which they were written; their ends are among `entities`."""


@dataclass(frozen=True)
class Reject:
    """Something read from the model and not stored."""

    kind: str
    """`entity`, `relation` or what else it was meant to be."""

    text: str
    """As the model wrote it."""

    reason: str
    """Why it was not stored, for people."""


@dataclass(frozen=True)
class RejectRow:
    """A stored reject."""

    id: int
    """Grows with time."""

    chunk_id: int | None
    """The chunk that was read."""

    kind: str
    """`entity`, `relation` or what else it was meant to be."""

    text: str
    """As the model wrote it."""

    reason: str
    """Why it was not stored."""


@dataclass(frozen=True)
class GenerationRow:
    """One call of the language model."""

    task: str
    """What it was for, such as `extraction`."""

    prompt_hash: str
    """Hash of the prompt."""

    model: str
    """Fingerprint of the model."""

    parameters: str
    """Settings of the call as JSON."""

    prompt_tokens: int
    """Tokens of the prompt."""

    output_tokens: int
    """Tokens written."""

    milliseconds: int
    """Wall time."""

    finish: str
    """`stop`, `length`, `cancelled` or `error`."""

    output: str
    """All that was written."""


@dataclass(frozen=True)
class FurtherCall:
    """Another call of the model over a chunk, beside the first, and what came of it."""

    generation: GenerationRow
    """The call."""

    reading: Reading = field(default_factory=Reading)
    """What it added; ends of its relations are among the entities of this and of the calls before."""

    rejects: tuple[Reject, ...] = ()
    """What of it is not stored."""


@dataclass(frozen=True)
class JournalTotals:
    """Sums over all that the model wrote; parsed = stored + rejected."""

    generations: int
    """Calls of the model."""

    parsed: int
    """Records read from readings."""

    stored: int
    """Mentions of entities and relations that were stored."""

    rejected: int
    """Rejects."""

    output_tokens: int
    """Tokens written."""

    milliseconds: int
    """Sum of the calls' wall times; calls that ran together count each."""
