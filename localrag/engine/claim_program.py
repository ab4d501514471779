"""What a model may write about claims, as plain data; `claims.py` turns it into grammars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

NONE = "NONE"
"""Stands for an object or a date that there is none of."""

STATUSES = ("TRUE", "FALSE", "SUSPECTED")
"""Whether a text says that it is so, that it is not, or leaves it open."""

MAX_SENTENCES = 40
"""Most numbered sentences, so that the grammar of the quotes stays small."""


@dataclass(frozen=True)
class ClaimRecords:
    """Claims as records, then the completion mark:

        (SUBJECT<|>OBJECT<|>TYPE<|>TRUE<|>2018-03-01T00:00:00<|>2018-03-31T00:00:00<|>description<|>1, 2)##

    Each is one segment named `claim`, the mark is a segment `complete`. No two claims agree in subject,
    object, type, status and first quote, and no claim is about one name twice.
    """

    subjects: tuple[str, ...]
    """Whom a claim can be about, in capitals where the script has them; distinct."""

    objects: tuple[str, ...]
    """Whom it can concern beside NONE."""

    sentences: int
    """Sentences 1 to so many can be quoted; at most `MAX_SENTENCES`."""

    types: tuple[str, ...] = ()
    """What a claim can be; empty for words of the model's own."""

    type_pattern: str = "[A-Z][A-Z-]{1,15}( [A-Z][A-Z-]{0,15}){0,2}"
    """A regular expression for these words."""

    periods: tuple[tuple[str, str], ...] | None = None
    """When it can have been: first and last day, either may be empty; none is always possible. None leaves
    the days to the model, who can write any that the calendar has, the last not before the first."""

    description_chars: int = 200
    """Most characters of the description."""

    description_pattern: str = ""
    """A regular expression for it in place of any line of text."""

    maximum: int = 8
    """Most claims."""

    max_quotes: int = 3
    """Most sentences that one claim quotes."""

    tuple_delimiter: str = "<|>"
    """Between fields."""

    record_delimiter: str = "##"
    """Behind each record."""

    completion_delimiter: str = "<|COMPLETE|>"
    """Behind the last."""

    kind: Literal["claims"] = "claims"


def claim_records(data: dict[str, Any]) -> ClaimRecords:
    """The program in JSON-ready data."""
    lists = {key: tuple(data[key]) for key in ("subjects", "objects", "types")}
    periods = None if data["periods"] is None else tuple((pair[0], pair[1]) for pair in data["periods"])
    return ClaimRecords(**{**data, **lists, "periods": periods})
