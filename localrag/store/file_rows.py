"""What is known of a knowledge base as a file, and what work on the whole file came to: plain frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class GroupFacts:
    """What one group of tables takes of the file."""

    name: str
    """For people, such as `vectors`."""

    rows: int
    """Rows of its tables."""

    size: int
    """About how many bytes they take."""


@dataclass(frozen=True)
class SpaceFacts:
    """An embedding space with its vectors."""

    model: str
    """Name of the model."""

    fingerprint: str
    """Identity of model, pooling, prefixes and limit together."""

    dimension: int
    """Length of a vector."""

    state: str
    """`active`: searched in; `building`: made in the background; `unused`."""

    vectors: Mapping[str, int]
    """Number of vectors by kind: `chunk`, `entity`, `relation`."""


@dataclass(frozen=True)
class FileFacts:
    """A knowledge base's identity and contents, as `info` shows them."""

    path: Path
    """The file."""

    uuid: str
    """Identity of the knowledge base, kept by copies."""

    format: int
    """Generation of the file's format, as it lies on the disk."""

    created_by: str
    """Version of localrag that made it."""

    created_at: str
    """When, UTC, ISO 8601."""

    revision: int
    """Grows with every change of the content."""

    size: int
    """Bytes of the file with its write-ahead log."""

    free: int
    """Bytes in it that hold nothing; `vacuum` gives them back."""

    read_only: bool
    """Whether file or folder cannot be written."""

    counts: Mapping[str, int]
    """Rows of every table."""

    groups: tuple[GroupFacts, ...]
    """What the groups of tables take, largest first."""

    measured: bool
    """Whether the sizes are pages with their indexes; else they are those of the contents alone."""

    spaces: tuple[SpaceFacts, ...]
    """Embedding spaces, oldest first."""


@dataclass(frozen=True)
class VerifyReport:
    """What `verify` found."""

    path: Path
    """The file."""

    problems: tuple[str, ...]
    """What is wrong, one sentence each; empty if all is well."""

    notes: tuple[str, ...]
    """What a person should know of the check itself, such as what could not be looked at."""

    @property
    def ok(self) -> bool:
        """Whether all is well."""
        return not self.problems


@dataclass(frozen=True)
class VacuumReport:
    """What `vacuum` came to."""

    before: int
    """Bytes of the file before."""

    after: int
    """Bytes of the file now."""

    notes: tuple[str, ...] = ()
    """What a person should know of how the file was opened."""


@dataclass(frozen=True)
class RepairReport:
    """What `repair` did."""

    path: Path
    """The file that is in order now: the one that was named, or a new one beside a damaged one."""

    salvaged: bool
    """True if the file was damaged and what could be read was written to a new one."""

    found: tuple[str, ...]
    """What was wrong."""

    done: tuple[str, ...]
    """What was done, one sentence each."""

    lost: tuple[str, ...]
    """What could not be brought back, one sentence each."""

    left: tuple[str, ...]
    """What is still wrong; empty if all is well now."""


@dataclass(frozen=True)
class MergeReport:
    """What joining one file into a knowledge base came to, or would come to."""

    source: Path
    """The file that was joined in."""

    added: tuple[str, ...]
    """Paths of documents that came over."""

    known: int
    """Documents whose content was here already."""

    places: int
    """Places of such content that were not known here."""

    taken: tuple[str, ...]
    """Paths of documents that were here and took what only the other file had read."""

    renamed: tuple[tuple[str, str], ...]
    """Documents of the same name with other content: the path there and the path that it got here."""

    passages: int
    """Passages that came over."""

    readings: int
    """Passages whose reading came over, with a new document or into one that was here."""

    summaries: int
    """Summaries of entities and relations that came over."""

    vectors: int
    """Vectors that came over."""

    decisions: int
    """Decisions that came over."""

    conversations: int
    """Conversations that came over."""

    notes: tuple[str, ...]
    """What a person should know, such as vectors of another model that have to be made anew."""

    dry: bool
    """True if nothing was changed and this is what would happen."""

    @property
    def changed(self) -> bool:
        """Whether anything came over."""
        return bool(
            self.added
            or self.places
            or self.taken
            or self.readings
            or self.summaries
            or self.vectors
            or self.decisions
            or self.conversations
        )


@dataclass(frozen=True)
class StoreInfo:
    """Facts about the file."""

    uuid: str
    """Identity of the knowledge base, kept by copies."""

    format: int
    """Generation of the file's format."""

    created_by: str
    """Version of localrag that made it."""

    created_at: str
    """When, UTC, ISO 8601."""

    revision: int
    """Grows with every change of the content."""

    size: int
    """Bytes of the file with its write-ahead log."""

    counts: Mapping[str, int] = field(default_factory=dict)
    """Rows of every table."""


@dataclass(frozen=True)
class Capabilities:
    """What this Python's SQLite can do."""

    module: str
    """`pysqlite3` or `sqlite3`."""

    sqlite_version: str
    """Version of the SQLite library."""

    extension_loading: bool
    """Whether extensions can be loaded."""

    vec_version: str | None
    """Version of sqlite-vec if it loads."""

    fts5: bool
    """Whether full-text tables work."""

    search_path: Literal["sqlite-vec", "numpy"]
    """What searches the vectors."""
