"""How claims are shown: as lines with their first quote, as facts with all, as JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import click

from localrag.cli import output

if TYPE_CHECKING:
    from localrag.store.claim_rows import PlacedClaim

Command = TypeVar("Command", bound=Callable[..., Any])


def kind_options(command: Command) -> Command:
    """Add `--type` and `--status`."""
    kind = click.option("--type", "types", multiple=True, metavar="TYPE", help="Claims of this type.")
    status = click.option(
        "--status", "statuses", multiple=True, metavar="STATUS", help="TRUE, FALSE or SUSPECTED."
    )
    return kind(status(command))


def put_claims(rows: list[PlacedClaim]) -> None:
    """Write claims: number, time, whom, type, status and place in a line, below it what is claimed, and the
    first of the words that say so."""
    for row in rows:
        claim = row.claim
        parts = (f"#{claim.id}", dates(row) or "undated", about(row), claim.type, claim.status, place(row))
        output.put_text("  ".join(" ".join(part.split()) for part in parts))
        output.put_text(f"    {' '.join(claim.description.split())}")
        more = len(claim.quotes) - 1
        rest = f" (and {output.number(more, 'more quote')})" if more > 0 else ""
        for text in claim.quotes[:1]:
            output.put_text(f"    {quoted(text)}{rest}")


def put_claim(row: PlacedClaim) -> None:
    """Write all that is known of a claim."""
    claim = row.claim
    output.put_facts(
        [
            ("Claim", f"#{claim.id}"),
            ("About", claim.subject),
            ("Concerns", claim.object or "nobody else"),
            ("Type", claim.type),
            ("Status", claim.status),
            ("When", dates(row) or "undated"),
            ("Says", " ".join(claim.description.split())),
            ("Place", place(row)),
            *(("Quote", quoted(text)) for text in claim.quotes),
        ]
    )


def quoted(text: str) -> str:
    """Words of a text in one line."""
    return f"“{' '.join(text.split())}”"


def about(row: PlacedClaim) -> str:
    """Whom a claim is about, and whom it concerns."""
    claim = row.claim
    # Names that were merged after the claim was read are one entity now.
    concerns = claim.object and (claim.object_id is None or claim.object_id != claim.subject_id)
    return f"{claim.subject} → {claim.object}" if concerns else claim.subject


def dates(row: PlacedClaim) -> str:
    """When it was: a day, or a year where the two days make one; empty without a date."""
    start, end = row.claim.start_date, row.claim.end_date
    if start == end:
        return start
    if start[5:] == "01-01" and end == f"{start[:4]}-12-31":
        return start[:4]
    return f"{start or '…'} – {end or '…'}"


def place(row: PlacedClaim) -> str:
    """Which passage makes it."""
    page = f", page {row.page}" if row.page is not None else ""
    return f"{row.document}{page}, passage {row.ordinal + 1}"


def claim_json(row: PlacedClaim) -> dict[str, Any]:
    """The claim for programs."""
    values = asdict(row.claim)
    return values | {
        "document": row.document,
        "document_id": row.document_id,
        "passage": row.ordinal + 1,
        "page": row.page,
        "spans": [list(span) for span in row.spans],
    }
