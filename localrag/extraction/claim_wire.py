"""The record text of claims: writes it, and reads whatever comes back.

    1 (SUBJECT<|>OBJECT or NONE<|>TYPE<|>TRUE<|>2022-01-10T00:00:00<|>2022-01-10T00:00:00<|>description<|>1)##

Quotes are numbers of sentences; the first stands before the record too, since a model that has chosen the
sentence claims what it says. Reading never fails: every record is returned or rejected with a reason, and the
number before it may be missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import cast

from localrag.engine.claim_program import NONE, STATUSES
from localrag.engine.iso_dates import MIDNIGHT
from localrag.extraction.dates import parse_period
from localrag.extraction.delimiters import USUAL, Delimiters
from localrag.extraction.spans import balanced, one_line, writable
from localrag.store.report_rows import ClaimStatus
from localrag.store.rows import Reject

CLAIM = "claim"
"""Kind of the rejects."""

_FIELDS = 8
_MAX_REJECT = 500
_NUMBER = re.compile(r"\d+", re.ASCII)
_NUMBERED = re.compile(r"^\d+ ?\(", re.ASCII)
_MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2})(?:T[\d:.]+Z?)?", re.ASCII)


@dataclass(frozen=True)
class ClaimRecord:
    """A claim as it was written."""

    subject: str
    """Name of the entity that it is about."""

    object: str
    """Name of another that it concerns; empty for NONE."""

    type: str
    """Of which kind it is."""

    status: ClaimStatus
    """Whether it is so."""

    start: str
    """First day, ISO 8601; empty for NONE."""

    end: str
    """Last day, not before the first; empty for NONE."""

    description: str
    """What is claimed."""

    quotes: tuple[int, ...]
    """Numbers of sentences, each once."""


@dataclass(frozen=True)
class ClaimRecords:
    """The claims of a text and what was wrong with the others."""

    claims: tuple[ClaimRecord, ...] = ()
    """In the order in which they were written."""

    rejects: tuple[Reject, ...] = ()
    """Everything else that was written."""

    swapped: int = 0
    """In how many claims the end stood before the start, and the two were exchanged."""

    complete: bool = False
    """Whether the completion mark was written."""


def format_claims(
    claims: Iterable[ClaimRecord], delimiters: Delimiters = USUAL, *, complete: bool = True
) -> str:
    """The text of claims; `parse_claims` gives the same ones back. Raises `ValueError` for a field that
    cannot be written."""
    lines = []
    for claim in claims:
        days = (f"{day}{MIDNIGHT}" if day else NONE for day in (claim.start, claim.end))
        quotes = ", ".join(map(str, claim.quotes))
        object_ = claim.object or NONE
        fields = (claim.subject, object_, claim.type, claim.status, *days, claim.description, quotes)
        if not all(map(writable, fields)):
            raise ValueError(f"{claim!r} cannot stand in a record")
        lines.append(f"{claim.quotes[0]} ({delimiters.fields.join(fields)}){delimiters.records}\n")
    return "".join(lines) + (delimiters.completion if complete else "")


def parse_claims(text: str, delimiters: Delimiters = USUAL) -> ClaimRecords:
    """Read claims out of any text; never raises.

    A last record without its end is rejected, since its quotes may be cut.
    """
    body, mark, tail = text.partition(delimiters.completion)
    claims: list[ClaimRecord] = []
    rejects: list[Reject] = []
    swapped = 0
    pieces = body.split(delimiters.records)
    for place, piece in enumerate(pieces):
        written = _NUMBERED.sub("(", piece.strip())
        if not written:
            continue
        if place == len(pieces) - 1 and not mark and not _is_closed(written):
            rejects.append(_reject(written, "it was cut off before its end"))
            continue
        read = _claim(written, delimiters)
        if isinstance(read, str):
            rejects.append(_reject(written, read))
            continue
        claim, turned = read
        swapped += turned
        claims.append(claim)
    if tail.strip():
        rejects.append(_reject(tail.strip(), "it stands behind the completion mark"))
    return ClaimRecords(tuple(claims), tuple(rejects), swapped, bool(mark))


def _reject(text: str, reason: str) -> Reject:
    return Reject(CLAIM, text[:_MAX_REJECT], reason)


def _is_closed(text: str) -> bool:
    return text.startswith("(") and text.endswith(")") and balanced(text[1:-1])


def _claim(text: str, delimiters: Delimiters) -> tuple[ClaimRecord, bool] | str:
    """The claim that a record says, and whether its days were exchanged; else what is wrong with it."""
    inner = text.removeprefix("(").removesuffix(")") if text.startswith("(") else text
    values = [one_line(value) for value in inner.split(delimiters.fields)]
    if len(values) != _FIELDS:
        return f"it has {len(values)} fields instead of {_FIELDS}"
    subject, object_, type_, status, start_text, end_text, description, quoted = values
    if not subject or not type_ or not description:
        return "it has no subject, no type or says nothing"
    if status.upper() not in STATUSES:
        return "its status is neither TRUE nor FALSE nor SUSPECTED"
    start, end = _day(start_text, first=True), _day(end_text, first=False)
    if start is None or end is None:
        return "its date is none"
    turned = bool(start and end and end < start)
    if turned:
        start, end = end, start
    quotes = tuple(dict.fromkeys(int(number) for number in _NUMBER.findall(quoted)[:100]))
    if not quotes:
        return "it quotes nothing"
    known = cast(ClaimStatus, status.upper())
    object_ = "" if object_.upper() == NONE else object_
    return ClaimRecord(subject, object_, type_, known, start, end, description, quotes), turned


def _day(text: str, *, first: bool) -> str | None:
    """A day out of what was written for one: a moment, or a time in words; None if it is none."""
    if not text or text.upper() == NONE:
        return ""
    moment = _MOMENT.fullmatch(text)
    if moment is not None:
        try:
            return date.fromisoformat(moment[1]).isoformat()
        except ValueError:
            return None
    period = parse_period(text)
    if period is None:
        return None
    return period.start if first else period.end
