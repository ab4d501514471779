"""What comparing folders with the knowledge base found and did, as plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from localrag.store.followed_rows import Place

Outcome = Literal[
    "added", "changed", "moved", "copied", "deleted", "unchanged", "failed", "skipped", "kept", "hidden"
]
Absence = Literal["gone", "missing", "closed", "hidden"]


@dataclass(frozen=True)
class SyncEvent:
    """One file or document is done."""

    path: str
    """The file, as it is or would be stored."""

    outcome: Outcome
    """What became of it."""

    reason: str
    """Why, or from where; empty where nothing is to be said."""

    done: int
    """How many are done, this one included."""

    total: int
    """How many there are in all."""


@dataclass(frozen=True)
class SyncReport:
    """What `sync` did, or would do."""

    added: tuple[str, ...] = ()
    """New documents."""

    changed: tuple[str, ...] = ()
    """Documents with another text."""

    moved: tuple[tuple[str, str], ...] = ()
    """Documents with another place, and the place before."""

    copied: tuple[tuple[str, str], ...] = ()
    """Further places of documents, and the first place."""

    deleted: tuple[str, ...] = ()
    """Documents whose file is gone, or was given up by the person."""

    unchanged: int = 0
    """Files with the content that is known."""

    failed: tuple[tuple[str, str], ...] = ()
    """Files that could not be read, with the reason."""

    skipped: tuple[tuple[str, str], ...] = ()
    """What was passed over, with the reason."""

    kept: tuple[tuple[str, str], ...] = ()
    """Documents whose file is not there and that were not deleted, with the reason."""

    closed: tuple[tuple[str, str], ...] = ()
    """Documents whose file could not be looked at, with the reason; they stay."""

    hidden: tuple[tuple[str, str], ...] = ()
    """Documents whose file is there but left out by patterns now, with the reason; they stay."""

    notes: tuple[str, ...] = ()
    """What a person should know, in sentences."""

    chunks: int = 0
    """New chunks, to be read by the model; 0 where nothing was done."""

    dry_run: bool = False
    """Whether nothing was done."""

    cancelled: bool = False
    """Whether it was stopped before the end."""


@dataclass(frozen=True)
class Seen:
    """A file on the disk."""

    root: str
    """The folder that the path starts from, as it is or would be stored."""

    path: str
    """Path relative to the root, as it is or would be stored."""

    size: int
    """Bytes."""

    mtime: float
    """Time of its last change, as it is to be noted."""

    content: str
    """What files with the same content have in common: a hash, or a name of its own where nothing can be the
    same."""

    disk: Path
    """To open it by."""

    wanted: bool = True
    """False for a file outside of what is to be compared: it counts only as a place of what is known."""

    same: bool = False
    """Whether its content is known to be the one stored for this place."""

    @property
    def place(self) -> Place:
        """It as a place."""
        return Place(self.root, self.path, self.size, self.mtime)


@dataclass(frozen=True)
class Absent:
    """A place of a document where no file was taken."""

    kind: Absence
    """`gone`: it can be told that there is no file. `missing`: its folder is not there or has no document
    left. `closed`: it could not be looked at. `hidden`: a file is there and is left out."""

    reason: str
    """Why, as the end of a sentence."""


@dataclass(frozen=True)
class Known:
    """A stored document."""

    id: int
    """Its id."""

    content: str
    """Hash of its content; empty where other files cannot share it: it has no text or could not be read."""

    sha256: str
    """Hash of its file's content; empty where that could not be read."""

    places: tuple[Place, ...]
    """Its places, the first one first."""
