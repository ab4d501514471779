"""What the writing of summaries tells while it goes on: plain data, each when what it tells of is stored."""

from __future__ import annotations

from dataclasses import dataclass

from localrag.store.report_rows import SummaryKind


@dataclass(frozen=True)
class SummariesPlanned:
    """What lies ahead."""

    total: int
    """Summaries that this run will write, if nothing stops it."""

    waiting: int
    """Those that wait in all, with what a limit leaves for later."""

    joined: int
    """Entities and relations that were looked at and are read joined, without a model."""


@dataclass(frozen=True)
class SummaryWritten:
    """A summary is stored."""

    kind: SummaryKind
    """Of what."""

    row_id: int
    """Of which."""

    name: str
    """Its name, or both names of a relation."""

    descriptions: int
    """Different descriptions that it was made of."""

    calls: int
    """Calls of the model that it took."""

    done: int
    """Summaries dealt with in this run, failed ones included."""

    total: int
    """How many this run deals with."""


@dataclass(frozen=True)
class SummaryFailed:
    """A summary could not be written; the descriptions stay as they are and the run goes on."""

    kind: SummaryKind
    """Of what."""

    row_id: int
    """Of which."""

    name: str
    """Its name, or both names of a relation."""

    reason: str
    """Why, for people."""

    done: int
    """Summaries dealt with in this run, failed ones included."""

    total: int
    """How many this run deals with."""


@dataclass(frozen=True)
class SummaryPace:
    """How the writing goes; sent a few times a second."""

    done: int
    """Summaries dealt with in this run."""

    total: int
    """How many this run deals with."""

    decode_rate: float
    """Tokens written per second."""

    seconds_left: float | None
    """Estimate from the summaries so far; None until the first is there."""


SummaryEvent = SummariesPlanned | SummaryWritten | SummaryFailed | SummaryPace
