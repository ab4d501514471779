"""How far an index run is, as plain data: made in the thread that runs it, shown by the place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

FoundKind = Literal["entity", "relation", "claim", "summary"]
"""What a run finds or writes."""

StageState = Literal["ahead", "now", "done", "off"]
"""Where a stage of a run is; `off` is one that will not come, such as vectors without a model for them."""

STAGES = {
    "chunks": ("Vectors of text", "chunks"),
    "reading": ("Reading", "chunks"),
    "summaries": ("Summaries", "summaries"),
    "entities": ("Vectors of entities", "entities"),
    "relations": ("Vectors of relations", "relations"),
    "claims": ("Claims", "chunks"),
}
"""The stages of a run in their order, each with its name and what it counts."""


@dataclass(frozen=True)
class Stage:
    """A part of a run."""

    key: str
    """Which, of `STAGES`."""

    done: int = 0
    """How much of it is done."""

    total: int = 0
    """How much it is in all; 0 where that is not known yet."""

    state: StageState = "ahead"
    """Where it is."""

    note: str = ""
    """What is to be said beside the numbers."""


@dataclass(frozen=True)
class Hand:
    """A passage that the model has before it."""

    document: str
    """Path of its document."""

    place: str
    """Page and heading in words; may be empty."""

    again: bool
    """Whether it is looked through once more."""


@dataclass(frozen=True)
class Found:
    """Something that came out of a passage."""

    number: int
    """Counts what was found in this run, from 1."""

    kind: FoundKind
    """What it is."""

    name: str
    """The entity, or the first end of the relation; of a claim what is claimed."""

    other: str = ""
    """The second end of a relation."""

    words: str = ""
    """The type of an entity, what is said of a relation."""

    document: str = ""
    """Path of the document that it comes from."""

    document_id: int = 0
    """Its id; 0 where it is not known."""


@dataclass(frozen=True)
class Failed:
    """A passage or a file that could not be read."""

    document: str
    """Path of the document."""

    document_id: int
    """Its id; 0 where it is not known."""

    reason: str
    """Why, in words."""

    ordinal: int = -1
    """Place of the passage in the document, from 0; -1 for a whole file."""

    chunk_id: int = 0
    """The passage; 0 for a whole file."""

    left_out: bool = False
    """Whether no run tries it again by itself."""


@dataclass(frozen=True)
class RunState:
    """An index run at one moment."""

    doing: str = ""
    """What is done before the first stage, such as starting the model; may be empty."""

    stages: tuple[Stage, ...] = ()
    """What the run consists of."""

    hands: tuple[Hand, ...] = ()
    """What the model has before it now, the first few of it."""

    in_hand: int = 0
    """How many passages it has before it."""

    found: tuple[Found, ...] = ()
    """The last things that came out, the newest first."""

    counts: dict[FoundKind, int] = field(default_factory=dict)
    """How many of each kind came out in this run."""

    failed: tuple[Failed, ...] = ()
    """The last passages that could not be read, the newest first."""

    failures: int = 0
    """How many could not be read in this run."""

    notes: tuple[str, ...] = ()
    """What a person should know of this run."""

    read_rate: float = 0.0
    """Tokens that the model reads per second now."""

    write_rate: float = 0.0
    """Tokens that it writes per second now."""

    per_minute: float = 0.0
    """Chunks read per minute, over the last ones."""

    seconds_left: float | None = None
    """Time left of the stage that goes on; None while it cannot be told."""

    tokens: int = 0
    """Tokens read and written so far in this run."""

    stands: bool = False
    """Whether the model answers a question, and this waits meanwhile."""

    began: float = 0.0
    """When the run began, of `time.monotonic`."""

    @property
    def stage(self) -> Stage | None:
        """The stage that goes on."""
        return next((stage for stage in self.stages if stage.state == "now"), None)
