"""What the reading of claims tells while it goes on: plain data, each event when its thing is stored."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ClaimsStarted:
    """What lies ahead."""

    chunks: int
    """Chunks whose claims will be read."""


@dataclass(frozen=True)
class ClaimsRead:
    """A chunk's claims are stored."""

    chunk_id: int
    """The chunk."""

    document: str
    """Path of its document as it is stored."""

    ordinal: int
    """Its place in the document, from 0."""

    claims: int
    """Claims stored."""

    rejects: int
    """Things written by the model and not stored."""

    swapped: int
    """Claims whose end stood before their start, so that the two were exchanged."""

    undated: int
    """Claims whose date no quoted sentence names, so that it was taken off."""

    seconds: float
    """Wall time of the call; calls run side by side."""

    said: tuple[str, ...] = ()
    """What is claimed, in the model's words."""

    document_id: int = 0
    """The document."""


@dataclass(frozen=True)
class ClaimsFailed:
    """A chunk's claims could not be read; the run goes on."""

    chunk_id: int
    """The chunk."""

    document: str
    """Path of its document as it is stored."""

    ordinal: int
    """Its place in the document, from 0."""

    reason: str
    """Why, for people."""

    left_out: bool = False
    """Whether no later run tries it again by itself, because it made the engine die."""


@dataclass(frozen=True)
class ClaimsReport:
    """What a run did."""

    read: int
    """Chunks whose claims were read."""

    failed: int
    """Chunks whose claims could not be read."""

    claims: int
    """Claims stored in this run."""

    rejects: int
    """Things written by the model in this run and not stored."""

    swapped: int
    """Claims whose start and end were exchanged."""

    undated: int
    """Claims from which a date was taken that no quoted sentence names."""

    left: int
    """Chunks that are still to be read with this specification."""

    seconds: float
    """Wall time of the run."""

    cancelled: bool
    """Whether it was stopped; the same call goes on."""


@dataclass(frozen=True)
class ClaimsFinished:
    """The last event."""

    report: ClaimsReport
    """What was done."""
